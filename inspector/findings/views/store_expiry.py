"""Expiry of the rows of a store, by the clock that they follow."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timer_runs import TimerCalls
from inspector.findings.views.base_store import StoreFacts
from inspector.findings.views.query_clock import timestamp_of, watermark_of
from inspector.light_dataclasses import replace
from inspector.merge.resolution import reasons_of
from inspector.model import Certainty, TimeoutKind
from inspector.operators import deduplicate_within_watermark
from inspector.operators.rule import WATERMARK_KEY, Clock
from inspector.operators.session_window import NAMES as SESSION
from inspector.sums import sum_known

# fields of ``LeftoverCount`` with the numbers of keys by what became of their state
CHANGES = ("untouched", "changed", "empty")


class ExpiringRows(NamedTuple):
    """Rows that expire at a time or later, with the times of the first and the last row."""

    rows: int  # number of rows
    bytes: int  # bytes of their keys and values
    first_ms: int  # epoch ms at which the first row expires, or somewhat earlier; 0 without rows
    last_ms: int  # epoch ms at which the last row has expired; 0 without rows


class StoreExpiry:
    """View of the expiry of a store's rows, and of the calls of a group state's function."""

    def __init__(self, store: StoreFacts) -> None:
        """Make the view of the expiry of ``store``."""
        self._store = store

    @cached_property
    def usual_kind(self) -> TimeoutKind | None:
        """Clock that the timers of a group state follow in all batches; None if unknown.

        A clock that the user named comes first. Otherwise all batches that show a clock must
        show the same one. None if they differ, or if no batch shows a clock.
        """
        return self._store.facts.resolution.usual_clock(self._store.name)

    @cached_property
    def _candidates(self) -> Sequence[Expiring]:
        """Live rows by expiry time, one item for each clock that the rows may follow."""
        store = self._store
        shown = store.facts.resolution.clock_of(store.name, store.version)
        kind = shown.kind or self.usual_kind
        # A restart may have changed a clock that the batch does not show, if no timer is due by it.
        return [
            item
            for item in store.facts.merged(Expiring).get(store.name, {}).values()
            if kind is None
            or item.timeout_kind in (None, kind)
            or not (shown.shown or item.due_rows)
        ]

    @cached_property
    def expiring(self) -> Expiring | None:
        """Live rows by expiry time; None if the rule or clock is unknown.

        If the rows may follow two clocks, it is by the clock for which fewer rows are due. Also
        None if rows of the store do not fit their schema.
        """
        store = self._store
        is_known = store.rule.expiry is not None and store.clock.batch is not None
        if not is_known or not self._candidates or store.name in store.whole.unfit_stores:
            return None
        return min(self._candidates, key=lambda item: item.due_rows)

    @cached_property
    def now_ms(self) -> int | None:
        """Time of the clock that the rows follow, in the judged batch, in epoch ms.

        It is the later one if the rows may follow two clocks. None if a clock is unknown, or if
        there is no watermark yet.
        """
        batch, expiry = self._store.clock.batch, self._store.rule.expiry
        if batch is None or expiry is None or not self._candidates:
            return None
        kinds = [kind for item in self._candidates if (kind := item.timeout_kind) is not None]
        clocks = [batch.time_ms(kind) for kind in kinds] or [expiry.clock.time_ms(batch)]
        # A watermark of 0 is none, which no timer waits for; an unknown one may be any.
        return None if None in clocks else max(map(int, filter(None, clocks)), default=None)

    def rows_from(self, limit_ms: float) -> ExpiringRows:
        """Return the live rows that expire at ``limit_ms`` (epoch ms) or later.

        Rows are known by ranges of expiry times. A range counts if it begins at the limit or later.
        All numbers are 0 if the expiry is unknown.
        """
        expiring = self.expiring or Expiring()
        late = [bucket for bucket in expiring.rows if bucket * expiring.width >= limit_ms]
        return ExpiringRows(
            sum(expiring.rows[bucket] for bucket in late),
            sum(expiring.bytes[bucket] for bucket in late),
            min(late, default=0) * expiring.width,
            (max(late, default=-1) + 1) * expiring.width,
        )

    @cached_property
    def leftovers(self) -> Sequence[LeftoverCount]:
        """Counts of the store's leftovers, undecided ones too; all partitions are summed.

        There is one count for each class, certainty, and position in or before the window.
        Undecided leftovers also have one for each reason.
        """
        store, judged = self._store, dict[tuple[Any, ...], list[LeftoverCount]]()
        for total in (*store.facts.totals, *store.facts.undecided_totals):
            if total.store.name == store.name:
                count = total.fact
                # Undecided keys are counted apart by what leaves them so.
                why = count.reason or "" if count.certainty is Certainty.UNDECIDED else ""
                key = (count.leftover_class.value, count.certainty.value, count.before_window, why)
                judged.setdefault(key, []).append(count)
        return [total_of(counts) for _, counts in sorted(judged.items())]

    @property
    def is_by_watermark(self) -> bool:
        """True if the expiry rule of the rows follows the watermark, and no timeout."""
        expiry = self._store.rule.expiry
        return expiry is not None and expiry.clock is Clock.WATERMARK

    @cached_property
    def calls(self) -> TimerCalls | None:
        """Calls of a group state's function and their effects; None for other operators.

        If the clock of timeouts is unknown, the numbers are by processing time or event time. Lost
        rows are then the larger number, as both are sure.
        """
        facts, name = self._store.facts, self._store.name
        kinds = (self.usual_kind,) if self.usual_kind else tuple(TimeoutKind)
        calls = [facts.calls[name, kind] for kind in kinds if (name, kind) in facts.calls]
        if not calls:
            return None
        # Lost timers are sure by either clock.
        sure = max(calls, key=lambda by_clock: by_clock.lost_rows)
        return replace(calls[0], lost_rows=sure.lost_rows, lost_bytes=sure.lost_bytes)

    @property
    def has_fired(self) -> bool:
        """True if a timeout of the group state surely fired, whatever became of its key."""
        calls = self.calls
        return calls is not None and any(
            (calls.timeout_kept, calls.timeout_rearmed, calls.timeout_removed)
        )

    def advance_ms(self, versions: int) -> int:
        """Return the ms by which the clock of the rows moved over the newest versions.

        ``versions`` is the number of versions to go back. If timers may follow either clock, it is
        the clock that moved less. Returns 0 if a time is unknown.
        """
        expiry, kind = self._store.rule.expiry, self.usual_kind
        by_time = (Clock.WATERMARK, Clock.PROCESSING_TIME)
        clock = Clock.WATERMARK if expiry is None else expiry.clock
        if clock is Clock.TIMEOUT and kind is not None:
            clock = by_time[kind is TimeoutKind.PROCESSING_TIME]
        readers = dict(zip(by_time, (watermark_of, timestamp_of), strict=True))
        chosen = [readers[clock]] if clock in readers else readers.values()
        return min(self._store.clock.advance_ms(versions, reader) for reader in chosen)

    @cached_property
    def gap_ms(self) -> int:
        """Estimated gap of sessions, or time that a deduplication keeps keys, in ms; 0 if unknown.

        It is computed from the newest expiry and the watermark that the judged batch made. 0 for
        other operators.
        """
        # The newest event is the delay ahead of the watermark that it made.
        ages, clock, operator = self._store.sum(Ages), self._store.clock.batch, self._store.operator
        newest_ms = None if ages is None else ages.newest_ms
        if newest_ms is None or clock is None or not clock.next_watermark_ms:
            return 0
        ahead_ms = max(0, newest_ms - clock.next_watermark_ms)
        if operator.name in deduplicate_within_watermark.NAMES:
            return ahead_ms // 2  # the delay is in both
        columns = (c for schema in operator.schemas.values() for c in schema.value.fields)
        delays = [column.metadata.get(WATERMARK_KEY, 0) for column in columns]
        is_session = operator.name in SESSION
        return max(0, ahead_ms - max(delays, default=0)) if is_session else 0


def total_of(counts: Sequence[LeftoverCount]) -> LeftoverCount:
    """Return one count for leftovers that have one judgement, from the counts of partitions.

    Rows and bytes are added up. The lowest ``expired_version`` and the highest ``fired`` are
    kept. ``first_expired_version`` is the lowest one, or None if a count has none. Distinct
    reasons are joined. ``counts`` must not be empty.
    """
    firsts = [first for count in counts if (first := count.first_expired_version) is not None]
    changes: Any = {name: sum_known(getattr(c, name) for c in counts) for name in CHANGES}
    return replace(
        counts[0],
        rows=sum(count.rows for count in counts),
        key_bytes=sum(count.key_bytes for count in counts),
        value_bytes=sum(count.value_bytes for count in counts),
        expired_version=min(count.expired_version for count in counts),
        fired=max(count.fired for count in counts),
        first_expired_version=min(firsts) if len(firsts) == len(counts) else None,
        reason=reasons_of(counts),
        **changes,
    )
