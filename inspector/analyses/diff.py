"""``diff``: the rows in which two versions differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from inspector.analyses.common import (
    PARTITION_ID,
    STORE,
    count,
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
    Column("change"),
    Column("key", Unit.VALUE),
    Column("old_value", Unit.VALUE),
    Column("value", Unit.VALUE),
    size("key_bytes"),
    size("old_value_bytes"),
    size("value_bytes"),
)
_RAW = tuple(Column(f"{name}_hex") for name in ("key", "old_value", "value"))
_COUNTED = ("rows", "key_bytes", "old_value_bytes", "value_bytes")


@dataclass(frozen=True)
class DiffWanted:
    """How many rows (0 for all), whether with their bytes in hex, what to hide, and notes."""

    limit: int = 0
    raw: bool = False
    redact: Redact = Redact.NONE
    notes: Sequence[str] = ()


Version = tuple[Checkpoint, int]


@dataclass
class _Counts:
    """Rows and bytes by store and kind of change, added up while the rows are read."""

    totals: dict[tuple[int, str, str], dict[str, int]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        place = (row["operator_id"], row["store_name"], row["change"])
        total = self.totals.setdefault(place, dict.fromkeys(_COUNTED, 0))
        for name in _COUNTED:
            total[name] += row[name] or 0

    def rows(self, names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        for (operator, store, change), total in sorted(self.totals.items()):
            place = {"operator_id": operator, "store_name": store, "change": change}
            yield place | {"operator_name": names.get(operator)} | total


def diff(
    old: Version,
    new: Version,
    batches: Iterable[pa.RecordBatch],
    problems: list[Problem],
    wanted: DiffWanted,
) -> Report:
    """The rows in ``batches`` (:data:`inspector.schemas.DIFF`), then how many there are."""
    counts = _Counts()
    table = Table(
        "diff",
        f"rows that differ between version {old[1]} and version {new[1]}",
        (*_COLUMNS, *(_RAW if wanted.raw else ())),
        _rows(old[0], new[0], batches, problems, (wanted, counts)),
        empty="none",
        wide=frozenset(("operator_name",)),
    )
    by_store = Table(
        "counts",
        "how many differ, listed or not",
        (*STORE, Column("change"), *(count(n) if n == "rows" else size(n) for n in _COUNTED)),
        # Read after the rows, when they are counted.
        _Later(counts, operator_names(new[0])),
        empty="nothing was compared",
    )
    return Report(
        "diff",
        new[0].root,
        _summary(old, new),
        (table, by_store),
        problems=problems,
        notes=wanted.notes,
    )


@dataclass(frozen=True)
class _Later:
    counts: _Counts
    names: Mapping[int, str]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.counts.rows(self.names)


def _summary(old: Version, new: Version) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for side, (checkpoint, version) in (("from", old), ("to", new)):
        head = identity(checkpoint, version)
        names = ("version", "batch_id", "committed", "watermark_ms", "batch_timestamp_ms")
        ids = ("checkpoint", "query_id") if old[0] is not new[0] else ()
        sides |= {f"{side}_{name}": head[name] for name in (*ids, *names)}
    if old[0] is not new[0]:
        return sides
    return {name: identity(*new)[name] for name in ("checkpoint", "query_id")} | sides


def _rows(
    old: Checkpoint,
    new: Checkpoint,
    batches: Iterable[pa.RecordBatch],
    problems: list[Problem],
    told: tuple[DiffWanted, _Counts],
) -> Iterator[dict[str, Any]]:
    wanted, counts = told
    names = operator_names(old) | operator_names(new)
    words = StoreWords(old, wanted.redact), StoreWords(new, wanted.redact)
    left = wanted.limit or -1
    for chunk in row_chunks(batches, problems):
        if chunk[0]["kind"] == "count":
            for row in chunk:
                counts.add(row)
            continue
        if not left:
            continue  # to the end all the same, for what follows is counted and may be a problem
        for row in _decoded(chunk, names, words, raw=wanted.raw):
            yield row
            left -= 1
            if not left:
                break


def _decoded(
    chunk: Sequence[Mapping[str, Any]],
    names: Mapping[int, str],
    words: tuple[StoreWords, StoreWords],
    *,
    raw: bool,
) -> Iterator[dict[str, Any]]:
    place = StoreName(chunk[0]["operator_id"], chunk[0]["store_name"])
    before, after = words
    of_key = before if chunk[0]["change"] == "removed" else after
    keys = of_key.keys(place, [row["key"] for row in chunk])
    olds = before.values(place, [row["old_value"] for row in chunk])
    values = after.values(place, [row["value"] for row in chunk])
    for row, key, old, value in zip(chunk, keys, olds, values, strict=True):
        told = {
            "operator_id": row["operator_id"],
            "operator_name": names.get(row["operator_id"]),
            "store_name": row["store_name"],
            "partition_id": row["partition_id"],
            "change": row["change"],
            "key": key,
            "old_value": old,
            "value": value,
        }
        for name in ("key", "old_value", "value"):
            told[f"{name}_bytes"] = None if row[name] is None else len(row[name])
            if raw:
                told[f"{name}_hex"] = after.hex(row[name])
        yield told
