"""Comparison of UnsafeRows; ``order.c`` does the same."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

from inspector.kernel import programs
from inspector.kernel._arguments import check_spans, integers, same_length
from inspector.kernel._rows import DEEPEST, WORD, Parts, Program, read_int, read_uint, rows_in

_EQUAL = 0  # result of a comparison: equal; below 0 the first value is lower, 1 the second
_UNKNOWN = 2  # result of a comparison: the order is not known
_NO_FIT = 3  # result of a comparison: a value does not fit its schema
_BIG = 16  # bytes of the largest number
_MOST_FIELDS = (1 << 31) - 1  # most fields of a row
# bytes of an element in an array, by the word that compares it; WORD for other words
_WIDTHS = {**{width: width for width in range(1, programs.WIDEST + 1)}, programs.FLOAT: 4}
# forms of floating-point numbers, by word
_REALS = {programs.FLOAT: struct.Struct("<f"), programs.DOUBLE: struct.Struct("<d")}
_INSTANT = struct.Struct("<qh")  # form of an INSTANT


def descents(buffer: Any, offsets: Any, lengths: Any, program: Any, below: Any) -> int:
    """Set the byte in ``below`` to 1 for each UnsafeRow that is below the row before it, else to 0.

    Rows and structs are compared field by field, arrays element by element and then by length,
    nulls first. Nothing after the first difference is read, nor after a field whose order is not
    known: such a row is not below.

    Returns:
        The number of rows that are below; -1 (and nothing useful in ``below``) if something that
            was read does not fit: a row without room for its fields or not of whole words, a
            variable part outside of its container or that shares bytes with another one, a number
            of a wrong size.
    """
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    numbers, result = integers(program).tolist(), memoryview(below).cast("B")
    same_length(result, starts)
    previous: memoryview | None = None
    for i, row in enumerate(rows_in(view, starts, sizes)):
        way = _EQUAL if previous is None else _rows(previous, row, Program(numbers), 0)
        if way == _NO_FIT:
            return -1
        result[i], previous = way == 1, row
    return sum(result)


def _rows(left: memoryview, right: memoryview, program: Program, depth: int) -> int:
    """Return how two rows or structs compare, by the rest of the program."""
    fields = program.take()
    if not 0 <= fields <= _MOST_FIELDS or depth > DEEPEST:
        return _UNKNOWN
    first, second = Parts(left, fields), Parts(right, fields)
    if not (first.fits and second.fits) or len(left) % WORD or len(right) % WORD:
        return _NO_FIT
    for i in range(fields):
        if way := _values(first, second, i, program, depth):
            return way
    return _EQUAL


def _arrays(left: memoryview, right: memoryview, element: Program, depth: int) -> int:
    """Return how two arrays compare; ``element`` is the program of an element."""
    if depth > DEEPEST:
        return _UNKNOWN
    width = _WIDTHS.get(element.copy().take(), WORD)
    if min(len(left), len(right)) < WORD:
        return _NO_FIT
    counts = read_uint(left[:WORD]), read_uint(right[:WORD])
    if counts[0] > len(left) or counts[1] > len(right):
        return _NO_FIT
    first, second = Parts(left, counts[0], WORD, width), Parts(right, counts[1], WORD, width)
    if not (first.fits and second.fits):
        return _NO_FIT
    for i in range(min(counts)):
        if way := _values(first, second, i, element.copy(), depth):
            return way
    return _sign(*counts)


def _values(left: Parts, right: Parts, i: int, program: Program, depth: int) -> int:
    """Return how one field or element of two rows compares, by the next word of the program."""
    kind = program.take()
    inner = program.inner() if kind in (programs.FIELDS, programs.ELEMENTS) else program
    if kind == programs.NOTHING:
        return _EQUAL
    if not programs.BYTES <= kind <= programs.ELEMENTS:
        return _UNKNOWN
    entry = left.there(i)
    if not entry or not right.there(i):
        return entry - right.there(i)
    if kind in _REALS:
        return _reals(_REALS[kind], left.value(i), right.value(i))
    if programs.BYTES < kind <= programs.WIDEST:
        return _sign(read_int(left.value(i)[:kind]), read_int(right.value(i)[:kind]))
    first, second = left.part(i), right.part(i)
    if first is None or second is None:
        return _NO_FIT
    if kind in (programs.FIELDS, programs.ELEMENTS):
        return (_rows if kind == programs.FIELDS else _arrays)(first, second, inner, depth + 1)
    return _SPANS[kind](first, second)


def _sign(left: Any, right: Any) -> int:
    """Return -1, 0 or 1: how two values compare."""
    return int(right < left) - int(left < right)


def _reals(form: struct.Struct, left: memoryview, right: memoryview) -> int:
    """Return how two floating-point numbers compare: NaN last, both zeros equal."""
    first, second = form.unpack_from(left)[0], form.unpack_from(right)[0]
    return _sign((first != first, first), (second != second, second))


def _big_numbers(left: memoryview, right: memoryview) -> int:
    """Return how two big-endian numbers compare; _NO_FIT for a wrong size."""
    if not (1 <= len(left) <= _BIG and 1 <= len(right) <= _BIG):
        return _NO_FIT
    return _sign(*(int.from_bytes(item, "big", signed=True) for item in (left, right)))


def _instants(left: memoryview, right: memoryview) -> int:
    """Return how two pairs of numbers compare; _NO_FIT for a wrong size."""
    if not len(left) == len(right) == _BIG:
        return _NO_FIT
    return _sign(_INSTANT.unpack_from(left), _INSTANT.unpack_from(right))


# functions that compare variable parts, by word
_SPANS: Mapping[int, Callable[[memoryview, memoryview], int]] = {
    programs.BYTES: lambda left, right: _sign(bytes(left), bytes(right)),
    programs.EQUAL_BYTES: lambda left, right: _EQUAL if left == right else _UNKNOWN,
    programs.BIG_NUMBER: _big_numbers,
    programs.INSTANT: _instants,
}
