"""``RocksDBStateStoreProvider``: changelogs, and snapshots that name RocksDB's table files.

``7.changelog`` or ``7_<id>.changelog`` has the changes of version 7. ``7.zip`` or ``7_<id>.zip`` is
its snapshot, which names the table files of the version. ``<id>`` is the unique id of the
checkpoint that the version belongs to (format 2, Spark 4.0 on). ``SSTs/000008-<uuid>.sst`` is a
table file, shared by the versions that name it, ``logs/000004-<uuid>.log`` RocksDB's own log of
writes.

Each attempt at a batch has an id of its own in the names of its files (checkpoint format 2), so a
version may have several. The commit log records which attempt was committed. It keeps fewer batches
than the state has versions: for older versions the lineage in a later changelog shows it.
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

# names of the provider's files
SPELLED = FileNames(
    delta="{}.changelog",
    snapshot="{}.zip",
    absent="CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE",
)

PIECE_BYTES = 1 << 20  # bytes of one request for a part of a file; the last few parts are kept

# Folders in a store's folder with table files and with logs of writes.
TABLES, LOGS = "SSTs", "logs"
# name of a changelog or snapshot: version, unique id, suffix
_STATE = re.compile(r"([0-9]+)(?:_([0-9A-Za-z-]+))?\.(zip|changelog)")
_KINDS = {"changelog": FileKind.DELTA, "zip": FileKind.SNAPSHOT}  # kind of a file by its suffix
_FOLDERS = {TABLES: FileKind.TABLE, LOGS: FileKind.TABLE_LOG}  # kind of the files in each folder


class StateName(NamedTuple):
    """Parts of the name of a changelog or snapshot."""

    version: Version  # version of the file
    unique_id: str | None  # unique id of its checkpoint; None in format 1
    kind: FileKind  # delta or snapshot


def parse_name(name: str) -> StateName | None:
    """Return the parts of a changelog's or snapshot's name; None for other names."""
    match = _STATE.fullmatch(name)
    version = None if match is None else number(match[1], MAX_BATCH)
    if match is None or version is None:
        return None
    return StateName(Version(version), match[2], _KINDS[match[3]])


class RocksDbProvider(Provider):
    """Spark's provider on RocksDB, recognised by the recorded class or else by its files."""

    removes_what_it_has = False  # RocksDB.remove writes a removal whether the key exists or not
    spark_class = "RocksDBStateStoreProvider"
    names = SPELLED
    has_column_families = True
    keeps_maps = False
    shares_files = True
    sums_snapshots = True
    writes_snapshots_alone = True

    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """Return the kind and version of a file by its name, or the kind of a shared folder."""
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
        """Return the files of one store, with those of uncommitted attempts as abandoned.

        ``committed`` has by version the ids of committed attempts. ``storage`` reads the lineage in
        changelogs; without it only file names decide.
        """
        named = super().resolve_attempts(files, committed)

        def lineage(file: StoreFile) -> Mapping[int, str]:
            """Return the lineage in a changelog; empty if it cannot be read."""
            try:
                return {} if storage is None else self.content.lineage(storage, file)
            except (InspectorError, OSError):
                return {}

        return mark_attempts(named, committed, lineage)

    def requests_of(self, file: StoreFile, *, has_sums: bool) -> int:
        """Return the requests for a file: a table is read in pieces, a large zip in two parts."""
        pieces = -(-file.size // PIECE_BYTES)
        if file.kind is FileKind.TABLE:
            return 1 + pieces
        if file.kind is FileKind.SNAPSHOT and pieces > 1:
            return 2 + has_sums * parts_of(file.size)
        return super().requests_of(file, has_sums=has_sums)

    def unique_id(self, file: StoreFile) -> str | None:
        """Return the id in the name of a file (checkpoint format 2), else None."""
        name = parse_name(file.path.rpartition("/")[2])
        return None if name is None else name.unique_id


def mark_attempts(
    files: Sequence[StoreFile],
    committed: Mapping[int, frozenset[str]],
    lineage: Callable[[StoreFile], Mapping[int, str]],  # of a changelog; empty if unreadable
) -> tuple[StoreFile, ...]:
    """Return the files of a store, with those of uncommitted attempts as abandoned.

    ``committed`` has the unique ids by version. If neither the commit log nor a lineage shows the
    committed attempt of a version, the attempt that wrote last counts.
    """
    # If neither the commit log nor the lineage names a version's attempt, the attempt that wrote
    # last is taken: it is newer than the last commit, or as old as the oldest snapshot.
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
