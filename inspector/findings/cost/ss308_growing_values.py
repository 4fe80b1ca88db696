"""SS308: values that grow.

What it means:
    The values of a store become larger with the updates, and that is most of its growth.

How it is proven:
    The mean size is measured in each version.

Source:
    HDFSBackedStateStoreProvider.put (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import HOT_SHARE, MEAN_VALUE_BYTES, WINDOW_VERSIONS, Threshold
from inspector.findings.views.store_view import StoreView
from inspector.model import Certainty


class GrowingValues(Rule[StoreView]):
    """Values whose mean size makes most of the growth of a store."""

    scope = "store"
    id = "SS308"
    title = "values that grow"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "collect_list"
    next_step = (
        "keep a count or a sketch (approx_count_distinct) in place of the list or set, keep the "
        "last entries only, or let the key expire"
    )
    command = "sizes"
    concerns = Concerns.REWRITTEN_ROWS
    hides = ("SS313",)

    window_versions = WINDOW_VERSIONS
    value_growth = Threshold(2.0, "times", "Mean bytes of a value over those of the first version.")
    mean_value_bytes = MEAN_VALUE_BYTES
    hot_share = HOT_SHARE
    settled_share = Threshold(
        0.1, "share", "Share of that growth in the newer half of the versions."
    )

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the mean value of a store that grows mostly by its values.

        Nothing is yielded if the values stopped growing, or for a short history.
        """
        stores = max((facts.stores for facts in store.versions.values()), default=0)
        versions = {
            version: facts
            for version, facts in sorted(store.versions.items())
            if facts.stores == stores and facts.rows
        }
        if len(versions) < self.window_versions:
            return
        filled = list(versions.values())
        first, last = filled[0], filled[-1]
        was, now = mean_size(first), mean_size(last)
        is_large = now >= max(self.mean_value_bytes, self.value_growth * was)
        by_values = (now - was) * last.rows
        is_most = by_values >= self.hot_share * (last.row_bytes - first.row_bytes)
        # A list of the newest entries is full half-way.
        newer = [mean_size(facts) for facts in filled[len(filled) // 2 :]]
        is_full = max(newer) - min(newer) < self.settled_share * (now - was)
        if is_large and is_most and not is_full:
            yield self.growing(
                *last.rows_and_bytes,
                was=was,
                now=now,
                buffers=store.sizes.buffers,
                versions=versions,
            )

    growing = Case(
        cause="The values grow with the updates, from {was:bytes} to {now:bytes} on average"
        "{buffers:brackets}.",
        evidence="the mean value has {now:bytes}, and had {was:bytes} at the beginning of "
        "{versions:span}; {rows:row}",
    )


def mean_size(facts: VersionFacts) -> float:
    """Return the mean bytes of the values of a version, which must have rows."""
    return facts.value_bytes / facts.rows
