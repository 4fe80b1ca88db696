"""Facts of all tasks, merged: small, and on the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from inspector.measure.versions import VersionFacts
from inspector.model import Problem, StoreId

StoreName = tuple[int, str]
"""Operator id and store name: one store over all partitions."""


@dataclass
class Facts:
    """What the tasks of a run told.

    Attributes:
        versions: facts of each store at each version that could be made.
        leftovers: listed leftover keys, as rows of :data:`inspector.schemas.FACTS`.
        totals: of leftovers by class, whether listed or not; one row per store.
        problems: what could not be read.
        undecided: group states whose timers may follow either clock, and which would have other
            leftovers under the one than under the other.
    """

    versions: dict[tuple[StoreId, int], VersionFacts] = field(default_factory=dict)
    leftovers: list[dict[str, Any]] = field(default_factory=list)
    totals: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    undecided: list[StoreName] = field(default_factory=list)

    def stores(self) -> list[StoreName]:
        """Every store that told anything, sorted."""
        return sorted({(store.operator_id, store.store_name) for store, _ in self.versions})

    def by_store(self, version: int | None = None) -> dict[StoreName, dict[int, VersionFacts]]:
        """Facts summed over partitions: store -> version -> facts."""
        merged: dict[StoreName, dict[int, VersionFacts]] = {}
        for (store, of_version), facts in sorted(self.versions.items(), key=_by_version):
            if version in (None, of_version):
                one = merged.setdefault((store.operator_id, store.store_name), {})
                one[of_version] = one.get(of_version, VersionFacts()) + facts
        return merged


def _by_version(item: tuple[tuple[StoreId, int], VersionFacts]) -> tuple[StoreId, int]:
    return item[0]


def collect(batches: Iterable[pa.RecordBatch]) -> Facts:
    """Merge batches of schema :data:`inspector.schemas.FACTS`, in any order."""
    facts = Facts()
    readings: dict[StoreName, set[str]] = {}
    for row in _rows(batches):
        store = StoreId(row["operator_id"], row["store_name"], row["partition_id"])
        kind = row["kind"]
        if kind == "version":
            facts.versions[store, row["version"]] = VersionFacts.from_columns(row)
        elif kind == "problem":
            facts.problems.append(_problem(row, store))
        elif kind == "timers":
            possible = set(row["timeout_kind"].split(","))
            readings[_name(row)] = readings.get(_name(row), possible) & possible
        else:
            (facts.leftovers if kind == "leftover" else facts.totals).append(row)
    _settle(facts, readings)
    facts.leftovers.sort(key=leftover_order)
    facts.problems.sort(key=_problem_order)
    return facts


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _problem(row: Mapping[str, Any], store: StoreId) -> Problem:
    return Problem(row["slug"], row["message"], row["path"], row["offset"], store, row["version"])


def _settle(facts: Facts, readings: Mapping[StoreName, set[str]]) -> None:
    """Keep one reading of each store's timers: what no partition has proof against.

    A partition without proof of its own tells its leftovers under both readings. Where no partition
    has any, or they contradict each other, neither is kept and the store is named ``undecided``.
    """
    told = {_name(row) for row in facts.totals if row["timeout_kind"] is not None}
    facts.undecided = sorted(name for name in told if len(readings[name]) != 1)

    def kept(row: Mapping[str, Any]) -> bool:
        return row["timeout_kind"] is None or readings[_name(row)] == {row["timeout_kind"]}

    facts.leftovers = [row for row in facts.leftovers if kept(row)]
    facts.totals = [row for row in facts.totals if kept(row)]


def _name(row: Mapping[str, Any]) -> StoreName:
    return row["operator_id"], row["store_name"]


def _problem_order(problem: Problem) -> tuple[Any, ...]:
    place = (problem.store.operator_id, problem.store.partition_id) if problem.store else (-1, -1)
    return (*place, problem.path or "", problem.offset or 0, problem.slug, problem.message)


def leftover_order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Oldest first, then largest; ties by place and key, so that every engine lists them alike."""
    size = row["key_bytes"] + row["value_bytes"]
    place = (row["operator_id"], row["store_name"], row["partition_id"], row["key"])
    return (row["expired_version"], -size, *place)
