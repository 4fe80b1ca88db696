"""Physical operators of Spark 2.4 to 4.3: the effect of each on the operators below it.

A checkpoint shows the stateful operators of a query, by number and name, but not its plan. All
conclusions about an operator from those above it follow from this table and from these facts:

* Spark numbers the operators from the sink (``IncrementalExecution``: a walk that visits a node
  before its children), so all operators that feed another one have higher numbers. Not all with
  higher numbers feed it: in a union or a join they may be on another branch. They count as if they
  did.
* Stateless operators emit only rows for rows that come in, and pass a watermark on. Of several
  branches the lowest watermark counts; a branch without ``withWatermark`` has none
  (``PropagateWatermarkSimulator``, 3.5 and later; until 3.4, and with
  ``spark.sql.streaming.statefulOperator.allowMultiple=false``, every operator sees that of the
  query). ``EventTimeWatermark`` starts one, ``UpdateEventTimeColumn`` and ``streamingLocalLimit``
  are like all others; none of them has state.
* An operator that is not in the table may do anything: nothing is concluded across it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from inspector.light_dataclasses import dataclass, replace
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


class Asks(enum.Enum):
    """Reason for which an operator asks for a batch without data (``shouldRunAnotherBatch``)."""

    NEVER = "never"
    BY_WATERMARK = "when the watermark that it gets has risen"
    PERHAPS_ALWAYS = "always, or it is not known"


@dataclass(frozen=True)
class PhysicalOperator:
    """An operator's effect on the operators below it, and on its own rows."""

    name: str  # name in Spark's operator metadata
    # True if it surely passes on the whole watermark that it gets (``produceOutputWatermark``)
    hands_on: bool
    emits: bool  # True if it may emit rows in a batch in which it gets none
    asks: Asks  # when it asks for batches without data
    # True if it may evict by the previous batch's watermark
    # (``spark.sql.streaming.statefulOperator.incrementalCleanupFactor``, 4.3)
    evicts_later: bool = False
    single_partition: bool = False  # True if all its rows are in partition 0


_AGGREGATION, _STREAMLINE = aggregation.NAMES  # Names of the two operators of an aggregation.
# hands_on, emits and asks of operators that emit the rows which the watermark evicts
_EVICTS = True, True, Asks.BY_WATERMARK
# the same of operators that emit only for rows that come in
_PASSES_ON = True, False, Asks.BY_WATERMARK
# the same of operators that emit when timeouts fire, and of unknown ones
_HAS_TIMERS = False, True, Asks.PERHAPS_ALWAYS
# the known operators
_TABLE: Iterable[PhysicalOperator] = (
    # Append emits what the watermark evicts, Complete every group, a global one its row. Complete
    # never asks; the mode is not in the checkpoint (StateStoreSaveExec).
    PhysicalOperator(_AGGREGATION, *_EVICTS),
    # StatefulStreamlineAggregateExec (4.3)
    PhysicalOperator(_STREAMLINE, *_EVICTS, evicts_later=True),
    # SessionWindowStateStoreSaveExec (3.2 to 4.3)
    PhysicalOperator(*(*session_window.NAMES, *_EVICTS)),
    # An input row that is new, or nothing; asks whether it has anything to evict or not
    # (StreamingDeduplicateExec; BaseStreamingDeduplicateExec, 3.5 to 4.3).
    PhysicalOperator(*(*deduplicate.NAMES, *_PASSES_ON), evicts_later=True),
    PhysicalOperator(*(*deduplicate_within_watermark.NAMES, *_PASSES_ON)),
    # Hands on the least of the watermark and of what its condition says, which is in no file. An
    # outer join emits the rows without a partner when they are evicted; that it is an inner one is
    # not in the checkpoint. It asks only if it evicts at all (StreamingSymmetricHashJoinExec,
    # StreamingSymmetricHashJoinHelper.getStateWatermark).
    PhysicalOperator(*(*join.NAMES, False, True, Asks.BY_WATERMARK)),
    # Hands on none. Asks always if its timers follow processing time, as the watermark rises if
    # they follow it, and never without timers (FlatMapGroupsWithStateExecBase).
    *(PhysicalOperator(name, *_HAS_TIMERS) for name in group_state.NAMES),
    # The first of the input rows (StreamingGlobalLimitExec).
    PhysicalOperator(*(*global_limit.NAMES, True, False, Asks.NEVER), single_partition=True),
    # In processing time, and as long as the time mode is not known; Spark refuses a restart with
    # another (TransformWithStateExecBase, 4.0 to 4.3).
    *(PhysicalOperator(name, *_HAS_TIMERS) for name in transform_with_state.NAMES),
)
PHYSICAL: Mapping[str, PhysicalOperator] = {operator.name: operator for operator in _TABLE}
"""Every operator by the name that Spark's metadata gives it."""

# hands_on, emits and asks of transformWithState by its time mode, if that is known
_BY_TIME_MODE: Mapping[str, tuple[bool, bool, Asks]] = {
    transform_with_state.EVENT_TIME: _EVICTS,  # when its timers fire
    transform_with_state.NO_TIME: _PASSES_ON,  # timers are refused in it
}


def physical_operator(
    name: str, properties: Mapping[str, object] | None = None
) -> PhysicalOperator:
    """Return an operator by its name and its properties in operator metadata v2.

    An operator that is not known may do anything.
    """
    result = PHYSICAL.get(name)
    if result is None:
        return PhysicalOperator(name, *_HAS_TIMERS)  # or whatever else
    mode = transform_with_state.Properties.of(properties or {}).time_mode
    if name not in transform_with_state.NAMES or mode not in _BY_TIME_MODE:
        return result
    hands_on, emits, asks = _BY_TIME_MODE[mode]
    return replace(result, hands_on=hands_on, emits=emits, asks=asks)


def only_sources_feed(upstream: Iterable[PhysicalOperator]) -> bool:
    """Return True if only new data of the sources reaches an operator.

    False if one of ``upstream``, the operators with higher numbers, may also emit rows of its state
    when the watermark or the clock moves.
    """
    # A group-state function below one that emits by the clock is called without new data of
    # sources.
    return not any(operator.emits for operator in upstream)


def holds_watermark_back(upstream: Iterable[PhysicalOperator]) -> PhysicalOperator | None:
    """Return the last operator, from the sources on, that may keep the watermark back.

    Returns None if none of them may.
    """
    operators = [operator for operator in upstream if not operator.hands_on]
    return operators[-1] if operators else None
