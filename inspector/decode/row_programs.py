"""Programs by which the kernel checks, compares and hashes the rows of a schema.

A program has a word for each field: what it must be, how it is compared, or how it is hashed
(:mod:`inspector.kernel.programs`).

Check: the kernel finds the rows that are in doubt. Only those are decoded, which shows if they are
misfits, and why. Rows of intact files are in doubt only if a field is of a kind that the kernel
does not know: an array, a map, a wide decimal.

Order: Spark sorts the rows of a batch by their grouping columns, ascending, nulls first, before it
calls a group-state function (``FlatMapGroupsWithStateExecBase.requiredChildOrdering``). Keys whose
timers have run out follow in the order of the hash map. So in a delta no record from the first
descent on was written for new data. The order is that of ``RowOrdering``: text and bytes by their
unsigned bytes, numbers with NaN last and both zeros equal. Structs are compared field by field,
arrays element by element and then by length. A null is below every value, also a null struct below
a struct of nulls. Text with a collation is sorted by rules that only Spark has, and some types
cannot be sorted: if keys are equal before such a column, their order is not known.

Hash: ``HashPartitioning`` sends a row to ``pmod(Murmur3Hash(expressions, 42), numPartitions)`` (2.3
to 4.3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from inspector import sparktypes as types
from inspector.arrays import Bools, Int64s
from inspector.decode.records import RecordBlock
from inspector.decode.row_columns import RowDecoder
from inspector.exceptions import LimitError
from inspector.kernel import programs
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass

_DAY_NANOS = 86_400_000_000_000  # nanoseconds in a day
# program that checks an atomic type, by kind
_CHECKED: Mapping[str, tuple[int, ...]] = {
    "boolean": (programs.UNUSED, 1),
    "byte": (programs.UNUSED, 8),
    "short": (programs.UNUSED, 16),
    **dict.fromkeys(("integer", "float", "date", "year_month"), (programs.UNUSED, 32)),
    **dict.fromkeys(
        ("long", "double", "timestamp", "timestamp_ntz", "day_time", "void"), (programs.ANY,)
    ),
    "time": (programs.RANGE, 0, _DAY_NANOS - 1),
    **dict.fromkeys(("binary", "geometry", "geography"), (programs.REGION,)),
}
_ORDERED: Mapping[str, int] = {
    **dict.fromkeys(("boolean", "byte"), 1),
    "short": 2,
    **dict.fromkeys(("integer", "date", "year_month"), 4),
    **dict.fromkeys(("long", "timestamp", "timestamp_ntz", "time", "day_time"), 8),
    "float": programs.FLOAT,
    "double": programs.DOUBLE,
    "binary": programs.BYTES,
    **dict.fromkeys(("timestamp_nanos", "timestamp_ntz_nanos"), programs.INSTANT),
    "void": programs.NOTHING,
}
"""Word that compares each atomic type that Spark sorts (``OrderUtils.isOrderable``)."""
_UNORDERED = (programs.UNORDERED,)  # program of a type that cannot be compared
# word that hashes each atomic type
_HASHED: Mapping[str, int] = {
    kind: programs.BOOLEAN if kind == "boolean" else word
    for kind, word in _ORDERED.items()
    if word != programs.INSTANT
}


class RowCheck:
    """Finds the rows that do not fit one schema, which :class:`RowDecoder` reports as misfits."""

    def __init__(self, schema: types.StructType) -> None:
        """Prepare a schema. DecodeError: it has a type whose layout is not known."""
        self._decoder = RowDecoder(schema)
        self._program = np.array(_checks(schema), np.int64)

    def misfits(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> tuple[tuple[int, str], ...]:
        """Return (index, reason) of each row in a buffer that does not fit, in order.

        ValueError: a row is outside of the buffer. LimitError: too many values in doubt.
        """
        doubts = np.empty(len(offsets), np.uint8)
        if not kernel().check_rows(buffer, offsets, lengths, self._program, doubts):
            return ()
        rows = np.flatnonzero(doubts)
        decoded = self._decoder.decode(buffer, offsets[rows], lengths[rows])
        return tuple((int(rows[index]), reason) for index, reason in decoded.misfits)


# the check of a schema, made once, because all partitions have the same schemas
row_check = lru_cache(maxsize=256)(RowCheck)


def _checks(schema: types.StructType) -> tuple[int, ...]:
    """Return the program of a row or struct: its number of fields, and a program for each."""
    return (len(schema.fields), *chain(*(_check(field.data_type) for field in schema.fields)))


def _check(data_type: types.DataType) -> tuple[int, ...]:
    """Return the program that checks a field; DOUBT for types that the kernel does not know."""
    data_type = types.storage_type(data_type)
    if isinstance(data_type, types.StructType):
        program = _checks(data_type)
        return (programs.STRUCT, len(program), *program)
    if isinstance(data_type, types.StringType):
        return (programs.REGION,)
    if isinstance(data_type, types.DecimalType) and data_type.slot_width is not None:
        limit: int = 10**data_type.precision - 1
        return (programs.RANGE, -limit, limit)
    kind = data_type.kind if isinstance(data_type, types.AtomicType) else ""
    return _CHECKED.get(kind, (programs.DOUBT,))


class KeyOrder:
    """Compares neighbouring keys of a block as Spark's sort does."""

    def __init__(self, key: types.StructType) -> None:
        """Prepare a schema. DecodeError: it has a type whose layout is not known."""
        self._check = row_check(key)
        orders = chain(*(_order(field.data_type) for field in key.fields))
        self._program = np.array((len(key.fields), *orders), np.int64)

    def descends(self, block: RecordBlock) -> Bools:
        """Return a mask of the records whose key is below the previous record's in the block.

        It is all False if a key does not fit the schema, or if the block has too many values to
        check.
        """
        result = np.zeros(block.count, np.bool_)
        if block.count < 2:
            return result
        spans = block.buffer, block.key_offset, block.key_length
        descents = kernel().descents(*spans, self._program, result)
        try:
            fits = descents == 0 or (descents > 0 and not self._check.misfits(*spans))
        except LimitError:
            fits = False
        if not fits:
            result[:] = False
        return result


