"""Compressed chunks, cut anywhere, read as one stream that knows its offset."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Literal

from inspector.exceptions import FrameError, TruncatedError


class Source:
    """Reads exact numbers of bytes across chunks, without a copy if one chunk has them all.

    Attributes:
        offset: bytes consumed so far, which is the position of the next byte in the file.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._chunk = memoryview(b"")
        self._place = 0
        self.offset = 0  # bytes consumed so far: the place of the next byte in the file

    def at_end(self) -> bool:
        """Return True if no byte follows; the next chunk is taken if this one is used up."""
        while self._place == len(self._chunk):
            chunk = next(self._chunks, None)
            if chunk is None:
                return True
            self._chunk = memoryview(chunk)
            self._place = 0
        return False

    @property
    def window(self) -> memoryview:
        """Next bytes that are available without waiting for another chunk."""
        return self._chunk[self._place :]

    def skip(self, size: int) -> None:
        """Consume ``size`` bytes of the window."""
        self._place += size
        self.offset += size

    def next_bytes(self, max_bytes: int) -> memoryview:
        """Return at most ``max_bytes`` of the next bytes; empty at the end only."""
        if self.at_end():
            return memoryview(b"")
        part = self.window[:max_bytes]
        self.skip(len(part))
        return part

    def up_to(self, size: int) -> memoryview:
        """Return the next ``size`` bytes, or all that are left, held only as they arrive."""
        taken = self.window[:size]
        if len(taken) == size:
            self.skip(size)
            return taken
        joined = bytearray()
        while len(joined) < size and (part := self.next_bytes(size - len(joined))):
            joined += part
        return memoryview(joined)

    def take(self, size: int, noun: str) -> memoryview:
        """Return exactly the next ``size`` bytes. TruncatedError: fewer are left.

        ``noun`` names them in the message.
        """
        start = self.offset
        part = self.up_to(size)
        if len(part) < size:
            raise TruncatedError(f"{noun}: got {len(part)} bytes, expected {size}", offset=start)
        return part

    def header(self, layout: struct.Struct, magic: bytes, noun: str) -> tuple[Any, ...]:
        """Return all fields of a header; the first must be ``magic``.

        FrameError: it is not. TruncatedError: the header is cut short.
        """
        start = self.offset
        part = self.up_to(layout.size)
        if len(part) == layout.size:
            fields = layout.unpack(part)
            if fields[0] == magic:
                return fields
        result = bytes(part[: len(magic)])
        if not magic.startswith(result):
            raise FrameError(f"got {result!r}, expected {noun}", offset=start)
        raise TruncatedError(f"{noun} is cut short", offset=start)

    def expect(self, magic: bytes, noun: str) -> None:
        """Take bytes that mark the start of ``noun``. Raises errors as :meth:`header`."""
        self.header(struct.Struct(f"{len(magic)}s"), magic, noun)


class RawCodec:
    """Codec without framing, by pyarrow's name for it and a title for messages."""

    def __init__(self, name: Literal["lz4_raw", "snappy"], title: str) -> None:
        import pyarrow as pa  # noqa: PLC0415 - a codec is recognised without it

        self._codec, self._title = pa.Codec(name), title
        self._errors = OSError, pa.ArrowException

    def block(self, block: memoryview, size: int, start: int) -> bytes:
        """Return one block, decompressed to ``size`` bytes, or fewer if it is shorter.

        FrameError: it is corrupt; ``start`` is the offset for the error.
        """
        try:
            return self._codec.decompress(block, size, asbytes=True)
        except self._errors as error:
            raise FrameError(f"{self._title} block: {error}", offset=start) from error
