"""Snapshots: zip files that name the table files of a version.

The entry ``metadata`` of the zip is a line ``v1`` or ``v2`` and a JSON object
(``RocksDBCheckpointMetadata``), which names the files with the rows. ``CURRENT`` and the
``MANIFEST`` that it names decide if RocksDB opens the tables (``bookkeeping``). Spark unpacks all
entries, so all of them must be intact.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import IO

from inspector.checkpoint.logfile import json_object, long_field, object_field, split_log
from inspector.checkpoint.storage import Storage
from inspector.decode.sst.properties import read_properties
from inspector.decode.sst.unique_id import unique_id
from inspector.exceptions import (
    DecodeError,
    InspectorError,
    LimitError,
    RefusedSnapshotError,
    TruncatedError,
)
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import LIMITS, FileKind, StoreFile, above_limit
from inspector.plain_text import escape
from inspector.providers.content import Contents, SharedFiles, SnapshotFiles
from inspector.providers.rocksdb import LOGS, PIECE_BYTES, TABLES
from inspector.providers.rocksdb.bookkeeping import (
    CURRENT,
    Bookkeeping,
    compare_tables,
    lost_message,
    manifest_name,
)
from inspector.providers.task_files import check_identity

# Newest format of ``metadata`` that is known. Spark 4.0 takes this number from
# spark.sql.streaming.stateStore.checkpointFormatVersion, once for each JVM
# (RocksDBCheckpointMetadata.VERSION of 4.0.5); the JSON is the same. 4.1 writes v1.
_NEWEST_METADATA = 2
_METADATA = "metadata"  # entry with the description of the snapshot
_MAX_FAMILY = (1 << 15) - 1  # largest number of a column family
_LONGEST_NAME = 255  # bytes of a file's name, on every file system that Spark writes to
_SHOWN_OF_NAME = 60  # characters of a file's name that a message shows
# header before an entry: signature, bytes of name and of extra fields
_LOCAL_HEADER = struct.Struct("<I22xHH")
# Signature of a local header, and the flag of an encrypted entry.
_LOCAL_SIGNATURE, _ENCRYPTED = 0x04034B50, 1
_MOST_CHECKED = 4 << 20  # raw bytes of the entries of a zip up to which all of them are read
_MOST_DEFLATED = 1032  # raw bytes that one byte of a deflated entry can make
_MOST_TABLES = 1_000  # tables of a snapshot whose ends are read to judge a restart
_TAIL_BYTES = 1 << 13  # bytes at the end of a table that usually contain its properties
# errors that a damaged zip raises
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class TableFile:
    """A file that snapshots share."""

    name: str  # its path below the store's folder
    size: int | None  # its bytes as the snapshot records them; None if it does not


@dataclass(frozen=True)
class Snapshot:
    """Description of a snapshot, from its zip entries."""

    tables: tuple[TableFile, ...]  # its table files
    logs: tuple[TableFile, ...] = ()  # its archived logs of writes
    keys: int = -1  # rows that Spark counted; -1 if it did not (``trackTotalNumberOfRows``)
    internal_keys: int = 0  # rows of Spark's own column families, which ``keys`` does not include
    # number of each column family by its name
    families: Mapping[str, int] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()  # names of Spark's own column families
    format: int = 1  # number in the version line
    bookkeeping: Bookkeeping = Bookkeeping()  # findings from RocksDB's own files


def parse_snapshot(data: bytes) -> Snapshot:
    """Return the description in the entry ``metadata``. DecodeError: not Spark's."""
    return _snapshot(*_fields(data))


def _fields(data: bytes) -> tuple[int, dict[str, object]]:
    """Return the number in the version line of ``metadata``, and its fields."""
    version, lines = split_log(data, _NEWEST_METADATA)
    return version, json_object("\n".join(lines))


def _snapshot(version: int, fields: dict[str, object]) -> Snapshot:
    """Return the description from the fields of ``metadata``."""
    keys = long_field(fields, "numKeys")
    families = object_field(fields, "columnFamilyMapping")
    internal = object_field(fields, "columnFamilyTypeMap")
    return Snapshot(
        tables=_files(fields.get("sstFiles", []), TABLES, "dfsSstFileName"),
        logs=_files(fields.get("logFiles", []), LOGS, "dfsLogFileName"),
        keys=-1 if keys is None else keys,
        internal_keys=long_field(fields, "numInternalKeys") or 0,
        families={name: _family(number) for name, number in families.items()},
        internal=frozenset(name for name, is_internal in internal.items() if is_internal is True),
        format=version,
    )


