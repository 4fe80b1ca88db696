"""Effects of a changed query on the present rows: another delay, timeout or TTL.

A row goes in the first batch whose clock reaches its deadline. A change moves the clock, moves the
deadlines, or sets one for each row by the batch that put it last:

* another watermark delay moves the watermark of every batch, which is the newest event time less
  the delay (``WatermarkTracker``); deadlines are event times and stay;
* another timeout or TTL sets the deadline of a row so long after the clock of the batch that put
  it (``GroupStateImpl.setTimeoutDuration``, ``StatefulProcessorHandleImpl``);
* ``dropDuplicatesWithinWatermark`` keeps a key for the watermark delay behind its event time
  (``StreamingDeduplicateWithinWatermarkExec``), so that another delay moves both; no event renews.
"""

from __future__ import annotations

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.light_dataclasses import replace
from inspector.model import JOIN_ROW_STORES, TimeoutKind
from inspector.operators import deduplicate, deduplicate_within_watermark, global_limit
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.join import NAMES as JOIN
from inspector.operators.rule import WATERMARK_KEY, Clock, RowKind, Scenario, Unknown, WhatIf
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import NO_TIME, PROCESSING_TIME, Family

# answer if the scenario needs a watermark delay that the schemas do not show
NO_DELAY = Unknown(
    "the schemas do not say the one watermark delay that the query has; --old-delay gives it"
)

# premise of a deduplication within the watermark
_ONCE = "no key came again while it was there, as such events were dropped and are in no file"
_TTL_BYTES = 24  # by which a value grows that gets a TTL: struct<value, ttlExpirationMs> (TTLState)
# names of the operators that drop duplicates
DEDUPLICATIONS = (*deduplicate.NAMES, *deduplicate_within_watermark.NAMES)


def scenario_of(
    checkpoint: Checkpoint, operator: Operator, store: str, change: WhatIf
) -> Scenario | str:
    """Return the scenario that a change makes for a store, or a clause why there is none.

    The clause is an ``Unknown`` if the change may concern the store and cannot be computed.
    """
    scenario = _alone(checkpoint, operator, store, change)
    for feeder in checkpoint.query:
        if feeder.operator_id <= operator.operator_id:
            continue
        feeder_scenarios = [_alone(checkpoint, feeder, name, change) for name in feeder.rules]
        if all(
            isinstance(item, str) and not isinstance(item, Unknown) for item in feeder_scenarios
        ):
            continue
        # A deduplication by time drops what is late, and an aggregation has one row or none less.
        drops = feeder.name in deduplicate.NAMES and change.watermark_delay_ms is not None
        counts = operator.name in (*AGGREGATIONS, *deduplicate.NAMES)
        if not (drops and counts and isinstance(scenario, Scenario)):
            source = f"operator {feeder.operator_id}"
            return Unknown(f"its input may come from {source}, which the change concerns")
        scenario = replace(scenario, fed_less=True)
    return scenario


def _alone(
    checkpoint: Checkpoint, operator: Operator, store: str, change: WhatIf
) -> Scenario | str:
    """Return the scenario of a change for a store as if no operator upstream were changed.

    A clause if there is none.
    """
    if change.ttl_ms is not None:
        return _ttl(operator, store, change.ttl_ms)
    if change.timeout_ms is not None:
        if operator.name not in GROUP_STATE:
            return "it is not a group state; only group states have timeouts"
        return Scenario(
            Clock.TIMEOUT,
            after_put_ms=change.timeout_ms,
            premise="the function sets the timeout in every call, so long after the clock of the "
            "batch, and removes the state when it fires",
        )
    old = delay_of(checkpoint) if change.old_delay_ms is None else change.old_delay_ms
    if change.dedup_within_ms is not None:
        return _deduplication(operator, store, old, change.dedup_within_ms)
    return _delay(operator, store, old, change.watermark_delay_ms or 0)


