"""SS217: key unique to each event.

What it means:
    An aggregation or a group state brings the events of a key together, and nearly every put was of
    a new key: an id of the event, or its exact time, is part of it.

How it is proven:
    The replay counts puts of keys that were not there.

Source:
    StateStoreSaveExec, FlatMapGroupsWithStateExec (2.3 to 4.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from inspector.facts.ages import Ages
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import UNIQUE_PUTS, UNIQUE_SHARE, WINDOW_VERSIONS
from inspector.findings.views.query_clock import watermark_of
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.group_state import NAMES as GROUP_STATE


class UniqueKeys(Rule[StoreView]):
    """Keys that hardly any two events share, in an operator that brings events together."""

    scope = "store"
    id = "SS217"
    title = "key unique to each event"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "Dataset.groupBy"
    next_step = "leave the unique column out of the grouping, or round it: a time to a window"
    command = "top"
    explains = ("SS201", "SS204", "SS210")
    explains_store = True

    window_versions = WINDOW_VERSIONS
    unique_puts = UNIQUE_PUTS
    unique_share = UNIQUE_SHARE

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: a store of groups for which nearly every put made a new key.

        Groups are those of aggregations and group states. At least ``window_versions`` versions and
        ``unique_puts`` puts must be known.
        """
        history = store.history
        is_grouping = store.operator_name in (*AGGREGATIONS, *GROUP_STATE)
        if not is_grouping or history.window < self.window_versions:
            return
        if history.puts < self.unique_puts or history.inserts < self.unique_share * history.puts:
            return
        if case := self.case_of(store):
            yield case(
                *store.newest.rows_and_bytes,
                never=store.rule.never or self.reason_without_rule(store),
                columns=" or ".join(store.keys.unique_columns) or "the key",
                end="timeout fired" if store.expiry.calls else "window ended",
            )

    def case_of(self, store: StoreView) -> Case | None:
        """Return the case of a store with new keys only; None if its keys are as they should be.

        It is ``expiring`` if rows expire and no key was met again before, and ``endless`` if no row
        expires. None, too, if keys are new windows that lack a watermark, which SS201 reports.
        """
        calls = store.expiry.calls
        is_timed = store.rule.expiry is not None and (calls is None or bool(calls.armed_keys))
        if is_timed or store.history.removals:
            return self.expiring if self.meets_no_key_again(store, is_timed=is_timed) else None
        # Windows are new in each batch: without a unique column, or with a watermark on another
        # column, the lack of a watermark on the window is the reason (SS201), and not the key.
        is_of_window = not store.keys.unique_columns or bool(store.clock.watermark_ms)
        is_of_window &= store.keys.has_window
        return None if is_of_window and store.rule.never else self.endless

    def reason_without_rule(self, store: StoreView) -> str:
        """Return a clause on why no group is removed, for a store whose schema gives no reason."""
        calls = store.expiry.calls
        is_unset = calls is not None and calls.never_armed_rows
        return "the function never set a timeout" if is_unset else "no group was removed"

    def meets_no_key_again(self, store: StoreView, *, is_timed: bool) -> bool:
        """Return True if hardly any group that expired had brought two events together.

        That is shown by records of the sources, by unique columns or windows, or by calls of the
        function. ``is_timed`` is True if rows have an expiry rule and the function, if any, set
        timeouts.
        """
        calls, removals = store.expiry.calls, store.history.removals
        if self.has_row_for_each_record(store):
            return True
        if calls is None:
            is_growing = store.history.is_growing and store.operator_name in AGGREGATIONS
            return bool(store.keys.unique_columns and is_growing) or self.is_open_long(store)
        # Which of two records came of data, their order tells for most of them.
        by_data = removals - calls.timeout_removed
        ages = store.sum(Ages) or Ages()
        returned = max(0, ages.born - ages.keys)
        is_lost = 4 * by_data < removals and is_timed and returned < self.unique_puts
        return is_lost and not calls.never_armed_rows

    def has_row_for_each_record(self, store: StoreView) -> bool:
        """Return True if the sources count about as many records as rows were written.

        There must be at least ``unique_puts`` records, and the smaller number must be at least the
        share ``unique_share`` of the larger one.
        """
        rows, records = store.keys.rows_and_records
        return records >= self.unique_puts and self.unique_share * max(rows, records) <= min(
            rows, records
        )

    def is_open_long(self, store: StoreView) -> bool:
        """Return True if a window is open for at least ``window_versions`` versions, on average.

        The length of a window is compared with the advance of the watermark per version.
        """
        versions = store.history.window - 1
        moved_ms = store.clock.advance_ms(versions, watermark_of) or math.inf
        return versions * store.keys.window_ms / moved_ms >= self.window_versions

    _EVIDENCE = (
        "{inserts:number} of {puts:put} in {window:version} were of keys that were not there, "
        "and {removals:key} {removals:/was} removed"
    )
    endless = Case(
        cause="{never:capital}; every batch brings only new values of {columns}: {inserts:number} "
        "of {puts:put} made a new group.",
        evidence=_EVIDENCE,
    )
    expiring = Case(
        cause="No value of {columns} came again before its {end}: {inserts:number} of {puts:put} "
        "made a new group.",
        evidence=_EVIDENCE,
    )
