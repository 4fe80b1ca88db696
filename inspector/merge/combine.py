"""Facts of many partitions merged before they reach the driver, where they are many.

Of 200 partitions with 100 versions and 4 stores come 80,000 facts on versions, and as many on ages.
The driver needs those of single partitions at the judged version alone; of older ones the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from inspector.facts.versions import VersionFacts
from inspector.schemas import FACTS, batch_of

Row = dict[str, Any]

MANY = 20_000
"""Facts that the driver takes as they are; each is some 2 KB of Python objects for a moment."""

KEYS = ("operator_id", "store_name")
"""Facts that are merged have the same of these."""

ALL = -1
"""The partition of facts that are sums over partitions."""

_SUMMED = ("rows", "key_bytes", "value_bytes", "bad_keys", "matched_rows", "unmatched_rows")
_BATCH = 4096


def combining(version: int) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A batch function from facts to fewer facts, of which the driver makes the same.

    Args:
        version: the judged one; facts on it stay those of single partitions.

    Returns:
        Takes and yields batches of schema :data:`inspector.schemas.FACTS`. It holds one fact for
        each store and version, or whatever else they are told by.
    """

    def combine(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        merged: dict[tuple[Any, ...], Row] = {}
        for batch in batches:
            kept = []
            for row in batch.to_pylist():
                add = _MERGED.get(row["kind"])
                if add is None or (row["kind"] == "version" and row["version"] >= version):
                    kept.append(row)
                    continue
                key = _key(row)
                merged[key] = add(merged[key], row) if key in merged else row
            if kept:
                yield batch_of(FACTS, kept)
        rows = [row | {"partition_id": ALL} for row in merged.values()]
        for start in range(0, len(rows), _BATCH):
            yield batch_of(FACTS, rows[start : start + _BATCH])

    return combine


def _key(row: Row) -> tuple[Any, ...]:
    """What two facts must have alike to be added; of versions that is all that is no number."""
    if row["kind"] in ("version", "retention"):
        return (row["kind"], *(row[name] for name in KEYS), row["version"])
    return tuple(
        value
        for name, value in row.items()
        if name not in _SUMMED and name != "partition_id" and not isinstance(value, list)
    )


def _version(one: Row, other: Row) -> Row:
    return one | (VersionFacts.from_columns(one) + VersionFacts.from_columns(other)).columns()


def _sums(one: Row, other: Row) -> Row:
    return one | {name: _sum(one[name], other[name]) for name in _SUMMED}


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _oldest(one: Row, other: Row) -> Row:
    return min(one, other, key=lambda row: int(row["oldest_ms"]))


_MERGED: Mapping[str, Callable[[Row, Row], Row]] = {
    "version": _version,
    "age": _sums,
    "leftover_age": _sums,
    "join": _sums,
    "matched": _sums,
    "retention": _oldest,
}
"""Kinds whose facts add over partitions, and how."""
