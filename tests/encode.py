"""Rows as Spark writes them, for tests, from the format alone; and files of the package's writer.

Values are given as they are stored: integers for dates, timestamps, times and ANSI intervals;
``Decimal`` for decimals; ``(months, days, microseconds)`` for a calendar interval;
``(micros, nanos)`` for a nanosecond timestamp; ``(value, metadata)`` for a variant; tuples for
structs; lists for arrays; lists of pairs for maps; bytes, or text, for strings.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import singledispatch
from typing import Any

from inspector.encode import frames
from inspector.encode.frames import BLOCK_BYTES, compress_blocks
from inspector.encode.frames import lz4_block as lz4_block
from inspector.encode.frames import lz4_header as lz4_header
from inspector.encode.frames import lzf_chunk as lzf_chunk
from inspector.encode.frames import lzf_data as lzf_data
from inspector.encode.records import END as END
from inspector.encode.records import Record as Record
from inspector.encode.records import frame_records
from inspector.encode.records import record as record
from inspector.sparktypes import (
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructType,
    storage_type,
)

_FORMATS: Mapping[str, str] = {
    "boolean": "<?",
    "byte": "<b",
    "short": "<h",
    "integer": "<i",
    "date": "<i",
    "year_month": "<i",
    "float": "<f",
    "double": "<d",
    "long": "<q",
    "timestamp": "<q",
    "timestamp_ntz": "<q",
    "time": "<q",
    "day_time": "<q",
}
_RESERVED = ("interval", "timestamp_nanos", "timestamp_ntz_nanos")


def compress(raw: bytes, codec: str) -> bytes:
    """The bytes of a state file, of raw bytes that are in memory."""
    return b"".join(compress_blocks([raw], codec))


def records(entries: Iterable[Record], *, row_checksum: bool = False) -> bytes:
    """A delta or snapshot before compression, in one piece."""
    return b"".join(frame_records(entries, row_checksum=row_checksum))


# --- rows ------------------------------------------------------------------------------------


def row(schema: StructType, values: Sequence[Any]) -> bytes:
    """One UnsafeRow."""
    count = len(schema.fields)
    bits = bytearray((count + 63) // 64 * 8)
    types = [storage_type(field.data_type) for field in schema.fields]
    fixed = len(bits) + 8 * count
    slots, variable = bytearray(), bytearray()
    for i, (data_type, value) in enumerate(zip(types, values, strict=True)):
        bits[i >> 3] |= (value is None) << (i & 7)
        location = fixed + len(variable)
        slot, payload = _cell(data_type, value, location)
        slots += slot.ljust(8, b"\x00")
        variable += payload
    return bytes(bits + slots + variable)


def rows(schema: StructType, values: Iterable[Sequence[Any]]) -> list[bytes]:
    """Return one UnsafeRow of each sequence of values."""
    return [row(schema, item) for item in values]


def _cell(data_type: DataType, value: Any, location: int) -> tuple[bytes, bytes]:
    """The slot of a value, and what it adds to the variable part, which ends at ``place``."""
    if value is None:
        reserved = _reserves(data_type)  # Spark keeps room, and the offset, for a later value
        return struct.pack("<q", reserved * location << 32), bytes(16 * reserved)
    if data_type.slot_width is not None:
        return fixed(data_type, value), b""
    payload = variable(data_type, value)
    room = 16 if isinstance(data_type, DecimalType) else len(payload) + -len(payload) % 8
    return struct.pack("<q", location << 32 | len(payload)), payload.ljust(room, b"\x00")


def _reserves(data_type: DataType) -> bool:
    if isinstance(data_type, DecimalType):
        return data_type.slot_width is None
    return isinstance(data_type, AtomicType) and data_type.kind in _RESERVED


def fixed(data_type: DataType, value: Any) -> bytes:
    """A value of fixed width."""
    if isinstance(data_type, DecimalType):
        return struct.pack("<q", unscaled(data_type, value))
    assert isinstance(data_type, AtomicType)
    return struct.pack(_FORMATS[data_type.kind], value)


def unscaled(data_type: DecimalType, value: Decimal) -> int:
    """The integer that a decimal is stored as."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits)) or "0") * int(10 ** (exponent + data_type.scale))
    return (1, -1)[sign] * number


