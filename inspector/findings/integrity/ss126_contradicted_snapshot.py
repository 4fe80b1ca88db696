"""SS126: snapshot that RocksDB's own files contradict.

What it means:
    A snapshot of RocksDB is a zip with RocksDB's own files, `CURRENT` and `MANIFEST`, and a list of
    table files. They are not of one snapshot. RocksDB refuses the snapshot, or it deletes tables
    that its MANIFEST does not list, and the rows in them are lost without an error. The finding is
    a warning if a restart does not load the snapshot.

How it is proven:
    CURRENT has to name a MANIFEST in the zip. Its live tables are compared with those that the
    entry `metadata` lists, by number and size, and by the unique id of each table.

Source:
    RocksDB.load, RocksDBFileManager.loadCheckpointFromDfs (3.2 to 4.3); in RocksDB
    GetCurrentManifestPath, VersionEditHandler, GetSstInternalUniqueId.
"""

from __future__ import annotations

from inspector.exceptions import RefusedSnapshotError
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import EVIDENCE, ProblemRule
from inspector.findings.rule import Case
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

    general = Case(
        cause="A snapshot of RocksDB and RocksDB's own files in it are not of one version.",
        evidence=EVIDENCE,
        next_step="{to_do}",
    )
