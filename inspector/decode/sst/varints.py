"""Little-endian base-128 integers, as RocksDB writes lengths, handles and properties."""

from __future__ import annotations

from inspector.exceptions import RecordError

_MOST_BITS = 64
_HIGH = 0x80


class Varints:
    """Reads varints, and bytes of a given length between them.

    Attributes:
        place: index in ``data`` of the next byte.

    Args:
        data: where they are.
        offset: in the file, of ``data[0]``; for errors.
        place: where to begin.
    """

    __slots__ = ("_data", "_offset", "place")

    def __init__(self, data: bytes, offset: int, place: int = 0) -> None:
        self._data, self._offset, self.place = data, offset, place

    def next(self, what: str) -> int:
        """The next varint, of at most 64 bits.

        Raises:
            RecordError: it does not end, or has more bits.
        """
        data, start = self._data, self.place
        value = bits = 0
        for position in range(start, min(len(data), start + 10)):
            value |= (data[position] & ~_HIGH) << bits
            bits += 7
            if data[position] < _HIGH:
                self.place = position + 1
                if value >> _MOST_BITS:
                    break
                return value
        raise RecordError(f"{what}: no integer of 64 bits", offset=self._offset + start)

    def bytes(self, length: int, what: str) -> bytes:
        """The next bytes.

        Raises:
            RecordError: fewer are left.
        """
        start = self.place
        if len(self._data) - start < length:
            raise RecordError(
                f"{what} of {length} bytes where {len(self._data) - start} are left",
                offset=self._offset + start,
            )
        self.place += length
        return self._data[start : start + length]

    @property
    def left(self) -> int:
        """How many bytes are left."""
        return len(self._data) - self.place
