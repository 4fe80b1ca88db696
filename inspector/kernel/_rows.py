"""Access to UnsafeRows: checks against a schema, reads of their slots, hashes of their fields.

``rows.c`` and ``hashes.c`` do the same. The layout of a row is in
:mod:`inspector.decode.row_columns`.

Spark's own hash of a row is folded over its fields: each is hashed with the result before it as the
seed, and null leaves the result unchanged (``HashExpression``, ``Murmur3HashFunction``,
``Murmur3_x86_32``; the same from 2.3 to 4.3). Bytes are hashed word by word, and the last one to
three of them each as an int of its own, unlike in the published algorithm (``hashUnsafeBytes``).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.kernel import programs
from inspector.kernel._arguments import check_spans, integers, same_length, writable

WORD = 8  # bytes of a slot, and of a word of null bits
DEEPEST = 64  # most levels of structs and arrays within each other
SEED = 42  # seed of ``HashPartitioning`` and of the SQL function ``hash``
MOST_BYTES = 4096  # most bytes of one field that are hashed: longer ones take a step for each word

_MOST_FIELDS = (1 << 31) - 1  # most fields of a row
_LONG = 8  # word that hashes a number of 8 bytes
_UINT32 = (1 << 32) - 1  # 32 bits
# number of operands of a word that checks; others have none
_OPERANDS = {programs.UNUSED: 1, programs.RANGE: 2}


class Program:
    """Numbers that describe the fields of a row, read one after the other; zeros follow them."""

    def __init__(self, numbers: list[int], position: int = 0) -> None:
        self._numbers, self._at = numbers, position

    def copy(self) -> Program:
        """Return a program that continues here, independently."""
        return Program(self._numbers, self._at)

    def take(self) -> int:
        """Return the next number."""
        position, self._at = self._at, self._at + 1
        return self._numbers[position] if position < len(self._numbers) else 0

    def inner(self) -> Program:
        """Return the inner program, whose length is the next number, and continue after it."""
        length = self.take()
        inner = self.copy()
        self._at = self._at + length if length >= 0 else len(self._numbers)
        return inner


class Parts:
    """Fields of a row or struct, or elements of an array.

    Attributes:
        fits: True if there is room for null bits and slots.
    """

    __slots__ = ("_budget", "_data", "_fixed", "_nulls", "_values", "_width", "fits")

    def __init__(self, data: memoryview, count: int, nulls: int = 0, width: int = WORD) -> None:
        self._data = data
        self._nulls = nulls
        self._values = nulls + (count + 63) // 64 * WORD
        self._width = width
        self._fixed = self._values + count * width
        self._budget = len(data) - self._fixed  # values never share bytes, see Containers
        self.fits = self._budget >= 0

    def there(self, i: int) -> bool:
        """Return True if a value is not null."""
        return not self._data[self._nulls + (i >> 3)] >> (i & 7) & 1

    def value(self, i: int) -> memoryview:
        """Return the bytes of a value, or of its slot."""
        offset = self._values + i * self._width
        return self._data[offset : offset + self._width]

    def region(self, i: int, min_bytes: int) -> memoryview | None:
        """Return a value's variable part; None if it is not in the row, from ``min_bytes`` on."""
        slot = read_uint(self.value(i))
        offset, size = slot >> 32, slot & _UINT32
        inside = min_bytes <= offset and size <= len(self._data) - offset
        return self._data[offset : offset + size] if inside else None

    def part(self, i: int) -> memoryview | None:
        """Return a value's variable part after the slots; None if another value has its bytes."""
        region = self.region(i, self._fixed)
        if region is None or self._budget < len(region):
            return None
        self._budget -= len(region)
        return region


def read_uint(number: memoryview) -> int:
    """Return the unsigned number in a slot."""
    return int.from_bytes(number, "little")


def read_int(number: memoryview) -> int:
    """Return the signed number in a slot, or in its first bytes."""
    return int.from_bytes(number, "little", signed=True)


