"""``rows``: the live rows of a version, as a table that is read while it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from inspector.model import Problem, StoreId
from inspector.pipeline.discovery import Checkpoint
from inspector.report.build.common import (
    BATCH_ID,
    PARTITION_ID,
    STORE,
    VERSION,
    identity,
    operator_names,
    size,
)
from inspector.report.keys import Redact, RowWords
from inspector.report.model import Column, Report, Table, Unit
from inspector.sparktypes import widen_timeout

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
_CHUNK = 1024
"""Rows decoded at once: a row becomes many Python objects."""


@dataclass(frozen=True)
class RowsWanted:
    """How many rows (0 for all), whether with their bytes in hex, and what to hide."""

    limit: int = 0
    raw: bool = False
    redact: Redact = Redact.NONE


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
        empty="this version has no rows",
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
    words = _Words(checkpoint, wanted)
    left = wanted.limit
    for batch in batches:
        if batch.column("kind")[0].as_py() == "problem":
            # The listing has told already which versions have no chain of files.
            problems.extend(found for found in _problems(batch) if not _told(found, problems))
            continue
        for start in range(0, batch.num_rows, _CHUNK):
            for row in words.rows(batch.slice(start, _CHUNK)):
                yield row
                if wanted.limit:
                    left -= 1
                    if not left:
                        return


def _problems(batch: pa.RecordBatch) -> Iterator[Problem]:
    for row in batch.to_pylist():
        store = StoreId(row["operator_id"], row["store_name"], row["partition_id"])
        yield Problem(
            row["slug"], row["message"], row["path"], row["offset"], store, row["version"]
        )


def _told(found: Problem, problems: list[Problem]) -> bool:
    place = (found.slug, found.store)
    return any((p.slug, p.store) == place for p in problems) and found.path is None


class _Words:
    """Batches of one store each, decoded by that store's schemas."""

    def __init__(self, checkpoint: Checkpoint, wanted: RowsWanted) -> None:
        self._names = operator_names(checkpoint)
        self._wanted = wanted
        self._unknown = (RowWords(None, wanted.redact), RowWords(None, wanted.redact))
        self._decoders = {
            (operator.operator_id, store): (
                RowWords(schema.key, wanted.redact),
                RowWords(widen_timeout(schema.value), wanted.redact),
            )
            for operator in checkpoint.operators
            for store, schema in operator.schemas.items()
        }

    def rows(self, batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
        """The rows of a batch as they are reported."""
        first = batch.slice(0, 1).to_pylist()[0]
        place = (first["operator_id"], first["store_name"])
        key_words, value_words = self._decoders.get(place, self._unknown)
        keys: list[Any] = batch.column("key").to_pylist()
        values: list[Any] = batch.column("value").to_pylist()
        common = {
            "operator_id": first["operator_id"],
            "operator_name": self._names.get(first["operator_id"]),
            "store_name": first["store_name"],
            "partition_id": first["partition_id"],
            "version": first["version"],
            "batch_id": first["version"] - 1,
        }
        decoded = zip(keys, values, key_words.words(keys), value_words.words(values), strict=True)
        for key, value, key_word, value_word in decoded:
            row = common | {
                "key": key_word,
                "value": value_word,
                "key_bytes": len(key),
                "value_bytes": len(value),
            }
            if self._wanted.raw:
                hidden = self._wanted.redact is not Redact.NONE
                row["key_hex"] = None if hidden else key.hex()
                row["value_hex"] = None if hidden else value.hex()
            yield row
