"""What all partitions together say of leftovers of which one alone cannot be sure.

Which clock the timers of a group state follow is not in the checkpoint, and a restart may change
it. A partition reports its leftovers under both; each batch in which any partition has proof
against one clock resolves those that hang on that batch. Where no record of the batch tells, a
leftover that is one under both clocks stays proven; of one that hangs on the clock the batches
around it may tell, which is worth what that inference was measured to be, and else it is undecided.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.timed_out import AMONG_DATA, BY_BOTH, HELD_BACK
from inspector.facts.timer_runs import TimerCalls
from inspector.model import Certainty, TimeoutKind
from inspector.operators.inferences import INFERENCES

StoreName = tuple[int, str]
"""Operator id and store name: one store over all partitions."""

Row = dict[str, Any]

NEIGHBOURS = "no record of the batch shows which clock the timers follow; those of other batches do"
UNKNOWN_CLOCK = "the bytes do not show whether the timers follow event time or processing time"

KNOWN_ANSWERS = 6
"""Records that timeouts surely made from which on the function's answer to them is a habit."""
KNOWN_CALLS = 20
"""Puts that new data surely made from which on what they never did is no habit of data calls."""
_ALMOST_ALL = 0.95

_EVENT, _PROCESSING = TimeoutKind.EVENT_TIME.value, TimeoutKind.PROCESSING_TIME.value
_UNLESS = {Needs.UNLESS_EVENT.value: _EVENT, Needs.UNLESS_PROCESSING.value: _PROCESSING}
_OTHER = {_EVENT: _PROCESSING, _PROCESSING: _EVENT}


class ClockOf(NamedTuple):
    """The clock of a batch's timers: None if nothing tells; shown by the batch's own records."""

    kind: str | None
    shown: bool


