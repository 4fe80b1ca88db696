"""Snapshots: a zip that says which table files a version consists of.

The entry ``metadata`` of the zip is a line ``v1`` or ``v2`` and a JSON object
(``RocksDBCheckpointMetadata``); the rest is RocksDB's own bookkeeping, which is not needed to find
the rows. A zip is read by its directory at the end, and of it this one entry.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO

from inspector.checkpoint.logfile import json_object, long_field, object_field, split_log
from inspector.checkpoint.storage import Storage
from inspector.exceptions import DecodeError, InspectorError, TruncatedError
from inspector.model import LIMITS, StoreFile, above_limit
from inspector.plain_text import escape
from inspector.providers.rocksdb.names import LOGS, TABLES

# Spark 4.0 takes this number from spark.sql.streaming.stateStore.checkpointFormatVersion, once for
# each JVM (RocksDBCheckpointMetadata.VERSION of 4.0.5); what follows is the same. 4.1 writes v1.
_NEWEST_METADATA = 2
_METADATA = "metadata"
_MAX_FAMILY = (1 << 15) - 1
_LONGEST_NAME = 255  # bytes of a file's name, on every file system that Spark writes to
_SHOWN_OF_NAME = 60
_BAD_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError)


@dataclass(frozen=True)
class TableFile:
    """A file that a snapshot shares with others.

    Attributes:
        name: below the store's folder. size: bytes that it must have; None if that is not said.
    """

    name: str
    size: int | None


@dataclass(frozen=True)
class Snapshot:
    """What a snapshot says of its version.

    Attributes:
        tables: its table files. logs: its archived logs of writes.
        keys: rows that Spark counts; -1 where it does not (``trackTotalNumberOfRows``).
        internal_keys: those of Spark's own column families; counted apart from the others.
        families: number of each column family, by name; none in a store without them.
        internal: names of those that are Spark's own.
    """

    tables: tuple[TableFile, ...]
    logs: tuple[TableFile, ...] = ()
    keys: int = -1
    internal_keys: int = 0
    families: Mapping[str, int] = field(default_factory=dict)
    internal: frozenset[str] = frozenset()


def parse_snapshot(data: bytes) -> Snapshot:
    """The entry ``metadata`` of a snapshot.

    Raises:
        DecodeError: it is not what Spark writes, or of a later format.
    """
    _, lines = split_log(data, _NEWEST_METADATA)
    fields = json_object("\n".join(lines))
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
    )


def read_snapshot(storage: Storage, file: StoreFile, content: bytes | None = None) -> Snapshot:
    """What a snapshot says.

    Args:
        storage: opened at the checkpoint's root.
        file: the snapshot.
        content: its bytes, if they are there; else some ranges of it are read.

    Raises:
        DecodeError: it is no zip, or has no such entry; carries the path.
        OSError: it cannot be read.
    """
    try:
        if content is not None:
            return parse_snapshot(_metadata(io.BytesIO(content), len(content)))
        ranges = _Seekable(StorageSource(storage, file))
        source = io.BufferedReader(ranges, LIMITS.chunk_bytes >> 4)
        return parse_snapshot(_metadata(source, file.size))
    except InspectorError as error:
        raise error.at(file.path) from None
    except _StorageError as error:
        raise error.cause from None


class _StorageError(Exception):
    """A failure of the storage on its way through ``zipfile``, which takes any OSError for damage.

    Attributes:
        cause: the failure.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause)
        self.cause = cause


def _metadata(source: IO[bytes], size: int) -> bytes:
    if not size:
        raise TruncatedError("the file is empty", offset=0)
    try:
        with zipfile.ZipFile(source) as archive:
            entry = archive.getinfo(_METADATA)
            if entry.file_size > LIMITS.small_file_bytes:
                what = f"{_METADATA} of {entry.file_size:,} bytes"
                raise above_limit("small_file_bytes", what, offset=entry.header_offset)
            with archive.open(entry) as stream:
                data = stream.read(entry.file_size + 1)
    except KeyError:
        raise DecodeError(f"got no entry {_METADATA!r} in the zip, expected one") from None
    except EOFError:
        raise TruncatedError(f"the zip ends within {_METADATA!r}", offset=size) from None
    except InspectorError:
        raise
    except (*_BAD_ZIP, ValueError) as error:
        raise DecodeError(f"got no readable zip ({error}), expected a snapshot") from None
    if len(data) != entry.file_size:
        raise DecodeError(f"got {len(data)} bytes of {_METADATA!r}, expected {entry.file_size}")
    return data


class _Seekable(io.RawIOBase):
    """A file read by ranges, as the standard library wants it."""

    def __init__(self, source: StorageSource) -> None:
        self._source = source
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = (0, self._place, self._source.size)[whence]
        if start + offset < 0:
            raise ValueError("a place before the start of the file")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        return self._place

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._source.read(self._place, len(target))
        except OSError as error:
            raise _StorageError(error) from None
        target[: len(data)] = data
        self._place += len(data)
        return len(data)


def _files(value: object, folder: str, key: str) -> tuple[TableFile, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise DecodeError(f"got {str(value)[:40]!r} as files, expected a list")
    return tuple(_file(item, folder, key) for item in value)


def _file(item: object, folder: str, key: str) -> TableFile:
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
    known = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    return TableFile(f"{folder}/{name}", size if known else None)


def _family(number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= _MAX_FAMILY:
        raise DecodeError(f"got {str(number)[:40]!r} as a column family's number")
    return number


PIECE_BYTES = 1 << 20
"""Bytes of one request; what was read is kept for the next few."""

_KEPT = 3


class StorageSource:
    """The bytes of a file by ranges.

    A table file is read from its end (index, properties) and then from start to end in blocks of
    some kilobytes: each piece of the file is requested once or twice.

    Args:
        storage: where it lies.
        file: which; its size is taken from the listing.

    Attributes:
        size: its bytes.
    """

    def __init__(self, storage: Storage, file: StoreFile) -> None:
        self._storage, self._relative = storage, storage.relative(file.path)
        self.size = file.size
        self._pieces: OrderedDict[int, bytes] = OrderedDict()

    def read(self, offset: int, length: int, /) -> bytes:
        """The bytes at an offset; fewer where the file ends before.

        Raises:
            OSError: they cannot be read.
        """
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        first, last = offset // PIECE_BYTES, (end - 1) // PIECE_BYTES
        parts = [self._piece(number) for number in range(first, last + 1)]
        whole = parts[0] if len(parts) == 1 else b"".join(parts)
        start = offset - first * PIECE_BYTES
        return whole[start : start + end - offset]

    def _piece(self, number: int) -> bytes:
        piece = self._pieces.get(number)
        if piece is None:
            start = number * PIECE_BYTES
            end = min(start + PIECE_BYTES, self.size)
            piece = self._storage.read_range(self._relative, start, end)
            self._pieces[number] = piece
            if len(self._pieces) > _KEPT:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(number)
        return piece
