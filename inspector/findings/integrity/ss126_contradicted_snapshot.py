"""SS126: snapshot that RocksDB's own files contradict.

What it means:
    RocksDB's own files in the zip of a snapshot, `CURRENT`, `MANIFEST` and the list of tables, are
    not of one snapshot. RocksDB refuses it, or deletes tables that its MANIFEST does not list, with
    their rows. The finding is a warning if a restart does not load the snapshot.

How it is proven:
    The live tables of the MANIFEST are compared with those in the entry `metadata`, by number, size
    and unique id.

Source:
    RocksDB.load, RocksDBFileManager.loadCheckpointFromDfs (3.2 to 4.3).
"""

from __future__ import annotations

from inspector.exceptions import RefusedSnapshotError
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case
from inspector.model import UNLISTED


class ContradictedSnapshot(ProblemRule):
    """A snapshot of RocksDB whose files are not of one version."""

    id = "SS126"
    title = "snapshot that RocksDB's own files contradict"
    severity = Severity.ERROR
    spark = "CANNOT_LOAD_STATE_STORE"
    next_step = "restore the named file from a backup or an earlier object version"
    explains = ("SS104", "SS105")

    slugs = (RefusedSnapshotError.slug, UNLISTED)
    names_file = is_spared = is_copied = True

    general = problem_case(
        "A snapshot of RocksDB and RocksDB's own files in it are not of one version."
    )