@dataclass(frozen=True)
class Resolution:
    """What decides the leftovers of group states.

    Attributes:
        against: of each group state, by version, the clocks that its timers cannot have followed.
        given: the clock that the user named; None if none.
        habits: store and clock with a need that the function's habits meet, or with a class of
            leftovers that its timeouts never leave.
    """

    against: Mapping[StoreName, Mapping[int, frozenset[str]]] = field(default_factory=dict)
    given: str | None = None
    habits: frozenset[tuple[StoreName, str, str]] = frozenset()

    def clock_of(self, name: StoreName, version: int) -> ClockOf:
        """The clock that the timers of a store followed in the batch of a version."""
        if self.given is not None:
            return ClockOf(self.given, shown=True)
        here = self.against.get(name, {}).get(version)
        if here is not None:
            return ClockOf(_left(here), shown=_left(here) is not None)
        around = {_left(against) for against in self._nearest(name, version)}
        return ClockOf(around.pop() if len(around) == 1 else None, shown=False)

    def usual_clock(self, name: StoreName) -> str | None:
        """The clock that a store's timers follow in every batch that shows one."""
        if self.given is not None:
            return self.given
        kinds = {_left(against) for against in self.against.get(name, {}).values()}
        return kinds.pop() if len(kinds) == 1 else None

    def _nearest(self, name: StoreName, version: int) -> Iterable[frozenset[str]]:
        of_store = self.against.get(name, {})
        before = max((at for at in of_store if at < version), default=None)
        after = min((at for at in of_store if at > version), default=None)
        return (of_store[at] for at in (before, after) if at is not None)

    def resolve(self, row: Row) -> Row | None:
        """A fact about leftovers with the certainty that it has; None if it is none.

        Args:
            row: of kind ``leftover``, ``leftovers`` or ``leftover_age``.
        """
        kind = row["timeout_kind"]
        if row["kind_version"] is None:
            return row  # of an operator without timers
        name = (row["operator_id"], row["store_name"])
        again_by = _UNLESS.get(row["needs"])
        if again_by and self.clock_of(name, row["version"]).kind != _OTHER[again_by]:
            return None
        clock = self.clock_of(name, row["kind_version"])
        if kind is None:
            return row if clock.kind is None else None
        if clock.kind is None:
            return self._with_habits(name, self._unknown(row))
        if clock.kind != kind:
            return None
        if not clock.shown and not row["either"] and row["certainty"] == Certainty.PROVEN.value:
            warns = INFERENCES["clock-of-neighbours"].warns
            certainty = Certainty.INFERRED if warns else Certainty.UNDECIDED
            row = {**row, "certainty": certainty.value, "reason": NEIGHBOURS}
        return self._with_habits(name, self._cut(name, row))

    def _unknown(self, row: Row) -> Row | None:
        """Of a batch whose clock is not known, what holds by either clock; else undecided."""
        if row["either"]:
            ignored = row["leftover_class"] == LeftoverClass.IGNORED_TIMEOUT.value
            proven = row["certainty"] == Certainty.PROVEN.value
            if row["timeout_kind"] != _EVENT or (ignored and proven):
                return None  # reported once, for that by what both clocks say
            # How long its timers had fired before hangs on the clock.
            first = row["first_expired_version"] and row["expired_version"]
            reason = row["reason"] or (BY_BOTH if proven else None)
            once = row["fired"] and 1
            return {**row, "reason": reason, "fired": once, "first_expired_version": first}
        reason = row["reason"] if row["reason"] == HELD_BACK else UNKNOWN_CLOCK
        return {**row, "certainty": Certainty.UNDECIDED.value, "reason": reason}

    def _cut(self, name: StoreName, row: Row) -> Row:
        """Without the batches of a run of timeouts that followed the other clock."""
        ignored = row["leftover_class"] == LeftoverClass.IGNORED_TIMEOUT.value
        first = row["first_expired_version"] or row["expired_version"]
        last = row["kind_version"] if ignored else row["expired_version"]
        shown = {at: _left(kinds) for at, kinds in self.against.get(name, {}).items()}
        other = _OTHER[row["timeout_kind"]]
        others = [at for at, kind in shown.items() if at < last and kind == other]
        if not others or self.given is not None:
            return row
        # Between the two nobody knows: what is said holds from the first batch that shows it.
        ours = [at for at, kind in shown.items() if at > max(others) and kind not in (None, other)]
        begin = min(last, *ours) if ours else last
        if begin <= first:
            return row
        # Of a run with gaps it is not known which batches are left: the last one surely.
        if row["fired"] is not None and row["fired"] < last - first + 1:
            begin = last
        return {
            **row,
            "expired_version": begin if ignored else row["expired_version"],
            # Of that batch the partition has not said what it held the timer against.
            **({"threshold_ms": None} if ignored else {}),
            "first_expired_version": row["first_expired_version"] and begin,
            "fired": row["fired"] and last - begin + 1,
        }

    def _with_habits(self, name: StoreName, row: Row | None) -> Row | None:
        if row is None or row["certainty"] != Certainty.UNDECIDED.value:
            return row
        kind = self.usual_clock(name) or row["timeout_kind"]
        if (name, kind, row["needs"]) in self.habits and INFERENCES[row["needs"]].warns:
            return {**row, "certainty": Certainty.INFERRED.value}
        other = row["reason"] == AMONG_DATA and (name, kind, row["leftover_class"]) in self.habits
        return None if other else row

    def to_json(self) -> str:
        """As text, for workers."""
        return json.dumps(
            {
                "against": [
                    [*name, [[version, sorted(kinds)] for version, kinds in versions.items()]]
                    for name, versions in self.against.items()
                ],
                "given": self.given,
                "habits": sorted([*name, kind, need] for name, kind, need in self.habits),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Resolution:
        """The inverse of :meth:`to_json`."""
        raw = json.loads(text)
        return cls(
            {
                (number, store): {version: frozenset(kinds) for version, kinds in versions}
                for number, store, versions in raw["against"]
            },
            raw["given"],
            frozenset(((number, store), kind, need) for number, store, kind, need in raw["habits"]),
        )


def before_window(row: Mapping[str, Any]) -> bool:
    """Whether a fact about leftovers is of keys that expired before the window of proof."""
    return bool(row["needs"] == Needs.BEFORE_WINDOW.value)


def reasons_of(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """What some facts about leftovers rest on, in any order; None if they are plain proofs."""
    return "; ".join(sorted({row["reason"] for row in rows if row["reason"]})) or None


def _left(against: frozenset[str]) -> str | None:
    """The clock that is left; None where both contradict the bytes."""
    return _OTHER[next(iter(against))] if len(against) == 1 else None


def habits_of(
    calls: Mapping[tuple[StoreName, str], TimerCalls],
) -> frozenset[tuple[StoreName, str, str]]:
    """The habits of the functions, by the calls of all partitions: :attr:`Resolution.habits`."""
    return frozenset(
        (name, kind, habit.value)
        for (name, kind), found in calls.items()
        for kept in (_always_arms(found) and _answers(found, found.timeout_kept),)
        for habit, holds in (
            (Needs.KEPT_BY_HABIT, kept),
            (Needs.BEFORE_WINDOW, kept),
            (
                Needs.REARMED_BY_HABIT,
                _always_changes(found) and _answers(found, found.timeout_rearmed),
            ),
            (LeftoverClass.KEPT_WITHOUT_TIMEOUT, _never(found, found.timeout_kept)),
            (LeftoverClass.REARMED, _never(found, found.timeout_rearmed)),
        )
        if holds
    )


def _never(calls: TimerCalls, so: int) -> bool:
    """No timeout of some is known to have answered so: who did, was called for data."""
    return not so and _sure_timeouts(calls) >= KNOWN_CALLS


def _always_arms(calls: TimerCalls) -> bool:
    return calls.armed_by_data >= KNOWN_CALLS and not calls.unarmed_by_data


def _always_changes(calls: TimerCalls) -> bool:
    return calls.changed_by_data >= KNOWN_CALLS and not calls.untouched_by_data


def _answers(calls: TimerCalls, so: int) -> bool:
    return so >= KNOWN_ANSWERS and so >= _ALMOST_ALL * _sure_timeouts(calls)


def _sure_timeouts(calls: TimerCalls) -> int:
    return calls.timeout_kept + calls.timeout_rearmed + calls.timeout_removed
