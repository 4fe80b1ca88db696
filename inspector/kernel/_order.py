"""Compare UnsafeRows; ``order.c`` does the same.

The layout of a row is in :mod:`inspector.decode.row_columns`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from inspector.kernel._arguments import checked_spans, integers
from inspector.kernel.programs import (
    BIG_NUMBER,
    BYTES,
    DOUBLE,
    ELEMENTS,
    EQUAL_BYTES,
    FIELDS,
    FLOAT,
    INSTANT,
    NOTHING,
    WIDEST,
)

_EQUAL = 0
_UNKNOWN = 2
_NO_FIT = 3
_WORD = 8  # bytes of a slot, and of a word of null bits
_BIG = 16  # bytes of the largest number
_DEEPEST = 64  # structs and arrays within each other
_MOST_FIELDS = (1 << 31) - 1
_WIDTHS = {**{width: width for width in range(1, WIDEST + 1)}, FLOAT: 4}
_REALS = {FLOAT: struct.Struct("<f"), DOUBLE: struct.Struct("<d")}
_INSTANT = struct.Struct("<qh")


def descents(buffer: Any, offsets: Any, lengths: Any, program: Any, below: Any) -> int:
    """Find the UnsafeRows that are below the row before them.

    Rows and structs are compared field by field, arrays element by element and then by length,
    nulls first. What is behind the first difference is not looked at, nor what is behind a field
    whose order is unknown: such a row is not below.

    Args:
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
        program: the number of fields, then for each of them a word of
            :mod:`inspector.kernel.programs` with its operands. It ends in zeros.
        below: one byte per row, 1 where it is below the one before.

    Returns:
        How many are below; -1 (and nothing of meaning in ``below``) if something that was looked
        at does not fit: a row without room for its fields or not of whole words, a variable part
        outside of what contains it or that shares bytes with another one, a number of a wrong size.
    """
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    order, result = _Order(integers(program).tolist()), memoryview(below).cast("B")
    if len(result) != len(starts):
        raise ValueError("arrays differ in length")
    before: memoryview | None = None
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        row = view[start : start + size]
        way = _EQUAL if before is None else order.rows(before, row, 0, 0)
        if way == _NO_FIT:
            return -1
        result[i], before = way == 1, row
    return sum(result)


class _Parts:
    """A row, struct or array whose fields or elements are compared."""

    __slots__ = ("_budget", "_data", "_fixed", "_nulls", "_values", "_width", "fits")

    def __init__(self, data: memoryview, count: int, nulls: int, width: int) -> None:
        self._data = data
        self._nulls = nulls
        self._values = nulls + (count + 63) // 64 * _WORD
        self._width = width
        self._fixed = self._values + count * width
        self._budget = len(data) - self._fixed  # values never share bytes, see Containers
        self.fits = self._budget >= 0

    def there(self, i: int) -> bool:
        """Whether a value is not null."""
        return not self._data[self._nulls + (i >> 3)] >> (i & 7) & 1

    def value(self, i: int) -> memoryview:
        """The bytes of a value, or of its slot."""
        at = self._values + i * self._width
        return self._data[at : at + self._width]

    def part(self, i: int) -> memoryview | None:
        """The variable part of a value, if it lies where it may."""
        slot = int.from_bytes(self.value(i), "little")
        offset, size = slot >> 32, slot & 0xFFFFFFFF
        if offset < self._fixed or len(self._data) - offset < size or self._budget < size:
            return None
        self._budget -= size
        return self._data[offset : offset + size]


class _Order:
    """How one value stands to another by a program.

    Below 0 if it comes first, 0 if they are equal, 1 if the other comes first; or unknown, or
    that they do not fit.
    """

    def __init__(self, program: list[int]) -> None:
        self._program = program

    def rows(self, left: memoryview, right: memoryview, at: int, depth: int) -> int:
        """Of two rows or structs, by what stands in the program from a place on."""
        fields = self._number(at)
        if not 0 <= fields <= _MOST_FIELDS or depth > _DEEPEST:
            return _UNKNOWN
        first, second = _Parts(left, fields, 0, _WORD), _Parts(right, fields, 0, _WORD)
        if not (first.fits and second.fits) or len(left) % _WORD or len(right) % _WORD:
            return _NO_FIT
        at += 1
        for i in range(fields):
            if way := self._values(first, second, i, at, depth):
                return way
            at = self._behind(at)
        return _EQUAL

    def arrays(self, left: memoryview, right: memoryview, at: int, depth: int) -> int:
        """Of two arrays, by what stands at a place in the program."""
        if depth > _DEEPEST:
            return _UNKNOWN
        width = _WIDTHS.get(self._number(at), _WORD)
        counts = [_count(left), _count(right)]
        if counts[0] is None or counts[1] is None:
            return _NO_FIT
        first = _Parts(left, counts[0], _WORD, width)
        second = _Parts(right, counts[1], _WORD, width)
        if not (first.fits and second.fits):
            return _NO_FIT
        for i in range(min(counts[0], counts[1])):
            if way := self._values(first, second, i, at, depth):
                return way
        return _sign(counts[0], counts[1])

    def _values(self, left: _Parts, right: _Parts, i: int, at: int, depth: int) -> int:
        """Of the same field, or element, of two."""
        kind = self._number(at)
        if kind == NOTHING:
            return _EQUAL
        if not BYTES <= kind <= ELEMENTS:
            return _UNKNOWN
        entry = left.there(i)
        if not entry or not right.there(i):
            return entry - right.there(i)
        if kind in _REALS:
            return _reals(_REALS[kind], left.value(i), right.value(i))
        if BYTES < kind <= WIDEST:
            return _sign(_read_int(left.value(i)[:kind]), _read_int(right.value(i)[:kind]))
        return self._spans(kind, left.part(i), right.part(i), at + 1, depth)

    def _spans(
        self, kind: int, left: memoryview | None, right: memoryview | None, at: int, depth: int
    ) -> int:
        if left is None or right is None:
            return _NO_FIT
        if kind == FIELDS:
            return self.rows(left, right, at + 1, depth + 1)
        if kind == ELEMENTS:
            return self.arrays(left, right, at + 1, depth + 1)
        return _SPANS[kind](left, right)

    def _behind(self, at: int) -> int:
        if self._number(at) not in (FIELDS, ELEMENTS):
            return at + 1
        length = self._number(at + 1)
        return at + 2 + length if 0 <= length <= len(self._program) else len(self._program)

    def _number(self, at: int) -> int:
        return self._program[at] if at < len(self._program) else 0


def _count(array: memoryview) -> int | None:
    """How many elements an array claims; None if it cannot have them."""
    if len(array) < _WORD:
        return None
    count = int.from_bytes(array[:_WORD], "little")
    return count if count <= len(array) else None


def _sign(left: Any, right: Any) -> int:
    return int(right < left) - int(left < right)


def _read_int(number: memoryview) -> int:
    return int.from_bytes(number, "little", signed=True)


def _reals(form: struct.Struct, left: memoryview, right: memoryview) -> int:
    first, second = form.unpack_from(left)[0], form.unpack_from(right)[0]
    return _sign((first != first, first), (second != second, second))


def _bytes(left: memoryview, right: memoryview) -> int:
    return _sign(bytes(left), bytes(right))


def _big_numbers(left: memoryview, right: memoryview) -> int:
    if not (1 <= len(left) <= _BIG and 1 <= len(right) <= _BIG):
        return _NO_FIT
    return _sign(*(int.from_bytes(item, "big", signed=True) for item in (left, right)))


def _instants(left: memoryview, right: memoryview) -> int:
    if not len(left) == len(right) == _BIG:
        return _NO_FIT
    return _sign(_INSTANT.unpack_from(left), _INSTANT.unpack_from(right))


_SPANS: Mapping[int, Callable[[memoryview, memoryview], int]] = {
    BYTES: _bytes,
    EQUAL_BYTES: lambda left, right: _EQUAL if left == right else _UNKNOWN,
    BIG_NUMBER: _big_numbers,
    INSTANT: _instants,
}
