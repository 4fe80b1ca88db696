"""Values written as UnsafeRows, byte for byte as Spark's own writers lay them out.

(``UnsafeRowWriter``, ``UnsafeArrayWriter``, ``GenerateUnsafeProjection``, 3.2 to 4.3.) So state
that is stored in another form (Avro, keys in parts) is measured, compared and decoded like all
other.

A value is ``None`` for null. For a type without parts it is ``bytes``: of its width, little-endian,
if that is fixed; else its contents. It is a sequence of values for a struct or an array, and a pair
of sequences, keys and values, for a map.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspector.decode._cells import bitset_bytes, bytes_to_reserve
from inspector.sparktypes import SLOT_BYTES, ArrayType, DataType, MapType, StructType, storage_type


def write_row(schema: StructType, values: Sequence[Any]) -> bytes:
    """Return the UnsafeRow of some values. ValueError: more or fewer values than fields."""
    count = len(schema.fields)
    slots = bitset_bytes(count)
    row = bytearray(slots + count * SLOT_BYTES)
    for ordinal, (field, value) in enumerate(zip(schema.fields, values, strict=True)):
        data_type = storage_type(field.data_type)
        position = slots + ordinal * SLOT_BYTES
        reserved = bytes_to_reserve(data_type)
        if value is not None:
            _put(row, position, data_type, value, reserved)
            continue
        row[ordinal >> 3] |= 1 << (ordinal & 7)
        if reserved:
            row[position : position + SLOT_BYTES] = (len(row) << 32).to_bytes(SLOT_BYTES, "little")
            row += bytes(reserved)
    return bytes(row)


def _put(row: bytearray, position: int, data_type: DataType, value: Any, reserved: int = 0) -> None:
    """Put a value into its slot; a variable one at the row's end, its position in the slot."""
    if data_type.slot_width is not None:
        row[position : position + len(value)] = value
        return
    data = _variable(data_type, value)
    row[position : position + SLOT_BYTES] = (len(row) << 32 | len(data)).to_bytes(
        SLOT_BYTES, "little"
    )
    row += data
    row += bytes(max(reserved - len(data), -len(data) % SLOT_BYTES))


def _variable(data_type: DataType, value: Any) -> bytes:
    """Return the bytes of a value of variable size."""
    if isinstance(data_type, StructType):
        return write_row(data_type, value)
    if isinstance(data_type, ArrayType):
        return _array(data_type.element, value)
    if isinstance(data_type, MapType):
        keys, values = value
        written = _array(data_type.key, keys)
        return len(written).to_bytes(8, "little") + written + _array(data_type.value, values)
    contents: bytes = value
    return contents


def _array(element: DataType, values: Sequence[Any]) -> bytes:
    """Return the bytes of an array."""
    element = storage_type(element)
    width = element.slot_width or SLOT_BYTES
    start = 8 + bitset_bytes(len(values))
    array = bytearray(start + (len(values) * width + 7) // 8 * 8)
    array[:8] = len(values).to_bytes(8, "little")
    for index, value in enumerate(values):
        if value is None:
            array[8 + (index >> 3)] |= 1 << (index & 7)
        else:
            _put(array, start + index * width, element, value)
    return bytes(array)
