"""Arrow arrays of the types without parts of their own, from cells or regions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.arrays import Bools, Int64s
from inspector.decode._cells import Cells, Page, Regions, regions
from inspector.exceptions import LimitError
from inspector.kernel.loader import kernel
from inspector.sparktypes import SLOT_BYTES, AtomicType, DataType, DecimalType, StringType

Array: TypeAlias = "pa.Array[Any]"
ArrowType: TypeAlias = Any  # the stubs of pyarrow do not know the parts of nested types

_MOST_BYTES = (1 << 31) - 1  # of one Arrow array with 32-bit offsets
_DAY_NANOS = 86_400_000_000_000
_WIDE = 16  # bytes reserved for a wide decimal, a calendar interval, a nanosecond timestamp
_VARIANT_LENGTH = 4

_NUMPY: Mapping[str, str] = {
    "byte": "i1",
    "short": "<i2",
    "integer": "<i4",
    "long": "<i8",
    "float": "<f4",
    "double": "<f8",
    "date": "<i4",
    "timestamp": "<i8",
    "timestamp_ntz": "<i8",
    "time": "<i8",
    "year_month": "<i4",
    "day_time": "<i8",
}


def column(page: Page, data_type: DataType, cells: Cells, arrow: ArrowType) -> Array:
    """The values of cells whose type is not nested.

    Args:
        page: the buffer, and where misfits are noted.
        data_type: atomic, string or decimal.
        cells: where the values are.
        arrow: the Arrow type of the result.
    """
    if isinstance(data_type, StringType):
        return text(page, regions(page, cells))
    if isinstance(data_type, DecimalType):
        narrow = data_type.fixed_width is not None
        return _narrow_decimal(page, cells, arrow) if narrow else _wide_decimal(page, cells, arrow)
    kind = data_type.kind if isinstance(data_type, AtomicType) else ""
    if kind in _NUMPY:
        return _fixed_width(page, cells, kind, arrow)
    return _OTHERS[kind](page, cells, arrow)


def validity(present: Bools) -> pa.Buffer | None:
    """Arrow's validity bits; None if nothing is null."""
    if present.all():
        return None
    return memory(np.packbits(present, bitorder="little"))


def memory(values: Any) -> pa.Buffer:
    """The memory of a numpy array, not copied."""
    return pa.py_buffer(values)


def array(arrow: ArrowType, present: Bools, values: npt.NDArray[Any]) -> Array:
    """An Arrow array over the memory of a numpy one."""
    return pa.Array.from_buffers(arrow, len(present), [validity(present), memory(values)])


def struct(arrow: ArrowType, present: Bools, children: list[Array]) -> Array:
    """An Arrow struct array of finished fields."""
    return pa.Array.from_buffers(arrow, len(present), [validity(present)], children=children)


def _values(page: Page, cells: Cells, dtype: str) -> npt.NDArray[Any]:
    """Numbers of all cells, 0 where there is none; notes slots with more than the number."""
    live = cells.live()
    at = cells.at[live]
    width = np.dtype(dtype).itemsize
    if cells.slotted and width < SLOT_BYTES:
        unused = page.numbers("<u8", at) >> np.uint64(8 * width)
        reason = f"{cells.path}: the slot holds more than {width} bytes"
        page.misfits.flag(cells.row[live[unused != 0]], reason)
    values = np.zeros(len(cells), dtype)
    values[live] = page.numbers(dtype, at)
    return values


def _fixed_width(page: Page, cells: Cells, kind: str, arrow: ArrowType) -> Array:
    values = _values(page, cells, _NUMPY[kind])
    if kind == "time":
        outside = (values < 0) | (values >= _DAY_NANOS)
        page.misfits.flag(cells.row[outside], f"{cells.path}: no time of the day")
    return array(arrow, cells.present, values)