def read_snapshot(storage: Storage, file: StoreFile, content: bytes | None = None) -> Snapshot:
    """Return the description of a snapshot, read from its content or else by ranges.

    If RocksDB refuses the snapshot, :attr:`Snapshot.bookkeeping` has the reason, and no error is
    raised. Raises DecodeError, OSError.
    """
    with _errors_of(file):
        if content is not None:
            return _read(io.BytesIO(content), len(content))
        ranges = _Seekable(StorageSource(storage, file))
        return _read(io.BufferedReader(ranges), file.size)


def read_metadata(storage: Storage, file: StoreFile) -> bytes:
    """Return the entry ``metadata`` of a snapshot. Raises DecodeError, OSError."""
    with _errors_of(file):
        source = io.BufferedReader(_Seekable(StorageSource(storage, file)))
        try:
            with zipfile.ZipFile(source) as archive:
                return _open_zip(archive, source).content(_METADATA)
        except (*_BAD_ZIP, ValueError, EOFError) as error:
            if isinstance(error, InspectorError):
                raise
            raise DecodeError(f"got no readable zip ({error}), expected a snapshot") from None


@contextmanager
def _errors_of(file: StoreFile) -> Iterator[None]:
    """Give errors the path of a snapshot, and raise those of the storage as they were."""
    try:
        yield
    except InspectorError as error:
        raise error.at(file.path) from None
    except _StorageError as error:
        raise error.args[0] from None


def _open_zip(archive: zipfile.ZipFile, source: IO[bytes]) -> _Zip:
    """Return the entries of a snapshot's zip.

    DecodeError: ``metadata`` is not among them, or an entry has a method or size that cannot be.
    """
    entries = {entry.filename: entry for entry in archive.infolist()}
    if _METADATA not in entries:
        raise DecodeError(f"got no entry {_METADATA!r} in the zip, expected one")
    for entry in entries.values():
        _check_entry(entry)
    return _Zip(archive, source, entries)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    """Raise DecodeError for a method that Java's zip does not know, or an impossible size."""
    most = entry.compress_size
    if entry.compress_type == zipfile.ZIP_DEFLATED:
        most = (entry.compress_size + 1) * _MOST_DEFLATED
    elif entry.compress_type != zipfile.ZIP_STORED:
        raise DecodeError(
            f"got the method {entry.compress_type} for {entry.filename[:80]!r} in the zip, "
            "expected stored or deflated",
            offset=entry.header_offset,
        )
    if entry.file_size > most:
        raise DecodeError(
            f"got {entry.file_size:,} bytes for {entry.filename[:80]!r} in the zip, expected at "
            f"most {most:,} from {entry.compress_size:,}",
            offset=entry.header_offset,
        )


class _StorageError(Exception):
    """Wraps a failure of the storage within ``zipfile``, which takes OSErrors for damage."""


def _read(source: IO[bytes], size: int) -> Snapshot:
    """Return the description of a snapshot of ``size`` bytes. DecodeError: it is damaged."""
    if not size:
        raise TruncatedError("the file is empty", offset=0)
    reading = _METADATA
    try:
        with zipfile.ZipFile(source) as archive:
            zip_file = _open_zip(archive, source)
            version, fields = _fields(zip_file.content(reading))
            snapshot = _snapshot(version, fields)
            reading = "RocksDB's own files"
            zip_file.check_entries()
            return replace(snapshot, bookkeeping=_bookkeeping(zip_file, snapshot, fields))
    except EOFError as error:
        if isinstance(error, InspectorError):
            raise
        raise TruncatedError(f"the zip ends within {reading!r}", offset=size) from None
    except InspectorError:
        raise
    except (*_BAD_ZIP, ValueError) as error:
        raise DecodeError(f"got no readable zip ({error}), expected a snapshot") from None


