"""Byte strings that are joined to one buffer with spans, cut into pieces, or damaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import strategies as st

from inspector.arrays import Int64s


def spans_of(parts: Sequence[bytes], before: bytes = b"") -> tuple[bytes, Int64s, Int64s]:
    """Return the joined parts, after some other bytes, with the offset and length of each part."""
    lengths = np.array([len(part) for part in parts], np.int64)
    return before + b"".join(parts), np.cumsum(lengths) - lengths + len(before), lengths


def parts_of(buffer: bytes | bytearray, offsets: Int64s, lengths: Int64s) -> list[bytes]:
    """Return the bytes of each span."""
    ends = offsets + lengths
    return [bytes(buffer[a:b]) for a, b in zip(offsets.tolist(), ends.tolist(), strict=True)]


def pieces(data: bytes, size: int) -> list[bytes]:
    """Cut data into pieces of ``size`` bytes. The last piece may be shorter."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def assert_prefixes_refused(
    read: Callable[[bytes], object],
    data: bytes,
    error: type[Exception] | tuple[type[Exception], ...],
    first: int = 0,
) -> None:
    """Check that ``read`` raises an error for every proper prefix of at least ``first`` bytes."""
    for size in range(first, len(data)):
        with pytest.raises(error):
            read(data[:size])


def flip(data: bytes, at: int, mask: int) -> bytes:
    """Return a copy of the data with some bits of one byte inverted."""
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def damaged(data: bytes, draw: st.DataObject, most: int = 3, least: int = 1) -> bytes:
    """Return a copy of the data with some bytes replaced by drawn ones."""
    result = bytearray(data)
    changes = st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255))
    for at, value in draw.draw(st.lists(changes, min_size=least, max_size=most)):
        result[at] = value
    return bytes(result)
