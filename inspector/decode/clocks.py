"""One 64-bit column of many rows, without decoding the others: a timestamp, a timer, a counter."""

from __future__ import annotations

from typing import Any

import numpy as np

from inspector.arrays import Bools, Int64s
from inspector.decode._cells import WORD, Page, bitset_bytes
from inspector.exceptions import DecodeError
from inspector.kernel.loader import kernel
from inspector.sparktypes import (
    INT64_KINDS,
    SLOT_BYTES,
    StructType,
    is_int64,
    storage_type,
    type_name,
)


def fixed_slot_offset(schema: StructType, ordinal: int) -> int:
    """Offset in the row of the 8-byte slot of a top-level field."""
    return bitset_bytes(len(schema.fields)) + ordinal * WORD


class Int64Path:
    """Reads a long or timestamp field, also one of a nested struct.

    Attributes:
        path: ordinals from the row to the field; ``(0, 1)`` is the end of a window that is the
            first field.
    """

    def __init__(self, schema: StructType, path: tuple[int, ...]) -> None:
        """Find the field.

        Raises:
            DecodeError: the path does not lead to a field of 64 bits.
        """
        self.path = path
        steps: list[int] = []  # number of fields, ordinal
        data_type = storage_type(schema)
        for ordinal in path:
            if not isinstance(data_type, StructType) or not 0 <= ordinal < len(data_type.fields):
                raise DecodeError(f"no field at {path} of the schema")
            steps += (len(data_type.fields), ordinal)
            data_type = storage_type(data_type.fields[ordinal].data_type)
        if not is_int64(data_type):
            raise DecodeError(
                f"field {path} is {type_name(data_type)}, expected one of {INT64_KINDS}"
            )
        self._steps = np.array(steps, np.int64)

    def read(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> tuple[Int64s, Bools]:
        """The field of many rows.

        Args:
            buffer: what the rows lie in.
            offsets: where each row starts.
            lengths: bytes of each row.

        Returns:
            The values (0 where there is none) and whether there is one: not where the field or a
            struct around it is null, and not where the row does not fit its schema.

        Raises:
            ValueError: a row outside of the buffer.
        """
        values: Int64s = np.empty(len(offsets), np.int64)
        valid: Bools = np.empty(len(offsets), np.bool_)
        kernel().read_slots(buffer, offsets, lengths, self._steps, values, valid)
        return values, valid


def check_spans(page: Page, offsets: Int64s, lengths: Int64s) -> None:
    """Refuse rows that do not lie in the buffer: a mistake of the caller.

    Raises:
        ValueError: there is one, or the arrays differ in length.
    """
    if len(offsets) != len(lengths):
        raise ValueError("arrays differ in length")
    size = len(page.buffer)
    inside = (offsets >= 0) & (offsets <= size) & (lengths >= 0) & (lengths <= size - offsets)
    if not inside.all():
        raise ValueError("a row lies outside of the buffer")


def count_flags(
    schema: StructType, ordinal: int, buffer: Any, offsets: Int64s, lengths: Int64s
) -> tuple[int, int]:
    """How many rows have true, and false, in a boolean field; null and misfits are neither.

    Args:
        schema: of the rows.
        ordinal: of the field.
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
    """
    slot = fixed_slot_offset(schema, ordinal)
    starts = offsets[lengths >= slot + SLOT_BYTES]
    data = np.frombuffer(buffer, np.uint8)
    null = (data[starts + ordinal // 8] >> (ordinal % 8)) & 1 == 1
    flags = data[starts + slot][~null]
    return int((flags == 1).sum()), int((flags == 0).sum())