class _Zip:
    """Entries of an open zip; each is read once and compared with its checksum."""

    def __init__(
        self, archive: zipfile.ZipFile, source: IO[bytes], entries: Mapping[str, zipfile.ZipInfo]
    ) -> None:
        self._archive, self._source, self._entries = archive, source, entries
        self._read: dict[str, bytes] = {}

    @property
    def names(self) -> frozenset[str]:
        """Names of all entries."""
        return frozenset(self._entries)

    def check_entries(self) -> None:
        """Read every entry, as Spark does, unless they are too large. Raises errors of a zip."""
        if sum(entry.file_size for entry in self._entries.values()) <= _MOST_CHECKED:
            for name in self._entries:
                self.content(name)

    def content(self, name: str) -> bytes:
        """Return the content of an entry. LimitError: too large. Raises errors of a zip."""
        if name not in self._read:
            entry = self._entries[name]
            if entry.file_size > LIMITS.small_file_bytes:
                text = f"{name} of {entry.file_size:,} bytes"
                raise above_limit("small_file_bytes", text, offset=entry.header_offset)
            data = self._inflate(entry)
            if len(data) != entry.file_size:
                raise DecodeError(f"got {len(data)} bytes of {name!r}, expected {entry.file_size}")
            self._read[name] = data
        return self._read[name]

    def _inflate(self, entry: zipfile.ZipInfo) -> bytes:
        """Return the decompressed content of an entry, checked by its CRC."""
        # ``ZipFile.open`` takes several times as long, which counts for 100 snapshots of 10 KB.
        self._source.seek(entry.header_offset)
        header = self._source.read(_LOCAL_HEADER.size)
        if entry.flag_bits & _ENCRYPTED or len(header) < _LOCAL_HEADER.size:
            return self._open_entry(entry)
        signature, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
        name = self._source.read(name_bytes)
        if signature != _LOCAL_SIGNATURE or name != entry.orig_filename.encode("utf-8", "replace"):
            return self._open_entry(entry)
        self._source.seek(extra_bytes, io.SEEK_CUR)
        data = self._source.read(entry.compress_size)
        if len(data) < entry.compress_size:
            raise EOFError
        if entry.compress_type == zipfile.ZIP_DEFLATED:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, entry.file_size + 1)
        if zlib.crc32(data) != entry.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {entry.filename!r}")
        return data

    def _open_entry(self, entry: zipfile.ZipInfo) -> bytes:
        """Return the content of an entry of an unusual form, by ``zipfile``."""
        with self._archive.open(entry) as stream:
            return stream.read(entry.file_size + 1)


def _bookkeeping(zip_file: _Zip, snapshot: Snapshot, fields: Mapping[str, object]) -> Bookkeeping:
    """Return the findings from RocksDB's own files in a zip, compared with its tables."""
    names = zip_file.names
    if CURRENT not in names and not any(name.startswith("MANIFEST-") for name in names):
        return Bookkeeping()  # no zip that Spark made: what reads it is not known
    try:
        name = manifest_name(zip_file.content(CURRENT) if CURRENT in names else None, names)
        content = zip_file.content(name) if name else b""
    except RefusedSnapshotError as refusal:
        return Bookkeeping(refusal)
    except LimitError:
        return Bookkeeping()  # RocksDB may read it
    files = fields.get("sstFiles")
    listed = files if isinstance(files, list) else []
    paths = (table.name for table in snapshot.tables)
    return compare_tables(name, content, zip(paths, listed, strict=True))