def _boolean(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    values = _values(page, cells, "u1")
    page.misfits.flag(cells.row[values > 1], f"{cells.path}: neither true nor false")
    bits = np.packbits(values != 0, bitorder="little")
    return pa.Array.from_buffers(arrow, len(cells), [validity(cells.present), memory(bits)])


def _void(_page: Page, cells: Cells, _arrow: ArrowType) -> Array:
    return pa.nulls(len(cells))


def _narrow_decimal(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    """Decimals up to 18 digits: the unscaled value is a long in the slot."""
    values = np.empty((len(cells), 2), "<i8")
    values[:, 0] = _values(page, cells, "<i8")
    values[:, 1] = values[:, 0] >> 63  # the sign, in all 128 bits
    return _decimals(page, values, cells.present, cells, arrow)


def _wide_decimal(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    """Decimals above 18 digits: ``BigInteger.toByteArray``, big endian, as short as possible."""
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
    """Decimals from low and high halves; those of too many digits are misfits.

    Spark refuses them as well, where it does not trust the bytes (``Decimal.set``).
    """
    low, high = values[:, 0].view("<u8"), values[:, 1]
    most = 10**arrow.precision - 1
    mask = (1 << 64) - 1
    over = (high > most >> 64) | ((high == most >> 64) & (low > np.uint64(most & mask)))
    under = (high < -most >> 64) | ((high == -most >> 64) & (low < np.uint64(-most & mask)))
    reason = f"{cells.path}: more than {arrow.precision} digits"
    page.misfits.flag(cells.row[over | under], reason)
    return array(arrow, present, values)


def blob(page: Page, arrow: ArrowType, found: Regions) -> Array:
    """The bytes of regions as an Arrow array with 32-bit offsets."""
    total = int(found.size.sum())
    if total > _MOST_BYTES:
        raise LimitError(f"{found.path}: {total} bytes in one column, decode fewer rows at once")
    offsets = np.zeros(len(found) + 1, np.int32)
    np.cumsum(found.size, out=offsets[1:])
    data = kernel().gather(page.buffer, found.start, found.size)
    buffers = [validity(found.present), memory(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(arrow, len(found), buffers)


def text(page: Page, found: Regions) -> Array:
    """The text of regions; like Spark's ``UTF8String.toString``, never an error."""
    values = blob(page, pa.string(), found)
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        raw = blob(page, pa.binary(), found).to_pylist()
        repaired = [None if item is None else item.decode("utf-8", "replace") for item in raw]
        return pa.array(repaired, pa.string())
    return values


def _binary(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    return blob(page, arrow, regions(page, cells))


def _parts(page: Page, cells: Cells, arrow: ArrowType, dtypes: Mapping[int, str]) -> Array:
    """A region of 16 bytes made of numbers at fixed places, as a struct of them."""
    result = regions(page, cells)
    result = result.require(page, result.size == _WIDE, "not of 16 bytes")
    live = result.live()
    children = []
    for i, (position, dtype) in enumerate(dtypes.items()):
        values = np.zeros(len(cells), dtype)
        values[live] = page.numbers(dtype, result.start[live] + position)
        children.append(array(arrow.field(i).type, result.present, values))
    return struct(arrow, result.present, children)


def _interval(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    return _parts(page, cells, arrow, {0: "<i4", 4: "<i4", 8: "<i8"})


def _nanos(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    return _parts(page, cells, arrow, {0: "<i8", 8: "<i2"})


def _variant(page: Page, cells: Cells, arrow: ArrowType) -> Array:
    """Length of the value, value, metadata (``UnsafeRow.getVariant``)."""
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
    return struct(arrow, result.present, children)


_OTHERS = {
    "boolean": _boolean,
    "void": _void,
    "binary": _binary,
    "geometry": _binary,
    "geography": _binary,
    "interval": _interval,
    "timestamp_nanos": _nanos,
    "timestamp_ntz_nanos": _nanos,
    "variant": _variant,
}
