"""SS304: same-value rewrites.

What it means:
    Updates wrote the bytes that were there already. Each of them is written to the delta, and makes
    a new object in the executors.

How it is proven:
    Each put is compared with the value that the key had, by size and 64-bit hash.

Source:
    HDFSBackedStateStoreProvider.put (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.store_view import StoreView
from inspector.operators.registry import rewrite_advice
from inspector.operators.transform_with_state import is_helper


class SameValues(Rule[StoreView]):
    """Updates that do not change the value of their key."""

    scope = "store"
    id = "SS304"
    title = "same-value rewrites"
    severity = Severity.INFO
    about_most = True
    spark = "GroupState.update"
    next_step = (
        "see the operator's advice under `next:` in the report: only in a group state does the "
        "user's function decide what is written, and calls update() only when the value has changed"
    )
    command = "sharing"
    concerns = Concerns.RECORDS

    same_value_share = Threshold(0.5, "share", "Share of all updates that write the same value.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the updates of a store that wrote the value that was there.

        They must be ``same_value_share`` of all updates. Indexes of Spark are left out.
        """
        total = sum(store.versions.values(), VersionFacts())
        same = total.same_value_puts
        if is_helper(store.store_name) or same < max(1, self.same_value_share * total.updates):
            return
        yield self.rewrites(
            same,
            total.same_value_put_bytes,
            share=same / total.updates,
            updates=total.updates,
            versions=store.versions,
            advice=rewrite_advice(store.operator_name),
        )

    rewrites = Case(
        cause="Updates write what is there already: {share:percent} of the updates of this store "
        "do not change the value.",
        evidence="{rows:number} of {updates:update} wrote the value that was there already, in "
        "{versions:span}",
        next_step="{advice}",
    )
