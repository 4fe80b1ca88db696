"""Group-state queries by Spark's rules, which keep their own account of every timer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from inspector.measure.clocks import Clocks
from inspector.measure.expired import LeftoverClass
from inspector.measure.timer_runs import TimerRuns
from inspector.measure.timers import TimerEvidence, TimerPuts, timer_evidence
from inspector.model import NO_TIMEOUT, BatchClock, BatchId, TimeoutKind
from inspector.state.replay import StateMap
from tests import cases
from tests.cases import Step
from tests.encode import Record

EVENT, PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME
NO_TIMER = NO_TIMEOUT


def clock(
    version: int, watermark: int | None = 0, now: int | None = None, data: bool | None = True
) -> BatchClock:
    """The clocks of the batch that made a version; a second a batch if not told."""
    at = 1000 * version if now is None else now
    return BatchClock(BatchId(version - 1), at, watermark, True, data)


def clocks_of(clocks: Sequence[BatchClock]) -> dict[int, BatchClock]:
    return {one.batch_id: one for one in clocks}


def follow(
    steps: Sequence[Step], clocks: Sequence[BatchClock]
) -> tuple[StateMap, TimerEvidence, TimerRuns]:
    """Replay a history of timers, and gather what it tells of them, as an audit does."""
    by_batch = clocks_of(clocks)
    state = StateMap(cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE))
    evidence, runs = TimerEvidence(), TimerRuns(TimeoutKind)
    for version, step in enumerate(steps, 1):
        state.begin(version, rebase=step.rebase)
        for each in cases.blocks(step.records, step.cuts):
            state.apply(each)
        puts = TimerPuts.of(state.end(), state)
        batch, found = by_batch.get(version - 1), TimerEvidence()
        if not step.rebase:
            found = timer_evidence(puts, batch)
        evidence += found
        order = {kind: one[version] for kind, one in found.order.items() if version in one}
        runs.update(puts, state, batch, order)
    return state, evidence, runs


def clocks_by_step(state: StateMap, clocks: Sequence[BatchClock]) -> Clocks:
    """The clocks of a replayed history."""
    return Clocks.of(state.versions, clocks_of(clocks))


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
        watermark, time: by how much the clocks advance.
        data: what the function does with the keys that have new data; None for a batch without.
        timeouts: what it does when the timer of a key fires.
        order: the order in which timers fire.
    """

    watermark: int
    time: int
    data: dict[str, Call] | None
    timeouts: dict[str, Call]
    order: list[str]


@dataclass
class Query:
    """A group-state query by Spark's rules, which remembers what became of each timer.

    Attributes:
        pandas: by the rules of ``applyInPandasWithState``.
        kind: the clock of its timers.
        state: key -> state and timer.
        answered: keys whose last put answered a timeout -> version of that put.
        streak: versions in which the timer of a key fired since new data last wrote the key.
        fired: versions in which the timer of a key fired since the key's last put.
        armed_by_data, unarmed_by_data: puts for new data, by whether they left a timer.
        quiet: versions of batches without new data.
        deltas, clocks: what it left on disk.
    """

    pandas: bool
    kind: TimeoutKind
    state: dict[str, tuple[int, int]] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)
    fired: dict[str, list[int]] = field(default_factory=dict)
    streak: dict[str, list[int]] = field(default_factory=dict)
    quiet: set[int] = field(default_factory=set)
    deltas: list[Step] = field(default_factory=list)
    clocks: list[BatchClock] = field(default_factory=list)
    thresholds: list[int] = field(default_factory=list)
    visits: int = 0
    armed_by_data: int = 0
    unarmed_by_data: int = 0

    def run(self, trigger: Trigger) -> None:
        """Run a batch: new data in order of keys, then the timers that have run out."""
        before = self.clocks[-1] if self.clocks else clock(0, 0, now=100)
        watermark = (before.watermark_ms or 0) + trigger.watermark
        now = (before.timestamp_ms or 0) + trigger.time
        version = len(self.deltas) + 1
        self.clocks.append(clock(version, watermark, now, trigger.data is not None))
        self.thresholds.append(watermark if self.kind is EVENT else now)
        if trigger.data is None:
            self.quiet.add(version)
        records: list[Record] = []
        for name in sorted(trigger.data or {}):
            self._call(name, (trigger.data or {})[name], version, records, timed_out=False)
        for name in trigger.order:
            timer = self.state.get(name, (0, NO_TIMER))[1]
            if timer != NO_TIMER and timer < self.thresholds[-1]:
                self.fired.setdefault(name, []).append(version)
                self.streak.setdefault(name, []).append(version)
                self._call(name, trigger.timeouts[name], version, records, timed_out=True)
        self.deltas.append(Step(records))

    def _call(
        self, name: str, call: Call, version: int, records: list[Record], *, timed_out: bool
    ) -> None:
        """``InputProcessor.onIteratorCompletion``."""
        known = name in self.state
        visits, stored = self.state.get(name, (0, NO_TIMER))
        earliest = self.thresholds[-1] + (self.kind is PROCESSING)
        timer = NO_TIMER if call.arm is None else earliest + call.arm
        if call.remove and timer == NO_TIMER:
            if known:
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

    def account(self, base: int, known_from: int) -> dict[bytes, tuple[LeftoverClass, int, int]]:
        """Its leftovers by its own account: class, version, how often the timer fired.

        Args:
            base: what was put up to this version is not known to have answered a timer.
            known_from: first version whose clocks are known.
        """
        found = {}
        for name, (_, timer) in self.state.items():
            if timer != NO_TIMER and timer < self.thresholds[-1]:
                fired = [v for v in self.fired[name] if v >= max(base, known_from)]
                found[cases.user(name)] = (LeftoverClass.IGNORED_TIMEOUT, fired[0], len(fired))
            elif self.answered.get(name, 0) >= max(base + 1, known_from):
                kind = (
                    LeftoverClass.KEPT_WITHOUT_TIMEOUT
                    if timer == NO_TIMER
                    else LeftoverClass.REARMED
                )
                found[cases.user(name)] = (kind, self.answered[name], 1)
        return found

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
