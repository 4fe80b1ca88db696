"""One 64-bit column of many rows, without decoding the others: a timestamp, a timer, a counter."""

from __future__ import annotations

from typing import Any

import numpy as np

from inspector.decode._cells import WORD, Bools, Int64s, Page, bitset_bytes, fixed_bytes, null_bits
from inspector.exceptions import DecodeError
from inspector.sparktypes import AtomicType, StructType, storage_type, type_name

_KINDS = ("long", "timestamp", "timestamp_ntz", "time", "day_time")


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
        self._steps: list[tuple[int, int]] = []  # number of fields, ordinal
        data_type = storage_type(schema)
        for ordinal in path:
            if not isinstance(data_type, StructType) or not 0 <= ordinal < len(data_type.fields):
                raise DecodeError(f"no field at {path} of the schema")
            self._steps.append((len(data_type.fields), ordinal))
            data_type = storage_type(data_type.fields[ordinal].data_type)
        if not isinstance(data_type, AtomicType) or data_type.kind not in _KINDS:
            raise DecodeError(f"field {path} is {type_name(data_type)}, expected one of {_KINDS}")

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
        page = Page(buffer, 0)
        check_spans(page, offsets, lengths)
        live = np.arange(len(offsets), dtype=np.int64)
        base, size = offsets, lengths
        for fields, ordinal in self._steps[:-1]:
            live, base, size = _there(page, (live, base, size), fields, ordinal)
            live, base, size = _enter(page, (live, base, size), fields, ordinal)
        fields, ordinal = self._steps[-1]
        live, base, size = _there(page, (live, base, size), fields, ordinal)
        found: Int64s = np.zeros(len(offsets), np.int64)
        found[live] = page.numbers("<i8", base + (bitset_bytes(fields) + ordinal * WORD))
        valid: Bools = np.zeros(len(offsets), np.bool_)
        valid[live] = True
        return found, valid


_Rows = tuple[Int64s, Int64s, Int64s]  # which row of the call, where it starts, its bytes


def _there(page: Page, rows: _Rows, fields: int, ordinal: int) -> _Rows:
    """Those rows that fit so many fields and in which the field is not null."""
    live, base, size = rows
    fits = (size >= fixed_bytes(fields)) & (size % WORD == 0)
    if not fits.all():
        live, base, size = live[fits], base[fits], size[fits]
    null = null_bits(page, base, ordinal)
    if not null.any():
        return live, base, size
    return live[~null], base[~null], size[~null]


def _enter(page: Page, rows: _Rows, fields: int, ordinal: int) -> _Rows:
    """The structs in a field of rows, those that lie within their row."""
    live, base, size = rows
    slots = page.numbers("<u8", base + (bitset_bytes(fields) + ordinal * WORD))
    offset = (slots >> np.uint64(32)).astype(np.int64)
    inner = (slots & np.uint64(0xFFFFFFFF)).astype(np.int64)
    inside = (offset >= fixed_bytes(fields)) & (offset <= size) & (inner <= size - offset)
    return live[inside], (base + offset)[inside], inner[inside]


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
