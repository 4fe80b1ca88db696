"""The facts of all tasks of a run, merged on the driver."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import Any

import pyarrow as pa

from inspector.decode.field_sizes import RowBytes
from inspector.facts.ages import OldestEventTime
from inspector.facts.checks import ChecksPassed, ReadProblem
from inspector.facts.expired import LeftoverClass
from inspector.facts.fact import Fact, FactT, Observed, VersionSumT
from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.join_rows import KeyTimeVotes, RemovedRows
from inspector.facts.leftover_facts import Leftover, LeftoverAge, LeftoverCount, LeftoverT
from inspector.facts.registry import facts_in
from inspector.facts.size_distributions import FieldSizes
from inspector.facts.timer_runs import CallsByClock, TimerCalls
from inspector.facts.timers import ClockEvidence
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import replace
from inspector.merge.resolution import Resolution, habits_of
from inspector.model import Certainty, Problem, StoreId, StoreName, TimeoutKind
from inspector.operators.rule import RowPart
from inspector.sums import sum_of

Path = tuple[int, ...]  # Ordinals of a field, from the key row inwards.


def collect(batches: Iterable[pa.RecordBatch]) -> Facts:
    """Return the facts of batches, which may come in any order.

    UnknownFactError: a batch has facts of a kind that is not declared.
    """
    return Facts(observation for batch in batches for observation in facts_in(batch))


class Facts:
    """Facts that the tasks of a run emitted, by type, and judgements that need all of them."""

    def __init__(self, observed: Iterable[Observed[Any]] = ()) -> None:
        self._observed: dict[type[Fact], list[Observed[Any]]] = {}
        self._merged: dict[type[Fact], dict[StoreName, dict[Hashable, Any]]] = {}
        self._resolved: dict[type[Fact], list[Any]] = {}
        for observation in observed:
            self._observed.setdefault(type(observation.fact), []).append(observation)

    def of(self, kind: type[FactT]) -> list[Observed[FactT]]:
        """Return all facts of a type, as they were observed; an empty list if there are none."""
        return self._observed.get(kind, [])

    def of_store(self, kind: type[FactT], name: StoreName) -> list[FactT]:
        """Return the facts of one kind about one store, from all partitions."""
        return [item.fact for item in self.of(kind) if item.store.name == name]

    def merged(self, kind: type[FactT]) -> dict[StoreName, dict[Any, FactT]]:
        """Return the facts of a type, summed over all partitions: store -> merge key -> fact."""
        if kind not in self._merged:
            parts: dict[StoreName, dict[Hashable, list[FactT]]] = {}
            for seen in self.of(kind):
                store_parts = parts.setdefault(seen.store.name, {})
                store_parts.setdefault(seen.fact.merge_key(seen.version), []).append(seen.fact)
            self._merged[kind] = {
                name: {key: sum_of(facts) for key, facts in facts_by_key.items()}
                for name, facts_by_key in parts.items()
            }
        merged: dict[StoreName, dict[Any, FactT]] = self._merged[kind]
        return merged

    def sums(self, kind: type[FactT]) -> dict[StoreName, FactT]:
        """Return the facts of a type that all add up: one fact for each store."""
        return {name: fact for name, facts in self.merged(kind).items() for fact in facts.values()}

    @cached_property
    def versions(self) -> dict[tuple[StoreId, int], VersionFacts]:
        """Facts of each version that could be made, by (store, version).

        If the engine merged the results, only the judged version and the one before it are by
        partition. The store of an older version then has the partition ``ALL_PARTITIONS``.
        """
        return self._by_place(VersionFacts)

    @cached_property
    def prefixes(self) -> dict[tuple[StoreId, int], PrefixFacts]:
        """Facts about the grouping keys of session windows, by store and version."""
        return self._by_place(PrefixFacts)

    def _by_place(self, kind: type[VersionSumT]) -> dict[tuple[StoreId, int], VersionSumT]:
        """Return the facts of a type, summed by (store, version)."""
        facts: dict[tuple[StoreId, int], VersionSumT] = {}
        for observation in self.of(kind):
            store_version, fact = (observation.store, observation.version), observation.fact
            facts[store_version] = facts[store_version] + fact if store_version in facts else fact
        return facts

    def by_store(self, version: int | None = None) -> dict[StoreName, dict[int, VersionFacts]]:
        """Return facts summed over partitions: store -> version -> facts.

        With ``version`` only that version is returned, and only stores that have it.
        """
        merged = self._facts_by_version
        if version is None:
            return merged
        return {
            name: {version: facts[version]} for name, facts in merged.items() if version in facts
        }

    def of_version(self, name: StoreName, version: int) -> VersionFacts:
        """Return the facts of a store at one version, summed over partitions.

        All numbers are 0 if no partition could restore the version.
        """
        return self._facts_by_version.get(name, {}).get(version, VersionFacts())

    def total(self, version: int) -> VersionFacts:
        """Return the facts of a version, summed over all stores and partitions that have it."""
        version_facts = (facts for (_, v), facts in self.versions.items() if v == version)
        return sum(version_facts, VersionFacts())

    @cached_property
    def _facts_by_version(self) -> dict[StoreName, dict[int, VersionFacts]]:
        """Facts summed over partitions, sorted: store -> version -> facts."""
        merged = sorted(self.merged(VersionFacts).items())
        return {name: dict(sorted(versions.items())) for name, versions in merged}

    @cached_property
    def fields(self) -> dict[tuple[StoreName, RowPart], RowBytes]:
        """Bytes of the columns of keys and of values, by store; empty if not requested."""
        return {
            (name, sizes.side): sizes.rows
            for name, side_sizes in self.merged(FieldSizes).items()
            for sizes in side_sizes.values()
            if sizes.side is not None
        }

    @cached_property
    def problems(self) -> list[Problem]:
        """Problems of reading, ordered by store, partition and file."""
        problems = (seen.fact.problem(seen.store) for seen in self.of(ReadProblem))
        return sorted(problems, key=_problem_order)

    @cached_property
    def checks(self) -> ChecksPassed:
        """Sum of the checks that passed, over all files."""
        return sum((observation.fact for observation in self.of(ChecksPassed)), ChecksPassed())

    @cached_property
    def retention(self) -> dict[StoreName, dict[int, int]]:
        """Oldest event time of the rows of each join side by version, in ms."""
        return {
            name: {
                v: facts.oldest_ms for v, facts in versions.items() if facts.oldest_ms is not None
            }
            for name, versions in self.merged(OldestEventTime).items()
        }

    @cached_property
    def key_times(self) -> dict[int, Path]:
        """Path of the key field that carries the watermark, by join operator.

        Joins whose rows do not show such a field are left out.
        """
        return times_with_watermark(self.merged(KeyTimeVotes), self.sums(RemovedRows))

    @cached_property
    def calls(self) -> dict[tuple[StoreName, TimeoutKind], TimerCalls]:
        """Calls of each group state's function, by store and clock of its timers.

        It is not known which clock the timers followed: the calls are counted under each one.
        """
        return {
            (name, clock_calls.timeout_kind): clock_calls.calls
            for name, kind_calls in self.merged(CallsByClock).items()
            for clock_calls in kind_calls.values()
            if clock_calls.timeout_kind is not None
        }

    @cached_property
    def resolution(self) -> Resolution:
        """Evidence of all partitions on which clock each group state's timers followed."""
        against = {
            name: {version: evidence.against for version, evidence in version_evidence.items()}
            for name, version_evidence in self.merged(ClockEvidence).items()
        }
        kinds = {kind for _, kind in self.calls}
        user_clock = next(iter(kinds)) if len(kinds) == 1 else None
        return Resolution(against, user_clock, habits_of(self.calls))

    def _about_keys(
        self, kind: type[LeftoverT], *, undecided: bool = False
    ) -> list[Observed[LeftoverT]]:
        """Return the resolved facts of a type: about sure leftovers, or about undecided ones."""
        if kind not in self._resolved:
            self._resolved[kind] = list(self.resolution.resolve_all(self.of(kind)))
        resolved: list[Observed[LeftoverT]] = self._resolved[kind]
        return [
            leftover
            for leftover in resolved
            if (leftover.fact.certainty is Certainty.UNDECIDED) is undecided
        ]

    @cached_property
    def leftovers(self) -> list[Observed[Leftover]]:
        """The listed leftover keys, in :func:`leftover_order`."""
        return sorted(self._about_keys(Leftover), key=leftover_order)

    @cached_property
    def undecided(self) -> list[Observed[Leftover]]:
        """Keys that may be leftovers: the bytes allow both answers. Sorted like leftovers."""
        return sorted(self._about_keys(Leftover, undecided=True), key=leftover_order)

    @cached_property
    def totals(self) -> list[Observed[LeftoverCount]]:
        """Numbers of leftovers, including keys that are not listed.

        There is one count for each partition and judgement. They are not summed over partitions.
        """
        return self._about_keys(LeftoverCount)

    @cached_property
    def undecided_totals(self) -> list[Observed[LeftoverCount]]:
        """Numbers of keys that may be leftovers: one count for each partition and judgement.

        The counts are not summed over partitions.
        """
        return self._about_keys(LeftoverCount, undecided=True)

    def provable(self, name: StoreName) -> dict[TimeoutKind, int]:
        """Return by clock how many more leftovers are proven if the user names that clock.

        Clocks that a batch contradicts, and clocks that prove nothing more, are left out.
        """
        if all(total.store.name != name for total in self.undecided_totals):
            return {}
        provable = {}
        for kind in TimeoutKind:
            if self.resolution.may_name(name, kind):
                named = replace(self.resolution, user_clock=kind).resolve_all(
                    self.of(LeftoverCount)
                )
                provable[kind] = _stuck(named, name) - _stuck(self.totals, name)
        return {kind: keys for kind, keys in provable.items() if keys}

    @cached_property
    def leftover_ages(self) -> list[Observed[LeftoverAge]]:
        """Numbers of leftovers, by store, judgement and the version at which they expired.

        Entries of several partitions may be equal in all of these. Callers must sum them.
        """
        return self._about_keys(LeftoverAge)


