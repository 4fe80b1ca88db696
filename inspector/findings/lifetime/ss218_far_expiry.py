"""SS218: expiry far ahead of the clock.

What it means:
    Rows have a timeout, a TTL or an event time by which they stay for long. Milliseconds were taken
    for seconds, an event carries a wrong time, an event-time timeout was set from the wall clock,
    or a delay, window, gap or timeout is far longer than the history. If some sessions or timeouts
    end much later than the others, these are reported.

How it is proven:
    The expiry of every row of the judged version is compared with the clock of its batch. Where the
    batch does not show which clock the timers of a group state follow, and by both no timer is due,
    it is the later one: a restart may have changed it (premise `one-clock`). What set the time is
    inferred.

Source:
    GroupStateImpl.setTimeoutTimestamp, TimerStateImpl, TTLState (2.3 to 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import (
    ALIKE_SHARE,
    FAR_HOURS,
    FAR_SHARE,
    WINDOW_VERSIONS,
    Threshold,
)
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.deduplicate_within_watermark import NAMES as WITHIN_WATERMARK
from inspector.operators.rule import Clock, RowKind
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import TTL_OPTION

DAY_MS, HOUR_MS = 86_400_000, 3_600_000


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
    far_warned = Threshold(730.0, "days", "Days from which on it is a warning.")
    far_share = FAR_SHARE
    far_spans = Threshold(
        5.0,
        "times",
        "Times the history that can be read by which the first row of a store expires, where none "
        "has gone yet; twice that for rows that end later than the others.",
    )
    far_hours = FAR_HOURS
    alike_share = ALIKE_SHARE
    window_versions = WINDOW_VERSIONS

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield rows whose time is far ahead, or all rows, or those that end later than others."""
        expiring, now_ms = store.expiry.expiring, store.expiry.now_ms
        if expiring is None or now_ms is None:
            yield from self.find_held_join_side(store)
            return
        limit_ms = now_ms + round(self.far_days * DAY_MS)
        rows, size, first_ms = _rows_from(expiring, limit_ms)
        if rows and rows >= self.far_share * store.rows:
            yield self.years_ahead(store, rows, size, first_ms, now_ms)
            return
        yield from [*self.find_long_wait(store, expiring, now_ms)] or self.find_later_rows(
            store, expiring, now_ms
        )

    def years_ahead(
        self, store: StoreView, rows: int, size: int, first_ms: int, now_ms: int
    ) -> Evidence:
        """Return the evidence for rows with a wrong time."""
        ahead_ms, batch_ms = first_ms - now_ms, store.clock.batch_ms
        # An expiry that the wall clock set is near it, however old the event times are.
        has_timer = _noun(store) in ("timeout", "timer")
        is_wall_clock = batch_ms is not None and 10 * abs(first_ms - batch_ms) < ahead_ms
        case = self.wall_clock if has_timer and is_wall_clock else self.wrong_time
        reason = "event times in the future, or a delay, window or gap that is too long"
        if not store.expiry.is_by_watermark:
            reason = "a wrong unit? Spark takes milliseconds"
        return case(
            rows,
            size,
            severity=Severity.INFO if ahead_ms < self.far_warned * DAY_MS else None,
            noun=_noun(store),
            all=store.rows,
            ahead_ms=ahead_ms,
            until_ms=first_ms,
            lag_ms=(batch_ms or 0) - now_ms,
            owner=_owner(store),
            reason=reason,
        )

    def find_long_wait(
        self, store: StoreView, expiring: Expiring, now_ms: int
    ) -> Iterator[Evidence]:
        """Yield all rows if even the first of them cannot expire for long."""
        # An hour of history shows nothing of a delay of a month, but that the state grows.
        is_complete = sum(expiring.rows.values()) == store.rows
        first_ms = min(expiring.rows, default=0) * expiring.width
        ahead_ms = first_ms - now_ms
        if not is_complete or store.rule.row_kind is RowKind.TIMER:
            return
        if ahead_ms < self.least_far_ms(store) or self.has_ended_row(store):
            return
        longest_ms = (max(expiring.rows) + 1) * expiring.width - now_ms
        setting, length_ms = _setting(store, longest_ms)
        yield self.long_wait(
            store.rows,
            sum(expiring.bytes.values()),
            noun=_noun(store),
            ahead_ms=ahead_ms,
            until_ms=first_ms,
            setting=setting,
            length_ms=length_ms,
            removals=store.history.removals,
        )

    def find_held_join_side(self, store: StoreView) -> Iterator[Evidence]:
        """Yield all rows of a join's side that the watermark has yet to pass, by a long delay."""
        # If the rows are newer than by the delay, a source is late (SS206).
        ages, watermark_ms = store.sum(Ages), store.clock.watermark_ms
        oldest_ms = None if ages is None else ages.oldest_ms
        if store.rule.event_time is None or oldest_ms is None or not watermark_ms:
            return
        ahead_ms, longest_ms = oldest_ms - watermark_ms, max(store.clock.delays_ms, default=0)
        if self.has_ended_row(store) or not self.least_far_ms(store) <= ahead_ms <= longest_ms:
            return
        yield self.long_wait(
            *store.newest.rows_and_bytes,
            noun="row",
            ahead_ms=ahead_ms,
            until_ms=oldest_ms,
            setting="the longest delay of withWatermark",
            length_ms=longest_ms,
            removals=store.history.removals,
        )

    def find_later_rows(
        self, store: StoreView, expiring: Expiring, now_ms: int
    ) -> Iterator[Evidence]:
        """Yield sessions or timeouts that end far later than the others, with none between."""
        # Of one gap or timeout for all, rows that were put at other times would be between.
        is_session = store.operator_name in SESSION
        if not is_session and store.expiry.calls is None:
            return
        ends = sorted(bucket * expiring.width - now_ms for bucket in expiring.rows)
        least_ms = self.least_far_ms(store)
        for near_ms, ahead_ms in pairwise(ends):
            if ahead_ms >= max(least_ms, 2 * self.far_spans * max(near_ms, expiring.width)):
                rows, size, _ = _rows_from(expiring, now_ms + ahead_ms)
                if rows >= self.alike_share * store.rows:
                    yield self.later_rows(
                        rows,
                        size,
                        noun="session" if is_session else "timeout",
                        all=sum(expiring.rows.values()),
                        ahead_ms=ahead_ms,
                        near_ms=near_ms + expiring.width,
                    )
                return

    def least_far_ms(self, store: StoreView) -> float:
        """Return the ms from which on a time is far ahead; infinite if the history is short."""
        history = store.history
        may_grow = history.is_growing is not False or history.inserts  # it may be quiet just now
        is_short = history.window < self.window_versions or history.span_ms is None
        if is_short or not may_grow:
            return math.inf
        return max(self.far_hours * HOUR_MS, self.far_spans * (history.span_ms or 0))

    def has_ended_row(self, store: StoreView) -> bool:
        """Return True if rows came to their end in the history.

        Merged sessions, and keys that a function removed before their timeout, did not.
        """
        is_session, calls = store.operator_name in SESSION, store.expiry.calls
        has_removals = bool(store.history.removals) and not is_session
        return has_removals and (calls is None or store.expiry.has_fired)

    wrong_time = Case(
        cause="{rows:{noun}}{owner} cannot expire for {ahead_ms:duration} (until {until_ms:day}): "
        "{reason}.",
        evidence="{rows:{noun}} of {all:number} can go {ahead_ms:duration} after the clock of the "
        "judged batch at the earliest",
    )
    wall_clock = Case(
        cause="{rows:{noun}} cannot expire for {ahead_ms:duration} (until {until_ms:day}): they "
        "were most likely set from the wall clock, while event times are {lag_ms:duration} older.",
        evidence="{rows:{noun}} of {all:number} can go {ahead_ms:duration} after the watermark of "
        "the judged batch at the earliest, near the batch clock",
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
        evidence="{rows:number} of {all:{noun}} end after {ahead_ms:duration} by the clock of the "
        "judged batch, and the others within {near_ms:duration}",
        next_step="compare what sets the gap or timeout of these rows, and its unit, with what is "
        "meant: inspector rows lists them",
        severity=Severity.INFO,
        hides=("SS217",),
    )


