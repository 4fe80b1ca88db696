"""Judgement of leftovers that needs the evidence of all partitions.

Which clock the timers of a group state follow is not in the checkpoint, and a restart may change
it. A partition reports its leftovers under both; each batch in which any partition has proof
against one clock resolves those that hang on that batch. Where no record of the batch shows it, a
leftover that is one under both clocks stays proven; of one that hangs on the clock the batches
around it may show, which is worth what that inference was measured to be, and else it is undecided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from inspector.codec import Message
from inspector.facts.expired import UNLESS, LeftoverClass, Needs
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import JudgedLeftover, LeftoverT
from inspector.facts.timed_out import AMONG_DATA, BY_BOTH, DISPUTED, HELD_BACK
from inspector.facts.timer_runs import TimerCalls
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import Certainty, StoreName, TimeoutKind
from inspector.operators.inferences import INFERENCES

NEIGHBOURS = "no record of the batch shows which clock the timers follow; those of other batches do"
UNKNOWN_CLOCK = "the bytes do not show whether the timers follow event time or processing time"

KNOWN_ANSWERS = 6  # records surely made by timeouts from which on the answer to them is a habit
KNOWN_CALLS = 20  # puts surely made by new data from which on what they never did is no habit
_ALMOST_ALL = 0.95

_EVENT, _PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME


class ClockOf(NamedTuple):
    """The clock of a batch's timers, None if it is not known; and if its own records show it."""

    kind: TimeoutKind | None
    shown: bool


@dataclass(frozen=True)
class Resolution(Message):
    """Evidence of all partitions about the clocks of group states' timers."""

    # of each group state, by version, the clocks that its timers cannot have followed
    against: Mapping[StoreName, Mapping[int, frozenset[TimeoutKind]]] = field(default_factory=dict)
    user_clock: TimeoutKind | None = None  # the clock that the user named; None if none
    # store and clock with a need that the function's habits meet, or with a class of leftovers that
    # its timeouts never leave
    habits: frozenset[tuple[StoreName, TimeoutKind, str]] = frozenset()

    def clock_of(self, name: StoreName, version: int) -> ClockOf:
        """The clock that the timers of a store followed in the batch of a version."""
        if self.user_clock is not None:
            return ClockOf(self.user_clock, shown=True)
        evidence = self.against.get(name, {})
        if version in evidence:
            kind = _remaining(evidence[version])
            return ClockOf(kind, shown=kind is not None)
        older = [step for step in sorted(evidence) if step < version][-1:]
        newer = [step for step in sorted(evidence) if step > version][:1]
        neighbours = {_remaining(evidence[step]) for step in (*older, *newer)}
        return ClockOf(neighbours.pop() if len(neighbours) == 1 else None, shown=False)

    def may_have_changed(self, name: StoreName, version: int) -> bool:
        """Return whether a restart may have changed a store's clock.

        It may, if no batch from ``version`` on shows the clock.
        """
        later = any(step >= version for step in self.against.get(name, {}))
        return self.user_clock is None and not later

    def usual_clock(self, name: StoreName) -> TimeoutKind | None:
        """The clock that a store's timers follow in every batch that shows one."""
        if self.user_clock is not None:
            return self.user_clock
        kinds = {_remaining(against) for against in self.against.get(name, {}).values()}
        return kinds.pop() if len(kinds) == 1 else None

    def may_name(self, name: StoreName, kind: TimeoutKind) -> bool:
        """Return whether the user may name ``kind``: none is named, and no batch contradicts it."""
        against = self.against.get(name, {}).values()
        return self.user_clock is None and not any(kind in batch_kinds for batch_kinds in against)

    def resolve_all(
        self, observations: Iterable[Observed[LeftoverT]]
    ) -> Iterator[Observed[LeftoverT]]:
        """Facts about leftovers with the certainty that they have; without those that are none."""
        for observation in observations:
            fact = self.resolve(observation.store.name, observation.version, observation.fact)
            if fact is not None:
                yield Observed(observation.store, observation.version, fact)

    def resolve(self, name: StoreName, version: int, leftover: LeftoverT) -> LeftoverT | None:
        """A fact about leftovers with the certainty that it has; None if it is none."""
        if leftover.clock_version is None:
            return leftover  # of an operator without timers
        again_by = None if leftover.needs is None else UNLESS.get(leftover.needs)
        if again_by and self.clock_of(name, version).kind is not again_by.other:
            return None
        return self._by_clock(name, leftover, self.clock_of(name, leftover.clock_version))

    def _by_clock(self, name: StoreName, leftover: LeftoverT, clock: ClockOf) -> LeftoverT | None:
        if leftover.timeout_kind is None:
            return leftover if clock.kind is None else None
        if clock.kind is None:
            return self._with_habits(name, self._of_unknown_clock(leftover))
        if clock.kind is not leftover.timeout_kind:
            # A restart may have switched the clock, and no batch since has shown it.
            switched = not clock.shown and self.may_have_changed(name, leftover.clock_version or 0)
            is_open = leftover.reason in (AMONG_DATA, DISPUTED)
            if not switched or not is_open or leftover.by_either_clock:
                return None
            return self._with_habits(name, self._of_unknown_clock(leftover))
        is_inferred = not clock.shown and not leftover.by_either_clock
        if is_inferred and leftover.certainty is Certainty.PROVEN:
            certainty = INFERENCES["clock-of-neighbours"].certainty
            leftover = replace(leftover, certainty=certainty, reason=NEIGHBOURS)
        elif not clock.shown and not leftover.is_ignored and not self._is_between(name, leftover):
            # That both clocks had passed its timer is sure of its last timeout alone.
            leftover = leftover.with_last_timeout()
        return self._with_habits(name, self._cut(name, leftover, clock.kind))

    def _is_between(self, name: StoreName, leftover: JudgedLeftover) -> bool:
        """Return whether batches before and after a leftover's batch show the clock of a store."""
        # Where none does after it, a restart before the run of timeouts may have changed it.
        version = leftover.clock_version or 0
        is_older = any(step <= version for step in self.against.get(name, {}))
        return is_older and not self.may_have_changed(name, version)

    def _of_unknown_clock(self, leftover: LeftoverT) -> LeftoverT | None:
        """Return a leftover of a batch whose clock is unknown.

        It is unchanged if it is a leftover by both clocks, and undecided otherwise. Returns None
        for a leftover that is reported under the other clock.
        """
        if leftover.by_either_clock:
            proven = leftover.certainty is Certainty.PROVEN
            if leftover.timeout_kind is not _EVENT or (leftover.is_ignored and proven):
                return None  # reported once, for that by what both clocks say
            # How long its timers had fired before hangs on the clock.
            reason = leftover.reason or (BY_BOTH if proven else None)
            return replace(leftover.with_last_timeout(), reason=reason)
        reason = leftover.reason if leftover.reason == HELD_BACK else UNKNOWN_CLOCK
        return replace(leftover, certainty=Certainty.UNDECIDED, reason=reason)

    def _cut(self, name: StoreName, leftover: LeftoverT, kind: TimeoutKind) -> LeftoverT:
        """Return a leftover without the batches that may have followed the other clock.

        A run of timeouts begins at the first batch that shows the clock, or later.
        """
        first = leftover.run_start
        last = (leftover.clock_version if leftover.is_ignored else None) or leftover.expired_version
        remaining_kinds = {
            step: _remaining(kinds) for step, kinds in self.against.get(name, {}).items()
        }
        opposite = kind.other
        if self.user_clock is None and opposite in remaining_kinds.values():
            leftover = leftover.with_mixed_clocks()
        opposing = [
            step for step, votes in remaining_kinds.items() if step < last and votes is opposite
        ]
        if self.user_clock is not None or (leftover.is_ignored and not opposing):
            return leftover
        # Before the first batch that shows the clock a restart may have changed it.
        newest_opposing = max(opposing, default=-1)
        same_side = [
            step
            for step, votes in remaining_kinds.items()
            if step > newest_opposing and votes is kind
        ]
        begin = min([last, *same_side])
        if begin <= first:
            return leftover
        # Of a run with gaps it is not known which batches are left: the last one surely.
        if leftover.run_length is not None and leftover.run_length < last - first + 1:
            begin = last
        return leftover.with_run(begin, last - begin + 1)

    def _with_habits(self, name: StoreName, leftover: LeftoverT | None) -> LeftoverT | None:
        if leftover is None or leftover.certainty is not Certainty.UNDECIDED:
            return leftover
        kind = self.usual_clock(name) or leftover.timeout_kind
        need = None if leftover.needs is None else leftover.needs.value
        if (name, kind, need) in self.habits and need and INFERENCES[need].warns:
            return replace(leftover, certainty=Certainty.INFERRED)
        other_call = (name, kind, leftover.leftover_class.value) in self.habits
        return None if other_call and leftover.reason == AMONG_DATA else leftover


