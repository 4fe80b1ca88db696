"""Facts of all tasks, merged: small, and on the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from inspector.decode.field_sizes import RowBytes
from inspector.facts.ages import Ages
from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.sizes import SizeCounts
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.merge.resolution import Resolution, StoreName, habits_of
from inspector.model import Certainty, Problem, StoreId
from inspector.passes.join_times import settled

__all__ = ["Facts", "StoreName", "collect", "leftover_order"]


@dataclass
class Facts:
    """What the tasks of a run told.

    Attributes:
        versions: facts of each store at each version that could be made.
        leftovers: listed leftover keys, as rows of :data:`inspector.schemas.FACTS`.
        totals: of leftovers by class, whether listed or not; one row per store.
        problems: what could not be read.
        ages: when the live rows of each store were last put.
        calls: what is known of each group state's timers, by store and reading.
        retention: oldest event time of each join side's rows by version, in ms.
        joins: what is wrong between counters and rows: keys by store and slug.
        key_times: of each join whose rows tell it, which field of its key carries the watermark;
            an explanation of why nothing is left.
        prefixes: of each session window's store at each version.
        rewrites: how many live keys were put in exactly so many of the newest versions in a row.
        matched: rows of a join's side that have found a partner, and that have not, where that
            was asked for.
        fields: what the rows of each store take, by store and ``key`` or ``value``, where that was
            asked for.
        top: the keys that each partition ranks highest.
        leftover_ages: how many leftovers of each class expired at each version.
        resolution: which clock the timers of each group state followed, by all partitions together.
        undecided, undecided_totals: as ``leftovers`` and ``totals``, of keys that may be leftovers
            or not: the bytes allow both.
    """

    versions: dict[tuple[StoreId, int], VersionFacts] = field(default_factory=dict)
    leftovers: list[dict[str, Any]] = field(default_factory=list)
    totals: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    undecided: list[dict[str, Any]] = field(default_factory=list)
    undecided_totals: list[dict[str, Any]] = field(default_factory=list)
    ages: dict[StoreName, Ages] = field(default_factory=dict)
    calls: dict[tuple[StoreName, str], TimerCalls] = field(default_factory=dict)
    retention: dict[StoreName, dict[int, int]] = field(default_factory=dict)
    joins: dict[tuple[StoreName, str], int] = field(default_factory=dict)
    key_times: dict[int, tuple[int, ...]] = field(default_factory=dict)
    leftover_ages: list[dict[str, Any]] = field(default_factory=list)
    prefixes: dict[tuple[StoreId, int], PrefixFacts] = field(default_factory=dict)
    rewrites: dict[StoreName, SizeCounts] = field(default_factory=dict)
    matched: dict[StoreName, tuple[int, int]] = field(default_factory=dict)
    fields: dict[tuple[StoreName, str], RowBytes] = field(default_factory=dict)
    top: list[Mapping[str, Any]] = field(default_factory=list)
    resolution: Resolution = field(default_factory=Resolution)

    def stores(self) -> list[StoreName]:
        """Every store that told anything, sorted."""
        return sorted({(store.operator_id, store.store_name) for store, _ in self.versions})

    def by_store(self, version: int | None = None) -> dict[StoreName, dict[int, VersionFacts]]:
        """Facts summed over partitions: store -> version -> facts."""
        if version is None:
            return self._merged
        found = {name: versions.get(version) for name, versions in self._merged.items()}
        return {name: {version: one} for name, one in found.items() if one is not None}

    @cached_property
    def _merged(self) -> dict[StoreName, dict[int, VersionFacts]]:
        merged: dict[StoreName, dict[int, VersionFacts]] = {}
        for (store, of_version), facts in sorted(self.versions.items(), key=_by_version):
            one = merged.setdefault((store.operator_id, store.store_name), {})
            one[of_version] = one.get(of_version, VersionFacts()) + facts
        # Partitions do not all begin with the same version.
        return {name: dict(sorted(versions.items())) for name, versions in merged.items()}


def _by_version(item: tuple[tuple[StoreId, int], VersionFacts]) -> tuple[StoreId, int]:
    return item[0]


def collect(batches: Iterable[pa.RecordBatch]) -> Facts:
    """Merge batches of schema :data:`inspector.schemas.FACTS`, in any order."""
    facts = Facts()
    against: dict[StoreName, dict[int, frozenset[str]]] = {}
    for row in _rows(batches):
        store = StoreId(row["operator_id"], row["store_name"], row["partition_id"])
        kind = row["kind"]
        if kind == "version":
            facts.versions[store, row["version"]] = VersionFacts.from_columns(row)
        elif kind == "prefixes":
            facts.prefixes[store, row["version"]] = PrefixFacts.from_columns(row)
        elif kind == "problem":
            facts.problems.append(Problem.from_row(row))
        elif kind == "timers":
            of_store = against.setdefault(_name(row), {})
            here = of_store.get(row["version"], frozenset())
            of_store[row["version"]] = here | {row["timeout_kind"]}
        elif kind in LIFE:
            LIFE[kind](facts, row)
        else:
            (facts.leftovers if kind == "leftover" else facts.totals).append(row)
    facts.key_times = settled(facts.joins)
    _resolve(facts, against)
    facts.leftovers.sort(key=leftover_order)
    facts.undecided.sort(key=leftover_order)
    facts.problems.sort(key=_problem_order)
    return facts


def _add_window(facts: Facts, row: Mapping[str, Any]) -> None:
    ages = Ages(
        window_version=row["window_version"],
        first_known=row["first_known"],
        oldest_ms=row["oldest_ms"],
        newest_ms=row["newest_ms"],
    )
    facts.ages[_name(row)] = facts.ages.get(_name(row), Ages()) + ages


def _add_age(facts: Facts, row: Mapping[str, Any]) -> None:
    put = row["last_put_version"]
    ages = Ages(Counter({put: row["rows"]}), Counter({put: row["value_bytes"]}))
    facts.ages[_name(row)] = facts.ages.get(_name(row), Ages()) + ages


def _add_calls(facts: Facts, row: Mapping[str, Any]) -> None:
    place = _name(row), row["timeout_kind"]
    facts.calls[place] = facts.calls.get(place, TimerCalls()) + TimerCalls.from_columns(row)


def _add_retention(facts: Facts, row: Mapping[str, Any]) -> None:
    oldest = facts.retention.setdefault(_name(row), {})
    oldest[row["version"]] = min(row["oldest_ms"], oldest.get(row["version"], row["oldest_ms"]))


def _add_join(facts: Facts, row: Mapping[str, Any]) -> None:
    place = _name(row), row["slug"]
    facts.joins[place] = facts.joins.get(place, 0) + row["bad_keys"]


def _add_matched(facts: Facts, row: Mapping[str, Any]) -> None:
    matched, unmatched = facts.matched.get(_name(row), (0, 0))
    facts.matched[_name(row)] = (matched + row["matched_rows"], unmatched + row["unmatched_rows"])


def _add_fields(facts: Facts, row: Mapping[str, Any]) -> None:
    place, found = (_name(row), row["side"]), RowBytes.from_columns(row)
    before = facts.fields.get(place)
    facts.fields[place] = found if before is None else before + found


def _add_rewrites(facts: Facts, row: Mapping[str, Any]) -> None:
    runs = SizeCounts.from_flat(row["set_sizes"])
    facts.rewrites[_name(row)] = facts.rewrites.get(_name(row), SizeCounts()) + runs


LIFE: Mapping[str, Callable[[Facts, Mapping[str, Any]], None]] = {
    "window": _add_window,
    "age": _add_age,
    "calls": _add_calls,
    "retention": _add_retention,
    "join": _add_join,
    "rewrites": _add_rewrites,
    "matched": _add_matched,
    "fields": _add_fields,
    "top": lambda facts, row: facts.top.append(row),
    "leftover_age": lambda facts, row: facts.leftover_ages.append(dict(row)),
}
"""Facts on rows and their lives, and what takes each up."""


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    for batch in batches:
        yield from batch.to_pylist()


def _resolve(facts: Facts, against: Mapping[StoreName, Mapping[int, frozenset[str]]]) -> None:
    """Give the leftovers the certainty that they have by all partitions together."""
    kinds = {kind for _, kind in facts.calls}
    given = next(iter(kinds)) if len(kinds) == 1 else None
    facts.resolution = Resolution(against, given, habits_of(facts.calls))
    facts.leftovers, facts.undecided = _decided(facts, facts.leftovers)
    facts.totals, facts.undecided_totals = _decided(facts, facts.totals)
    facts.leftover_ages, _ = _decided(facts, facts.leftover_ages)


def _decided(
    facts: Facts, rows: Iterable[dict[str, Any]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Facts about leftovers that are decided, and those that are not."""
    found = [row for row in map(facts.resolution.resolve, rows) if row is not None]
    open_ = Certainty.UNDECIDED.value
    return (
        [row for row in found if row["certainty"] != open_],
        [row for row in found if row["certainty"] == open_],
    )


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
