"""What each record of a delta did to its key, as rows of reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import pyarrow as pa

from inspector.analyses.shared.common import operator_names
from inspector.analyses.shared.words import StoreWords, row_chunks
from inspector.discovery.checkpoint import Checkpoint
from inspector.model import Problem, Redact, StoreName
from inspector.render import tabular as t


@dataclass(frozen=True, kw_only=True)
class ChangeRow(t.PartitionRow, table="changes", empty="no delta of these versions holds a record"):
    """A record of a delta."""

    operator_name: t.OperatorName | None
    store_name: Annotated[t.StoreName, t.Rank(21)]
    partition_id: Annotated[t.PartitionId, t.Rank(22)]
    version: t.Version
    batch_id: Annotated[t.BatchId, t.Rank(1)]
    event: Annotated[t.EventName, t.Rank(2)]
    key: Annotated[t.KeyJson, t.Rank(3)]
    value: Annotated[t.ValueJson, t.Rank(4)]
    key_bytes: t.KeyBytes
    old_value_bytes: t.OldValueBytes
    value_bytes: Annotated[t.ValueBytes | None, t.Rank(23)]
    key_hex: Annotated[t.KeyHex | None, t.RAW] = None
    value_hex: Annotated[t.ValueHex | None, t.RAW] = None


@dataclass(frozen=True, kw_only=True)
class EventRow(ChangeRow):
    """A record with the place where it stands."""

    record: int | None
    file: str | None


class ChangeRows:
    """Batches of :data:`inspector.schemas.CHANGES` as rows of a report."""

    def __init__(self, checkpoint: Checkpoint, redact: Redact, *, raw: bool) -> None:
        self._names = operator_names(checkpoint)
        self._words = StoreWords(checkpoint, redact)
        self._raw = raw

    def rows(
        self, batches: Iterable[pa.RecordBatch], problems: list[Problem]
    ) -> Iterator[EventRow]:
        """Rows in the order of the batches."""
        for chunk in row_chunks(batches, problems):
            yield from self._of_store(chunk)
        problems.extend(self._words.misfits())

    def _of_store(self, chunk: Sequence[Mapping[str, Any]]) -> Iterator[EventRow]:
        place = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
        keys = self._words.keys(place, [row["key"] for row in chunk])
        values = self._words.values(place, [row["value"] for row in chunk])
        for row, key, value in zip(chunk, keys, values, strict=True):
            yield EventRow(
                operator_id=row["operator_id"],
                operator_name=self._names.get(row["operator_id"]),
                store_name=row["store_name"],
                partition_id=row["partition_id"],
                version=row["version"],
                batch_id=row["version"] - 1,
                event=row["event"],
                key=key,
                value=value,
                key_bytes=len(row["key"]),
                old_value_bytes=row["old_value_bytes"],
                value_bytes=None if row["value"] is None else len(row["value"]),
                record=row["record"],
                file=row["path"],
                key_hex=self._words.hex(row["key"]) if self._raw else None,
                value_hex=self._words.hex(row["value"]) if self._raw else None,
            )
