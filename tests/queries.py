"""Group-state queries by Spark's rules, which keep their own account of every timer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from hypothesis import strategies as st

from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.expired import Clocks, LeftoverClass
from inspector.facts.registry import fact_batches
from inspector.facts.timer_runs import TimerRuns
from inspector.facts.timers import Calls, TimerPremises, TimerRecords, calls_of
from inspector.merge.collect import Facts, collect
from inspector.model import NO_TIMEOUT, BatchClock, BatchId, Certainty, StoreId, TimeoutKind
from inspector.passes.life_of_rows import Lifetime
from inspector.passes.tracked import tracking
from inspector.sparktypes.schema_json import to_json
from inspector.state.replay import StateMap
from tests import cases
from tests.cases import Step
from tests.encode import Record

EVENT, PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME
NO_TIMER = NO_TIMEOUT
OTHER = {EVENT: PROCESSING, PROCESSING: EVENT}

SCALA = TimerPremises(clears_timers=True)
PANDAS = TimerPremises()
LAGS = TimerPremises(exact_watermark=False)
BELOW = TimerPremises(only_sources_feed=False)
"""Below an operator that emits by the clock."""

STORE = StoreTask(
    "default",
    (),
    to_json(cases.USER),
    to_json(cases.GROUP_STATE),
    cases.TIMER,
    timeout_kinds=(EVENT, PROCESSING),
)
"""Of pandas, with both clocks possible."""


def clock(
    version: int, watermark: int | None = 0, now: int | None = None, data: bool | None = True
) -> BatchClock:
    """The clocks of the batch that made a version; a second a batch if not told."""
    at = 1000 * version if now is None else now
    return BatchClock(BatchId(version - 1), at, watermark, True, data)


def clocks_of(clocks: Sequence[BatchClock]) -> dict[int, BatchClock]:
    return {item.batch_id: item for item in clocks}


class History(NamedTuple):
    """A replayed history of timers, and what it tells: by version, who made the records."""

    state: StateMap
    calls: Mapping[int, Calls]
    runs: TimerRuns


def follow(
    steps: Sequence[Step],
    clocks: Sequence[BatchClock],
    premises: TimerPremises = PANDAS,
    kinds: Sequence[TimeoutKind] = (EVENT, PROCESSING),
) -> History:
    """Replay a history of timers, and gather what it tells of them, as an audit does."""
    by_batch = clocks_of(clocks)
    state = StateMap(cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE))
    runs, calls = TimerRuns(kinds, premises), {}
    for version, step in enumerate(steps, 1):
        records = TimerRecords.of(cases.take_step(state, version, step), state)
        batch = by_batch.get(version - 1)
        calls[version] = calls_of(records, batch, premises)
        runs.update(records, state, batch, calls[version])
    return History(state, calls, runs)


def clocks_by_step(state: StateMap, clocks: Sequence[BatchClock]) -> Clocks:
    """The clocks of a replayed history."""
    return Clocks.of(state.versions, clocks_of(clocks))


def facts_of(
    partitions: Sequence[Sequence[Step]],
    clocks: Sequence[BatchClock],
    store: StoreTask = STORE,
    base: int = 0,
) -> Facts:
    """What the partitions of a store tell together, judged at its last version.

    With a base, the steps up to that version are not there, and its own is a snapshot.
    """
    first, result = max(base, 1), list[cases.Seen]()
    for partition, steps in enumerate(partitions):
        of_partition = StoreId(0, store.store_name, partition)
        version = first + len(steps) - 1
        task = Task("", "", {}, 0, partition, version, (store,), tuple(clocks))
        state = StateMap(tracking(store))
        life = Lifetime(task, store, of_partition, state)
        for number, step in enumerate(steps, first):
            result += life.update(cases.take_step(state, number, step))
        result += life.emit()
    return collect(fact_batches(result))


def idle_versions(clocks: Sequence[BatchClock]) -> tuple[int, ...]:
    """Versions whose batches were followed by one that only their timeout can have called for."""
    return tuple(
        before.batch_id + 1
        for before, after in pairwise(clocks)
        if after.has_new_data is False and after.watermark_ms == before.watermark_ms
    )


@dataclass(frozen=True)
class Call:
    """What the function does when it is called; ``arm`` is a time after the earliest allowed."""

    update: bool = False
    remove: bool = False
    arm: int | None = None


@dataclass(frozen=True)
class Trigger:
    """One batch of a query.

    Attributes:
        watermark, time: by how much the clocks advance; the time may go back.
        data: what the function does with the keys that have new data; None for a batch without.
        timeouts: what it does when the timer of a key fires.
        order: the order in which timers fire.
        switch: a restart gave the timers the other clock.
        handed: as ``data``, of what an operator above hands on though the batch has no data.
    """

    watermark: int
    time: int
    data: dict[str, Call] | None
    timeouts: dict[str, Call]
    order: list[str]
    switch: bool = False
    handed: dict[str, Call] = field(default_factory=dict)


class Truth(NamedTuple):
    """A leftover by a query's own account.

    Attributes:
        version: of the batch that made it one. fired: versions in which its timer fired: since the
            put of one that stands; else since new data last wrote the key, up to that version.
    """

    kind: LeftoverClass
    version: int
    fired: tuple[int, ...]


@dataclass
class Query:
    """A group-state query by Spark's rules, which remembers what became of each timer.

    Attributes:
        pandas: by the rules of ``applyInPandasWithState``.
        kind: the clock of its timers. lag: of its own watermark behind that of the query.
        state: key -> state and timer.
        answered: keys whose last put answered a timeout -> version of that put.
        streak: versions in which the timer of a key fired since new data last wrote the key.
        fired: versions in which the timer of a key fired since the key's last put.
        by_timeout: of each batch, whether a timeout made each of its records.
        armed_by_data, unarmed_by_data: puts for new data, by whether they left a timer.
        quiet: versions of batches in which no data reached the function.
        deltas, clocks: what it left on disk. kinds: the clock of each batch.
    """

    pandas: bool
    kind: TimeoutKind
    lag: int = 0
    state: dict[str, tuple[int, int]] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)
    fired: dict[str, list[int]] = field(default_factory=dict)
    streak: dict[str, list[int]] = field(default_factory=dict)
    quiet: set[int] = field(default_factory=set)
    deltas: list[Step] = field(default_factory=list)
    by_timeout: list[list[bool]] = field(default_factory=list)
    clocks: list[BatchClock] = field(default_factory=list)
    kinds: list[TimeoutKind] = field(default_factory=list)
    thresholds: list[int] = field(default_factory=list)
    visits: int = 0
    armed_by_data: int = 0
    unarmed_by_data: int = 0

    def run(self, trigger: Trigger) -> None:
        """Run a batch: new data in order of keys, then the timers that have run out."""
        before = self.clocks[-1] if self.clocks else clock(0, 0, now=100)
        if trigger.switch:
            self.kind = OTHER[self.kind]
        # Spark plans no batch without data, and with the old watermark, after one that followed
        # event time; one that processing time asked for may be run again by the other clock.
        asking = self.kinds[-1] if self.kinds else self.kind
        idle = trigger.data is None and not trigger.watermark and asking is EVENT
        watermark = (before.watermark_ms or 0) + trigger.watermark + idle
        now = (before.timestamp_ms or 0) + trigger.time
        version = len(self.deltas) + 1
        self.clocks.append(clock(version, watermark, now, trigger.data is not None))
        self.kinds.append(self.kind)
        own = max(watermark - self.lag, 0)
        self.thresholds.append(own if self.kind is EVENT else now)
        data = trigger.handed if trigger.data is None else trigger.data
        if trigger.data is None and not data:
            self.quiet.add(version)
        records: list[Record] = []
        for name in sorted(data):
            self._call(name, data[name], version, records, timed_out=False)
        is_by_timeout = [False] * len(records)
        for name in trigger.order:
            timer = self.state.get(name, (0, NO_TIMER))[1]
            if timer != NO_TIMER and timer < self.thresholds[-1]:
                self.fired.setdefault(name, []).append(version)
                self.streak.setdefault(name, []).append(version)
                self._call(name, trigger.timeouts[name], version, records, timed_out=True)
        self.deltas.append(Step(records))
        self.by_timeout.append(is_by_timeout + [True] * (len(records) - len(is_by_timeout)))

    def _call(
        self, name: str, call: Call, version: int, records: list[Record], *, timed_out: bool
    ) -> None:
        """``InputProcessor.onIteratorCompletion``."""
        facts = name in self.state
        visits, stored = self.state.get(name, (0, NO_TIMER))
        earliest = self.thresholds[-1] + (self.kind is PROCESSING)
        timer = NO_TIMER if call.arm is None else earliest + call.arm
        if call.remove and timer == NO_TIMER:
            if facts:
                records.append((cases.user(name), None))
            for account in (self.state, self.answered, self.fired, self.streak):
                account.pop(name, None)
            return
        if not (call.update or call.remove or timer != (NO_TIMER if self.pandas else stored)):
            return
        if call.update:
            self.visits += 1
            visits = self.visits
        self.state[name] = visits, timer
        written = None if call.remove else visits
        records.append((cases.user(name), cases.group_state(written, timer)))
        self.fired.pop(name, None)
        self.answered.pop(name, None)
        if timed_out:
            self.answered[name] = version
        else:
            self.streak.pop(name, None)
            self.armed_by_data += timer != NO_TIMER
            self.unarmed_by_data += timer == NO_TIMER

    def account(self, base: int = 0, known_from: int = 1) -> dict[bytes, Truth]:
        """Its leftovers by its own account.

        Args:
            base: what was put up to this version is not known to have answered a timer.
            known_from: first version whose clocks are known.
        """
        result = {}
        for name, (_, timer) in self.state.items():
            if timer != NO_TIMER and timer < self.thresholds[-1]:
                fired = tuple(v for v in self.fired[name] if v >= max(base, known_from))
                result[cases.user(name)] = Truth(LeftoverClass.IGNORED_TIMEOUT, fired[0], fired)
            elif self.answered.get(name, 0) >= max(base + 1, known_from):
                kind = (
                    LeftoverClass.KEPT_WITHOUT_TIMEOUT
                    if timer == NO_TIMER
                    else LeftoverClass.REARMED
                )
                version = self.answered[name]
                fired = tuple(v for v in self.streak[name] if v <= version)
                result[cases.user(name)] = Truth(kind, version, fired)
        return result

    def on_disk(self, base: int) -> list[Step]:
        """Its deltas; with a base, a snapshot in place of those up to that version."""
        if not base:
            return self.deltas
        objects = cases.ObjectMap()
        for step in self.deltas[:base]:
            objects.take(step)
        rows = [(key.data, value.data) for key, value in objects.now.items()]
        return [*(Step([]) for _ in range(base - 1)), Step(rows, rebase=True), *self.deltas[base:]]


NAMES = ("a", "b", "c", "d", "e")
calls = st.builds(
    Call,
    update=st.booleans(),
    remove=st.sampled_from([False, False, False, True]),
    arm=st.none() | st.integers(0, 4),
).map(lambda call: Call(call.update and not call.remove, call.remove, call.arm))
triggers = st.builds(
    Trigger,
    watermark=st.integers(0, 3),
    time=st.integers(1, 3),
    data=st.none() | st.dictionaries(st.sampled_from(NAMES), calls),
    timeouts=st.fixed_dictionaries(dict.fromkeys(NAMES, calls)),
    order=st.permutations(NAMES),
)
quiet_triggers = triggers.map(lambda trigger: replace(trigger, data=None))


@dataclass(frozen=True)
class Workload:
    """Partitions of one query, run side by side, and what its place lets an audit know.

    Attributes:
        below: it is fed by an operator that emits by the clock.
        lags: its own watermark may lag behind that of the query.
    """

    partitions: Sequence[Query]
    batches: Sequence[Sequence[Trigger]]
    below: bool
    lags: bool

    def run(self) -> Iterator[int]:
        """Run it, and stop after every batch; gives its version."""
        for version, of_batch in enumerate(self.batches, 1):
            for query, trigger in zip(self.partitions, of_batch, strict=True):
                query.run(trigger)
            yield version

    @property
    def store(self) -> StoreTask:
        """The store, as the plan has it."""
        query = self.partitions[0]
        return replace(
            STORE,
            certainty=Certainty.INFERRED if self.lags else Certainty.PROVEN,
            only_sources_feed=not self.below,
            timers_always_clear=not query.pandas,
            processing_versions=idle_versions(query.clocks),
        )


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Both languages and clocks, restarts with the other clock, a time that goes back."""
    pandas, kind = draw(st.booleans()), draw(st.sampled_from(TimeoutKind))
    below, lag = draw(st.booleans()), draw(st.sampled_from([None, None, 0, 2]))
    switches = draw(st.sampled_from([0, 0, 1, 2]))
    length = draw(st.integers(2, 8))
    at = draw(st.lists(st.integers(1, 7), min_size=switches, max_size=switches))
    batches = []
    for number in range(length):
        first, second = draw(triggers), draw(triggers)
        back = draw(st.sampled_from([0, 0, 0, 4]))
        first = replace(first, switch=number in at, time=first.time - back)
        handed = draw(st.dictionaries(st.sampled_from(NAMES), calls)) if below else {}
        first = replace(first, handed=handed)
        data = None if first.data is None else second.data or {}
        alike = replace(first, data=data, timeouts=second.timeouts, order=second.order, handed={})
        batches.append((first, alike))
    partitions = [Query(pandas, kind, lag or 0) for _ in range(2)]
    return Workload(partitions, batches, below, lag is not None)