def _ttl(operator: Operator, store: str, ttl: int) -> Scenario | str:
    """Return the scenario of another TTL (ms) of a transformWithState store; a clause if none."""
    family = operator.family(store)
    if family is Family.ROW_COUNTER and not _by_ttl(operator, operator.variable(store)):
        return Unknown("a list with a TTL has other counters")
    if family is None or not family.is_variable:
        return "it holds no state variable, which alone has a TTL"
    has_ttl = _by_ttl(operator, store)
    return Scenario(
        Clock.PROCESSING_TIME,
        after_put_ms=ttl,
        more_bytes=0 if has_ttl else _TTL_BYTES,
        # An entry moves up when those before it are gone, and keeps its expiry.
        moved=has_ttl and family is Family.LIST,
        premise="the processor writes what it writes now"
        + ("" if has_ttl else "; what has no TTL gets one, and an index that is not counted"),
    )


def _by_ttl(operator: Operator, store: str | None) -> bool:
    """True if the store's rows have a TTL now."""
    rule = operator.rules.get(store or "")
    return rule is not None and rule.row_kind is RowKind.TTL_VALUE


def _deduplication(operator: Operator, store: str, old: int | None, delay: int) -> Scenario | str:
    """Return the scenario of another dropDuplicatesWithinWatermark delay; a clause if none.

    ``old`` and ``delay`` are the present and the new watermark delay, in ms; ``old`` is None if
    unknown.
    """
    if operator.name not in DEDUPLICATIONS:
        return "it is not a deduplication"
    expiry = operator.rules[store].expiry
    if expiry is None:
        return Scenario(
            Clock.PROCESSING_TIME,
            after_put_ms=2 * delay,
            behind=True,
            premise="events come when they happen, and no key came again: the rows do not hold "
            "their event time",
        )
    if old is None:
        return NO_DELAY
    has_expiry_column = operator.name in deduplicate_within_watermark.NAMES
    longer = old if has_expiry_column else 0  # than until its event is late a key is kept
    return Scenario(
        Clock.WATERMARK,
        clock_shift_ms=old - delay,
        field_shift_ms=delay - longer,
        first_put=True,
        event_before_ms=longer,
        premise=_ONCE if has_expiry_column and delay != old else "",
    )


def _delay(operator: Operator, store: str, old: int | None, delay: int) -> Scenario | str:
    """Return the scenario of another watermark delay for a store; a clause if there is none.

    ``old`` and ``delay`` are the present and the new delay, in ms; ``old`` is None if unknown.
    """
    rule = operator.rules[store]
    processor = operator.processor
    if processor is not None and processor.time_mode in (PROCESSING_TIME, NO_TIME):
        return "its rows do not go by the watermark"
    if operator.name in global_limit.NAMES:
        return "a limit has one row, which stays for ever"
    if rule.expiry is None:
        return rule.never or Unknown(rule.unknown or "the checkpoint does not say when its rows go")
    if rule.expiry.clock is Clock.PROCESSING_TIME:
        return "its rows go by processing time"
    if old is None:
        return NO_DELAY
    if operator.name in deduplicate_within_watermark.NAMES:
        return _deduplication(operator, store, old, delay)
    if rule.row_kind is RowKind.TIMER and delay > old:
        return Unknown("a call for data may replace a timer that would not have fired yet")
    has_timer = rule.expiry.clock is Clock.TIMEOUT or rule.row_kind is RowKind.TIMER
    premise = ""
    if has_timer:
        premise = "the function sets its timers from event times, and no event is late"
    elif operator.name in SESSION and delay > old:
        premise = "no session that went would be one with a later one"
    return Scenario(
        rule.expiry.clock,
        TimeoutKind.EVENT_TIME if rule.expiry.clock is Clock.TIMEOUT else None,
        clock_shift_ms=old - delay,
        premise=premise,
        moved=store in JOIN_ROW_STORES,
        event_before_ms=rule.expiry.delay_ms if operator.name in JOIN else None,
    )


def delay_of(checkpoint: Checkpoint) -> int | None:
    """Return the watermark delay (ms) that the schemas show; None without one or with several."""
    delays = delays_of(checkpoint)
    return delays.pop() if len(delays) == 1 else None


def delays_of(checkpoint: Checkpoint) -> set[int]:
    """Return the watermark delays, in ms, that Spark wrote into the schemas of columns."""
    delays = (
        column.metadata[WATERMARK_KEY]
        for operator in checkpoint.query
        for schema in operator.schemas.values()
        for column in (*schema.key.fields, *schema.value.fields)
        if WATERMARK_KEY in column.metadata
    )
    return {delay for delay in delays if isinstance(delay, int)}
