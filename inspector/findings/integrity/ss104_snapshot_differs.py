"""SS104: snapshot differs from its deltas.

What it means:
    A snapshot holds other rows than the replay of the deltas up to its version. One of them was not
    written by this run of this query: something else writes to the checkpoint, or a batch that had
    failed ran again with another output mode or other code.

How it is proven:
    The rows of both are compared key by key, by the size and the hash of each value. Where the
    deltas before it are gone, what the delta of its own version wrote is looked up in it.

Source:
    HDFSBackedStateStoreProvider.loadMap (2.3 to 4.3), RocksDB.load (3.2 to 4.3): where both exist
    Spark takes the snapshot.
"""

from __future__ import annotations

from inspector.findings.finding import Severity
from inspector.findings.problem_rule import EVIDENCE, ProblemRule
from inspector.findings.rule import Case


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

    general = Case(
        cause="A snapshot holds other rows than the deltas up to its version make.",
        evidence=EVIDENCE,
        next_step="{to_do}",
    )
