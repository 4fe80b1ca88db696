"""Compressed chunks of any cut, read as one stream that knows its offset."""

from __future__ import annotations

from collections.abc import Iterable

from inspector.exceptions import FrameError, TruncatedError


class Source:
    """Reads exact numbers of bytes across chunks, without copying where one chunk has them all.

    Holds one chunk and, while a read spans several, the bytes of that read.

    Attributes:
        offset: bytes consumed so far: the place of the next byte in the file.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._chunk = memoryview(b"")
        self._place = 0
        self.offset = 0

    def at_end(self) -> bool:
        """Whether nothing follows; takes the next chunk if this one is used up."""
        while self._place == len(self._chunk):
            chunk = next(self._chunks, None)
            if chunk is None:
                return True
            self._chunk = memoryview(chunk)
            self._place = 0
        return False

    def some(self, most: int) -> memoryview:
        """At most this many of the next bytes; empty at the end only."""
        if self.at_end():
            return memoryview(b"")
        taken = self._chunk[self._place : self._place + most]
        self._place += len(taken)
        self.offset += len(taken)
        return taken

    def up_to(self, size: int) -> memoryview:
        """The next ``size`` bytes, or all that are left; bytes are kept only as they arrive."""
        end = self._place + size
        if end <= len(self._chunk):
            taken = self._chunk[self._place : end]
            self._place = end
            self.offset += size
            return taken
        joined = bytearray()
        while len(joined) < size:
            part = self.some(size - len(joined))
            if not part:
                break
            joined += part
        return memoryview(joined)

    def take(self, size: int, what: str) -> memoryview:
        """Exactly the next ``size`` bytes.

        Raises:
            TruncatedError: the stream ends before; its offset is where the bytes should start.
        """
        start = self.offset
        taken = self.up_to(size)
        if len(taken) < size:
            raise TruncatedError(f"{what}: got {len(taken)} bytes, expected {size}", offset=start)
        return taken

    def expect(self, magic: bytes, what: str) -> None:
        """Take the bytes that mark the start of ``what``.

        Raises:
            FrameError: other bytes are there.
            TruncatedError: some of them are there, and then the stream ends.
        """
        start = self.offset
        taken = bytes(self.up_to(len(magic)))
        if not magic.startswith(taken):
            raise FrameError(f"got {taken!r}, expected {what}", offset=start)
        if len(taken) < len(magic):
            raise TruncatedError(f"{what} is cut short", offset=start)