def _order(data_type: types.DataType) -> tuple[int, ...]:
    """Return the program that compares values of a type.

    A struct or array has an order if its parts have one. The program of a type without an order is
    ``_UNORDERED``.
    """
    data_type = types.storage_type(data_type)
    if isinstance(data_type, types.StructType):
        parts = [_order(field.data_type) for field in data_type.fields]
        program = (len(parts), *chain(*parts))
        return _UNORDERED if _UNORDERED in parts else (programs.FIELDS, len(program), *program)
    if isinstance(data_type, types.ArrayType):
        element = _order(data_type.element)
        return element if element == _UNORDERED else (programs.ELEMENTS, len(element), *element)
    if isinstance(data_type, types.StringType):
        is_binary = data_type.collation == types.BINARY_COLLATION
        return (programs.BYTES if is_binary else programs.EQUAL_BYTES,)
    if isinstance(data_type, types.DecimalType):
        return (data_type.slot_width or programs.BIG_NUMBER,)
    kind = data_type.kind if isinstance(data_type, types.AtomicType) else ""
    return (_ORDERED.get(kind, programs.UNORDERED),)


@dataclass(frozen=True)
class RowHash:
    """Hash of the first fields of a key, which gives its partition."""

    program: tuple[int, ...]  # the kernel's program

    @classmethod
    def of(cls, schema: types.StructType, fields: int) -> RowHash | None:
        """Return the hash of the first ``fields`` fields; None if a type's hash is not known."""
        # Strings of a collation hash by a key of their own, arrays and maps group no rows here.
        if not 0 < fields <= len(schema.fields):
            return None
        program = _hashes(schema.fields, fields)
        return None if program is None else cls(program)

    @classmethod
    def of_part(cls, schema: types.StructType, path: Sequence[int], fields: int) -> RowHash | None:
        """Return the hash of the first ``fields`` fields of a struct within a key.

        ``path`` has the ordinals of the structs that lead to it, from the key inwards; without any
        it is the key itself. Returns None if a type's hash is not known, or if no struct is there.
        """
        if not path:
            return cls.of(schema, fields)
        if not 0 <= path[0] < len(schema.fields):
            return None
        inner = schema.fields[path[0]].data_type
        part = cls.of_part(inner, path[1:], fields) if isinstance(inner, types.StructType) else None
        if part is None:
            return None
        # NOTHING leaves the hash as it is, so the fields before the struct do not count.
        skipped = (programs.NOTHING,) * path[0]
        head = len(schema.fields), path[0] + 1
        return cls((*head, *skipped, programs.FIELDS, len(part.program), *part.program))

    def partitions(
        self, buffer: Any, offsets: Int64s, lengths: Int64s, count: int
    ) -> tuple[Int64s, Bools]:
        """Return the partition of each row, of ``count``, and a mask where it is known.

        It is not known for a row that does not fit the schema, or with a field of more than 4,096
        bytes.
        """
        hashes, is_known = self.hashes(buffer, offsets, lengths)
        return partitions_of(hashes, count), is_known

    def hashes(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> tuple[Int64s, Bools]:
        """Return the hash of each row, and a mask where it is known, as :meth:`partitions` does."""
        hashes = np.empty(len(offsets), np.int64)
        is_known = np.empty(len(offsets), np.bool_)
        program = np.array(self.program, np.int64)
        kernel().row_hashes(buffer, offsets, lengths, program, hashes, is_known)
        return hashes, is_known


def partitions_of(hashes: Int64s, count: int) -> Int64s:
    """Return the partition, of ``count``, of rows by their hashes."""
    # The remainder: numpy has a fast division by one number, and no such remainder.
    return hashes - hashes // count * count


def _hashes(fields: Sequence[types.StructField], hashed: int) -> tuple[int, ...] | None:
    """Return the program that hashes the first ``hashed`` fields of a row or struct.

    Returns None if the hash of a field is not known.
    """
    parts = [_hash(field.data_type) for field in fields[:hashed]]
    return None if () in parts else (len(fields), hashed, *chain(*parts))


def _hash(data_type: types.DataType) -> tuple[int, ...]:
    """Return the program that hashes values of a type; empty if the hash is not known."""
    data_type = types.storage_type(data_type)
    if isinstance(data_type, types.StructType):
        program = _hashes(data_type.fields, len(data_type.fields))
        return () if program is None else (programs.FIELDS, len(program), *program)
    if isinstance(data_type, types.StringType):
        return (programs.BYTES,) if data_type.collation == types.BINARY_COLLATION else ()
    if isinstance(data_type, types.DecimalType):
        return (programs.BYTES if data_type.slot_width is None else 8,)
    kind = data_type.kind if isinstance(data_type, types.AtomicType) else ""
    return (_HASHED[kind],) if kind in _HASHED else ()