@singledispatch
def variable(data_type: DataType, value: Any) -> bytes:
    """Return a value of variable size, without padding."""
    assert isinstance(data_type, AtomicType)
    return _ATOMS.get(data_type.kind, bytes)(value)


@variable.register
def _(_type: StringType, value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


@variable.register
def _(data_type: DecimalType, value: Any) -> bytes:
    number = unscaled(data_type, value)
    size = max(number, ~number).bit_length() // 8 + 1
    return number.to_bytes(size, "big", signed=True)


@variable.register
def _(data_type: StructType, value: Any) -> bytes:
    return row(data_type, value)


@variable.register
def _(data_type: ArrayType, value: Any) -> bytes:
    return array(data_type.element, value)


@variable.register
def _(data_type: MapType, value: Any) -> bytes:
    keys = array(data_type.key, [key for key, _ in value])
    return struct.pack("<q", len(keys)) + keys + array(data_type.value, [v for _, v in value])


def _interval(value: tuple[int, int, int]) -> bytes:
    return struct.pack("<iiq", *value)


def _nanos(value: tuple[int, int]) -> bytes:
    return struct.pack("<qh6x", *value)


def _variant(value: tuple[bytes, bytes]) -> bytes:
    return struct.pack("<i", len(value[0])) + bytes(value[0]) + bytes(value[1])


_ATOMS: Mapping[str, Callable[[Any], bytes]] = {
    "interval": _interval,
    "timestamp_nanos": _nanos,
    "timestamp_ntz_nanos": _nanos,
    "variant": _variant,
}


def array(element: DataType, values: Sequence[Any]) -> bytes:
    """An UnsafeArrayData."""
    element = storage_type(element)
    bits = bytearray((len(values) + 63) // 64 * 8)
    width = element.slot_width
    slots, payloads = bytearray(), bytearray()
    start = 8 + len(bits) + (width or 8) * len(values)
    start += -start % 8
    for i, value in enumerate(values):
        bits[i >> 3] |= (value is None) << (i & 7)
        # In an array nothing is kept for a later value (UnsafeArrayWriter).
        slot, payload = b"", b""
        if value is not None:
            slot, payload = _cell(element, value, start + len(payloads))
        if isinstance(element, DecimalType) and payload:
            size = struct.unpack("<q", slot)[0] & 0xFFFFFFFF
            payload = payload[: size + -size % 8]
        slots += slot[:width].ljust(width or 8, b"\x00")
        payloads += payload
    slots += bytes(-len(slots) % 8)
    return struct.pack("<q", len(values)) + bytes(bits + slots + payloads)


# --- files -----------------------------------------------------------------------------------


def state_file(
    entries: Iterable[Record], codec: str = "lz4", *, row_checksum: bool = False
) -> bytes:
    """A delta or snapshot as it lies on storage."""
    return compress(records(entries, row_checksum=row_checksum), codec)


def lz4(raw: bytes, block_size: int = BLOCK_BYTES) -> bytes:
    """A stream of lz4-java in one piece."""
    return b"".join(frames.lz4([raw], block_size))


def snappy(raw: bytes, block_size: int = BLOCK_BYTES) -> bytes:
    """A stream of snappy-java in one piece."""
    return b"".join(frames.snappy([raw], block_size))


def zstd(raw: bytes) -> bytes:
    """A Zstandard frame."""
    return b"".join(frames.zstd([raw]))


def lzf(raw: bytes, chunk_size: int = 65535) -> bytes:
    """Chunks of compress-lzf in one piece."""
    return b"".join(frames.lzf([raw], chunk_size))
