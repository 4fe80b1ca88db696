"""Collecting the rows of lists, which arrive in any order, in bounded memory."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from tempfile import TemporaryFile
from typing import BinaryIO, NamedTuple

import numpy as np

_BYTES = 64 << 20  # bytes of rows, with Python's own, from which they are moved to a file
_ROW_BYTES = 250  # bytes of Python's objects for one row
_BUCKETS = 256  # parts of the lists that are read from the file one after the other
_WORD = 8  # bytes of a number in the file


class ListRow(NamedTuple):
    """One row of a list."""

    key: bytes  # key of the list
    position: int  # position in the list
    value: bytes  # the value


def lists_of(rows: Iterable[ListRow], limit: int = _BYTES) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield the key of each list, and its values by position.

    Rows of more than ``limit`` bytes are moved to a temporary file, and a 256th of the lists is in
    memory at a time. Lists are in the order of their first rows, or by the hash of their keys if
    there is a file. Raises OSError.
    """
    waiting, size = list[ListRow](), 0
    with TemporaryFile(prefix="inspector-lists-") as file:
        moved = _MovedRows(file)
        for row in rows:
            waiting.append(row)
            size += len(row.key) + len(row.value) + _ROW_BYTES
            if size >= limit:
                moved.add(waiting)
                waiting, size = [], 0
        if not moved.is_used:
            yield from _join(waiting)
            return
        moved.add(waiting)
        waiting.clear()
        for bucket in range(_BUCKETS):
            yield from _join(moved.rows(bucket))


def _join(rows: Iterable[ListRow]) -> Iterator[tuple[bytes, list[bytes]]]:
    """Yield the key of each list of some rows, and its values by position."""
    lists: dict[bytes, list[tuple[int, bytes]]] = {}
    for row in rows:
        lists.setdefault(row.key, []).append((row.position, row.value))
    for key, entries in lists.items():
        yield key, [value for _, value in sorted(entries, key=_position)]


def _position(entry: tuple[int, bytes]) -> int:
    """Return the position of a list's entry."""
    return entry[0]


class _MovedRows:
    """Rows in a temporary file, in buckets by the hash of the list's key."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        # position and number of rows of each part of a bucket
        self._parts: dict[int, list[tuple[int, int]]] = {}

    @property
    def is_used(self) -> bool:
        """True if rows were added."""
        return bool(self._parts)

    def add(self, rows: Iterable[ListRow]) -> None:
        """Append rows to their buckets."""
        buckets: dict[int, list[ListRow]] = {}
        for row in rows:
            buckets.setdefault(zlib.crc32(row.key) % _BUCKETS, []).append(row)
        for bucket, part in buckets.items():
            self._parts.setdefault(bucket, []).append((self._file.tell(), len(part)))
            numbers = [(len(row.key), len(row.value), row.position) for row in part]
            self._file.write(np.array(numbers, np.int64).tobytes())
            self._file.write(b"".join(row.key + row.value for row in part))

    def rows(self, bucket: int) -> Iterator[ListRow]:
        """Yield the rows of a bucket in the order in which they were added."""
        for start, count in self._parts.get(bucket, ()):
            self._file.seek(start)
            words = np.frombuffer(self._file.read(count * 3 * _WORD), np.int64).reshape(count, 3)
            sizes, positions = words[:, :2].ravel().tolist(), words[:, 2].tolist()
            data = self._file.read(sum(sizes))
            ends = list(accumulate(sizes, initial=0))
            parts = [data[first:end] for first, end in pairwise(ends)]
            yield from map(ListRow, parts[::2], positions, parts[1::2])