def _rows_from(expiring: Expiring, limit_ms: int) -> tuple[int, int, int]:
    """Return the rows that expire at a time or later, their bytes, and the first such time."""
    late = [bucket for bucket in expiring.rows if bucket * expiring.width >= limit_ms]
    first_ms = min(late, default=0) * expiring.width
    return sum(expiring.rows[b] for b in late), sum(expiring.bytes[b] for b in late), first_ms


def _noun(store: StoreView) -> str:
    """Return what the rows of a store are."""
    nouns = {RowKind.TTL_VALUE: "value", RowKind.TIMER: "timer"}
    expiry = store.rule.expiry
    is_timeout = expiry is not None and expiry.clock is Clock.TIMEOUT
    return nouns.get(store.rule.row_kind, "timeout" if is_timeout else "row")


def _owner(store: StoreView) -> str:
    """Return words for the state variable of values with a TTL; empty for other rows."""
    is_ttl = store.rule.row_kind is RowKind.TTL_VALUE
    return f" of {store.store_name!r} ({TTL_OPTION})" if is_ttl else ""


def _setting(store: StoreView, longest_ms: int) -> tuple[str, int]:
    """Return the setting that most of the wait is due to, and its length in ms."""
    if not store.expiry.is_by_watermark:
        lag_ms = (store.clock.batch_ms or 0) - (store.expiry.now_ms or 0)
        if 2 * lag_ms >= longest_ms:
            return "the lag of the watermark behind the batch clock", lag_ms
        is_ttl = store.rule.row_kind is RowKind.TTL_VALUE
        return ("the TTL" + _owner(store)) if is_ttl else "the timeout", longest_ms
    delay_ms = max(store.clock.delays_ms, default=0)
    if store.operator_name in WITHIN_WATERMARK:
        setting = "the delay of withWatermark (it counts twice in dropDuplicatesWithinWatermark)"
        return setting, store.expiry.gap_ms or delay_ms or longest_ms
    lengths = {
        "the delay of withWatermark": delay_ms,
        "the length of its windows": store.keys.window_ms,
        "the gap of session_window": store.expiry.gap_ms,
    }
    setting = max(lengths, key=lambda name: lengths[name])
    if 2 * lengths[setting] < longest_ms:
        return "the sum of delay, window and gap", longest_ms
    return setting, lengths[setting]
