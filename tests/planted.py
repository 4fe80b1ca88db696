"""Rows put into checkpoints that Spark wrote, for what Spark itself would never leave there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from inspector.discovery.checkpoint import open_checkpoint
from inspector.operators.join import VALUE_STORES
from inspector.sparktypes import TIMESTAMP, DataType, StringType, StructType
from tests import cases, encode
from tests.encode import Record

OLD = 1704067201000000
"""The first second of the fixtures' input, in microseconds."""


def plant_old_rows(root: Path, time_field: int) -> set[tuple[str, bytes]]:
    """One more batch of a join, which brings each side of partition 0 a row of the first second.

    Args:
        root: a copy of the checkpoint; it is changed.
        time_field: 0 if the join key is a time, 1 if it is a number and a window.

    Returns:
        Store and key of each row.
    """
    checkpoint = open_checkpoint(str(root))
    newest = checkpoint.newest_version
    shutil.copyfile(root / "commits" / str(newest - 1), root / "commits" / str(newest))
    entry = (root / "offsets" / str(newest - 1)).read_text(encoding="utf-8")
    # Another time: a batch of the same would count as one that a tool appended.
    later = re.sub(r'("batchTimestampMs":)\d+', r"\g<1>1704153600000", entry)
    (root / "offsets" / str(newest)).write_text(later, encoding="utf-8")
    planted: set[tuple[str, bytes]] = set()
    for folder in sorted((root / "state/0").glob("[0-9]*/*-*")):
        records: list[Record] = []
        if folder.name in VALUE_STORES and folder.parent.name == "0":
            schema = checkpoint.operators[0].schemas[folder.name]
            key = encode.row(schema.key, (7, (OLD, OLD), 99) if time_field else (OLD, 99))
            records = [(key, _row(schema.value))]
            planted.add((folder.name, key))
        cases.write_store(folder, {newest + 1: records})
    return planted


def _row(schema: StructType) -> bytes:
    """A row of any side whose every time is the same."""
    return encode.row(schema, [_cell(column.data_type) for column in schema.fields])


def _cell(data_type: DataType) -> object:
    if isinstance(data_type, StructType):
        return (OLD, OLD)
    if isinstance(data_type, StringType):
        return "site"
    return OLD if data_type == TIMESTAMP else 0
