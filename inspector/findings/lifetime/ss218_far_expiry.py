"""SS218: expiry far ahead of the clock.

What it means:
    Rows stay for a long time. The reason is milliseconds taken for seconds, an event with a wrong
    time, an event-time timeout set from the wall clock, or a delay, window, gap or timeout far
    longer than the history.

How it is proven:
    The expiry of every row is compared with the clock of its batch; if either clock is possible,
    with the later one (premise `one-clock`).

Source:
    GroupStateImpl.setTimeoutTimestamp, TimerStateImpl, TTLState (2.3 to 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from inspector.facts.ages import Ages
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import (
    ALIKE_SHARE,
    FAR_HOURS,
    FAR_SHARE,
    WINDOW_VERSIONS,
    Threshold,
)
from inspector.findings.views.store_expiry import ExpiringRows
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import TTL_OPTION

DAY_MS, HOUR_MS = 86_400_000, 3_600_000  # milliseconds of a day and of an hour


class FarExpiry(Rule[StoreView]):
    """Rows that expire far later than the clock, the history or the other rows suggest."""

    scope = "store"
    id = "SS218"
    title = "expiry far ahead of the clock"
    severity = Severity.WARNING
    certainties = (Certainty.PROVEN, Certainty.INFERRED)
    spark = "GroupState.setTimeoutTimestamp"
    next_step = (
        "compare the unit of the time that sets the expiry with what Spark expects: "
        "setTimeoutTimestamp and timers take milliseconds; filter event times in the future before "
        "withWatermark"
    )
    explains = ("SS204", "SS210")

    far_days = Threshold(180.0, "days", "Days by which rows expire after the clock they go by.")
    far_warned = Threshold(730.0, "days", "Days for a warning.")
    far_share = FAR_SHARE
    far_spans = Threshold(5.0, "times", "Time until rows expire over the time of the history.")
    far_hours = FAR_HOURS
    alike_share = ALIKE_SHARE
    window_versions = WINDOW_VERSIONS

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield rows far ahead of their clock: some, all, or those that end later than others."""
        now_ms = store.expiry.now_ms
        if store.rule.event_time is not None:
            yield from self.find_held_join_side(store)
        elif now_ms is not None and store.expiry.expiring is not None:
            wrong = [*self.find_wrong_times(store, now_ms)]
            waiting = wrong or [*self.find_long_wait(store, now_ms)]
            yield from waiting or self.find_later_rows(store, now_ms)

    def find_wrong_times(self, store: StoreView, now_ms: int) -> Iterator[Evidence]:
        """Yield at most one evidence: rows that expire ``far_days`` or more after ``now_ms``."""
        late = store.expiry.rows_from(now_ms + round(self.far_days * DAY_MS))
        if not late.rows or late.rows < self.far_share * store.rows:
            return
        ahead_ms, batch_ms = late.first_ms - now_ms, store.clock.batch_ms
        # An expiry that the wall clock set is near it, however old the event times are.
        is_wall_clock = batch_ms is not None and 10 * abs(late.first_ms - batch_ms) < ahead_ms
        is_wall_clock &= store.noun in ("timeout", "timer")
        case = self.wall_clock if is_wall_clock else self.wrong_time
        yield case(
            *late[:2],
            severity=Severity.INFO if ahead_ms < self.far_warned * DAY_MS else None,
            ahead_ms=ahead_ms,
            until_ms=late.first_ms,
            lag_ms=(batch_ms or 0) - now_ms,
            reason=_reason(store),
        )

    def find_long_wait(self, store: StoreView, now_ms: int) -> Iterator[Evidence]:
        """Yield all rows as one evidence, if even the first of them cannot expire for long."""
        # An hour of history shows nothing of a delay of a month, but that the state grows.
        waiting = store.expiry.rows_from(-math.inf)
        is_far = waiting.first_ms - now_ms >= self.least_far_ms(store)
        is_complete = waiting.rows == store.rows and store.noun != "timer"
        if is_far and is_complete and not self.has_ended_row(store):
            numbers = {"until_ms": waiting.first_ms, **_setting(store, waiting, now_ms)}
            yield self.long_wait(*waiting[:2], ahead_ms=waiting.first_ms - now_ms, **numbers)

    def find_held_join_side(self, store: StoreView) -> Iterator[Evidence]:
        """Yield all rows of a join's side if a long delay keeps the watermark from passing them."""
        # If the rows are newer than by the delay, a source is late (SS206).
        oldest_ms, watermark_ms = (store.sum(Ages) or Ages()).oldest_ms, store.clock.watermark_ms
        if oldest_ms is None or not watermark_ms or self.has_ended_row(store):
            return
        ahead_ms, longest_ms = oldest_ms - watermark_ms, max(store.clock.delays_ms, default=0)
        if self.least_far_ms(store) <= ahead_ms <= longest_ms:
            yield self.long_wait(
                *store.newest.rows_and_bytes,
                ahead_ms=ahead_ms,
                until_ms=oldest_ms,
                setting="the longest delay of withWatermark",
                length_ms=longest_ms,
            )

    def find_later_rows(self, store: StoreView, now_ms: int) -> Iterator[Evidence]:
        """Yield sessions or timeouts that end far later than the others, with none between."""
        # Of one gap or timeout for all, rows that were put at other times would be between.
        expiring = store.expiry.expiring
        if expiring is None or (store.operator_name not in SESSION and store.expiry.calls is None):
            return
        ends = sorted(bucket * expiring.width - now_ms for bucket in expiring.rows)
        for near_ms, ahead_ms in pairwise(ends):
            least_ms = 2 * self.far_spans * max(near_ms, expiring.width)
            if ahead_ms >= max(self.least_far_ms(store), least_ms):
                later = store.expiry.rows_from(now_ms + ahead_ms)
                if later.rows >= self.alike_share * store.rows:
                    near_ms += expiring.width
                    yield self.later_rows(*later[:2], ahead_ms=ahead_ms, near_ms=near_ms)
                return

    def least_far_ms(self, store: StoreView) -> float:
        """Return the distance, in ms, from which an expiry is far; infinite if it is unknown.

        It is ``far_hours``, or ``far_spans`` times the history if longer. It is unknown if the
        history is short or has no times, or if the store does not grow and got no new keys.
        """
        history = store.history
        may_grow = history.is_growing is not False or history.inserts  # it may be quiet just now
        is_short = history.window < self.window_versions or history.span_ms is None
        if is_short or not may_grow:
            return math.inf
        return max(self.far_hours * HOUR_MS, self.far_spans * (history.span_ms or 0))

    def has_ended_row(self, store: StoreView) -> bool:
        """Return True if rows expired; merged sessions and keys removed by data do not count."""
        is_session, calls = store.operator_name in SESSION, store.expiry.calls
        has_removals = bool(store.history.removals) and not is_session
        return has_removals and (calls is None or store.expiry.has_fired)

    wrong_time = Case(
        cause="{rows:{noun}} cannot expire for {ahead_ms:duration} (until {until_ms:day}): "
        "{reason}.",
        evidence="{rows:{noun}} of {all:number} can go {ahead_ms:duration} after the clock of the "
        "judged batch at the earliest",
    )
    wall_clock = Case(
        cause="{rows:{noun}} cannot expire for {ahead_ms:duration} (until {until_ms:day}): they "
        "were most likely set from the wall clock, while event times are {lag_ms:duration} older.",
        evidence="{rows:{noun}} of {all:number} can go {ahead_ms:duration} after the watermark of "
        "the judged batch, near the batch clock",
        next_step="set event-time timeouts and timers from the event time or the watermark "
        "(getCurrentWatermarkMs), or use those of the processing time, which go by the wall clock",
    )
    long_wait = Case(
        cause="No {noun} can expire for {ahead_ms:duration} (until {until_ms:moment}), because "
        "{setting} is {length_ms:duration}: until then the state grows.",
        evidence="the first of {rows:{noun}} can go {ahead_ms:duration} after the clock of the "
        "judged batch; {removals:row} {removals:/was} removed in the history",
        next_step="shorten {setting} if the query can do with less. If it is meant to be so long, "
        "size the state for it: inspector simulate says what another one would hold",
        severity=Severity.INFO,
    )
    later_rows = Case(
        cause="{rows:number} of {all:{noun}} end after {ahead_ms:duration} at the earliest, and "
        "the others within {near_ms:duration}: the gap or timeout differs from row to row.",
        evidence="by the clock of the judged batch {rows:number} of {all:{noun}} end after "
        "{ahead_ms:duration}, and the others within {near_ms:duration}",
        next_step="compare what sets the gap or timeout of these rows, and its unit, with what is "
        "meant: inspector rows lists them",
        severity=Severity.INFO,
        hides=("SS217",),
    )


