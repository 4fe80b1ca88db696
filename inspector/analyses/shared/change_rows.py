"""What each record of a delta did to its key, as rows of reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from inspector.analyses.shared.common import (
    operator_names,
    size,
)
from inspector.analyses.shared.words import StoreWords, row_chunks
from inspector.discovery.checkpoint import Checkpoint
from inspector.model import Problem, Redact, StoreName
from inspector.render.report import Column, Unit

EVENT = (
    Column("event"),
    Column("key", Unit.VALUE),
    Column("value", Unit.VALUE),
    size("key_bytes"),
    size("old_value_bytes"),
    size("value_bytes"),
)
RAW = (Column("key_hex"), Column("value_hex"))


class ChangeRows:
    """Batches of :data:`inspector.schemas.CHANGES` as rows of a report."""

    def __init__(self, checkpoint: Checkpoint, redact: Redact, *, raw: bool) -> None:
        self._names = operator_names(checkpoint)
        self._words = StoreWords(checkpoint, redact)
        self._raw = raw

    def rows(
        self, batches: Iterable[pa.RecordBatch], problems: list[Problem]
    ) -> Iterator[dict[str, Any]]:
        """Rows in the order of the batches."""
        for chunk in row_chunks(batches, problems):
            yield from self._of_store(chunk)
        problems.extend(self._words.misfits())

    def _of_store(self, chunk: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        place = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
        keys = self._words.keys(place, [row["key"] for row in chunk])
        values = self._words.values(place, [row["value"] for row in chunk])
        for row, key, value in zip(chunk, keys, values, strict=True):
            made = {
                "operator_id": row["operator_id"],
                "operator_name": self._names.get(row["operator_id"]),
                "store_name": row["store_name"],
                "partition_id": row["partition_id"],
                "version": row["version"],
                "batch_id": row["version"] - 1,
                "event": row["event"],
                "key": key,
                "value": value,
                "key_bytes": len(row["key"]),
                "old_value_bytes": row["old_value_bytes"],
                "value_bytes": None if row["value"] is None else len(row["value"]),
                "record": row["record"],
                "file": row["path"],
            }
            if self._raw:
                made["key_hex"] = self._words.hex(row["key"])
                made["value_hex"] = self._words.hex(row["value"])
            yield made
