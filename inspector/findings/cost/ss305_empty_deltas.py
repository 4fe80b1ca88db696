"""SS305: empty deltas.

What it means:
    Every partition writes a delta in every batch, even without a change.

How it is proven:
    The records of each delta are counted.

Source:
    HDFSBackedStateStoreProvider.commitUpdates (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median_low

from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.store_view import StoreView


class EmptyDeltas(Rule[StoreView]):
    """State files that hold no change, which each batch writes for each partition."""

    scope = "store"
    id = "SS305"
    title = "empty deltas"
    severity = Severity.INFO
    spark = "spark.sql.shuffle.partitions"
    next_step = (
        "use a longer trigger interval, or a copy with fewer partitions: inspector copy PATH NEW "
        "--partitions N"
    )
    command = "files"
    concerns = Concerns.RECORDS

    empty_share = Threshold(0.5, "share", "Share of the deltas that change nothing.")
    empty_deltas = Threshold(100, "deltas", "Deltas that change nothing, over all partitions.")

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the deltas of a store that change nothing, if there are many.

        The case is idle batches, partitions without rows, or small batches. A store that shares its
        files with others is left out.
        """
        versions = {v: facts for v, facts in store.versions.items() if facts.stores > facts.rebased}
        deltas = sum(facts.stores - facts.rebased for facts in versions.values())
        empty = sum(facts.empty_deltas for facts in versions.values())
        fewest = max(1, self.empty_deltas, self.empty_share * deltas)
        if store.has_shared_files or empty < fewest:
            return
        vacant = sum(not facts.rows for facts in store.sizes.partitions.values())
        idle = [facts for facts in versions.values() if facts.empty_deltas == facts.stores]
        in_idle_batches = sum(facts.stores for facts in idle)
        in_vacant_partitions = vacant * len(versions)
        case = self.vacant_partitions
        if in_idle_batches >= in_vacant_partitions:
            case = self.idle_batches
        if 2 * max(in_idle_batches, in_vacant_partitions) < empty:
            case = self.small_batches
        # A partition whose change is unknown may have changed.
        changed = [facts.stores - facts.empty_deltas for facts in versions.values()]
        yield case(
            empty=empty,
            deltas=deltas,
            versions=versions,
            idle=len(idle),
            batches=len(versions),
            vacant=vacant,
            partitions=len(store.sizes.partitions),
            changed=median_low(changed),
        )

    _EVIDENCE = (
        "{empty:number} of {deltas:delta} change nothing, in {versions:span}; in {idle:number} of "
        "{batches:version} no partition changed"
    )
    idle_batches = Case(
        cause="{empty:number} of {deltas:state file} are empty: {idle:number} of {batches:batch} "
        "changed nothing.",
        evidence=_EVIDENCE,
    )
    vacant_partitions = Case(
        cause="{empty:number} of {deltas:state file} are empty: {vacant:number} of "
        "{partitions:partition} {vacant:/holds} nothing.",
        evidence=_EVIDENCE,
    )
    small_batches = Case(
        cause="{empty:number} of {deltas:state file} are empty: half of the {batches:batch} "
        "changed at most {changed:number} of {partitions:partition}.",
        evidence=_EVIDENCE,
    )
