"""Find the records of a delta or snapshot; ``scan.c`` does the same.

Record framing, big endian (``HDFSBackedStateStoreProvider``, 2.3 to 4.3)::

    int32 key length | key | int32 value length | value      a put
    int32 key length | key | int32 < 0                       a removal
    int32 -1                                                 the end
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from inspector.kernel._arguments import number, octets, writable
from inspector.kernel.layout import BAD_KEY_LENGTH, END, FULL, MORE, OVER_LIMIT, SPAN

_INT32 = struct.Struct(">i")


def scan(buffer: Any, start: int, spans: Any, max_length: int) -> tuple[int, int, int]:
    """Find whole records from ``start`` on.

    Args:
        buffer: raw bytes of a delta or snapshot.
        start: offset of the first record.
        spans: filled with :data:`~inspector.kernel.layout.SPAN` numbers per record.
        max_length: longest key or value that is accepted.

    Returns:
        A status, the number of records found, and the offset of the first byte not consumed (of
        the offending length for ``BAD_KEY_LENGTH`` and ``OVER_LIMIT``).

    Raises:
        ValueError: ``start`` lies outside of the buffer.
    """
    start, max_length = number(start), number(max_length)
    view = octets(buffer)
    table = writable(spans, np.int64)
    if not 0 <= start <= len(view):
        raise ValueError("start lies outside of the buffer")
    room = len(table) // SPAN
    found: list[int] = []
    status = FULL
    while status == FULL and len(found) < room * SPAN:
        status, start = _record(view, start, max_length, found)
    table[: len(found)] = found
    return status, len(found) // SPAN, start


def _record(view: memoryview, start: int, max_length: int, found: list[int]) -> tuple[int, int]:
    """Append one record and return where the next starts, with FULL; or why there is none."""
    remaining = len(view) - start - _INT32.size
    if remaining < 0:
        return MORE, start
    (key_length,) = _INT32.unpack_from(view, start)
    if key_length == -1:
        return END, start + _INT32.size
    if key_length < -1:
        return BAD_KEY_LENGTH, start
    if key_length > max_length:
        return OVER_LIMIT, start
    remaining -= key_length + _INT32.size
    if remaining < 0:
        return MORE, start
    at = start + _INT32.size + key_length
    value_length = max(_INT32.unpack_from(view, at)[0], -1)
    if value_length > max_length:
        return OVER_LIMIT, at
    if remaining < value_length:
        return MORE, start
    value_offset = at + _INT32.size
    found += (start + _INT32.size, key_length, value_offset, value_length)
    return FULL, value_offset + max(value_length, 0)
