"""Effects on a query's results if rows are removed from the state of an operator."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.light_dataclasses import dataclass, field
from inspector.operators import (
    aggregation,
    deduplicate,
    deduplicate_within_watermark,
    global_limit,
    group_state,
    join,
    session_window,
    transform_with_state,
)
from inspector.operators.rule import RowKind, StoreRule
from inspector.sparktypes import StructType

# Ways to evict a row: remove it, or set its timer to a time that is past.
REMOVAL, TIMEOUT = "removal", "timeout"


@dataclass(frozen=True)
class Way:
    """Way to evict rows of a store, and its effect."""

    way: str  # :data:`REMOVAL` or :data:`TIMEOUT`
    words: str  # sentence on the effect on the query's results
    # True if it is not done, because results or the state itself would be wrong
    refused: bool = False
    # ordinal of the timer in a value; None without one
    timer: int | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """The sentence as a plan shows it, with "Refused" before it if it is not done."""
        return f"Refused. {self.words}" if self.refused else self.words


# advice to name another operator
_OTHERS = "With --operator rows of another operator can be evicted."
# effect of a timeout in group state
_CALLED = (
    "In the first batch Spark calls the function for each of these keys with hasTimedOut; what "
    "comes out is what the function does then."
)
# effect of a removal in group state
_ANEW = "If data for the key comes, the function is called without a state, as for a new key."
# effect for an expired key of a deduplication
_NO_CHANGE = (
    "Nothing changes: Spark drops a row that is as late as that before it looks into the state."
)
# effect for an expired key of a deduplication within the watermark
_FORGOTTEN = (
    "Nothing changes that the query promises: the time within which it drops duplicates of the key "
    "is over."
)
# effect for a key of a deduplication that is not expired
_REPEATED = (
    "If a row with this key comes again, it is passed on once more, as the first of its key."
)
# why rows of a join are not evicted
_JOIN = (
    "A row of a join is counted in a second store and indexed by its key, and an outer join still "
    "has to emit it; rows of joins are not evicted. Let the watermark pass them."
)
# effect for a group of an aggregation without watermark
_BEGUN_ANEW = (
    "If data for the key comes, its aggregates begin anew; in complete mode its row is missing "
    "from the result until then."
)
# why the row of a limit is not evicted
_COUNTER = (
    "The only row of a limit is its counter: without it the query emits rows beyond its limit. "
    f"{_OTHERS}"
)
# why rows are not evicted that may still be emitted
_EMITTED = (
    "Results would be lost: a row that the watermark has not removed still has to be emitted, or "
    f"is part of a complete result. Let the watermark pass it. {_OTHERS}"
)
# effect for a value whose TTL has passed
_HIDDEN = (
    "Nothing changes: Spark hides a value whose TTL has passed from the processor. Its row in the "
    "index of the TTL goes with it, and the counter of a list is set anew."
)
# effect of the removal of all state of a key of transformWithState
_WHOLE_GROUP = (
    "All state of each key is removed: its values, lists, maps and timers, and what Spark keeps "
    "with them. None of its timers fires. If data for the key comes, the processor begins without "
    "state, as for a new key."
)
# why other rows of transformWithState are not evicted
_OF_PROCESSOR = (
    "Of transformWithState only values whose TTL has passed are evicted, or all state of a key "
    "that --key names. What the processor does without a timer, or without some of its values, is "
    "not known. Call deleteTimer() or clear() in it, or handle.deleteIfExists() for a variable "
    "that it no longer declares."
)
# message if a filter names a part of a group; ``error`` is the reason
PART_OF_GROUP = (
    "Of transformWithState all state of a key is evicted or none, so --key and --where can name "
    "fields of the grouping key alone: {error}."
)
# why rows of an unknown operator are not evicted
_UNKNOWN = (
    f"What the query does with this state is not known, so nothing is evicted from it. {_OTHERS}"
)


_REFUSED: Mapping[str, str] = {
    **dict.fromkeys((*aggregation.NAMES, *session_window.NAMES), _EMITTED),
    **dict.fromkeys(join.NAMES, _JOIN),
    **dict.fromkeys(global_limit.NAMES, _COUNTER),
    **dict.fromkeys(transform_with_state.NAMES, _OF_PROCESSOR),
}
"""Why rows of an operator are not evicted, by its name; :func:`way_of` has the exceptions."""


def way_of(
    name: str, rule: StoreRule, value: StructType | None, chosen: str | None, *, expired: bool
) -> Way:
    """Return the way to evict rows of an operator, refused if results would be wrong.

    ``expired``: the rows are leftovers, and not rows that a user named. ``chosen`` is the way that
    the user wants; None for the default: a timeout for group state with timers, else a removal.
    """
    is_group_state = name in group_state.NAMES
    timer = group_state.timeout_ordinal(value) if is_group_state and value is not None else None
    way = chosen or (REMOVAL if timer is None else TIMEOUT)
    if is_group_state:
        return Way(way, _CALLED if way == TIMEOUT else _ANEW, timer=timer)
    if name in (*deduplicate.NAMES, *deduplicate_within_watermark.NAMES):
        gone = _NO_CHANGE if name in deduplicate.NAMES else _FORGOTTEN
        return Way(way, gone if expired else _REPEATED)
    if name in aggregation.NAMES and not expired and rule.expiry is None:
        return Way(way, _BEGUN_ANEW)
    if name in transform_with_state.NAMES and not expired and way == REMOVAL:
        return Way(way, _WHOLE_GROUP)
    is_hidden = expired and way == REMOVAL and rule.row_kind is RowKind.TTL_VALUE
    if name in transform_with_state.NAMES and is_hidden:
        return Way(way, _HIDDEN)
    return Way(way, _REFUSED.get(name, _UNKNOWN), refused=True)
