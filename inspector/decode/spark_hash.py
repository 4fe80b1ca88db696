"""The partition that a key belongs to: Spark's hash of its grouping columns.

``HashPartitioning`` sends a row to ``pmod(Murmur3Hash(expressions, 42), numPartitions)`` (2.3 to
4.3); :mod:`inspector.kernel._rows` has the hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inspector.arrays import Bools, Int64s
from inspector.kernel.loader import kernel
from inspector.kernel.programs import BOOLEAN, BYTES, DOUBLE, FIELDS, FLOAT, NOTHING
from inspector.light_dataclasses import dataclass
from inspector.sparktypes import (
    AtomicType,
    DataType,
    DecimalType,
    StringType,
    StructField,
    StructType,
    storage_type,
)
from inspector.sparktypes.types import BINARY_COLLATION

_WORDS = {"byte": 1, "short": 2, "integer": 4, "date": 4, "year_month": 4}
_WORDS |= dict.fromkeys(("long", "timestamp", "timestamp_ntz", "time", "day_time"), 8)
_WORDS |= {"boolean": BOOLEAN, "float": FLOAT, "double": DOUBLE}
_WORDS |= {"binary": BYTES, "void": NOTHING}


@dataclass(frozen=True)
class RowHash:
    """The hash of some fields of rows of one schema.

    Attributes:
        program: for the kernel: what each of the fields is hashed as.
    """

    program: tuple[int, ...]

    @classmethod
    def of(cls, schema: StructType, fields: int) -> RowHash | None:
        """The hash of the first fields; None where a type's hash is not known.

        Strings of a collation hash by a key of their own, arrays and maps group no rows here.
        """
        if not 0 < fields <= len(schema.fields):
            return None
        program = _program(schema.fields, fields)
        return None if program is None else cls(tuple(program))

    def partitions(
        self, buffer: Any, offsets: Int64s, lengths: Int64s, count: int
    ) -> tuple[Int64s, Bools]:
        """The partition of each row, and whether it is known.

        It is not known of a row that does not fit the schema, or has a field of more than 4,096
        bytes.

        Args:
            buffer: what the rows lie in.
            offsets: where each row starts.
            lengths: bytes of each row.
            count: of partitions.
        """
        hashes = np.empty(len(offsets), np.int64)
        is_known = np.empty(len(offsets), np.bool_)
        program = np.array(self.program, np.int64)
        kernel().row_hashes(buffer, offsets, lengths, program, hashes, is_known)
        # The remainder: numpy has a fast division by one number, and no such remainder.
        return hashes - hashes // count * count, is_known


def _program(fields: Sequence[StructField], hashed: int) -> list[int] | None:
    program = [len(fields), hashed]
    for field in fields[:hashed]:
        words = _words(storage_type(field.data_type))
        if words is None:
            return None
        program += words
    return program


def _words(kind: DataType) -> list[int] | None:
    if isinstance(kind, StructType):
        inner = _program(kind.fields, len(kind.fields))
        return None if inner is None else [FIELDS, len(inner), *inner]
    if isinstance(kind, StringType):
        return [BYTES] if kind.collation == BINARY_COLLATION else None
    if isinstance(kind, DecimalType):
        return [BYTES if kind.fixed_width is None else 8]
    if isinstance(kind, AtomicType) and kind.kind in _WORDS:
        return [_WORDS[kind.kind]]
    return None
