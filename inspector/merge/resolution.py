"""Judgement of leftovers that needs the evidence of all partitions.

The checkpoint does not say which clock the timers of a group state follow, and a restart may change
it. A partition reports its leftovers under both clocks. A batch in which any partition has proof
against one clock resolves the leftovers that depend on that batch. If no record of the batch shows
the clock, a key that is a leftover under both clocks stays proven. Other leftovers are inferred
from the clocks of the batches around it, if these agree, and are undecided otherwise.
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

# Reason of a leftover whose clock is inferred from other batches.
NEIGHBOURS = "no record of the batch shows which clock the timers follow; those of other batches do"
# Reason of a leftover that is undecided because its clock is not known.
UNKNOWN_CLOCK = "the bytes do not show whether the timers follow event time or processing time"

# records surely made by timeouts from which on an equal answer to them counts as a habit
KNOWN_ANSWERS = 6
# puts surely made by data from which on an effect that they never had counts as excluded
KNOWN_CALLS = 20
_ALMOST_ALL = 0.95  # share of the timeouts that must have been answered alike for a habit

_EVENT, _PROCESSING = TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME


class ClockOf(NamedTuple):
    """Clock that a batch's timers followed."""

    kind: TimeoutKind | None  # the clock; None if it is not known
    shown: bool  # True if records of the batch itself show the clock, or the user named it


@dataclass(frozen=True)
class Resolution(Message):
    """Evidence of all partitions about the clocks that the timers of group states followed."""

    # clocks that the timers cannot have followed, by store and version
    against: Mapping[StoreName, Mapping[int, frozenset[TimeoutKind]]] = field(default_factory=dict)
    user_clock: TimeoutKind | None = None  # the clock that the user named; None if none
    # (store, clock, name): the function has the habit that undecided leftovers need, or its
    # timeouts never leave a class of leftovers
    habits: frozenset[tuple[StoreName, TimeoutKind, str]] = frozenset()

    def clock_of(self, name: StoreName, version: int) -> ClockOf:
        """Return the clock that the timers of a store followed in the batch of a version.

        A clock that the user named comes first, then the evidence of the batch. Without evidence of
        the batch it is the clock on which the nearest older and newer batch agree.
        """
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
        """Return True if a restart may have changed a store's clock after ``version``.

        That is so if no batch from ``version`` on shows the clock, and the user did not name one.
        """
        later = any(step >= version for step in self.against.get(name, {}))
        return self.user_clock is None and not later

    def usual_clock(self, name: StoreName) -> TimeoutKind | None:
        """Return the clock that a store's timers follow in every batch that shows one, else None.

        A clock that the user named comes first.
        """
        if self.user_clock is not None:
            return self.user_clock
        kinds = {_remaining(against) for against in self.against.get(name, {}).values()}
        return kinds.pop() if len(kinds) == 1 else None

    def may_name(self, name: StoreName, kind: TimeoutKind) -> bool:
        """Return True if no clock is named yet and no batch contradicts the clock ``kind``."""
        against = self.against.get(name, {}).values()
        return self.user_clock is None and not any(kind in batch_kinds for batch_kinds in against)

    def resolve_all(
        self, observations: Iterable[Observed[LeftoverT]]
    ) -> Iterator[Observed[LeftoverT]]:
        """Yield facts about leftovers with their final certainty; others are dropped."""
        for observation in observations:
            fact = self.resolve(observation.store.name, observation.version, observation.fact)
            if fact is not None:
                yield Observed(observation.store, observation.version, fact)

    def resolve(self, name: StoreName, version: int, leftover: LeftoverT) -> LeftoverT | None:
        """Return a fact about leftovers with its final certainty; None if none is left over."""
        if leftover.clock_version is None:
            return leftover  # of an operator without timers
        again_by = None if leftover.needs is None else UNLESS.get(leftover.needs)
        if again_by and self.clock_of(name, version).kind is not again_by.other:
            return None
        return self._by_clock(name, leftover, self.clock_of(name, leftover.clock_version))

    def _by_clock(self, name: StoreName, leftover: LeftoverT, clock: ClockOf) -> LeftoverT | None:
        """Return a leftover judged by its batch's clock; None if it is none by that clock."""
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
            # It is certain only of the last timeout that both clocks had passed its timer.
            leftover = leftover.with_last_timeout()
        return self._with_habits(name, self._cut(name, leftover, clock.kind))

    def _is_between(self, name: StoreName, leftover: JudgedLeftover) -> bool:
        """Return True if batches before and after a leftover's batch show the store's clock."""
        # If no batch after it does, a restart before the run of timeouts may have changed it.
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
        # For a run with gaps it is not known which batches are left, except the last one.
        if leftover.run_length is not None and leftover.run_length < last - first + 1:
            begin = last
        return leftover.with_run(begin, last - begin + 1)

    def _with_habits(self, name: StoreName, leftover: LeftoverT | None) -> LeftoverT | None:
        """Return an undecided leftover as inferred if the function's habits speak for it.

        Returns None if they exclude it. Other leftovers, and None, are returned unchanged.
        """
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
    """Return the clock that evidence leaves over; None if it excludes both clocks or none."""
    return next(iter(against)).other if len(against) == 1 else None


def habits_of(
    calls: Mapping[tuple[StoreName, TimeoutKind], TimerCalls],
) -> frozenset[tuple[StoreName, TimeoutKind, str]]:
    """Return the habits of functions (:attr:`Resolution.habits`), by all partitions' calls."""
    habits = set[tuple[StoreName, TimeoutKind, str]]()
    for (name, kind), call in calls.items():
        timeouts = call.timeout_kept + call.timeout_rearmed + call.timeout_removed
        usual = max(KNOWN_ANSWERS, _ALMOST_ALL * timeouts)
        arms = call.armed_by_data >= KNOWN_CALLS and not call.unarmed_by_data
        changes = call.changed_by_data >= KNOWN_CALLS and not call.untouched_by_data
        # If no timeout is known to have answered so, the functions that did were called for data.
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
