"""UnsafeRows to Arrow, by their schema, many rows at a time.

The Arrow types are in :mod:`inspector.decode.arrow_types`. A row that does not fit its schema
becomes null and is reported as a misfit, with a reason; the rows around it are decoded. A misfit is
what would read outside of the row, and what Spark's own check refuses
(``UnsafeRowUtils.validateStructuralIntegrity``, 3.1+), except that a null may keep an offset in its
slot: Spark writes that itself (calendar intervals, nanosecond timestamps, in 3.1 wide decimals).

Structs, arrays and maps are decoded all of one column at once, whatever row they are in::

    row     null bits, ceil(n / 64) words | n slots of 8 bytes | variable part
    array   int64 count n | null bits, ceil(n / 64) words | n values of their width, or n slots
    map     int64 bytes of the keys | array of keys | array of values

A slot of a variable value holds ``offset << 32 | size``, the offset from the start of the row or
array that the slot is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.arrays import Bools, Int64s
from inspector.decode._cells import (
    WORD,
    Cells,
    Containers,
    Page,
    Regions,
    bitset_bytes,
    fixed_bytes,
    null_bits,
    regions,
)
from inspector.decode._columns import Array, ArrowType, column, memory, struct, validity
from inspector.decode.arrow_types import arrow_type
from inspector.decode.clocks import Int64Path, check_spans, fixed_slot_offset
from inspector.exceptions import LimitError
from inspector.model import LIMITS, Limits
from inspector.sparktypes import (
    SLOT_BYTES,
    ArrayType,
    DataType,
    MapType,
    StructType,
    storage_type,
)

__all__ = ["DecodedRows", "Int64Path", "RowDecoder", "fixed_slot_offset"]

_DUMMY_BYTES = 16
_DUMMY_NULLS = 1


@dataclass(frozen=True)
class DecodedRows:
    """Rows as Arrow.

    Attributes:
        array: one struct per row; null for a misfit.
        misfits: index of each row that does not fit the schema, and why, in order.
    """

    array: Array
    misfits: tuple[tuple[int, str], ...] = ()


class RowDecoder:
    """Decodes the rows of one schema.

    Attributes:
        schema: their fields.
        arrow_type: the struct type of the result; repeated names are numbered.
    """

    def __init__(self, schema: StructType, *, limits: Limits = LIMITS) -> None:
        """Prepare a schema.

        Raises:
            DecodeError: it has a type whose layout is unknown.
        """
        self.schema = schema
        self.arrow_type = arrow_type(schema, limits)
        self._fixed = fixed_bytes(len(schema.fields))

    def decode(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> DecodedRows:
        """Decode rows.

        Args:
            buffer: what the rows lie in.
            offsets: where each row starts.
            lengths: bytes of each row.

        Raises:
            ValueError: a row outside of the buffer.
            LimitError: more values than one call decodes.
        """
        every: Bools = np.ones(len(offsets), np.bool_)
        page = Page(buffer, len(offsets))
        check_spans(page, offsets, lengths)
        array = self._decode(page, offsets, lengths, every)
        misfits = page.misfits
        if misfits.bad.any():
            # Again without them: what remains was read whole, so that no field of a valid row
            # carries what a damaged one left behind (such as a null key of a map).
            array = self._decode(Page(buffer, len(offsets)), offsets, lengths, ~misfits.bad)
        return DecodedRows(array, misfits.reasons())

    def _decode(self, page: Page, offsets: Int64s, lengths: Int64s, chosen: Bools) -> Array:
        row = np.arange(len(offsets), dtype=np.int64)
        rows = Regions(offsets, lengths, chosen, row, "")
        dummy = self._dummies(page, rows)
        fits = (lengths >= self._fixed) & (lengths % WORD == 0)
        reason = f"a row too short for {len(self.schema.fields)} fields, or not of whole words"
        rows = rows.require(page, fits | dummy, reason)
        return struct_fields(page, self.schema, rows, rows.present & ~dummy, self.arrow_type)

    def _dummies(self, page: Page, rows: Regions) -> Bools:
        """Which rows stand for nothing.

        Deduplication before 3.2 declares the whole input row as its value and stores one null
        field (``StreamingDeduplicateExec``): 16 bytes, whatever the schema.
        """
        dummy: Bools = rows.present & (rows.size == _DUMMY_BYTES) & (self._fixed > _DUMMY_BYTES)
        live = np.flatnonzero(dummy)
        nulls = page.numbers("<i8", rows.start[live])
        slot = page.numbers("<i8", rows.start[live] + WORD)
        dummy[live] = (nulls == _DUMMY_NULLS) & (slot == 0)
        return dummy


_MOST_ELEMENTS = (1 << 31) - 1  # of one Arrow array with 32-bit offsets


def values(page: Page, data_type: DataType, cells: Cells, arrow: ArrowType) -> Array:
    """The values of cells of any type."""
    page.spend(len(cells))
    data_type = storage_type(data_type)
    if isinstance(data_type, StructType):
        return _structs(page, data_type, regions(page, cells), arrow)
    if isinstance(data_type, ArrayType):
        return _lists(page, data_type, regions(page, cells), arrow)
    if isinstance(data_type, MapType):
        return _maps(page, data_type, regions(page, cells), arrow)
    return column(page, data_type, cells, arrow)


def _structs(page: Page, schema: StructType, found: Regions, arrow: ArrowType) -> Array:
    fixed = fixed_bytes(len(schema.fields))
    fits = (found.size >= fixed) & (found.size % WORD == 0)
    found = found.require(page, fits, "too short for its fields, or not whole words")
    return struct_fields(page, schema, found, found.present, arrow)


def struct_fields(
    page: Page, schema: StructType, rows: Regions, filled: Bools, arrow: ArrowType
) -> Array:
    """The struct array of rows whose size was checked.

    Args:
        page: the buffer, and where misfits are noted.
        schema: fields of the rows.
        rows: where they are, and which exist.
        filled: which of them have their fields; the others exist with all fields null.
        arrow: the struct type.
    """
    bits = bitset_bytes(len(schema.fields))
    fixed = np.full(len(rows), fixed_bytes(len(schema.fields)), np.int64)
    within = Containers.of(rows.start, rows.size, fixed)
    owner = np.arange(len(rows), dtype=np.int64)
    live = np.flatnonzero(filled)
    children = []
    for i, field in enumerate(schema.fields):
        present = filled.copy()
        present[live] = ~null_bits(page, rows.start[live], i)
        at = rows.start + (bits + i * WORD)
        path = f"{rows.path}{'.' if rows.path else ''}{field.name}"
        cells = Cells(at, owner, within, present, rows.row, path)
        children.append(values(page, field.data_type, cells, arrow.field(i).type))
    return struct(arrow, rows.present, children)


def _lists(page: Page, data_type: ArrayType, found: Regions, arrow: ArrowType) -> Array:
    found, counts = _count(page, data_type.element, found)
    cells = _elements(page, data_type.element, found, counts)
    child = values(page, data_type.element, cells, arrow.value_type)
    return _nest(arrow, found.present, counts, child)


def _maps(page: Page, data_type: MapType, found: Regions, arrow: ArrowType) -> Array:
    found = found.require(page, found.size >= WORD, "no map")
    live = found.live()
    key_bytes = np.zeros(len(found), np.int64)
    key_bytes[live] = page.numbers("<i8", found.start[live])
    remainder = found.size - WORD
    found = found.require(page, (key_bytes >= 0) & (key_bytes <= remainder), "no map")
    keys = found.part(found.start + WORD, key_bytes, "key")
    items = found.part(keys.start + key_bytes, remainder - key_bytes, "value")
    keys, key_counts = _count(page, data_type.key, keys)
    items, item_counts = _count(page, data_type.value, items)
    same = keys.present & items.present & (key_counts == item_counts)
    found = found.require(page, same, "not as many keys as values")
    counts = np.where(found.present, key_counts, 0)
    return _entries(page, data_type, (found, keys, items), counts, arrow)


def _entries(
    page: Page,
    data_type: MapType,
    parts: tuple[Regions, Regions, Regions],
    counts: Int64s,
    arrow: ArrowType,
) -> Array:
    """The map array of maps, their arrays of keys, and those of values, all checked."""
    result, keys, items = parts
    cells = _elements(page, data_type.key, keys, counts)
    key = values(page, data_type.key, cells, arrow.key_type)
    cells_of_items = _elements(page, data_type.value, items, counts)
    item = values(page, data_type.value, cells_of_items, arrow.item_type)
    if key.null_count:
        null = np.asarray(key.is_null())
        page.misfits.flag(cells.row[null], f"{keys.path}: is null")
        # Arrow ends the process over a null key. The rows are misfits now, so they will be decoded
        # again without these maps, and this result is not used.
        return pa.nulls(len(result), arrow)
    entry_type = pa.struct([arrow.key_field, arrow.item_field])
    entry = pa.Array.from_buffers(entry_type, len(cells), [None], children=[key, item])
    return _nest(arrow, result.present, counts, entry)


def _width(element: DataType) -> int:
    """Bytes per element of an array: its own if fixed, else those of a slot."""
    return storage_type(element).fixed_width or SLOT_BYTES


def _count(page: Page, element: DataType, found: Regions) -> tuple[Regions, Int64s]:
    """The arrays that have room for as many elements as they claim, and those numbers."""
    found = found.require(page, found.size >= WORD, "no array")
    live = found.live()
    counts = np.zeros(len(found), np.int64)
    counts[live] = page.numbers("<i8", found.start[live])
    plausible = (counts >= 0) & (counts <= found.size)  # first, so that nothing below overflows
    found = found.require(page, plausible, "an array of more elements than bytes")
    counts = np.where(found.present, counts, 0)
    needed = _header_bytes(counts) + counts * _width(element)
    found = found.require(page, needed <= found.size, "an array of more elements than bytes")
    return found, np.where(found.present, counts, 0)


def _header_bytes(counts: Int64s) -> Int64s:
    """Bytes of an array before its elements (``calculateHeaderPortionInBytes``)."""
    return WORD + (counts + 63) // 64 * WORD


def _elements(page: Page, element: DataType, found: Regions, counts: Int64s) -> Cells:
    """One cell per element of all arrays, in order."""
    total = int(counts.sum())
    if total > _MOST_ELEMENTS:
        raise LimitError(f"{found.path}: {total} elements in one column, decode fewer rows at once")
    page.spend(total)
    width = _width(element)
    header = _header_bytes(counts)
    owner = np.repeat(np.arange(len(found), dtype=np.int64), counts)
    index = np.arange(total, dtype=np.int64) - (np.cumsum(counts) - counts)[owner]
    start = found.start[owner]
    present = ~null_bits(page, start + WORD, index)
    at = start + header[owner] + index * width
    within = Containers.of(found.start, found.size, header + counts * width)
    path = f"{found.path}[]"
    return Cells(at, owner, within, present, found.row[owner], path, slotted=False)


def _nest(arrow: ArrowType, present: Bools, counts: Int64s, child: Array) -> Array:
    offsets = np.zeros(len(present) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    buffers = [validity(present), memory(offsets)]
    return pa.Array.from_buffers(arrow, len(present), buffers, children=[child])
