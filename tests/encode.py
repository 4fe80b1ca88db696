"""Writes what Spark writes, for tests: rows, records, frames. Written from the format alone.

Values are given as they are stored: integers for dates, timestamps, times and ANSI intervals;
``Decimal`` for decimals; ``(months, days, microseconds)`` for a calendar interval;
``(micros, nanos)`` for a nanosecond timestamp; ``(value, metadata)`` for a variant; tuples for
structs; lists for arrays; lists of pairs for maps; bytes, or text, for strings.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import google_crc32c
import pyarrow as pa
import xxhash

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

END = b"\xff\xff\xff\xff"
"""The end mark of a delta or snapshot."""

Record = tuple[bytes, bytes | None]
"""A key and its value; None removes the key."""

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


# --- rows ------------------------------------------------------------------------------------


def row(schema: StructType, values: Sequence[Any]) -> bytes:
    """One UnsafeRow."""
    count = len(schema.fields)
    bits = bytearray((count + 63) // 64 * 8)
    types = [storage_type(field.data_type) for field in schema.fields]
    fixed = len(bits) + 8 * count
    slots, variable = bytearray(), bytearray()
    for i, (data_type, value) in enumerate(zip(types, values, strict=True)):
        if value is None:
            bits[i >> 3] |= 1 << (i & 7)
        place = fixed + len(variable)
        slot, payload = _cell(data_type, value, place)
        slots += slot.ljust(8, b"\x00")
        variable += payload
    return bytes(bits + slots + variable)


def _cell(data_type: DataType, value: Any, place: int) -> tuple[bytes, bytes]:
    """The slot of a value, and what it adds to the variable part, which ends at ``place``."""
    if value is None:
        reserved = _reserves(data_type)  # Spark keeps room, and the offset, for a later value
        return struct.pack("<q", place << 32 if reserved else 0), bytes(16 if reserved else 0)
    if data_type.fixed_width is not None:
        return fixed(data_type, value), b""
    payload = variable(data_type, value)
    room = 16 if isinstance(data_type, DecimalType) else len(payload) + -len(payload) % 8
    return struct.pack("<q", place << 32 | len(payload)), payload.ljust(room, b"\x00")


def _reserves(data_type: DataType) -> bool:
    if isinstance(data_type, DecimalType):
        return data_type.fixed_width is None
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
    return -number if sign else number


def variable(data_type: DataType, value: Any) -> bytes:
    """A value of variable size, without padding."""
    if isinstance(data_type, StringType):
        return value.encode() if isinstance(value, str) else bytes(value)
    if isinstance(data_type, DecimalType):
        number = unscaled(data_type, value)
        size = (number if number >= 0 else ~number).bit_length() // 8 + 1
        return number.to_bytes(size, "big", signed=True)
    if isinstance(data_type, StructType):
        return row(data_type, value)
    if isinstance(data_type, ArrayType):
        return array(data_type.element, value)
    if isinstance(data_type, MapType):
        keys = array(data_type.key, [key for key, _ in value])
        return struct.pack("<q", len(keys)) + keys + array(data_type.value, [v for _, v in value])
    assert isinstance(data_type, AtomicType)
    return _atomic(data_type.kind, value)


def _atomic(kind: str, value: Any) -> bytes:
    if kind == "interval":
        return struct.pack("<iiq", *value)
    if kind in _RESERVED:
        return struct.pack("<qh6x", *value)
    if kind == "variant":
        return struct.pack("<i", len(value[0])) + bytes(value[0]) + bytes(value[1])
    return bytes(value)


def array(element: DataType, values: Sequence[Any]) -> bytes:
    """An UnsafeArrayData."""
    element = storage_type(element)
    bits = bytearray((len(values) + 63) // 64 * 8)
    width = element.fixed_width
    slots, payloads = bytearray(), bytearray()
    start = 8 + len(bits) + (8 if width is None else width) * len(values)
    start += -start % 8
    for i, value in enumerate(values):
        if value is None:
            bits[i >> 3] |= 1 << (i & 7)
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


# --- records ---------------------------------------------------------------------------------


def record(key: bytes, value: bytes | None, *, row_checksum: bool = False) -> bytes:
    """A put, or a removal if there is no value."""
    if row_checksum:
        checksum = struct.pack("<I", google_crc32c.value(key + (value or b"")))
        key, value = (checksum + key, None) if value is None else (key, checksum + value)
    framed = struct.pack(">i", len(key)) + key
    return framed + END if value is None else framed + struct.pack(">i", len(value)) + value


def records(entries: Iterable[Record], *, row_checksum: bool = False) -> bytes:
    """A delta or snapshot before compression."""
    return b"".join(record(k, v, row_checksum=row_checksum) for k, v in entries) + END


def state_file(
    entries: Iterable[Record], codec: str = "lz4", *, row_checksum: bool = False
) -> bytes:
    """A delta or snapshot as it lies on storage."""
    return compress(records(entries, row_checksum=row_checksum), codec)


# --- frames ----------------------------------------------------------------------------------


def compress(raw: bytes, codec: str) -> bytes:
    """Compress as Spark does with a codec of its conf."""
    return {"lz4": lz4, "lzf": lzf, "snappy": snappy, "zstd": zstd}[codec](raw)


def lz4(raw: bytes, block_size: int = 32 << 10) -> bytes:
    """A stream of lz4-java's ``LZ4BlockOutputStream``."""
    level = max(0, (block_size - 1).bit_length() - 10)
    blocks = [lz4_block(raw[at : at + block_size], level) for at in range(0, len(raw), block_size)]
    return b"".join(blocks) + lz4_header(0x10 | level, 0, 0, 0)


