"""Where a sequence of keys stops to ascend.

Spark sorts the rows of a batch by their grouping columns, ascending, nulls first, before it calls a
group-state function (``FlatMapGroupsWithStateExecBase.requiredChildOrdering``); keys whose timers
have run out follow in the order of the hash map. So within a delta, whatever stands at or behind
the first descent was not written on behalf of new data.

The order is that of ``RowOrdering``: text and bytes by their unsigned bytes, numbers with NaN last
and both zeros equal, structs field by field, arrays element by element and then by length; a null
is below every value, also a null struct below one of nulls. Text of a collation is sorted by rules
that only Spark has, and some types cannot be sorted: of keys that are equal before such a column
nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from inspector.arrays import Bools
from inspector.decode.records import RecordBlock
from inspector.decode.row_check import RowCheck
from inspector.exceptions import LimitError
from inspector.kernel.loader import kernel
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
    UNORDERED,
)
from inspector.sparktypes import (
    BINARY_COLLATION,
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    StringType,
    StructType,
    storage_type,
)

_ATOMIC: Mapping[str, int] = {
    "boolean": 1,
    "byte": 1,
    "short": 2,
    "integer": 4,
    "date": 4,
    "year_month": 4,
    "long": 8,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "time": 8,
    "day_time": 8,
    "float": FLOAT,
    "double": DOUBLE,
    "binary": BYTES,
    "timestamp_nanos": INSTANT,
    "timestamp_ntz_nanos": INSTANT,
    "void": NOTHING,
}
"""How the kernel compares the atomic types that Spark sorts (``OrderUtils.isOrderable``)."""


class KeyOrder:
    """Compares neighbouring keys of a block as Spark's sort does."""

    def __init__(self, key: StructType) -> None:
        """Prepare a schema.

        Raises:
            DecodeError: it has a type whose layout is unknown.
        """
        self._check = RowCheck(key)
        self._program = np.array(_fields(key), np.int64)

    def descends(self, block: RecordBlock) -> Bools:
        """For each record, whether its key is below that of the record before it in the block.

        Of a block with a key that does not fit the schema, or with more values than one call
        checks, nothing is said.
        """
        below = np.zeros(block.count, np.bool_)
        if block.count < 2:
            return below
        spans = block.buffer, block.key_offset, block.key_length
        descents = kernel().descents(*spans, self._program, below)
        try:
            fits = descents == 0 or (descents > 0 and not self._check.misfits(*spans))
        except LimitError:
            fits = False
        if not fits:
            below[:] = False
        return below


def _fields(schema: StructType) -> tuple[int, ...]:
    """The program of a row or struct, see :mod:`inspector.kernel.programs`."""
    programs = (_order(field.data_type) for field in schema.fields)
    return (len(schema.fields), *(number for program in programs for number in program))


def _order(data_type: DataType) -> tuple[int, ...]:
    """What values of a type are compared by."""
    data_type = storage_type(data_type)
    if not _orderable(data_type):
        return (UNORDERED,)
    if isinstance(data_type, StructType):
        program = _fields(data_type)
        return (FIELDS, len(program), *program)
    if isinstance(data_type, ArrayType):
        program = _order(data_type.element)
        return (ELEMENTS, len(program), *program)
    if isinstance(data_type, StringType):
        return (BYTES if data_type.collation == BINARY_COLLATION else EQUAL_BYTES,)
    if isinstance(data_type, DecimalType):
        return (data_type.fixed_width or BIG_NUMBER,)
    return (_ATOMIC[data_type.kind],) if isinstance(data_type, AtomicType) else (UNORDERED,)


def _orderable(data_type: DataType) -> bool:
    """Whether Spark sorts values of a type: a struct or array only if it does all of its parts."""
    data_type = storage_type(data_type)
    if isinstance(data_type, StructType):
        return all(_orderable(field.data_type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return _orderable(data_type.element)
    if isinstance(data_type, AtomicType):
        return data_type.kind in _ATOMIC
    return isinstance(data_type, StringType | DecimalType)