def rows_in(view: memoryview, starts: Int64s, sizes: Int64s) -> Iterator[memoryview]:
    """Yield the bytes of each row."""
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        yield view[start : start + size]


def check_rows(buffer: Any, offsets: Any, lengths: Any, program: Any, output: Any) -> int:
    """Set the byte in ``output`` to 1 for each UnsafeRow that may not fit its schema, else to 0.

    A row surely fits if it has room for its fields and has whole words, each field that is not null
    is as the program requires, and the variable parts are within the row after its slots and
    together no longer than that.

    Returns:
        The number of rows that may not fit.
    """
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    numbers = integers(program).tolist()
    doubts = memoryview(output).cast("B")
    same_length(doubts, starts)
    for i, row in enumerate(rows_in(view, starts, sizes)):
        doubts[i] = not _fits(row, Program(numbers), 0)
    return sum(doubts)


def _fits(row: memoryview, program: Program, depth: int) -> bool:
    """Return True if a row or struct surely fits the rest of the program."""
    fields = program.take()
    if fields < 0 or depth > DEEPEST or len(row) % WORD:
        return False
    parts = Parts(row, fields)
    return parts.fits and all(_field_fits(parts, i, program, depth) for i in range(fields))


def _field_fits(parts: Parts, i: int, program: Program, depth: int) -> bool:
    """Return True if a field surely is as the next word of the program requires."""
    kind = program.take()
    inner = program.inner() if kind == programs.STRUCT else program
    operands = [program.take() for _ in range(_OPERANDS.get(kind, 0))]
    if kind == programs.ANY or not parts.there(i):
        return True
    if kind == programs.UNUSED:
        (bits,) = operands
        return not 0 <= bits <= 63 or read_uint(parts.value(i)) >> bits == 0
    if kind == programs.RANGE:
        low, high = operands
        return low <= read_int(parts.value(i)) <= high
    region = parts.part(i) if kind in (programs.REGION, programs.STRUCT) else None
    return region is not None and (kind == programs.REGION or _fits(region, inner, depth + 1))


def read_slots(buffer: Any, offsets: Any, lengths: Any, path: Any, values: Any, valid: Any) -> None:
    """Read one 64-bit field of every UnsafeRow, which may be in a struct.

    ``path`` has, for the row and each struct on the way, the number of fields and the ordinal of
    the next. ``values`` takes a number for each row, 0 if there is none. ``valid`` takes a byte: 0
    if a null or a row that does not fit is in the way, else 1.
    """
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    steps = integers(path).tolist()
    pairs = list(zip(steps[::2], steps[1::2], strict=False))
    slots, entry = writable(values, np.int64), memoryview(valid).cast("B")
    same_length(starts, slots, entry)
    for i, row in enumerate(rows_in(view, starts, sizes)):
        slot = _slot_at(row, pairs)
        slots[i], entry[i] = (0, 0) if slot is None else (read_int(slot), 1)


def _slot_at(row: memoryview | None, pairs: list[tuple[int, int]]) -> memoryview | None:
    """Return the slot at the end of a path; None if a null or a wrong row is in the way."""
    slot: memoryview | None = None
    for fields, ordinal in pairs:
        if row is None or not 0 <= ordinal < fields:
            return None
        parts = Parts(row, fields)
        if not parts.fits or len(row) % WORD or not parts.there(ordinal):
            return None
        slot, row = parts.value(ordinal), parts.part(ordinal)
    return slot


