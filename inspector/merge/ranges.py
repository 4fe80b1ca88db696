"""Facts of a partition, made from the facts of ranges of its keys as if one task had read them all.

Most facts add up, as they do over partitions. This module has a rule for each fact that does not:
for keys that are listed, and for facts about files, which every range reads.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from heapq import nlargest
from operator import attrgetter
from typing import Any, NamedTuple

from inspector.facts.checks import SNAPSHOT_DIFFERS, ReadProblem, SnapshotDiffers
from inspector.facts.expired import Needs
from inspector.facts.fact import Fact, Observed
from inspector.facts.join_rows import RowsTimedByKey, RowsTimedInRange
from inspector.facts.largest_fields import LargestField, largest_rows
from inspector.facts.leftover_facts import JudgedLeftover, Leftover, LeftoverCount, list_of_ranges
from inspector.facts.timers import EVENT, ClockEvidence
from inspector.facts.top_keys import SampledKey, TopKey, first_keys
from inspector.facts.variable_entries import EntriesPerKey, KeyEntries
from inspector.light_dataclasses import fields, replace
from inspector.model import Problem, StoreId, TimeoutKind
from inspector.sums import lesser, sum_of, sum_or_none

Place = tuple[int, int]  # Operator id and partition id.


class Listed(NamedTuple):
    """Most keys that one task lists of each kind."""

    top: int = 0  # keys of each ranking
    leftovers: int = 0  # leftovers of each group; 0 for all
    sampled: int = 0  # keys that were put last


_JUDGEMENT = tuple(f.name for f in fields(JudgedLeftover))  # fields of the judgement of a leftover
# fields of the judgement without the version of expiry: leftovers with equal ones are counted
# together
_GROUP = tuple(name for name in _JUDGEMENT if name != "expired_version")
# fields in which leftovers are equal that are listed together
_LISTED = tuple(name for name in _GROUP if name not in ("clock_version", "by_either_clock"))


def fold_ranges(
    observations: Iterable[Observed[Any]], split: Mapping[Place, Listed]
) -> Iterator[Observed[Any]]:
    """Yield facts with the ranges of split partitions folded into one fact for each partition.

    ``split`` has by operator and partition the numbers of keys that a task lists.

    Yields:
        Facts of other partitions as they come, then the facts of the split ones.
    """
    parts: list[Observed[Any]] = []
    # Clocks that the timers of a store and version cannot have followed, as all ranges show it.
    clocks: dict[tuple[StoreId, int | None], frozenset[TimeoutKind]] = defaultdict(frozenset)
    entries: Counter[tuple[StoreId, int]] = Counter()
    for observation in observations:
        fact, store, version = observation.fact, observation.store, observation.version
        if (store.operator_id, store.partition_id) not in split:
            yield observation
            continue
        parts.append(observation)
        if isinstance(fact, ClockEvidence):
            clocks[store, version] |= fact.against
        elif isinstance(fact, EntriesPerKey):
            entries[store, version] += fact.entries
    groups: dict[Hashable, list[Observed[Any]]] = defaultdict(list)
    for observation in parts:
        fact, store, version = observation.fact, observation.store, observation.version
        is_leftover = isinstance(fact, JudgedLeftover)
        if is_leftover and _is_contradicted(fact, clocks.get((store, fact.clock_version))):
            continue
        common_fields = _IN_COMMON.get(type(fact))
        common = fact.merge_key(version) if common_fields is None else common_fields(fact)
        groups[type(fact), store, version, common].append(observation)
    for alike in groups.values():
        store, version = alike[0].store, alike[0].version
        listed = split[store.operator_id, store.partition_id]
        entry_facts = entries[store, version]
        for fact in _of_partition([one.fact for one in alike], store, listed, entry_facts):
            yield Observed(store, version, fact)


def _is_contradicted(fact: JudgedLeftover, against: frozenset[TimeoutKind] | None) -> bool:
    """Return True if another key range contradicts the clock by which a key is a leftover.

    ``against`` are the clocks that the leftover's batch cannot have followed, by all ranges; None
    if no range has evidence. It contradicts only if it is exactly the leftover's own clock, not if
    it has both clocks. The result is always False for a leftover without a timer, and for one from
    before the window. See :mod:`inspector.facts.timed_out`.
    """
    # A leftover by both clocks is found with the watermark.
    is_dated = fact.clock_version is not None and fact.needs is not Needs.BEFORE_WINDOW
    return is_dated and against == frozenset([fact.timeout_kind or EVENT])


_IN_COMMON: Mapping[type[Fact], Callable[[Any], Hashable]] = {
    TopKey: attrgetter("by"),
    LargestField: attrgetter("side", "ordinal"),
    Leftover: attrgetter(*_LISTED, "group"),
    LeftoverCount: attrgetter(*_GROUP, "group"),
    SnapshotDiffers: attrgetter("path"),
    ReadProblem: lambda problem: problem,
    RowsTimedInRange: lambda _: "",
    KeyEntries: lambda _: "",
}
"""Function for each type of fact, by which facts of two ranges become one if its results are equal.
Facts of other types are grouped by their merge key.
"""


def _of_partition(facts: list[Any], store: StoreId, listed: Listed, entries: int) -> Iterable[Fact]:
    """Return the facts of a partition that replace the facts of its ranges.

    All ``facts`` have one type. Facts without a rule of their own are summed.
    """
    special: dict[type[Fact], Callable[[], Iterable[Fact]]] = {
        TopKey: lambda: first_keys(facts, listed.top),
        LargestField: lambda: largest_rows(facts, listed.top),
        Leftover: lambda: list_of_ranges(facts, listed.leftovers),
        LeftoverCount: lambda: [_count(facts)],
        SnapshotDiffers: lambda: [_problem(facts, store)],
        ReadProblem: lambda: facts[:1],
        SampledKey: lambda: nlargest(listed.sampled, facts, key=lambda sampled: sampled.order),
        KeyEntries: lambda: [key for key in facts if key.is_listed(entries)],
        # For each time of a key, the rows of all ranges with that time.
        RowsTimedInRange: lambda: [
            RowsTimedByKey(
                max(map(sum, zip(*(votes.rows for votes in facts), strict=True)), default=0)
            )
        ],
    }
    make = special.get(type(facts[0]))
    return [sum_of(facts)] if make is None else make()


def _problem(differences: Sequence[SnapshotDiffers], store: StoreId) -> ReadProblem:
    """Return one problem with the summed differences that all ranges found in a snapshot."""
    difference = sum_of([fact.difference for fact in differences])
    path, version = differences[0].path, differences[0].file_version
    problem = Problem(SNAPSHOT_DIFFERS, difference.text, path, None, store, version)
    return ReadProblem.observe(problem, store, version or 0).fact


def _count(counts: Sequence[LeftoverCount]) -> LeftoverCount:
    """Return one count of leftovers for a partition, from the counts of its ranges."""
    names = ("rows", "key_bytes", "value_bytes", "untouched", "changed", "empty")
    sums: Any = {name: sum_or_none(getattr(count, name) for count in counts) for name in names}
    return replace(
        counts[0],
        expired_version=min(count.expired_version for count in counts),
        first_expired_version=reduce(lesser, [count.first_expired_version for count in counts]),
        fired=max(count.fired for count in counts),
        **sums,
    )
