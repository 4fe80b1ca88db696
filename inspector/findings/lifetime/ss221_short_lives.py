"""SS221: state that ends before it is used again.

What it means:
    Values are past their TTL, or keys of dropDuplicatesWithinWatermark past their delay, before
    another batch begins. Or keys come back, again and again, after they were removed.

How it is proven:
    The latest TTL is compared with the median time between batches. Puts of new keys less the
    distinct keys are those that come back. Why is inferred.

Source:
    StateTTL, TTLConfig (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.ages import Ages
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import ALIKE_SHARE, HOT_SHARE, UNIQUE_PUTS, WINDOW_VERSIONS
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty
from inspector.operators.deduplicate_within_watermark import NAMES as WITHIN_WATERMARK
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.rule import RowKind
from inspector.operators.transform_with_state import Family
from inspector.quantities import duration_text


class ShortLives(Rule[StoreView]):
    """Rows that expire before the next event of their key."""

    scope = "store"
    id = "SS221"
    title = "state that ends before it is used again"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "TTLConfig"
    next_step = (
        "make the TTL, the timeout or the delay longer than the trigger interval, the time of a "
        "batch and the pauses between the events of a key"
    )

    window_versions = WINDOW_VERSIONS
    unique_puts = UNIQUE_PUTS
    hot_share = HOT_SHARE
    alike_share = ALIKE_SHARE

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: rows that no later batch sees, or keys that come back."""
        short = self.short_life(store)
        if short is not None:
            yield short
        elif self.come_back(store):
            ages = store.sum(Ages) or Ages()
            yield self.returning(returns=ages.born - ages.keys, setting=setting_of(store))

    def short_life(self, store: StoreView) -> Evidence | None:
        """Return the evidence of rows that end before the next batch; None if they do not.

        These are keys of dropDuplicatesWithinWatermark that no next version has, or values whose
        TTL is shorter than the median time between batches. None, too, if the history is short.
        """
        if store.operator_name in WITHIN_WATERMARK:
            # Deduplication: no key of any version was there in the version before.
            filled = [v for v in store.versions.values() if v.rows and not v.rebased]
            is_gone = all(changes.new_rows == changes.rows for changes in filled)
            is_short = len(filled) < self.window_versions
            seen = f"no key outlives the next batch, in {len(filled):,} versions"
            return (
                self.short(setting=setting_of(store), seen=seen)
                if is_gone and not is_short
                else None
            )
        expiring, now_ms, gap_ms = store.expiry.expiring, store.expiry.now_ms, store.clock.gap_ms
        if expiring is None or now_ms is None or gap_ms is None or not expiring.rows:
            return None
        # Only values that the judged batch put show the whole TTL.
        is_value = store.rule.row_kind is RowKind.TTL_VALUE and bool(store.newest.puts)
        longest_ms = (max(expiring.rows) + 1) * expiring.width - now_ms
        if not is_value or store.history.window < self.window_versions or longest_ms > gap_ms:
            return None
        seen = f"it is {duration_text(longest_ms)} at most, and batches are "
        setting, seen = setting_of(store), f"{seen}{duration_text(gap_ms)} apart"
        return self.short(*store.newest.rows_and_bytes, setting=setting, seen=seen)

    def come_back(self, store: StoreView) -> bool:
        """Return True if many keys were put again after they had been removed.

        Returns False if a function removed them at calls for data, for reasons of its own. Also
        returns False if the history is shorter than ``window_versions``.
        """
        is_within = store.operator_name in WITHIN_WATERMARK
        family = store.operator.family(store.store_name)
        is_value = family is Family.VALUE and store.rule.row_kind is RowKind.TTL_VALUE
        calls, ages = store.expiry.calls, store.sum(Ages)
        if ages is None or not (is_within or is_value or store.operator_name in GROUP_STATE):
            return False
        returns, share = ages.born - ages.keys, self.alike_share if is_within else self.hot_share
        is_few = returns < max(self.unique_puts, share * store.history.inserts)
        # A function may remove keys for reasons of its own.
        is_by_data = calls is not None and returns > 2 * calls.timeout_removed
        return not is_few and not is_by_data and store.history.window >= self.window_versions

    short = Case(
        cause="{setting:capital} ends before the next batch sees a {noun}: {seen}.",
        evidence="{seen}; {puts:put} in {window:version}",
        next_step="make {setting} longer than the time from one batch to the next",
    )
    returning = Case(
        cause="Keys come back: {returns:number} of {inserts:key} that came had been removed "
        "before, as {setting} is shorter than the pauses between the events of a key.",
        evidence="{returns:number} of {inserts:key} that came had been removed before, in "
        "{window:version}",
        next_step="make {setting} longer than the pauses between the events of a key; by "
        "dropDuplicatesWithinWatermark duplicates that come later are given out again",
    )


def setting_of(store: StoreView) -> str:
    """Return words for the setting that ends the life of a row, such as ``the timeout``."""
    if store.rule.row_kind is RowKind.TTL_VALUE:
        return f"the TTL of {store.store_name!r}"
    return (
        "the delay of withWatermark" if store.operator_name in WITHIN_WATERMARK else "the timeout"
    )
