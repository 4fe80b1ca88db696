"""The kernel in Python: the definition of what ``_kernel_c`` does faster.

Operations over spans of one buffer, a span being an offset and a length: find the records, hash,
concatenate, give equal byte strings equal numbers; what is done with those numbers is in
``_table_py``, what looks into rows in ``_rows_py``, and what compares them in ``_order_py``. Arrays
are one-dimensional, contiguous, 64-bit signed integers (hashes: unsigned) such as ``numpy.int64``
arrays.

No operation raises an error of the format: :func:`scan` tells by its status what it met. Spans
outside of the buffer are a mistake of the caller, hence ``ValueError``.

Record framing, big endian (``HDFSBackedStateStoreProvider``, 2.3 to 4.3)::

    int32 key length | key | int32 value length | value      a put
    int32 key length | key | int32 < 0                       a removal
    int32 -1                                                 the end
"""

from __future__ import annotations

import struct
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from inspector.kernel._arguments import checked_spans, integers, octets, same_length, writable
from inspector.kernel._order_py import descents
from inspector.kernel._rows_py import check_rows, read_slots
from inspector.kernel._table_py import apply, settle, tally

__all__ = [
    "BAD_KEY_LENGTH",
    "END",
    "FULL",
    "MORE",
    "OVER_LIMIT",
    "SPAN",
    "Interner",
    "apply",
    "check_rows",
    "descents",
    "gather",
    "hash64",
    "read_slots",
    "scan",
    "settle",
    "tally",
]

MORE = 0
"""The buffer ends within or right after a record; ``stop`` is where that record starts."""
FULL = 1
"""No room for another record; ``stop`` is where it starts."""
END = 2
"""The end mark was read; ``stop`` is the byte after it."""
BAD_KEY_LENGTH = 3
"""A key length below -1 at ``stop``."""
OVER_LIMIT = 4
"""A key or value length above ``max_length`` at ``stop``."""

SPAN = 4
"""Numbers per record: key offset, key length, value offset, value length (-1 for a removal)."""

_INT32 = struct.Struct(">i")
_HASHED_AWAY = 8  # bytes that do not count when ``skip`` is given: one slot of an UnsafeRow

Int64s = npt.NDArray[np.int64]


def scan(buffer: Any, start: int, spans: Any, max_length: int) -> tuple[int, int, int]:
    """Find whole records from ``start`` on.

    Args:
        buffer: raw bytes of a delta or snapshot.
        start: offset of the first record.
        spans: filled with :data:`SPAN` numbers per record.
        max_length: longest key or value that is accepted.

    Returns:
        A status, the number of records found, and the offset of the first byte not consumed (of
        the offending length for :data:`BAD_KEY_LENGTH` and :data:`OVER_LIMIT`).

    Raises:
        ValueError: ``start`` lies outside of the buffer.
    """
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


def hash64(buffer: Any, offsets: Any, lengths: Any, skip: int, out: Any) -> None:
    """Hash every span by XXH64 with seed 0.

    Args:
        buffer: what the spans lie in.
        offsets: where each span starts.
        lengths: bytes of each span.
        skip: if not negative, the 8 bytes at this offset of each span do not count (a clock that
            moves with every put): what follows them is hashed with the hash of what precedes them
            as seed. Spans that end before do not have such bytes and are hashed whole.
        out: filled with one unsigned hash per span.

    Raises:
        ValueError: a span outside of the buffer, or arrays of different length.
    """
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    hashes = writable(out, np.uint64)
    same_length(starts, hashes)
    tail = skip + _HASHED_AWAY
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        span = view[start : start + size]
        if skip >= 0 and size >= tail:
            seed = xxhash.xxh64_intdigest(span[:skip])
            hashes[i] = xxhash.xxh64_intdigest(span[tail:], seed)
        else:
            hashes[i] = xxhash.xxh64_intdigest(span)


def gather(buffer: Any, offsets: Any, lengths: Any) -> bytes:
    """The bytes of all spans, one after the other.

    Raises:
        ValueError: a span outside of the buffer, or arrays of different length.
    """
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
    return b"".join([view[start : start + size] for start, size in pairs])


class Interner:
    """Numbers byte strings in order of first appearance: equal bytes, equal number.

    One thread at a time: a second one gets ``RuntimeError``.
    """

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._bytes = 0
        self._busy = threading.Lock()

    def intern(self, buffer: Any, offsets: Any, lengths: Any, out: Any) -> None:
        """Give every span its number, a new one if its bytes are new.

        Args:
            buffer: what the spans lie in.
            offsets: where each span starts.
            lengths: bytes of each span.
            out: filled with one number per span.

        Raises:
            ValueError: a span outside of the buffer, or arrays of different length.
            RuntimeError: another thread is at work on this interner.
        """
        with _Busy(self._busy):
            view, starts, sizes = checked_spans(buffer, offsets, lengths)
            numbers = writable(out, np.int64)
            same_length(starts, numbers)
            pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
            for i, (start, size) in enumerate(pairs):
                numbers[i] = self._number(bytes(view[start : start + size]))

    def _number(self, key: bytes) -> int:
        number = self._ids.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
            self._bytes += len(key)
        return number

    def __len__(self) -> int:
        with _Busy(self._busy):
            return len(self._keys)

    def find(self, key: Any) -> int:
        """The number of a byte string, -1 if it has none."""
        with _Busy(self._busy):
            return self._ids.get(bytes(octets(key)), -1)

    def lengths(self, out: Any) -> None:
        """Fill ``out`` with the length of every byte string, by number.

        Raises:
            ValueError: ``out`` does not have one place per byte string.
        """
        with _Busy(self._busy):
            sizes = writable(out, np.int64)
            if len(sizes) != len(self._keys):
                raise ValueError("arrays differ in length")
            sizes[:] = [len(key) for key in self._keys]

    def gather(self, ids: Any, offsets: Any) -> bytes:
        """The byte strings of some numbers, one after the other.

        Args:
            ids: the numbers.
            offsets: filled with one place more than there are numbers: string ``i`` lies at
                ``offsets[i]:offsets[i + 1]`` of the result.

        Raises:
            ValueError: a number that was never given, or ``offsets`` of another length.
        """
        with _Busy(self._busy):
            numbers = integers(ids)
            places = writable(offsets, np.int64)
            if len(places) != len(numbers) + 1:
                raise ValueError("arrays differ in length")
            if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(self._keys)):
                raise ValueError("a number that was never given")
            parts = [self._keys[number] for number in numbers.tolist()]
            places[0] = 0
            np.cumsum([len(part) for part in parts], out=places[1:])
            return b"".join(parts)

    @property
    def nbytes(self) -> int:
        """Memory that this interner holds, in bytes; an estimate in this kernel."""
        return self._bytes + len(self._keys) * 200


class _Busy:
    """Holds an interner's lock, or refuses at once if another thread does."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is using this interner")

    def __exit__(self, *_: object) -> None:
        self._lock.release()
