"""UnsafeRows to Arrow, by their schema, many rows at a time.

The Arrow types are in :mod:`inspector.decode.arrow_types`. A row that does not fit its schema
becomes null and is reported as a misfit, with a reason; the rows around it are decoded. Misfits are
rows that would read outside of themselves, and rows that Spark's own check refuses
(``UnsafeRowUtils.validateStructuralIntegrity``, 3.1+). But a null may keep an offset in its slot:
Spark writes that itself (calendar intervals, nanosecond timestamps, in 3.1 wide decimals).

Structs, arrays and maps are decoded all of one column at once, whatever row they are in::

    row     null bits, ceil(n / 64) words | n slots of 8 bytes | variable part
    array   int64 count n | null bits, ceil(n / 64) words | n values of their width, or n slots
    map     int64 bytes of the keys | array of keys | array of values

A slot of a variable value has ``offset << 32 | size``, the offset from the start of the row or
array that has the slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector import sparktypes as types
from inspector.arrays import Bools, Int64s
from inspector.decode._cells import (
    WORD,
    Cells,
    Containers,
    Page,
    Regions,
    bitset_bytes,
    null_bits,
    regions,
    size_of_fixed_part,
)
from inspector.decode.arrow_types import arrow_type
from inspector.exceptions import DecodeError, LimitError
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass

Array: TypeAlias = "pa.Array[Any]"  # an Arrow array of any type
ArrowType: TypeAlias = Any  # an Arrow type; pyarrow's stubs do not know the parts of nested types

_MOST_OFFSET = (1 << 31) - 1  # most bytes or elements of one Arrow array with 32-bit offsets
_DAY_NANOS = 86_400_000_000_000  # nanoseconds in a day
_WIDE = 16  # bytes reserved for a wide decimal, a calendar interval or a nanosecond timestamp
_VARIANT_LENGTH = 4  # bytes of the length of a variant's value
_DUMMY_BYTES = 16  # bytes of a row with one null field
_DUMMY_NULLS = 1  # null bits of such a row

# numpy dtype of numeric types, by kind
_NUMPY: Mapping[str, str] = {
    "byte": "i1",
    "short": "<i2",
    **dict.fromkeys(("integer", "date", "year_month"), "<i4"),
    **dict.fromkeys(("long", "timestamp", "timestamp_ntz", "time", "day_time"), "<i8"),
    "float": "<f4",
    "double": "<f8",
}


@dataclass(frozen=True)
class DecodedRows:
    """Rows as Arrow."""

    array: Array  # a struct for each row, null for a misfit
    misfits: tuple[tuple[int, str], ...] = ()  # index and reason of each misfit


class RowDecoder:
    """Decoder of rows of one schema; repeated names in its ``arrow_type`` are numbered.

    Attributes:
        schema: the schema.
        arrow_type: Arrow type of the decoded rows.
    """

    def __init__(self, schema: types.StructType) -> None:
        """Prepare a schema. DecodeError: it has a type whose layout is not known."""
        self.schema = schema
        self.arrow_type = arrow_type(schema)
        self._fixed = size_of_fixed_part(len(schema.fields))

    def decode(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> DecodedRows:
        """Return the rows at these spans of a buffer as Arrow structs, and the misfits.

        ValueError: a row is outside of the buffer. LimitError: too many values.
        """
        all_rows: Bools = np.ones(len(offsets), np.bool_)
        page = Page(buffer, len(offsets))
        if len(offsets) != len(lengths):
            raise ValueError("arrays differ in length")
        size = len(page.buffer)
        inside = (offsets >= 0) & (offsets <= size) & (lengths >= 0) & (lengths <= size - offsets)
        if not inside.all():
            raise ValueError("a row lies outside of the buffer")
        array = self._decode(page, offsets, lengths, all_rows)
        if page.bad.any():
            # Decode again without them: the remaining rows fit, so that no field of a valid row has
            # a value that a damaged row left (such as a null key of a map).
            array = self._decode(Page(buffer, len(offsets)), offsets, lengths, ~page.bad)
        return DecodedRows(array, page.misfits())

    def _decode(self, page: Page, offsets: Int64s, lengths: Int64s, chosen: Bools) -> Array:
        """Return the chosen rows as structs, others as null; misfits are noted in the page."""
        row = np.arange(len(offsets), dtype=np.int64)
        rows = Regions(chosen, row, "", offsets, lengths)
        dummy = self._dummies(page, rows)
        fits = (lengths >= self._fixed) & (lengths % WORD == 0)
        reason = f"a row too short for {len(self.schema.fields)} fields, or not of whole words"
        rows = rows.require(page, fits | dummy, reason)
        return struct_fields(page, self.schema, rows, rows.present & ~dummy, self.arrow_type)

    def _dummies(self, page: Page, rows: Regions) -> Bools:
        """Return a mask of the rows with one null field, whatever the schema.

        Deduplication before 3.2 declares the whole input row as its value and stores such a row
        (StreamingDeduplicateExec).
        """
        # Deduplication before 3.2 declares the whole input row as its value and stores one null
        # field (StreamingDeduplicateExec): 16 bytes, whatever the schema.
        dummy: Bools = rows.present & (rows.size == _DUMMY_BYTES) & (self._fixed > _DUMMY_BYTES)
        live = np.flatnonzero(dummy)
        nulls = page.numbers("<i8", rows.start[live])
        slot = page.numbers("<i8", rows.start[live] + WORD)
        dummy[live] = (nulls == _DUMMY_NULLS) & (slot == 0)
        return dummy


def column(page: Page, data_type: types.DataType, cells: Cells, arrow: ArrowType) -> Array:
    """Return the values of cells of a type that is not nested."""
    if isinstance(data_type, types.StringType):
        return text(page, regions(page, cells))
    if isinstance(data_type, types.DecimalType):
        narrow = data_type.slot_width is not None
        return _narrow_decimal(page, cells, arrow) if narrow else _wide_decimal(page, cells, arrow)
    kind = data_type.kind if isinstance(data_type, types.AtomicType) else ""
    if kind in _NUMPY:
        values = _values(page, cells, _NUMPY[kind])
        if kind == "time":
            outside = (values < 0) | (values >= _DAY_NANOS)
            page.flag(cells.row[outside], f"{cells.path}: no time of the day")
        return array(arrow, cells.present, values)
    return _OTHERS[kind](page, cells, arrow)


def array(
    arrow: ArrowType, present: Bools, *buffers: Any, children: list[Array] | None = None
) -> Array:
    """Return an Arrow array over the memory of numpy arrays or bytes, and of finished children.

    ``present`` masks the values that are not null.
    """
    validity: Any = None if present.all() else np.packbits(present, bitorder="little")
    memory = [None if item is None else pa.py_buffer(item) for item in (validity, *buffers)]
    return pa.Array.from_buffers(arrow, len(present), memory, children=children)


def _values(page: Page, cells: Cells, dtype: str) -> npt.NDArray[Any]:
    """Return the numbers of all cells, 0 for null; a slot with other bytes makes a misfit."""
    live = cells.live()
    offsets = cells.at[live]
    width = np.dtype(dtype).itemsize
    if cells.slotted and width < types.SLOT_BYTES:
        unused = page.numbers("<u8", offsets) >> np.uint64(8 * width)
        reason = f"{cells.path}: the slot holds more than {width} bytes"
        page.flag(cells.row[live[unused != 0]], reason)
    values = np.zeros(len(cells), dtype)
    values[live] = page.numbers(dtype, offsets)
    return values


def _boolean(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    """Return booleans; a byte above 1 makes a misfit."""
    values = _values(page, cells, "u1")
    page.flag(cells.row[values > 1], f"{cells.path}: neither true nor false")
    return array(arrow, cells.present, np.packbits(values != 0, bitorder="little"))


def _narrow_decimal(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    """Return decimals up to 18 digits: the unscaled value is a long in the slot."""
    values = np.empty((len(cells), 2), "<i8")
    values[:, 0] = _values(page, cells, "<i8")
    values[:, 1] = values[:, 0] >> 63  # the sign, in all 128 bits
    return _decimals(page, values, cells.present, cells, arrow)


def _wide_decimal(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    """Return decimals above 18 digits, which are big-endian and as short as possible."""
    result = regions(page, cells)
    fits = (result.size >= 1) & (result.size <= _WIDE)
    result = result.require(page, fits, "no decimal of 1 to 16 bytes")
    live = result.live()
    start, size = result.start[live], result.size[live]
    sign = page.numbers("i1", start) >> 7
    values = np.zeros((len(cells), _WIDE), np.uint8)
    for i in range(_WIDE):  # from the lowest byte, which is the last, to the sign
        entry = i < size
        digits = sign.astype(np.uint8)
        digits[entry] = page.numbers("u1", (start + size - 1 - i)[entry])
        values[live, i] = digits
    return _decimals(page, values.view("<i8"), result.present, cells, arrow)


def _decimals(page: Page, values: Int64s, present: Bools, cells: Cells, arrow: ArrowType) -> Array:
    """Return decimals from their low and high halves; too many digits make a misfit."""
    # Spark refuses them as well, where it does not trust the bytes (Decimal.set).
    low, high = values[:, 0].view("<u8"), values[:, 1]
    limit = 10**arrow.precision - 1
    mask = (1 << 64) - 1
    too_large = (high > limit >> 64) | ((high == limit >> 64) & (low > np.uint64(limit & mask)))
    too_small = (high < -limit >> 64) | ((high == -limit >> 64) & (low < np.uint64(-limit & mask)))
    reason = f"{cells.path}: more than {arrow.precision} digits"
    page.flag(cells.row[too_large | too_small], reason)
    return array(arrow, present, values)


def blob(page: Page, arrow: ArrowType, spans: Regions) -> Array:
    """Return the bytes of regions as an Arrow array. LimitError: more than 32-bit offsets allow."""
    total = int(spans.size.sum())
    if total > _MOST_OFFSET:
        raise LimitError(f"{spans.path}: {total} bytes in one column, decode fewer rows at once")
    offsets = np.zeros(len(spans) + 1, np.int32)
    np.cumsum(spans.size, out=offsets[1:])
    data = kernel().gather(page.buffer, spans.start, spans.size)
    return array(arrow, spans.present, offsets, data)


def text(page: Page, spans: Regions) -> Array:
    """Return the text of regions, with U+FFFD for bytes that are not UTF-8, as Spark does."""
    values = blob(page, pa.string(), spans)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        raw = blob(page, pa.binary(), spans).to_pylist()
        repaired = [None if item is None else item.decode("utf-8", "replace") for item in raw]
        return pa.array(repaired, pa.string())
    return values


def _parts(page: Page, cells: Cells, arrow: ArrowType, dtypes: Mapping[int, str]) -> Array:
    """Return regions of 16 bytes as structs of the numbers at fixed positions in them.

    ``dtypes`` has the numpy dtype by position.
    """
    result = regions(page, cells)
    result = result.require(page, result.size == _WIDE, "not of 16 bytes")
    live = result.live()
    children = []
    for i, (position, dtype) in enumerate(dtypes.items()):
        values = np.zeros(len(cells), dtype)
        values[live] = page.numbers(dtype, result.start[live] + position)
        children.append(array(arrow.field(i).type, result.present, values))
    return array(arrow, result.present, children=children)


def _variant(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    """Return variants as structs of value and metadata (``UnsafeRow.getVariant``)."""
    result = regions(page, cells)
    result = result.require(page, result.size >= _VARIANT_LENGTH, "no variant")
    live = result.live()
    length = np.zeros(len(result), np.int64)
    length[live] = page.numbers("<i4", result.start[live])
    remainder = result.size - _VARIANT_LENGTH
    result = result.require(page, (length >= 0) & (length <= remainder), "no variant")
    value = result.part(result.start + _VARIANT_LENGTH, length, "value")
    metadata = result.part(value.start + length, remainder - length, "metadata")
    children = [blob(page, pa.binary(), value), blob(page, pa.binary(), metadata)]
    return array(arrow, result.present, children=children)


# Functions that decode the other types, by kind.
_OTHERS: Mapping[str, Callable[[Page, Cells, ArrowType], Array]] = {
    "boolean": _boolean,
    "void": lambda _page, cells, _arrow: pa.nulls(len(cells)),
    **dict.fromkeys(
        ("binary", "geometry", "geography"),
        lambda page, cells, arrow: blob(page, arrow, regions(page, cells)),
    ),
    "interval": partial(_parts, dtypes={0: "<i4", 4: "<i4", 8: "<i8"}),
    **dict.fromkeys(
        ("timestamp_nanos", "timestamp_ntz_nanos"), partial(_parts, dtypes={0: "<i8", 8: "<i2"})
    ),
    "variant": _variant,
}


def values(page: Page, data_type: types.DataType, cells: Cells, arrow: ArrowType) -> Array:
    """Return the values of cells of any type. LimitError: too many in one call."""
    page.spend(len(cells))
    data_type = types.storage_type(data_type)
    if isinstance(data_type, types.StructType):
        spans, fixed = regions(page, cells), size_of_fixed_part(len(data_type.fields))
        fits = (spans.size >= fixed) & (spans.size % WORD == 0)
        spans = spans.require(page, fits, "too short for its fields, or not whole words")
        return struct_fields(page, data_type, spans, spans.present, arrow)
    if isinstance(data_type, types.ArrayType):
        return _lists(page, data_type, regions(page, cells), arrow)
    if isinstance(data_type, types.MapType):
        return _maps(page, data_type, regions(page, cells), arrow)
    return column(page, data_type, cells, arrow)


def struct_fields(
    page: Page, schema: types.StructType, rows: Regions, filled: Bools, arrow: ArrowType
) -> Array:
    """Return rows of checked size as structs; a row that is not ``filled`` has all fields null."""
    bits = bitset_bytes(len(schema.fields))
    fixed = np.full(len(rows), size_of_fixed_part(len(schema.fields)), np.int64)
    containers = Containers(rows.start, rows.size, fixed, rows.size - fixed)
    owner = np.arange(len(rows), dtype=np.int64)
    live = np.flatnonzero(filled)
    children = []
    for i, field in enumerate(schema.fields):
        present = filled.copy()
        present[live] = ~null_bits(page, rows.start[live], i)
        offsets = rows.start + (bits + i * WORD)
        path = f"{rows.path}{'.' if rows.path else ''}{field.name}"
        cells = Cells(present, rows.row, path, offsets, owner, containers)
        children.append(values(page, field.data_type, cells, arrow.field(i).type))
    return array(arrow, rows.present, children=children)


def _lists(page: Page, data_type: types.ArrayType, spans: Regions, arrow: ArrowType) -> Array:
    """Return arrays as Arrow lists."""
    spans, counts = _count(page, data_type.element, spans)
    cells = _elements(page, data_type.element, spans, counts)
    child = values(page, data_type.element, cells, arrow.value_type)
    return _nest(arrow, spans.present, counts, child)


def _maps(page: Page, data_type: types.MapType, spans: Regions, arrow: ArrowType) -> Array:
    """Return maps as Arrow maps; a map with a null key makes a misfit."""
    spans = spans.require(page, spans.size >= WORD, "no map")
    live = spans.live()
    key_bytes = np.zeros(len(spans), np.int64)
    key_bytes[live] = page.numbers("<i8", spans.start[live])
    remainder = spans.size - WORD
    spans = spans.require(page, (key_bytes >= 0) & (key_bytes <= remainder), "no map")
    keys = spans.part(spans.start + WORD, key_bytes, "key")
    items = spans.part(keys.start + key_bytes, remainder - key_bytes, "value")
    keys, key_counts = _count(page, data_type.key, keys)
    items, item_counts = _count(page, data_type.value, items)
    is_paired = keys.present & items.present & (key_counts == item_counts)
    spans = spans.require(page, is_paired, "not as many keys as values")
    counts = np.where(spans.present, key_counts, 0)
    cells = _elements(page, data_type.key, keys, counts)
    key = values(page, data_type.key, cells, arrow.key_type)
    cells_of_items = _elements(page, data_type.value, items, counts)
    item = values(page, data_type.value, cells_of_items, arrow.item_type)
    if key.null_count:
        null = np.asarray(key.is_null())
        page.flag(cells.row[null], f"{keys.path}: is null")
        # Arrow ends the process over a null key. The rows are misfits now, so they will be decoded
        # again without these maps, and this result is not used.
        return pa.nulls(len(spans), arrow)
    entry_type = pa.struct([arrow.key_field, arrow.item_field])
    entry = pa.Array.from_buffers(entry_type, len(cells), [None], children=[key, item])
    return _nest(arrow, spans.present, counts, entry)


def _width(element: types.DataType) -> int:
    """Return the bytes of an element of an array: its own if fixed, else those of a slot."""
    return types.storage_type(element).slot_width or types.SLOT_BYTES


def _count(page: Page, element: types.DataType, spans: Regions) -> tuple[Regions, Int64s]:
    """Return the arrays that have room for their elements, and the numbers of elements."""
    spans = spans.require(page, spans.size >= WORD, "no array")
    live = spans.live()
    counts = np.zeros(len(spans), np.int64)
    counts[live] = page.numbers("<i8", spans.start[live])
    plausible = (counts >= 0) & (counts <= spans.size)  # first, so that nothing below overflows
    spans = spans.require(page, plausible, "an array of more elements than bytes")
    counts = np.where(spans.present, counts, 0)
    needed = _header_bytes(counts) + counts * _width(element)
    spans = spans.require(page, needed <= spans.size, "an array of more elements than bytes")
    return spans, np.where(spans.present, counts, 0)


def _header_bytes(counts: Int64s) -> Int64s:
    """Return the bytes of an array before its elements (``calculateHeaderPortionInBytes``)."""
    return WORD + (counts + 63) // 64 * WORD


def _elements(page: Page, element: types.DataType, spans: Regions, counts: Int64s) -> Cells:
    """Return the elements of arrays as cells. LimitError: more than 32-bit offsets allow."""
    total = int(counts.sum())
    if total > _MOST_OFFSET:
        raise LimitError(f"{spans.path}: {total} elements in one column, decode fewer rows at once")
    page.spend(total)
    width = _width(element)
    header = _header_bytes(counts)
    owner = np.repeat(np.arange(len(spans), dtype=np.int64), counts)
    index = np.arange(total, dtype=np.int64) - (np.cumsum(counts) - counts)[owner]
    start = spans.start[owner]
    present = ~null_bits(page, start + WORD, index)
    offsets = start + header[owner] + index * width
    fixed = header + counts * width
    containers = Containers(spans.start, spans.size, fixed, spans.size - fixed)
    row, path = spans.row[owner], f"{spans.path}[]"
    return Cells(present, row, path, offsets, owner, containers, slotted=False)


def _nest(arrow: ArrowType, present: Bools, counts: Int64s, child: Array) -> Array:
    """Return Arrow lists or maps of a number of items each, taken from ``child`` in order."""
    offsets = np.zeros(len(present) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return array(arrow, present, offsets, children=[child])


def slot_offset(schema: types.StructType, ordinal: int) -> int:
    """Return the offset in a row of the 8-byte slot of a top-level field."""
    return bitset_bytes(len(schema.fields)) + ordinal * WORD


class Int64Path:
    """Reader of a long or timestamp field by its ordinals, such as ``(0, 1)``."""

    def __init__(self, schema: types.StructType, path: tuple[int, ...]) -> None:
        """Find the field. DecodeError: the path does not lead to a field of 64 bits."""
        self.path = path
        steps: list[int] = []  # number of fields, ordinal
        data_type = types.storage_type(schema)
        for ordinal in path:
            fields = data_type.fields if isinstance(data_type, types.StructType) else ()
            if not 0 <= ordinal < len(fields):
                raise DecodeError(f"no field at {path} of the schema")
            steps += (len(fields), ordinal)
            data_type = types.storage_type(fields[ordinal].data_type)
        if not types.is_int64(data_type):
            got = f"field {path} is {types.type_name(data_type)}"
            raise DecodeError(f"{got}, expected one of {types.INT64_KINDS}")
        self._steps = np.array(steps, np.int64)

    def read(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> tuple[Int64s, Bools]:
        """Return the field's value in each row of a buffer, and a mask of the rows that have one.

        A row has none, and the value 0, if the field or a struct around it is null, or if the row
        does not fit the schema. ValueError: a row is outside of the buffer.
        """
        values: Int64s = np.empty(len(offsets), np.int64)
        valid: Bools = np.empty(len(offsets), np.bool_)
        kernel().read_slots(buffer, offsets, lengths, self._steps, values, valid)
        return values, valid


def count_flags(
    schema: types.StructType, ordinal: int, buffer: Any, offsets: Int64s, lengths: Int64s
) -> tuple[int, int]:
    """Return how many rows of a buffer have true, and false, in a boolean field.

    Null values and rows that do not fit the schema are not counted.
    """
    slot = slot_offset(schema, ordinal)
    starts = offsets[lengths >= slot + types.SLOT_BYTES]
    data = np.frombuffer(buffer, np.uint8)
    null = (data[starts + ordinal // 8] >> (ordinal % 8)) & 1 == 1
    flags = data[starts + slot][~null]
    return int((flags == 1).sum()), int((flags == 0).sum())
