"""SS310: RocksDB uploads without changelogs.

What it means:
    Every batch flushes RocksDB and uploads a zip and the new table files, in every partition. With
    changelogs a batch uploads only its changes.

How it is proven:
    The newest versions have a zip and no changelog in every partition.

Source:
    RocksDB.commit, RocksDBFileManager.saveCheckpointToDfs (3.2 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Concerns, Severity, Weight
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS, Threshold
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.model import KINDS_OF_STATE


class WholeUploads(Rule[OperatorView]):
    """Zips of RocksDB that are far larger than the rows that their batches wrote."""

    scope = "operator"
    id = "SS310"
    title = "RocksDB uploads without changelogs"
    severity = Severity.INFO
    weight = Weight.BACKGROUND
    about_most = True
    spark = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
    next_step = (
        "set spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled to true and "
        "restart the query: it goes on from the zips that are there (Spark 3.5 and later)"
    )
    command = "files"
    concerns = Concerns.RECORDS

    window_versions = WINDOW_VERSIONS
    zip_ratio = Threshold(2.0, "times", "Bytes uploaded over the bytes of the rows written.")
    zip_bytes = Threshold(8_192, "bytes", "Bytes that a batch uploads.")

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield at most one evidence: the bytes that a batch uploads, if far more than it writes.

        All column families of the operator are counted together.
        """
        zips, uploaded = uploads_of(operator)
        if zips < self.window_versions or uploaded < self.zip_bytes:
            return
        changes = changes_of(operator)
        written = sum(map(put_bytes, changes)) / max(1, len(changes))
        if uploaded >= self.zip_ratio * written:
            yield self.zips(
                zips=zips,
                uploaded=uploaded,
                written=written,
                put=sum(version.puts for version in changes),
                versions=len(changes),
            )

    zips = Case(
        cause="Each batch uploads ~{uploaded:bytes} of RocksDB files to write ~{written:bytes} of "
        "rows, as changelogs are off.",
        evidence="the newest {zips:version} have a zip and no changelog in every partition; the "
        "files are {uploaded:bytes} for each version that is kept, and {put:number} puts in "
        "{versions:version} wrote ~{written:bytes} each",
    )


def uploads_of(operator: OperatorView) -> tuple[int, int]:
    """Return (number of newest versions with a zip alone, bytes of files per kept version).

    The number is the least of all partitions. Returns 0 and 0 if a partition has a changelog of its
    newest version.
    """
    fewest, kept, size = 0, 0, 0
    for layout, files in operator.folders:
        alone = 0
        while files.newest - alone in files.snapshots and files.newest - alone not in files.deltas:
            alone += 1
        if not files.compares or not alone:
            return 0, 0
        fewest = min(fewest or alone, alone)
        kept = max(kept, len(files.snapshots))
        size += sum(file.size for file in layout.files if file.kind in KINDS_OF_STATE)
    return fewest, size // max(1, kept)


def changes_of(operator: OperatorView) -> Sequence[VersionFacts]:
    """Return facts of the versions whose changes are known in all stores of an operator.

    The facts of a version are summed over its stores and partitions.
    """
    # Column families share the files of their partition, so that no single one explains them.
    by_version: dict[int, VersionFacts] = {}
    for name, versions in operator.whole.facts.by_store().items():
        if name.operator_id == operator.operator_id:
            for version, facts in versions.items():
                by_version[version] = by_version.get(version, VersionFacts()) + facts
    stores = max((facts.stores for facts in by_version.values()), default=0)
    return [v for v in by_version.values() if v.stores == stores and not v.rebased]


def put_bytes(version: VersionFacts) -> float:
    """Return an estimate of the bytes that a version put: new rows, and updated rows whole.

    The key bytes of updated rows are taken from the mean size of a key.
    """
    # An updated row has the key object of the version before, which is not among the new ones.
    new = version.row_bytes - version.shared_key_bytes - version.shared_value_bytes
    return new + version.updates * version.key_bytes / max(1, version.rows)
