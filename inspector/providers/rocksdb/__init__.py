"""``RocksDBStateStoreProvider``: changelogs, and snapshots that name RocksDB's table files.

``7.changelog`` or ``7_<id>.changelog`` is what version 7 changed, ``7.zip`` or ``7_<id>.zip`` its
snapshot: which table files it consists of. ``<id>`` is the unique id of the checkpoint that the
version belongs to (format 2, Spark 4.0 on). ``SSTs/000008-<uuid>.sst`` is a table file, shared by
the versions that name it, ``logs/000004-<uuid>.log`` RocksDB's own log of writes.

Each attempt at a batch names its files by an id of its own (checkpoint format 2), so a version may
have several. The commit log says which was committed. It keeps fewer batches than the state has
versions: of the others the lineage in a changelog says it, by what that changelog is based on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from inspector.checkpoint.names import MAX_BATCH, classify_side_file, number
from inspector.checkpoint.storage import Storage, parts_of
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import replace
from inspector.model import KINDS_OF_VERSION, FileKind, StoreFile, Version
from inspector.providers.chain import FileNames
from inspector.providers.provider import Provider

SPELLED = FileNames(
    delta="{}.changelog",
    snapshot="{}.zip",
    absent="CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
)

PIECE_BYTES = 1 << 20  # bytes of one request; what was read is kept for the next few

TABLES, LOGS = "SSTs", "logs"
_STATE = re.compile(r"([0-9]+)(?:_([0-9A-Za-z-]+))?\.(zip|changelog)")
_KINDS = {"changelog": FileKind.DELTA, "zip": FileKind.SNAPSHOT}
_FOLDERS = {TABLES: FileKind.TABLE, LOGS: FileKind.TABLE_LOG}


class StateName(NamedTuple):
    """The parts of a state file's name."""

    version: Version  # that it is of
    unique_id: str | None  # of its checkpoint; None in format 1
    kind: FileKind


def parse_name(name: str) -> StateName | None:
    """The parts of a changelog's or snapshot's name; None if it is neither."""
    match = _STATE.fullmatch(name)
    version = None if match is None else number(match[1], MAX_BATCH)
    if match is None or version is None:
        return None
    return StateName(Version(version), match[2], _KINDS[match[3]])


class RocksDbProvider(Provider):
    """Recognised by the recorded class or, where none is recorded, by its files."""

    removes_what_it_has = False  # RocksDB.remove writes it without a look at the key
    spark_class = "RocksDBStateStoreProvider"
    names = SPELLED
    has_column_families = True
    keeps_maps = False
    shares_files = True
    sums_snapshots = True
    writes_snapshots_alone = True

    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """Changelogs, snapshots and what lies beside them; its two folders of shared files."""
        if is_dir:
            return _FOLDERS.get(name, FileKind.OTHER), None
        result = parse_name(name)
        return (result.kind, result.version) if result else classify_side_file(name)

    def resolve_attempts(
        self,
        files: Sequence[StoreFile],
        committed: Mapping[int, frozenset[str]],
        storage: Storage | None = None,
    ) -> tuple[StoreFile, ...]:
        """The files with those of attempts that were not committed as abandoned."""
        named = super().resolve_attempts(files, committed)

        def lineage(file: StoreFile) -> Mapping[int, str]:
            try:
                return {} if storage is None else self.content.lineage(storage, file)
            except (InspectorError, OSError):
                return {}

        return mark_attempts(named, committed, lineage)

    def requests_of(self, file: StoreFile, *, has_sums: bool) -> int:
        """A table is looked up and read in pieces; of a large zip its directory and one entry."""
        pieces = -(-file.size // PIECE_BYTES)
        if file.kind is FileKind.TABLE:
            return 1 + pieces
        if file.kind is FileKind.SNAPSHOT and pieces > 1:
            return 2 + has_sums * parts_of(file.size)
        return super().requests_of(file, has_sums=has_sums)

    def unique_id(self, file: StoreFile) -> str | None:
        """The id in the name (checkpoint format 2)."""
        name = parse_name(file.path.rpartition("/")[2])
        return None if name is None else name.unique_id


def mark_attempts(
    files: Sequence[StoreFile],
    committed: Mapping[int, frozenset[str]],
    lineage: Callable[[StoreFile], Mapping[int, str]],  # of a changelog; empty if unreadable
) -> tuple[StoreFile, ...]:
    """The files of a store, those of other attempts than the committed ones as abandoned."""
    # Of a version that neither the commit log nor the lineage says anything of, the attempt that
    # wrote last is taken: it is newer than the last commit, or as old as the oldest snapshot.
    attempts: dict[int, dict[str | None, list[StoreFile]]] = {}
    for file in files:
        name = parse_name(file.path.rpartition("/")[2]) if file.kind in KINDS_OF_VERSION else None
        if name is not None:
            attempts.setdefault(name.version, {}).setdefault(name.unique_id, []).append(file)
    # The id of each version's attempt that counts.
    ids: dict[int, str | None] = {}
    lineage_ids: dict[int, str] = {}
    changelog: StoreFile | None = None  # of the version above, by the attempt that counts
    for version in sorted(attempts, reverse=True):
        version_attempts = attempts[version]
        logged = committed.get(version)
        unclear = logged is None and len(version_attempts) > 1 and version not in lineage_ids
        if unclear and changelog is not None:
            lineage_ids |= lineage(changelog)
        if logged is not None:
            # None of them: whatever is there was never committed.
            ids[version] = next(
                (unique_id for unique_id in version_attempts if unique_id in logged), ""
            )
        elif len(version_attempts) == 1:
            ids[version] = next(iter(version_attempts))
        elif lineage_ids.get(version) in version_attempts:
            ids[version] = lineage_ids[version]
        else:
            times = {
                i: max(f.modified_ms or 0 for f in id_files)
                for i, id_files in version_attempts.items()
            }
            ids[version] = max(times, key=lambda unique_id: times[unique_id])
        id_files = version_attempts.get(ids[version], ())
        changelog = next((file for file in id_files if file.kind is FileKind.DELTA), None)
    abandoned = {
        file.path
        for version, version_attempts in attempts.items()
        for unique_id, attempt_files in version_attempts.items()
        if unique_id != ids[version]
        for file in attempt_files
    }
    return tuple(replace(f, kind=FileKind.ABANDONED) if f.path in abandoned else f for f in files)


PROVIDER = RocksDbProvider()
