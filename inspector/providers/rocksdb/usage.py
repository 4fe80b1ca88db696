"""How snapshots share table files, by listings, the snapshots and the tables' properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.checkpoint.storage import Storage
from inspector.decode.sst.table import open_table
from inspector.exceptions import InspectorError
from inspector.model import FileKind, StoreFile
from inspector.providers.file_reader import check_unchanged
from inspector.providers.rocksdb.snapshot import Snapshot, StorageSource, TableFile, read_snapshot
from inspector.providers.shared_files import Contents, SharedFiles, SnapshotFiles

_SNAPSHOT = ".zip"


def shared_files(storage: Storage, files: Sequence[StoreFile]) -> SharedFiles:
    """What the snapshots of one folder share.

    Args:
        storage: opened at the checkpoint's root.
        files: all files in the folder.
    """
    usage = _Usage(storage, files)
    result: list[SnapshotFiles] = []
    older: set[str] = set()
    snapshots = [file for file in files if file.kind is FileKind.SNAPSHOT]
    for file in sorted(snapshots, key=lambda each: each.version or 0):
        snapshot = usage.read(file)
        if snapshot is not None:
            result.append(usage.describe(file, snapshot, older, oldest=not result))
            older |= {table.name for table in snapshot.tables}
    for file in files:
        if file.kind is FileKind.ABANDONED and file.path.endswith(_SNAPSHOT):
            usage.read(file)
    return SharedFiles(tuple(result), usage.orphans(), tuple(usage.problems))


class _Usage:
    """Reads snapshots and the properties of tables, each once.

    Attributes:
        problems: what could not be read.
    """

    def __init__(self, storage: Storage, files: Sequence[StoreFile]) -> None:
        self._storage = storage
        self._tables: Mapping[str, StoreFile] = {
            "/".join(file.path.rsplit("/", 2)[1:]): file
            for file in files
            if file.kind is FileKind.TABLE
        }
        self._named: set[str] = set()
        self._contents: dict[str, Contents | None] = {}
        self._all_read = True
        self.problems: list[tuple[StoreFile, Exception]] = []

    def read(self, file: StoreFile) -> Snapshot | None:
        """What a snapshot says; None if it cannot be read."""
        try:
            snapshot = read_snapshot(self._storage, file)
        except (InspectorError, OSError) as error:
            self._note_failure(file, error)
            self._all_read = False
            return None
        self._named |= {table.name for table in snapshot.tables}
        return snapshot

    def describe(
        self, file: StoreFile, snapshot: Snapshot, older: set[str], *, oldest: bool
    ) -> SnapshotFiles:
        """The files of a snapshot.

        Args:
            file: the snapshot.
            snapshot: what it says.
            older: the tables that older ones name.
            oldest: there is no older one.
        """
        new = [table for table in snapshot.tables if table.name not in older]
        contents: Contents | None = Contents()
        for table in snapshot.tables:
            item = self._of_table(table.name)
            contents = None if item is None or contents is None else contents + item
        counted = snapshot.keys >= 0
        return SnapshotFiles(
            file=file,
            tables=len(snapshot.tables),
            table_bytes=sum(map(self._size, snapshot.tables)),
            new_tables=None if oldest else len(new),
            new_bytes=None if oldest else sum(map(self._size, new)) + file.size,
            missing=sum(not self._is_there(table) for table in snapshot.tables),
            rows=snapshot.keys + snapshot.internal_keys if counted else None,
            contents=contents,
        )

    def orphans(self) -> tuple[StoreFile, ...] | None:
        """Tables that no snapshot names."""
        if not self._all_read:
            return None
        return tuple(file for name, file in self._tables.items() if name not in self._named)

    def _size(self, table: TableFile) -> int:
        there = self._tables.get(table.name)
        return table.size if table.size is not None else there.size if there else 0

    def _is_there(self, table: TableFile) -> bool:
        there = self._tables.get(table.name)
        return there is not None and table.size in (None, there.size)

    def _of_table(self, name: str) -> Contents | None:
        if name not in self._contents:
            self._contents[name] = self._read_table(name)
        return self._contents[name]

    def _note_failure(self, file: StoreFile, error: Exception) -> None:
        try:
            check_unchanged(self._storage, file)
        except OSError as changed:
            error = changed
        self.problems.append((file, error))

    def _read_table(self, name: str) -> Contents | None:
        file = self._tables.get(name)
        if file is None:
            return None
        try:
            told = open_table(StorageSource(self._storage, file), file.path).properties
        except (InspectorError, OSError) as error:
            self._note_failure(file, error)
            return None
        return Contents(
            told.entries,
            told.deletions,
            told.merge_operands,
            told.raw_key_bytes + told.raw_value_bytes,
        )
