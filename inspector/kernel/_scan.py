"""Search for the records of a delta, snapshot or changelog; ``scan.c`` does the same.

Record framing, big endian (``HDFSBackedStateStoreProvider``, 2.3 to 4.3)::

    int32 key length | key | int32 value length | value      a put
    int32 key length | key | int32 < 0                       a removal
    int32 -1                                                 the end

In a changelog of version 2 or 4 (``StateStoreChangelogWriterV2``, 4.0 on) each record begins with
its kind, and the end has a kind of its own::

    0x01 | int32 key length | key | int32 value length | value      a put
    0x11 | int32 key length | key | int32 value length | value      a merge: appended to the value
    0x10 | int32 key length | key | int32 < 0                       a removal
    0x00                                                            the end
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from inspector.kernel import record_layout as layout
from inspector.kernel._arguments import number, octets, writable

_INT32 = struct.Struct(">i")  # a length


def scan(
    buffer: Any, start: int, spans: Any, max_length: int, kinds: Any = None
) -> tuple[int, int, int]:
    """Find whole records from ``start`` on.

    ``spans`` takes the :data:`~inspector.kernel.record_layout.SPAN` numbers of each record, column
    after column; its length sets the room. ``max_length`` is the longest key or value that is
    accepted. ``kinds`` takes the kind of each record; None if they have none. ValueError: ``start``
    is outside of the buffer, or ``kinds`` has less room.

    Returns:
        A status, the number of records found, and the offset of the first byte not consumed (of the
            offending length for ``BAD_KEY_LENGTH`` and ``OVER_LIMIT``, of the record for
            ``BAD_KIND``).
    """
    start, max_length = number(start), number(max_length)
    view = octets(buffer)
    table = writable(spans, np.int64)
    if not 0 <= start <= len(view):
        raise ValueError("start lies outside of the buffer")
    room = len(table) // layout.SPAN
    kind_bytes = None if kinds is None else writable(kinds, np.uint8)
    if kind_bytes is not None and len(kind_bytes) < room:
        raise ValueError("arrays differ in length")
    result: list[int] = []
    seen: list[int] = []
    status = layout.FULL
    while status == layout.FULL and len(result) < room * layout.SPAN:
        if kind_bytes is None:
            status, start = _record(view, start, max_length, result)
        else:
            status, start = _of_kind(view, start, max_length, result, seen)
    for column in range(layout.SPAN):
        start_of = column * room
        table[start_of : start_of + len(result) // layout.SPAN] = result[column :: layout.SPAN]
    if kind_bytes is not None:
        kind_bytes[: len(seen)] = seen
    return status, len(result) // layout.SPAN, start


def _of_kind(
    view: memoryview, start: int, max_length: int, spans: list[int], seen: list[int]
) -> tuple[int, int]:
    """Append one record that begins with its kind; the result is that of :func:`_record`."""
    if start == len(view):
        return layout.MORE, start
    kind = view[start]
    if kind == layout.KIND_END:
        return layout.END, start + 1
    if kind not in (layout.KIND_PUT, layout.KIND_REMOVAL, layout.KIND_MERGE):
        return layout.BAD_KIND, start
    record: list[int] = []
    offset = start + 1
    # -1 ends a file without kinds; here it is as impossible as every other length below 0.
    if len(view) - offset >= _INT32.size and _INT32.unpack_from(view, offset)[0] < 0:
        return layout.BAD_KEY_LENGTH, offset
    status, stop = _record(view, offset, max_length, record)
    if _value_contradicts(view, offset, max_length, kind):
        return layout.BAD_KIND, start
    if status != layout.FULL:
        return status, start if status == layout.MORE else stop
    spans += record
    seen.append(kind)
    return layout.FULL, stop


def _value_contradicts(view: memoryview, offset: int, max_length: int, kind: int) -> bool:
    """Return True if a removal has a value, or another record none; False if data ends before."""
    remaining = len(view) - offset - _INT32.size
    if remaining < 0:
        return False
    (key_length,) = _INT32.unpack_from(view, offset)
    if key_length > max_length or remaining - key_length < _INT32.size:
        return False
    (value_length,) = _INT32.unpack_from(view, offset + _INT32.size + key_length)
    return bool((kind == layout.KIND_REMOVAL) != (value_length < 0))


def _record(view: memoryview, start: int, max_length: int, spans: list[int]) -> tuple[int, int]:
    """Append one record; return FULL and where the next starts, or why there is none and where."""
    remaining = len(view) - start - _INT32.size
    if remaining < 0:
        return layout.MORE, start
    (key_length,) = _INT32.unpack_from(view, start)
    if key_length == -1:
        return layout.END, start + _INT32.size
    if key_length < -1:
        return layout.BAD_KEY_LENGTH, start
    if key_length > max_length:
        return layout.OVER_LIMIT, start
    remaining -= key_length + _INT32.size
    if remaining < 0:
        return layout.MORE, start
    offset = start + _INT32.size + key_length
    value_length = max(_INT32.unpack_from(view, offset)[0], -1)
    if value_length > max_length:
        return layout.OVER_LIMIT, offset
    if remaining < value_length:
        return layout.MORE, start
    value_offset = offset + _INT32.size
    spans += (start + _INT32.size, key_length, value_offset, value_length)
    return layout.FULL, value_offset + max(value_length, 0)
