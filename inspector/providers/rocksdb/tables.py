"""The entries of a snapshot: those of the table files that it names, merged as RocksDB does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from inspector.checkpoint.storage import Storage
from inspector.decode.encoded_rows import range_of_family
from inspector.decode.sst.live import DELIMITER, LiveBlock, live_entries
from inspector.decode.sst.table import Table, open_table
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile
from inspector.providers.options import ReadOptions
from inspector.providers.rocksdb.ranges import StorageSource
from inspector.providers.rocksdb.snapshot import Snapshot, TableFile
from inspector.providers.task_files import TaskFiles


def live_blocks(
    storage: Storage,
    file: StoreFile,
    snapshot: Snapshot,
    options: ReadOptions,
    family: int | None = None,
) -> Iterator[LiveBlock]:
    """The entries of a snapshot in the order of their keys, each with all that was merged into it.

    Args:
        storage: opened at the checkpoint's root.
        file: the snapshot.
        snapshot: what it says.
        options: how values are merged.
        family: column family whose entries are wanted, of tables that were read as a whole before;
            some of others may come with them.

    Raises:
        DecodeError: a table file is missing, has another size than the snapshot says, or is not
            what its format says; carries the path and, within a table, the offset.
        OSError: the storage does not answer.
    """
    tables = open_tables(storage, file, snapshot)
    start, end = (b"", None) if family is None else range_of_family(family)
    delimiter = DELIMITER if options.merge_delimiter else b""
    yield from live_entries(tables, start=start, end=end, delimiter=delimiter)


def open_tables(storage: Storage, file: StoreFile, snapshot: Snapshot) -> list[Table]:
    """The table files that a snapshot names; no entry of them is read.

    Raises:
        DecodeError: as :func:`live_blocks`.
        OSError: the storage does not answer.
    """
    folder = file.path.rpartition("/")[0]
    return [_open(storage, file, folder, each) for each in snapshot.tables]


def _open(storage: Storage, file: StoreFile, folder: str, table: TableFile) -> Table:
    path = f"{folder}/{table.name}"
    known = storage.known if isinstance(storage, TaskFiles) else {}
    there = known[path] if path in known else storage.stat(storage.relative(path))
    known[path] = there
    expected = "" if table.size is None else f" of {table.size:,} bytes"
    if there is None or there.is_dir:
        raise DecodeError(f"it names the table file {table.name}{expected}, which is missing").at(
            file.path
        )
    if table.size is not None and there.size != table.size:
        raise DecodeError(
            f"got a table file of {there.size:,} bytes, expected one{expected} by "
            f"{file.path.rpartition('/')[2]}"
        ).at(path)
    found = replace(file, path=path, kind=FileKind.TABLE, version=None, size=there.size)
    return open_table(StorageSource(storage, found), path)