def times_with_watermark(
    votes: Mapping[StoreName, Mapping[Path, KeyTimeVotes]], removed: Mapping[StoreName, RemovedRows]
) -> dict[int, Path]:
    """Return, by join operator, the path of the key field that carries the watermark.

    Such a field is the event time of all rows that have one, on one side at least. Some of these
    rows were removed when due, none before or after, and no row of either side should be gone. A
    join with no such field, or with two, is left out. The result explains why nothing is left; it
    is never the proof of a leftover (:mod:`inspector.facts.join_rows`).
    """
    result: dict[int, set[Path]] = {}
    covered = {
        (store.operator_id, path)
        for store, path_votes in votes.items()
        for path, vote in path_votes.items()
        if vote.covered
    }
    for store, path_votes in votes.items():
        went = removed.get(store, RemovedRows())
        if not went.on_time or went.off_time:
            continue
        for path, vote in path_votes.items():
            if vote.same and not vote.other and (store.operator_id, path) not in covered:
                result.setdefault(store.operator_id, set()).add(path)
    return {operator: paths.pop() for operator, paths in result.items() if len(paths) == 1}


def count_covered_rows(votes: Mapping[Path, KeyTimeVotes]) -> int:
    """Return how many rows a time in the key, equal to all event times, should have removed.

    The highest number of such times counts; 0 if there is none.
    """
    return max((vote.covered for vote in votes.values() if vote.same and not vote.other), default=0)


def _stuck(counts: Iterable[Observed[LeftoverCount]], name: StoreName) -> int:
    """Return the number of proven leftovers of a store, without keys whose timer was set again."""
    return sum(
        observation.fact.rows
        for observation in counts
        if observation.store.name == name
        and observation.fact.certainty is Certainty.PROVEN
        and observation.fact.leftover_class is not LeftoverClass.REARMED
    )


def _problem_order(problem: Problem) -> tuple[Any, ...]:
    """Return a sort key of a problem: store, path, offset, slug and message."""
    store = problem.store
    position = (store.operator_id, store.partition_id) if store else (-1, -1)
    return (*position, problem.path or "", problem.offset or 0, problem.slug, problem.message)


def leftover_order(observation: Observed[Leftover]) -> tuple[Any, ...]:
    """Return a sort key: oldest first, then largest; ties by store, partition and key."""
    return (
        observation.fact.expired_version,
        -observation.fact.row_bytes,
        observation.store.name,
        observation.store.partition_id,
        observation.fact.key,
    )
