"""Random access to the bytes of a table file, however it is stored."""

from __future__ import annotations

from typing import Protocol

from inspector.exceptions import TruncatedError


class Source(Protocol):
    """A file of known size that is read in pieces.

    Attributes:
        size: its bytes.
    """

    @property
    def size(self) -> int:
        """Its bytes."""

    def read(self, offset: int, length: int, /) -> bytes:
        """The bytes at an offset; fewer than asked for where the file ends before.

        Raises:
            OSError: they cannot be read.
        """


class BytesSource:
    """A file that is in memory.

    Args:
        data: its bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = len(data)

    def read(self, offset: int, length: int, /) -> bytes:
        """The bytes at an offset."""
        return self._data[offset : offset + length]


def read_exactly(source: Source, offset: int, length: int, what: str) -> bytes:
    """The bytes at an offset, all of them.

    Args:
        source: where they are.
        offset: of the first.
        length: how many.
        what: they are, for messages.

    Raises:
        TruncatedError: the file ends before; nothing was read.
    """
    if offset < 0 or length < 0 or source.size < offset or source.size - offset < length:
        raise TruncatedError(
            f"{what} of {length} bytes, the file has {source.size}", offset=max(offset, 0)
        )
    data = source.read(offset, length)
    if len(data) < length:  # it has become shorter since it was listed
        raise TruncatedError(f"{what}: got {len(data)} bytes, expected {length}", offset=offset)
    return data
