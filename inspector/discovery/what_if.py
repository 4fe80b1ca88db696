"""What a changed query would do with the rows that are there: another delay, timeout or TTL.

A row goes in the first batch whose clock reaches its deadline. A change moves the clock, moves the
deadlines, or sets one for each row by the batch that put it last:

* another watermark delay moves the watermark of every batch, which is the newest event time less
  the delay (``WatermarkTracker``); deadlines are event times and stay;
* another timeout or TTL sets the deadline of a row so long after the clock of the batch that put
  it (``GroupStateImpl.setTimeoutDuration``, ``StatefulProcessorHandleImpl``);
* ``dropDuplicatesWithinWatermark`` keeps a key for the watermark delay behind its event time
  (``StreamingDeduplicateWithinWatermarkExec``), so that another delay moves both; an event whose
  key is there is dropped and renews nothing.
"""

from __future__ import annotations

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.model import JOIN_ROW_STORES, TimeoutKind
from inspector.operators import deduplicate, deduplicate_within_watermark
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.rule import WATERMARK_KEY, Clock, RowKind, Scenario, WhatIf

NO_DELAY = "the schemas do not say the watermark delay that the query has; --old-delay gives it"


DEDUPLICATIONS = (*deduplicate.NAMES, *deduplicate_within_watermark.NAMES)


def scenario_of(
    checkpoint: Checkpoint, operator: Operator, store: str, change: WhatIf
) -> Scenario | str:
    """What a change is to a store, or why it is nothing to it, in words."""
    if change.ttl_ms is not None:
        family = operator.family(store)
        if family is None or not family.is_variable:
            return "it holds no state variable, which alone has a TTL"
        return Scenario(Clock.PROCESSING_TIME, after_put_ms=change.ttl_ms)
    if change.timeout_ms is not None:
        if operator.name not in GROUP_STATE:
            return "it is not a group state; only group states have timeouts"
        return Scenario(
            Clock.TIMEOUT,
            after_put_ms=change.timeout_ms,
            premise="the function sets the timeout in every call and removes the state when it "
            "fires",
        )
    old = delay_of(checkpoint) if change.old_delay_ms is None else change.old_delay_ms
    if change.dedup_within_ms is not None:
        return _deduplication(operator, store, old, change.dedup_within_ms)
    return _delay(operator, store, old, change.watermark_delay_ms or 0)


def _deduplication(operator: Operator, store: str, old: int | None, delay: int) -> Scenario | str:
    if operator.name not in DEDUPLICATIONS:
        return "it is not a deduplication"
    if operator.rules[store].expiry is None:
        return Scenario(
            Clock.PROCESSING_TIME,
            after_put_ms=2 * delay,
            premise="events come when they happen: the rows do not hold their event time",
        )
    if old is None:
        return NO_DELAY
    is_within = operator.name in deduplicate_within_watermark.NAMES
    return Scenario(
        Clock.WATERMARK,
        clock_shift_ms=old - delay,
        field_shift_ms=delay - old if is_within else delay,
        first_put=True,
    )


def _delay(operator: Operator, store: str, old: int | None, delay: int) -> Scenario | str:
    rule = operator.rules[store]
    if rule.expiry is None or rule.row_kind is RowKind.TTL_VALUE:
        return rule.never or rule.unknown or "its rows do not go by the watermark"
    if rule.expiry.clock is Clock.PROCESSING_TIME:
        return "its rows go by processing time"
    if old is None:
        return NO_DELAY
    is_within = operator.name in deduplicate_within_watermark.NAMES
    by_timer = rule.expiry.clock is Clock.TIMEOUT
    return Scenario(
        rule.expiry.clock,
        TimeoutKind.EVENT_TIME if by_timer else None,
        clock_shift_ms=old - delay,
        field_shift_ms=delay - old if is_within else 0,
        premise="the function sets its timeouts from event times" if by_timer else "",
        first_put=is_within,
        moved=store in JOIN_ROW_STORES,
    )


def delay_of(checkpoint: Checkpoint) -> int | None:
    """The watermark delay of the query, ms, by its schemas; None without one, or of several."""
    delays = delays_of(checkpoint)
    return delays.pop() if len(delays) == 1 else None


def delays_of(checkpoint: Checkpoint) -> set[int]:
    """The watermark delays, ms, that ``EventTimeWatermark`` wrote into columns (2.1 to 4.3)."""
    delays = (
        column.metadata[WATERMARK_KEY]
        for operator in checkpoint.query
        for schema in operator.schemas.values()
        for column in (*schema.key.fields, *schema.value.fields)
        if WATERMARK_KEY in column.metadata
    )
    return {delay for delay in delays if isinstance(delay, int)}
