"""SS104: snapshot differs from its deltas.

What it means:
    A snapshot holds other rows than the deltas up to its version make. Something else writes to the
    checkpoint, or a batch that had failed ran again with another output mode or other code.

How it is proven:
    Both are compared key by key, by size and hash of each value; where older deltas are gone, with
    the delta of the same version.

Source:
    HDFSBackedStateStoreProvider.loadMap (2.3 to 4.3), RocksDB.load (3.2 to 4.3).
"""

from __future__ import annotations

from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class SnapshotDiffers(ProblemRule):
    """A snapshot with other rows than its deltas make."""

    id = "SS104"
    title = "snapshot differs from its deltas"
    severity = Severity.ERROR
    spark = "CANNOT_LOAD_STATE_STORE"
    next_step = (
        "find out what else writes to the checkpoint, and whether the query was changed after a "
        "batch had failed: Spark loads the snapshot, whatever its deltas say"
    )

    slugs = ("snapshot-differs",)

    general = problem_case("A snapshot holds other rows than the deltas up to its version make.")
