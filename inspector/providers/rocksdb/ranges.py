"""Files that are read in pieces: a few large requests for many small ones."""

from __future__ import annotations

from collections import OrderedDict

from inspector.checkpoint.storage import Storage
from inspector.model import StoreFile

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
        found = self._pieces.get(number)
        if found is None:
            start = number * PIECE_BYTES
            end = min(start + PIECE_BYTES, self.size)
            found = self._storage.read_range(self._relative, start, end)
            self._pieces[number] = found
            if len(self._pieces) > _KEPT:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(number)
        return found
