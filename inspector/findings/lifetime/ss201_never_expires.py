"""SS201: rows can never expire.

What it means:
    By its schema no rule of the operator can remove a row: a grouping column, a column of
    `dropDuplicates` or a join side carries no watermark, or there is no timeout. Or calls with
    data set no timer, or event times are null. Put the watermark's column into the key, bound a
    join, or set a timeout. It is information if the store does not grow, or keys are removed.

How it is proven:
    The schema, and every version that can be replayed. A `withWatermark` that a restart added shows
    in no schema, so columns with a time are inferred (inference `unmarked-time`).

Source:
    WatermarkSupport.watermarkExpression, StreamingDeduplicateExec, FlatMapGroupsWithStateExec,
    StreamingSymmetricHashJoinHelper (2.3 to 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from inspector.facts.ages import Ages
from inspector.facts.timer_runs import TimerCalls
from inspector.findings.finding import Severity, Weight
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import (
    ALIKE_SHARE,
    FAR_SHARE,
    HOT_SHARE,
    UNIQUE_PUTS,
    WINDOW_VERSIONS,
    Threshold,
)
from inspector.findings.views.hidden_watermark import is_watermark_refuted, may_have_watermark
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.deduplicate import NAMES as DEDUPLICATE
from inspector.operators.rule import Clock

# advice for keys of a group state without a timeout
UNSET = (
    "call state.setTimeoutDuration or state.setTimeoutTimestamp in every call that keeps the "
    "state: each call clears the timer that was set before"
)


class NeverExpires(Rule[StoreView]):
    """Rows that no rule removes."""

    scope = "store"
    id = "SS201"
    title = "rows can never expire"
    severity = Severity.WARNING
    info_weight = Weight.INTENDED
    certainties = (Certainty.PROVEN, Certainty.INFERRED)
    spark = "withWatermark"
    next_step = (
        "see the operator's advice under `next:` in the report. Few rows that are meant to stay "
        "need nothing"
    )
    explains = ("SS204",)
    explains_store = True

    window_versions = WINDOW_VERSIONS
    unique_puts = UNIQUE_PUTS
    alike_share = ALIKE_SHARE
    hot_share = HOT_SHARE
    far_share = FAR_SHARE
    few_removed = Threshold(0.1, "share", "Largest share of new keys that a function removes.")
    new_keys_fall = Threshold(0.75, "share", "New keys in a quarter over the quarter before.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield the rows that nothing removes: by their schema, a null event time, or no timer."""
        if store.rule.never is not None and store.rows:
            yield from self.find_by_schema(store, store.rule.never)
        yield from self.find_null_times(store)
        yield from self.find_without_timeout(store)

    def find_by_schema(self, store: StoreView, never: str) -> Iterator[Evidence]:
        """Yield all rows of a store whose schema shows that no rule removes them.

        ``never`` is the reason, as a text for users. Nothing is yielded if a function removed keys,
        unless it removed hardly any of many.
        """
        removes_few = self.removes_few(store)
        if store.history.removals and not removes_few:
            return  # a function removes keys whenever it likes
        is_possible, is_refuted = may_have_watermark(store), is_watermark_refuted(store)
        steady = self.steady_reason(store)
        is_meant = removes_few or bool(steady) or (is_possible and not is_refuted)
        watermark_ms, columns = store.clock.watermark_ms, ""
        if store.operator_name in DEDUPLICATE and store.keys.unique_columns:
            columns = f"{' or '.join(store.keys.unique_columns)} differs in each key"
        if store.operator_name in AGGREGATIONS and watermark_ms and (is_refuted or not is_possible):
            columns = "the watermark of the query is on another column"
        yield self.by_schema(
            *store.newest.rows_and_bytes,
            severity=Severity.INFO if is_meant else None,
            certainty=Certainty.INFERRED if is_possible else None,
            never=never,
            note="; ".join(filter(None, (columns, steady))),
            advice=store.rule.advice,
        )

    def find_null_times(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: rows with a null event time, which no watermark removes.

        Nothing is yielded if they are less than the share ``far_share`` of the rows.
        """
        expiring, ages = store.expiry.expiring, store.sum(Ages)
        expiry = store.rule.expiry or store.rule.event_time
        if expiry is None or expiry.clock is not Clock.WATERMARK:
            return
        rows, new, size = 0, 0, None
        if store.rule.expiry is None and ages is not None:
            rows, new = ages.untimed, ages.untimed_new
        elif store.rule.expiry is not None and expiring is not None:
            rows, new, size = expiring.endless_rows, expiring.endless_new, expiring.endless_bytes
        if not rows or rows < self.far_share * store.rows:
            return
        is_growing = new and store.history.is_growing is not False
        is_warned = is_growing and store.history.window >= self.window_versions
        severity = None if is_warned else Severity.INFO
        yield self.null_times(rows, size, severity=severity, field=expiry.name, new=new)

    def find_without_timeout(self, store: StoreView) -> Iterator[Evidence]:
        """Yield the keys of a group state without a timeout, if the history is long enough."""
        calls = store.expiry.calls
        if calls is not None and store.history.window >= self.window_versions:
            yield from self.find_taken_timeouts(store, calls)
            yield from self.find_unset_timeouts(store, calls)

    def find_taken_timeouts(self, store: StoreView, calls: TimerCalls) -> Iterator[Evidence]:
        """Yield at most one evidence: keys whose timeout a call for new data surely took away."""
        lost, history, steady = calls.lost_rows, store.history, self.steady_reason(store)
        if lost >= max(1, self.alike_share * store.rows):
            by_data = history.removals - calls.timeout_removed
            # If data removes keys too, those without a timeout may wait for it.
            is_leak = lost >= self.hot_share * store.rows and 4 * by_data <= history.removals
            severity = None if is_leak and not steady else Severity.INFO
            yield self.taken_timeout(lost, calls.lost_bytes or None, severity=severity, note=steady)

    def find_unset_timeouts(self, store: StoreView, calls: TimerCalls) -> Iterator[Evidence]:
        """Yield at most one evidence: keys that had no timeout in the whole window."""
        history, steady = store.history, self.steady_reason(store)
        rows, removes_few = calls.never_armed_rows, self.removes_few(store)
        is_proven = not calls.armed_keys
        if not rows or not (is_proven or calls.unarmed_by_data):
            return  # reported as kept without a timeout since before the window
        if is_proven and history.removals and not removes_few:
            return
        severity = Severity.INFO if steady or (is_proven and history.removals) else None
        certainty = Certainty.PROVEN if is_proven else Certainty.INFERRED
        counts = rows, calls.never_armed_bytes
        yield self.unset_timeout(*counts, severity=severity, certainty=certainty, note=steady)

    def removes_few(self, store: StoreView) -> bool:
        """Return True if a function removed some of many keys (``unique_puts``), and hardly any."""
        inserts, removals = store.history.inserts, store.history.removals
        return inserts >= self.unique_puts and 0 < removals <= self.few_removed * inserts

    def steady_reason(self, store: StoreView) -> str:
        """Return a clause on why the rows may be meant to stay; "" if the store grows."""
        history = store.history
        is_quiet = not history.inserts or history.is_quiet(self.window_versions)
        if history.window >= self.window_versions and is_quiet:
            versions = history.quiet_versions if history.inserts else history.window
            return f"no key was new in the newest {versions:,} versions"
        if history.is_growing is False:
            return "the store does not grow"
        return "ever fewer keys are new" if self.fills_up(store) else ""

    def fills_up(self, store: StoreView) -> bool:
        """Return True if the share of puts that make new keys falls, as for a set that fills up."""
        # It falls from each to the next of the three newest quarters of the history, and by more
        # than chance (three deviations of the counts). With keys that never come again it stays.
        changes = [changes for changes in store.history.changes if changes.puts]
        length = len(changes) // 4
        if length < self.window_versions:
            return False
        parts = [changes[len(changes) - n * length :][:length] for n in (3, 2, 1)]
        new = [sum(changes.new_rows for changes in part) for part in parts]
        puts = [sum(changes.puts for changes in part) for part in parts]
        shares = [count / total for count, total in zip(new, puts, strict=True)]
        is_steady = any(after > self.new_keys_fall * before for before, after in pairwise(shares))
        return not is_steady and new[0] - new[2] >= 3 * math.sqrt(new[0] + new[2])

    by_schema = Case(
        cause="{never:capital}{note:brackets}.",
        evidence="{never}; {rows:row}, {removals:number} of {inserts:key} removed in the "
        "{window:version} whose changes can be read",
        next_step="{advice}",
    )
    null_times = Case(
        cause="The event time of {rows:row} is null ({field}), so no watermark removes {rows:/it}; "
        "{new:number} of them came in the newer half of the history.",
        evidence="{field} is null in {rows:number} of {all:row}, and a row goes when it is at or "
        "below the watermark; {new:number} of them came in the newer half of {window:version}",
        next_step="drop the rows without an event time before the operator, or give them one, and "
        "look at how the column is parsed; in place of cube or rollup name the grouping sets, each "
        "with the window",
    )
    taken_timeout = Case(
        cause="A call for new data took the timeout of {rows:key} away, as it set no new one: "
        "nothing but more data can have {rows:/it} removed{note:brackets}.",
        evidence="{rows:key} of {all:number} had a timeout in the window and {rows:/has} none; "
        "{removals:key} {removals:/was} removed",
        next_step=UNSET,
    )
    unset_timeout = Case(
        cause="The function set no timeout for {rows:key} in {window:version}, so nothing but new "
        "data can have {rows:/it} removed{note:brackets}.",
        evidence="{rows:number} of {all:row} had no timeout at any version of the window "
        "({window:version}), and {removals:key} {removals:/was} removed; only new data for "
        "{rows:/it} can call the function",
        next_step=UNSET,
    )
