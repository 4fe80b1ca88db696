"""Whether rows fit their schema, without decoding them.

The kernel finds the rows that are in doubt (:func:`inspector.kernel._rows.check_rows`); only those
are decoded, which shows whether they are misfits, and why. Rows of sound files are in doubt
only where a field is of a kind that the kernel does not know: an array, a map, a wide decimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.row_columns import RowDecoder
from inspector.kernel.loader import kernel
from inspector.kernel.programs import ANY, DOUBT, RANGE, REGION, STRUCT, UNUSED
from inspector.sparktypes import (
    AtomicType,
    DataType,
    DecimalType,
    StringType,
    StructType,
    storage_type,
)

_DAY_NANOS = 86_400_000_000_000

_ATOMIC: Mapping[str, tuple[int, ...]] = {
    "boolean": (UNUSED, 1),
    "byte": (UNUSED, 8),
    "short": (UNUSED, 16),
    **dict.fromkeys(("integer", "float", "date", "year_month"), (UNUSED, 32)),
    **dict.fromkeys(("long", "double", "timestamp", "timestamp_ntz", "day_time", "void"), (ANY,)),
    "time": (RANGE, 0, _DAY_NANOS - 1),
    **dict.fromkeys(("binary", "geometry", "geography"), (REGION,)),
}


class RowCheck:
    """Finds the rows that do not fit one schema: those that :class:`RowDecoder` calls misfits."""

    def __init__(self, schema: StructType) -> None:
        """Prepare a schema.

        Raises:
            DecodeError: it has a type whose layout is unknown.
        """
        self._decoder = RowDecoder(schema)
        self._program = np.array(list(_struct(schema)), np.int64)

    def misfits(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> tuple[tuple[int, str], ...]:
        """Index of each row that does not fit, and why, in order.

        Args:
            buffer: what the rows lie in.
            offsets: where each row starts.
            lengths: bytes of each row.

        Raises:
            ValueError: a row outside of the buffer.
            LimitError: more values in doubt than one call decodes.
        """
        doubts = np.empty(len(offsets), np.uint8)
        if not kernel().check_rows(buffer, offsets, lengths, self._program, doubts):
            return ()
        rows = np.flatnonzero(doubts)
        decoded = self._decoder.decode(buffer, offsets[rows], lengths[rows])
        return tuple((int(rows[index]), reason) for index, reason in decoded.misfits)


def _struct(schema: StructType) -> Iterator[int]:
    """The program of a struct: its number of fields and what each of them must be."""
    yield len(schema.fields)
    for field in schema.fields:
        yield from _field(storage_type(field.data_type))


def _field(data_type: DataType) -> tuple[int, ...]:
    if isinstance(data_type, StructType):
        program = tuple(_struct(data_type))
        return (STRUCT, len(program), *program)
    if isinstance(data_type, StringType):
        return (REGION,)
    if isinstance(data_type, DecimalType) and data_type.fixed_width is not None:
        most: int = 10**data_type.precision - 1
        return (RANGE, -most, most)
    if isinstance(data_type, AtomicType):
        return _ATOMIC.get(data_type.kind, (DOUBT,))
    return (DOUBT,)