def lz4_block(raw: bytes, level: int) -> bytes:
    """One block, compressed if that makes it smaller."""
    payload, method = pa.Codec("lz4_raw").compress(raw, asbytes=True), 0x20
    if len(payload) >= len(raw):
        payload, method = raw, 0x10
    checksum = xxhash.xxh32_intdigest(raw, 0x9747B28C) & 0x0FFFFFFF
    return lz4_header(method | level, len(payload), len(raw), checksum) + payload


def lz4_header(token: int, compressed: int, size: int, checksum: int) -> bytes:
    """The header of a block, whatever is in it."""
    return struct.pack("<8sBiiI", b"LZ4Block", token, compressed, size, checksum)


def snappy(raw: bytes, block_size: int = 32 << 10) -> bytes:
    """A stream of snappy-java's ``SnappyOutputStream``."""
    out = [b"\x82SNAPPY\x00", struct.pack(">ii", 1, 1)]
    for at in range(0, len(raw), block_size):
        block = pa.Codec("snappy").compress(raw[at : at + block_size], asbytes=True)
        out += [struct.pack(">i", len(block)), block]
    return b"".join(out)


def zstd(raw: bytes) -> bytes:
    """A Zstandard frame made by streaming, so that it has no content size."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(raw)
    return sink.getvalue().to_pybytes()


def lzf(raw: bytes, chunk_size: int = 65535) -> bytes:
    """Chunks of compress-lzf."""
    return b"".join(lzf_chunk(raw[i : i + chunk_size]) for i in range(0, len(raw), chunk_size))


def lzf_chunk(raw: bytes) -> bytes:
    """One chunk, compressed if that makes it smaller."""
    payload = lzf_data(raw)
    if len(payload) + 2 >= len(raw):
        return b"ZV\x00" + struct.pack(">H", len(raw)) + raw
    return b"ZV\x01" + struct.pack(">HH", len(payload), len(raw)) + payload


def lzf_data(raw: bytes) -> bytes:
    """LZF instructions: the longest copy from the last place of the next three bytes."""
    out, literals, at = bytearray(), bytearray(), 0
    last: dict[bytes, int] = {}
    while at < len(raw):
        found = last.get(raw[at : at + 3], -1)
        last[raw[at : at + 3]] = at
        back = at - found - 1
        if found < 0 or back >= 1 << 13 or at + 3 > len(raw):
            literals.append(raw[at])
            at += 1
            continue
        out += _lzf_literals(literals)
        literals.clear()
        size = 3
        while size < 264 and raw[at + size : at + size + 1] == raw[found + size : found + size + 1]:
            if at + size >= len(raw):
                break
            size += 1
        out += _lzf_copy(size - 2, back)
        at += size
    return bytes(out + _lzf_literals(literals))


def _lzf_literals(literals: bytes | bytearray) -> bytes:
    parts = [literals[at : at + 32] for at in range(0, len(literals), 32)]
    return b"".join(bytes([len(part) - 1]) + part for part in parts)


def _lzf_copy(length: int, back: int) -> bytes:
    if length < 7:
        return bytes([length << 5 | back >> 8, back & 0xFF])
    return bytes([7 << 5 | back >> 8, length - 7, back & 0xFF])
