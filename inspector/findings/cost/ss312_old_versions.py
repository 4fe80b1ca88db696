"""SS312: many old versions.

What it means:
    The files of far more versions are kept than Spark's default of 100. They cost space and longer
    listings.

How it is proven:
    The versions of each store are counted, and the bytes of those more than 100 versions old.

Source:
    HDFSBackedStateStoreProvider.cleanup, RocksDBFileManager.deleteOldVersions (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.checkpoint_view import OperatorView

USUAL_VERSIONS = 100  # default of ``spark.sql.streaming.minBatchesToRetain``


class OldVersions(Rule[OperatorView]):
    """State files of versions that Spark removes by default."""

    scope = "operator"
    id = "SS312"
    title = "many old versions"
    severity = Severity.INFO
    spark = "spark.sql.streaming.minBatchesToRetain"
    next_step = (
        "lower spark.sql.streaming.minBatchesToRetain, which is read at each start; where it is "
        "100, look for maintenance errors in the executors' logs"
    )
    command = "files"
    concerns = Concerns.RECORDS

    kept_versions = Threshold(200, "versions", "Versions in a store whose files are kept.")
    kept_batches = Threshold(
        120, "versions", "Versions, if the offset log keeps as many: each batch purges that log."
    )

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield at most one evidence: the versions whose files are kept, if they are many."""
        folders = [files for _, files in operator.folders]
        kept = max((len({*files.deltas, *files.snapshots}) for files in folders), default=0)
        logged = len(operator.whole.checkpoint.logs.sources)
        if kept < self.kept_versions and min(kept, logged) < self.kept_batches:
            return
        by_version = [kind for files in folders for kind in (files.deltas, files.snapshots)]
        stored = [file for files in by_version for file in files.values()]
        limit = max((files.newest for files in folders), default=0) - USUAL_VERSIONS
        total = sum(file.size for file in stored)
        old = sum(file.size for file in stored if (file.version or 0) < limit)
        share = old / max(1, total)
        yield self.kept(kept=kept, old=old, total=total, share=share, usual=USUAL_VERSIONS)

    kept = Case(
        cause="The files of {kept:number} versions are kept: {share:percent} of the {total:bytes} "
        "are of versions more than {usual} batches old.",
        evidence="{kept:number} versions in a store; {old:bytes} of {total:bytes} are of versions "
        "more than {usual} old",
    )