def _reason(store: StoreView) -> str:
    """Return words for the likely reason of an expiry ``far_days`` ahead or more."""
    if store.noun == "value":
        return f"the TTL of {store.store_name!r} ({TTL_OPTION}) may have a wrong unit"
    if store.expiry.is_by_watermark and store.noun != "timer":
        return "event times in the future, or a delay, window or gap that is too long"
    return "a wrong unit? Spark takes milliseconds"


def _setting(store: StoreView, waiting: ExpiringRows, now_ms: int) -> dict[str, Any]:
    """Return values for a template: ``setting``, which makes the wait long, and its ``length_ms``.

    If no setting is half as long as the shortest wait, the length is that of the longest wait.
    """
    gap_ms, is_session = store.expiry.gap_ms, store.operator_name in SESSION
    lengths = {
        "the delay of withWatermark": max((*store.clock.delays_ms, 0 if is_session else gap_ms)),
        "the length of its windows": store.keys.window_ms,
        "the gap of session_window": gap_ms if is_session else 0,
    }
    usual = "the sum of delay, window and gap"
    if not store.expiry.is_by_watermark:
        lag_ms = (store.clock.batch_ms or 0) - now_ms
        lengths = {"the lag of the watermark behind the batch clock": lag_ms}
        usual = f"the TTL of {store.store_name!r}" if store.noun == "value" else "the timeout"
    setting = max(lengths, key=lambda name: lengths[name])
    if 2 * lengths[setting] < waiting.first_ms - now_ms:
        return {"setting": usual, "length_ms": waiting.last_ms - now_ms}
    return {"setting": setting, "length_ms": lengths[setting]}