def row_hashes(
    buffer: Any, offsets: Any, lengths: Any, program: Any, hashes: Any, valid: Any
) -> None:
    """Hash the first fields of every UnsafeRow as ``Murmur3Hash(fields, 42)`` of Spark.

    ``program`` has the number of fields, the number of first fields that are hashed, and the words
    of these. ``hashes`` takes a signed number of 32 bits for each row, 0 if not known. ``valid``
    takes a byte: 0 if the row does not fit the program or has a field of more than
    :data:`MOST_BYTES`, else 1.
    """
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    numbers = integers(program).tolist()
    result, entry = writable(hashes, np.int64), np.frombuffer(valid, np.uint8)
    same_length(starts, result, entry)
    for i, row in enumerate(rows_in(view, starts, sizes)):
        hashed = _fold(row, Program(numbers), SEED, 0)
        entry[i], result[i] = hashed is not None, _to_signed(hashed or 0, 32)


def _fold(row: memoryview, program: Program, seed: int, depth: int) -> int | None:
    """Return the hash folded over the first fields of a row or struct; None if it does not fit."""
    fields, hashed = program.take(), program.take()
    if not max(0, hashed) <= fields <= _MOST_FIELDS or depth > DEEPEST:
        return None
    parts = Parts(row, fields)
    if not parts.fits:
        return None
    result: int | None = seed
    for i in range(hashed):
        kind = program.take()
        inner = program.inner() if kind == programs.FIELDS else None
        if result is None or not parts.there(i):
            continue
        if inner is None:
            result = _hash_field(kind, parts, i, result)
        else:
            region = parts.region(i, WORD)
            result = None if region is None else _fold(region, inner, result, depth + 1)
    return result


def _hash_field(kind: int, parts: Parts, i: int, seed: int) -> int | None:
    """Return the hash of one field that is not null, by its word; None if it does not fit."""
    slot = parts.value(i)
    if kind == programs.NOTHING:
        return seed
    if kind == programs.BYTES:
        region = parts.region(i, WORD)
        return None if region is None or len(region) > MOST_BYTES else _hash_bytes(region, seed)
    if kind in (1, 2, 4):
        return _murmur([read_int(slot[:kind])], 4, seed)
    if kind == programs.BOOLEAN:
        return _murmur([slot[0] != 0], 4, seed)
    if kind == programs.FLOAT:
        return _murmur([_canonical(read_uint(slot[:4]), 0x7F800000, 0x7FC00000)], 4, seed)
    if kind in (_LONG, programs.DOUBLE):
        number = read_uint(slot)
        if kind == programs.DOUBLE:
            number = _canonical(number, 0x7FF0 << 48, 0x7FF8 << 48)
        return _murmur([number, number >> 32], 8, seed)
    return None


def _canonical(bits: int, infinity: int, nan: int) -> int:
    """Return the bits of a float with one NaN for all (``doubleToLongBits``) and 0.0 for -0.0."""
    size = bits & (1 << infinity.bit_length()) - 1
    return nan if size > infinity else bits if size else 0


def _hash_bytes(data: memoryview, seed: int) -> int:
    """Return the hash of bytes as ``Murmur3_x86_32.hashUnsafeBytes``."""
    whole = len(data) // 4
    words = struct.unpack(f"<{whole}I", data[: 4 * whole])
    return _murmur([*words, *(_to_signed(item, 8) for item in data[4 * whole :])], len(data), seed)


def _murmur(words: Iterable[int], length: int, seed: int) -> int:
    """Return ``Murmur3_x86_32`` of some words, of which the lower 32 bits count."""
    for word in words:
        mixed = _rotate(word * 0xCC9E2D51, 15) * 0x1B873593
        seed = _rotate(seed ^ mixed & _UINT32, 13) * 5 + 0xE6546B64 & _UINT32
    seed ^= length
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _UINT32
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _UINT32
    return seed ^ seed >> 16


def _rotate(value: int, bits: int) -> int:
    """Return 32 bits rotated to the left."""
    value &= _UINT32
    return value << bits & _UINT32 | value >> (32 - bits)


def _to_signed(number: int, bits: int) -> int:
    """Return a number of ``bits`` bits as a signed one."""
    return number - (number >> (bits - 1) << bits)