class _Seekable(io.RawIOBase):
    """File object that reads ranges of a stored file, for ``zipfile``."""

    def __init__(self, source: StorageSource) -> None:
        self._source = source
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position as :meth:`io.IOBase.seek` does, and return it.

        ValueError: it would be before the start of the file.
        """
        start = (0, self._place, self._source.size)[whence]
        if start + offset < 0:
            raise ValueError("a place before the start of the file")
        self._place = start + offset
        return self._place

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        """Read bytes from the position on into ``target``, and return their number; 0 at the end.

        _StorageError: the storage cannot read them.
        """
        try:
            data = self._source.read(self._place, len(target))
        except OSError as error:
            raise _StorageError(error) from None
        target[: len(data)] = data
        self._place += len(data)
        return len(data)


def _files(value: object, folder: str, key: str) -> tuple[TableFile, ...]:
    """Return the files in a list of ``metadata``; ``key`` is the field with the name."""
    if value is None:
        return ()
    if not isinstance(value, list):
        raise DecodeError(f"got {str(value)[:40]!r} as files, expected a list")
    return tuple(_file(item, folder, key) for item in value)


def _file(item: object, folder: str, key: str) -> TableFile:
    """Return one file of such a list. DecodeError: it has no safe name."""
    fields = item if isinstance(item, dict) else {}
    name, size = fields.get(key), fields.get("sizeBytes")
    # A name from outside must not lead out of the store's folder.
    if not isinstance(name, str) or not name or "/" in name or name in (".", ".."):
        raise DecodeError(f"got {str(item)[:120]!r} in the list of files, expected {key}")
    size_of_name = len(name.encode("utf-8", "replace"))
    if escape(name) != name or size_of_name > _LONGEST_NAME:
        shown = escape(name if len(name) <= _SHOWN_OF_NAME else f"{name[:_SHOWN_OF_NAME]}...")
        raise DecodeError(
            f"got the file name '{shown}', {size_of_name:,} byte{'s' * (size_of_name != 1)}, "
            f"expected at most {_LONGEST_NAME} bytes without control characters"
        )
    is_count = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    return TableFile(f"{folder}/{name}", size if is_count else None)


def _family(number: object) -> int:
    """Return the number of a column family. DecodeError: it is no 15-bit number."""
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MAX_FAMILY:
        raise DecodeError(f"got {str(number)[:40]!r} as a column family's number")
    return number


def check_table_file(table: TableFile, size: int | None, path: str, snapshot_name: str) -> None:
    """Raise DecodeError, with the path, if Spark does not fetch a table file of a snapshot.

    ``size`` is the file's size on the storage, None if there is no such file.
    """
    if size is None or table.size not in (None, size):
        got = "no table file" if size is None else f"a table file of {size:,} bytes"
        size_clause = "" if table.size is None else f" of {table.size:,} bytes"
        raise DecodeError(f"got {got}, expected one{size_clause} by {snapshot_name}").at(path)


def check_unique_id(
    stored: Mapping[str, bytes],
    table: TableFile,
    bookkeeping: Bookkeeping,
    path: str,
    snapshot_name: str,
) -> None:
    """Raise RefusedSnapshotError, with the path, if a table is not the one that the snapshot had.

    ``stored`` are the properties of the table by their full names.
    """
    expected, actual = bookkeeping.unique_ids.get(table.name), unique_id(stored)
    if expected is None or actual is None or expected == actual:
        return
    number = bookkeeping.numbers.get(table.name, 0)
    ids = [f"{{{first},{second}}}" for first, second in (actual, expected)]
    raise RefusedSnapshotError.of(
        f"got another table than {snapshot_name} was made of, expected the one with the unique id "
        f"{ids[1]} of {bookkeeping.manifest}, not {ids[0]}",
        f"Mismatch in unique ID on table file {number}",
        path,
    )


def check_snapshot(storage: Storage, file: StoreFile, files: Sequence[StoreFile]) -> str:
    """Return a sentence on rows of a snapshot that RocksDB loses; empty if it loses none.

    DecodeError, with the path: Spark does not load the snapshot. No row of it is read. ``files``
    are those of the store, as they were listed. Raises OSError.
    """
    snapshot = read_snapshot(storage, file)
    folder, _, name = file.path.rpartition("/")
    listed = {item.path: item for item in files if item.kind is FileKind.TABLE}
    tables = []
    for table in snapshot.tables:
        path = f"{folder}/{table.name}"
        if path not in listed:
            entry = storage.stat(storage.relative(path))
            size = None if entry is None or entry.is_dir else entry.size
        else:
            size = listed[path].size
        check_table_file(table, size, path, name)
        table_file = replace(file, path=path, kind=FileKind.TABLE, version=None, size=size or 0)
        tables.append((table, table_file))
    bookkeeping = snapshot.bookkeeping
    if bookkeeping.refusal is not None:
        raise bookkeeping.refusal.at(file.path)
    for table, table_file in tables[:_MOST_TABLES]:
        if table.name in bookkeeping.unique_ids:
            try:
                stored = read_properties(_Tail(storage, table_file), table_file.path).stored
            except DecodeError:
                continue  # what reads the table says why
            check_unique_id(stored, table, bookkeeping, table_file.path, name)
    return lost_message(bookkeeping)


class _Tail:
    """A table file whose end is read in one request, and other ranges when they are needed."""

    def __init__(self, storage: Storage, file: StoreFile) -> None:
        self.size = file.size
        self._start = max(0, file.size - _TAIL_BYTES)
        self._read = partial(storage.read_range, storage.relative(file.path))
        self._tail = self._read(self._start, file.size) if file.size else b""

    def read(self, offset: int, length: int, /) -> bytes:
        """Return the bytes at an offset; fewer if the file ends before. Raises OSError."""
        end = min(offset + length, self.size)
        if offset >= self._start:
            return self._tail[offset - self._start : max(end - self._start, 0)]
        return self._read(offset, end) if offset < end else b""


_KEPT = 3  # pieces of a file that are kept


class StorageSource:
    """Bytes of a stored file, read by ranges in pieces of PIECE_BYTES."""

    # A table file is read from its end (index, properties) and then from start to end in blocks of
    # some kilobytes: each piece of the file is requested once or twice.

    def __init__(self, storage: Storage, file: StoreFile) -> None:
        self.size = size = file.size
        relative = storage.relative(file.path)

        @lru_cache(maxsize=_KEPT)
        def piece(number: int) -> bytes:
            """Return a piece of the file."""
            start = number * PIECE_BYTES
            return storage.read_range(relative, start, min(start + PIECE_BYTES, size))

        self._piece = piece

    def read(self, offset: int, length: int, /) -> bytes:
        """Return the bytes at an offset; fewer if the file ends before. Raises OSError."""
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        first, last = offset // PIECE_BYTES, (end - 1) // PIECE_BYTES
        parts = [self._piece(number) for number in range(first, last + 1)]
        whole = parts[0] if len(parts) == 1 else b"".join(parts)
        start = offset - first * PIECE_BYTES
        return whole[start : start + end - offset]


def list_shared_files(storage: Storage, files: Sequence[StoreFile]) -> SharedFiles:
    """Describe the snapshots in one folder by the table files that they name, oldest first.

    The result also lists the table files that no snapshot names; None if a snapshot cannot be read.
    Unreadable files are listed with their errors; no error is raised for them.
    """
    usage = _Usage(storage, files)
    result: list[SnapshotFiles] = []
    older: set[str] = set()
    snapshots = [file for file in files if file.kind is FileKind.SNAPSHOT]
    for file in sorted(snapshots, key=lambda item: item.version or 0):
        snapshot = usage.read(file)
        if snapshot is not None:
            result.append(usage.describe(file, snapshot, older, oldest=not result))
            older |= {table.name for table in snapshot.tables}
    for file in files:
        if file.kind is FileKind.ABANDONED and file.path.endswith(".zip"):
            usage.read(file)
    return SharedFiles(tuple(result), usage.orphans(), tuple(usage.problems))


class _Usage:
    """Reads snapshots and the properties of tables, each once, and notes what cannot be read."""

    def __init__(self, storage: Storage, files: Sequence[StoreFile]) -> None:
        self._storage = storage
        tables = [file for file in files if file.kind is FileKind.TABLE]
        self._tables = {"/".join(file.path.rsplit("/", 2)[1:]): file for file in tables}
        self._named: set[str] = set()
        self._contents: dict[str, Contents | None] = {}
        self._all_read = True
        self.problems: list[tuple[StoreFile, Exception]] = []

    def read(self, file: StoreFile) -> Snapshot | None:
        """Return the description of a snapshot; None if it cannot be read, which is noted."""
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
        """Return a snapshot's files, compared with the tables that ``older`` snapshots name."""
        new = [table for table in snapshot.tables if table.name not in older]
        contents: Contents | None = Contents()
        for table in snapshot.tables:
            if table.name not in self._contents:
                self._contents[table.name] = self._read_table(table.name)
            item = self._contents[table.name]
            contents = None if item is None or contents is None else contents + item
        entries = [(table.size, self._tables.get(table.name)) for table in snapshot.tables]
        there = [file is not None and size in (None, file.size) for size, file in entries]
        counted = snapshot.keys >= 0
        return SnapshotFiles(
            file=file,
            tables=len(snapshot.tables),
            table_bytes=sum(map(self._size, snapshot.tables)),
            new_tables=None if oldest else len(new),
            new_bytes=None if oldest else sum(map(self._size, new)) + file.size,
            missing=len(snapshot.tables) - sum(there),
            rows=snapshot.keys + snapshot.internal_keys if counted else None,
            contents=contents,
        )

    def orphans(self) -> tuple[StoreFile, ...] | None:
        """Return the table files that no snapshot names; None if a snapshot cannot be read."""
        if not self._all_read:
            return None
        return tuple(file for name, file in self._tables.items() if name not in self._named)

    def _size(self, table: TableFile) -> int:
        """Return a table's bytes, by the snapshot or else the listing; 0 if neither has them."""
        entry = self._tables.get(table.name)
        return table.size if table.size is not None else entry.size if entry else 0

    def _note_failure(self, file: StoreFile, error: Exception) -> None:
        """Note an unreadable file with the error; a file that has changed has its own error."""
        try:
            check_identity(self._storage, file)
        except OSError as changed:
            error = changed
        self.problems.append((file, error))

    def _read_table(self, name: str) -> Contents | None:
        """Return the contents that a table records; None if it is missing or cannot be read."""
        file = self._tables.get(name)
        if file is None:
            return None
        try:
            told = read_properties(StorageSource(self._storage, file), file.path)
        except (InspectorError, OSError) as error:
            self._note_failure(file, error)
            return None
        raw_bytes = told.raw_key_bytes + told.raw_value_bytes
        return Contents(told.entries, told.deletions, told.merge_operands, raw_bytes)
