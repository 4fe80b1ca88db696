"""``RocksDBStateStoreProvider``: changelogs, and snapshots that name RocksDB's table files.

Each attempt at a batch names its files by an id of its own (checkpoint format 2), so a version may
have several. The commit log says which was committed. It keeps fewer batches than the state has
versions: of the others the lineage in a changelog says it, which names what that changelog is
based on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from inspector.checkpoint.storage import Storage, parts_of
from inspector.exceptions import InspectorError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.common_names import classify_side_file
from inspector.providers.provider import Listing, Provider
from inspector.providers.rocksdb.file_names import PIECE_BYTES, SPELLED, folder_kind, parse_name

_CLASS = "RocksDB"


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
            return folder_kind(name), None
        result = parse_name(name)
        return (result.kind, result.version) if result else classify_side_file(name)

    def detect(self, listing: Listing) -> bool:
        """By the recorded class; by any file of its own if none is recorded."""
        if listing.provider_class is not None:
            return _CLASS in listing.provider_class
        names = (file.path.rsplit("/", 1)[-1] for file in listing.files)
        return any(parse_name(name) for name in names)

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


_STATE = (FileKind.DELTA, FileKind.SNAPSHOT)

Lineage = Callable[[StoreFile], Mapping[int, str]]
"""Reads of a changelog which versions it is based on, each with the unique id of its checkpoint;
empty if it does not say, or cannot be read."""


def mark_attempts(
    files: Sequence[StoreFile], committed: Mapping[int, frozenset[str]], lineage: Lineage
) -> tuple[StoreFile, ...]:
    """The files of a store, those of other attempts than the committed ones as abandoned."""
    # committed: the ids that the commit log has, by version. Of a version that neither it nor the
    # lineage says anything of, the attempt that wrote last is taken: it is newer than the last
    # commit, or as old as the oldest snapshot.
    attempts: dict[int, dict[str | None, list[StoreFile]]] = {}
    for file in files:
        name = parse_name(file.path.rpartition("/")[2]) if file.kind in _STATE else None
        if name is not None:
            attempts.setdefault(name.version, {}).setdefault(name.unique_id, []).append(file)
    # The id of each version's attempt that counts.
    ids: dict[int, str | None] = {}
    by_lineage: dict[int, str] = {}
    for version in sorted(attempts, reverse=True):
        of_version = attempts[version]
        logged = committed.get(version)
        if logged is not None:
            # None of them: whatever is there was never committed.
            ids[version] = next((unique_id for unique_id in of_version if unique_id in logged), "")
        elif len(of_version) == 1:
            ids[version] = next(iter(of_version))
        elif by_lineage.get(version) in of_version:
            ids[version] = by_lineage[version]
        else:
            times = {i: max(f.modified_ms or 0 for f in of_id) for i, of_id in of_version.items()}
            ids[version] = max(times, key=lambda unique_id: times[unique_id])
        if _needs_lineage(attempts, version, committed, by_lineage):
            of_id = of_version.get(ids[version], ())
            for changelog in [file for file in of_id if file.kind is FileKind.DELTA][:1]:
                by_lineage |= lineage(changelog)
    abandoned = {
        file.path
        for version, of_version in attempts.items()
        for unique_id, attempt_files in of_version.items()
        if unique_id != ids[version]
        for file in attempt_files
    }
    return tuple(replace(f, kind=FileKind.ABANDONED) if f.path in abandoned else f for f in files)


def _needs_lineage(
    attempts: Mapping[int, Mapping[str | None, list[StoreFile]]],
    version: int,
    committed: Mapping[int, frozenset[str]],
    by_lineage: Mapping[int, str],
) -> bool:
    """Whether the version before has several attempts of which nothing is known yet."""
    newest = max((item for item in attempts if item < version), default=None)
    if newest is None or newest in committed or newest in by_lineage:
        return False
    return len(attempts[newest]) > 1


PROVIDER = RocksDbProvider()