def reasons_of(leftovers: Iterable[JudgedLeftover]) -> str | None:
    """Return the distinct reasons of leftovers, joined by "; "; None if all are plain proofs."""
    return "; ".join(sorted({leftover.reason for leftover in leftovers if leftover.reason})) or None


def _remaining(against: frozenset[TimeoutKind]) -> TimeoutKind | None:
    """The clock that is left; None where both contradict the bytes."""
    return next(iter(against)).other if len(against) == 1 else None


def habits_of(
    calls: Mapping[tuple[StoreName, TimeoutKind], TimerCalls],
) -> frozenset[tuple[StoreName, TimeoutKind, str]]:
    """The habits of the functions, by the calls of all partitions: :attr:`Resolution.habits`."""
    habits = set[tuple[StoreName, TimeoutKind, str]]()
    for (name, kind), call in calls.items():
        timeouts = call.timeout_kept + call.timeout_rearmed + call.timeout_removed
        usual = max(KNOWN_ANSWERS, _ALMOST_ALL * timeouts)
        arms = call.armed_by_data >= KNOWN_CALLS and not call.unarmed_by_data
        changes = call.changed_by_data >= KNOWN_CALLS and not call.untouched_by_data
        # Where no timeout is known to have answered so, who did was called for data.
        has_enough = timeouts >= KNOWN_CALLS
        holds = {
            Needs.KEPT_BY_HABIT: arms and call.timeout_kept >= usual,
            Needs.BEFORE_WINDOW: arms and call.timeout_kept >= usual,
            Needs.REARMED_BY_HABIT: changes and call.timeout_rearmed >= usual,
            LeftoverClass.KEPT_WITHOUT_TIMEOUT: has_enough and not call.timeout_kept,
            LeftoverClass.REARMED: has_enough and not call.timeout_rearmed,
        }
        habits |= {(name, kind, habit.value) for habit, is_so in holds.items() if is_so}
    return frozenset(habits)
