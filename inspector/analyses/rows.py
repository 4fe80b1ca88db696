"""``rows``: the live rows of a version, as a table that is read while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from inspector.analyses.common import (
    BATCH_ID,
    PARTITION_ID,
    STORE,
    VERSION,
    identity,
    operator_names,
    size,
)
from inspector.analyses.words import StoreWords, row_chunks
from inspector.discovery.checkpoint import Checkpoint
from inspector.model import Problem, StoreName
from inspector.render.keys import Redact
from inspector.render.report import Column, Report, Table, Unit

_COLUMNS = (
    *STORE,
    PARTITION_ID,
    VERSION,
    BATCH_ID,
    Column("key", Unit.VALUE),
    Column("value", Unit.VALUE),
    size("key_bytes"),
    size("value_bytes"),
)
_RAW = (Column("key_hex"), Column("value_hex"))


@dataclass(frozen=True)
class RowsWanted:
    """How many rows (0 for all), whether with their bytes in hex, what to hide; of all keys?"""

    limit: int = 0
    raw: bool = False
    redact: Redact = Redact.NONE
    some_keys: bool = False


def rows(
    checkpoint: Checkpoint,
    version: int,
    batches: Iterable[pa.RecordBatch],
    problems: list[Problem],
    wanted: RowsWanted,
) -> Report:
    """The rows in ``batches`` (:data:`inspector.schemas.ROWS`); problems go to ``problems``."""
    table = Table(
        "rows",
        f"rows of version {version}",
        (*_COLUMNS, *(_RAW if wanted.raw else ())),
        _rows(checkpoint, batches, problems, wanted),
        empty=f"this version has no {'such row' if wanted.some_keys else 'rows'}",
        wide=frozenset(("operator_name", "version", "batch_id")),
    )
    return Report(
        "rows", checkpoint.root, identity(checkpoint, version), (table,), problems=problems
    )


def _rows(
    checkpoint: Checkpoint,
    batches: Iterable[pa.RecordBatch],
    problems: list[Problem],
    wanted: RowsWanted,
) -> Iterator[dict[str, Any]]:
    names = operator_names(checkpoint)
    words = StoreWords(checkpoint, wanted.redact)
    left = wanted.limit
    for chunk in row_chunks(batches, problems):
        for row in _decoded(chunk, names, words, raw=wanted.raw):
            yield row
            if wanted.limit:
                left -= 1
                if not left:
                    return


def _decoded(
    chunk: Sequence[Mapping[str, Any]], names: Mapping[int, str], words: StoreWords, *, raw: bool
) -> Iterator[dict[str, Any]]:
    """The rows of one store as they are reported."""
    place = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
    keys = words.keys(place, [row["key"] for row in chunk])
    values = words.values(place, [row["value"] for row in chunk])
    for row, key, value in zip(chunk, keys, values, strict=True):
        told = {
            "operator_id": row["operator_id"],
            "operator_name": names.get(row["operator_id"]),
            "store_name": row["store_name"],
            "partition_id": row["partition_id"],
            "version": row["version"],
            "batch_id": row["version"] - 1,
            "key": key,
            "value": value,
            "key_bytes": len(row["key"]),
            "value_bytes": len(row["value"]),
        }
        if raw:
            told["key_hex"] = words.hex(row["key"])
            told["value_hex"] = words.hex(row["value"])
        yield told
