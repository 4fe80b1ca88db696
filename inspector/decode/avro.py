"""Rows that Spark stored as Avro, converted to the UnsafeRows that Spark makes of them.

``spark.sql.streaming.stateStore.encodingFormat=avro`` (4.0 to 4.3, RocksDB; transformWithState):
``AvroStateEncoder`` writes a row as one Avro record without header or name, by the schema that
``SchemaConverters.toAvroTypeWithDefaults`` derives from the StructType::

    row, struct      every field in order: union of null (0) and its type (1), as a zigzag varint
    array, map       blocks of a varint count and so many elements; a count of 0 ends. Elements that
                     are structs, arrays or maps are such unions too, all others are never null
    boolean          1 byte                 byte, short, integer, date    zigzag varint of 32 bits
    float, double    4, 8 bytes, as in rows long, timestamps              zigzag varint of 64 bits
    string, binary   varint length, bytes   decimal    as many bytes as its precision needs, signed,
                                            big-endian
    void             nothing

It is written here and not taken from a library: six bytes that claim an array of many nulls make
fastavro 1.13 take all memory, and the schema has few types, derived from one that is parsed
already.

A field that the schema of the time did not have is null. A field that the newer schema no longer
has is passed over (``GenericDatumReader`` resolves by name, and widens numbers).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from inspector import sparktypes as types
from inspector.decode.unsafe_rows import write_row
from inspector.exceptions import DecodeError, LimitError, RowError, TruncatedError
from inspector.model import LIMITS, above_limit

_INT_BITS, _LONG_BITS = 32, 64  # Bits of Avro's int and long.
# most nulls of an array of void, which take no byte, so that nothing else bounds them
_VOIDS = 1 << 16
# Most fields of a row, whatever its size, and more for each of its bytes.
_FIELDS, _FIELDS_A_BYTE = 1 << 16, 64


class _Cursor:
    """Reader of the bytes of one row that checks every size before it is used."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self._room = _FIELDS + _FIELDS_A_BYTE * len(data)

    @property
    def remaining(self) -> int:
        """Number of bytes that are left."""
        return len(self.data) - self.at

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes. TruncatedError: fewer are left."""
        if count > self.remaining:
            message = f"got {self.remaining} bytes, expected {count} of an Avro value"
            raise TruncatedError(message, offset=self.at)
        self.at += count
        return self.data[self.at - count : self.at]

    def spend(self, fields: int) -> None:
        """Count the fields that are made, some of which take no byte. LimitError: too many."""
        self._room -= fields
        if self._room < 0:
            raise LimitError("got an Avro row of more fields than its bytes allow", offset=self.at)

    def number(self, bits: int = _LONG_BITS) -> int:
        """Return the next zigzag varint. RowError: it has more than ``bits`` bits."""
        start, value = self.at, 0
        for shift in range(0, bits, 7):
            (byte,) = self.take(1)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >> bits:
                    break
                return value >> 1 ^ -(value & 1)
        raise RowError(f"got an Avro number of more than {bits} bits", offset=start)

    def size(self) -> int:
        """Return the next number as a length. RowError: it is negative."""
        start, size = self.at, self.number()
        if size < 0:
            raise RowError(f"got {size} as the length of an Avro value", offset=start)
        return size


# Function that reads one value into the form of :mod:`.unsafe_rows`.
_Read = Callable[[_Cursor], Any]


class AvroRows:
    """Converts Avro records of one schema to UnsafeRows."""

    def __init__(self, schema: types.StructType, written: types.StructType | None = None) -> None:
        """Prepare a reader of records of ``written`` (by default ``schema``) as rows of ``schema``.

        DecodeError: Spark writes no such Avro, or the schema cannot have evolved so.
        """
        self.schema = schema
        self._read = _struct(written or schema, schema)

    def values(self, data: bytes) -> list[Any]:
        """Return the fields of one record in the form of :mod:`.unsafe_rows`.

        DecodeError: it is no record of the schema.
        """
        if len(data) > LIMITS.record_bytes:
            raise above_limit("record_bytes", f"an Avro row of {len(data)} bytes")
        cursor = _Cursor(data)
        values: list[Any] = self._read(cursor)
        if cursor.remaining:
            message = f"got {cursor.remaining} more bytes, expected the end of the Avro row"
            raise RowError(message, offset=cursor.at)
        return values

    def unsafe_row(self, data: bytes) -> bytes:
        """Return the UnsafeRow of one record. DecodeError: it is no record of the schema."""
        return write_row(self.schema, self.values(data))


def range_fields(schema: types.StructType) -> types.StructType:
    """Return Avro's schema of the ordered fields of a range-scan key: marker and value each."""
    # For each a marker of its sign and its big-endian bytes
    # (StateStoreColumnFamilySchemaUtils.convertForRangeScan).
    names = (f"{field.name}_{part}" for field in schema.fields for part in ("marker", "value"))
    return types.StructType(tuple(types.StructField(name, types.BINARY) for name in names))


def _struct(written: types.StructType, schema: types.StructType) -> _Read:
    """Return a reader of structs, from the written schema to the present one, by names."""
    for item in (written, schema):
        if len({field.name for field in item.fields}) < len(item.fields):
            raise DecodeError("got two fields of one name, which an Avro record cannot have")
    positions = {field.name: ordinal for ordinal, field in enumerate(schema.fields)}
    readers: list[tuple[int | None, _Read]] = []
    for field in written.fields:
        ordinal = positions.get(field.name)
        target = field if ordinal is None else schema.fields[ordinal]
        readers.append((ordinal, _nullable(field.data_type, target.data_type)))
    width = len(schema.fields)

    def read(cursor: _Cursor) -> list[Any]:
        cursor.spend(width)
        values: list[Any] = [None] * width
        for ordinal, reader in readers:
            value = reader(cursor)
            if ordinal is not None:
                values[ordinal] = value
        return values

    return read


def _nullable(written: types.DataType, target: types.DataType) -> _Read:
    """Return a reader of a union with null; of void, which is null without a union."""
    written, target = types.storage_type(written), types.storage_type(target)
    read = _value(written, target)
    if written == types.VOID:
        return read

    def choose(cursor: _Cursor) -> Any:
        start, branch = cursor.at, cursor.number(_INT_BITS)
        if branch not in (0, 1):
            raise RowError(f"got branch {branch} of an Avro union of two", offset=start)
        return read(cursor) if branch else None

    return choose


def _element(written: types.DataType, target: types.DataType) -> _Read:
    """Return a reader of elements of an array or map: nested ones are unions with null."""
    written, target = types.storage_type(written), types.storage_type(target)
    if isinstance(written, types.StructType | types.ArrayType | types.MapType):
        return _nullable(written, target)
    return _value(written, target)


def _value(written: types.DataType, wanted: types.DataType) -> _Read:
    """Return a reader of values that are not null, from the written to the wanted storage type."""
    if isinstance(written, types.StructType) and isinstance(wanted, types.StructType):
        return _struct(written, wanted)
    if isinstance(written, types.ArrayType) and isinstance(wanted, types.ArrayType):
        read = _element(written.element, wanted.element)
        return partial(_list, read, types.storage_type(written.element) == types.VOID)
    if isinstance(written, types.MapType) and isinstance(wanted, types.MapType):
        return partial(_map, _element(written.value, wanted.value))
    if isinstance(written, types.StringType) and isinstance(wanted, types.StringType):
        return _bytes
    if isinstance(written, types.DecimalType) and written == wanted:
        return partial(_decimal, written)
    source = written.kind if isinstance(written, types.AtomicType) else ""
    target = wanted.kind if isinstance(wanted, types.AtomicType) else ""
    if source == target and source in _PLAIN:
        return _PLAIN[source]
    pack = _WIDENED.get((source, target))
    if pack is None:
        got = f"got Avro of {types.type_name(written)} for {types.type_name(wanted)}"
        raise DecodeError(f"{got}, expected a type that Spark stores as Avro")
    return pack


def _list(read: _Read, void: bool, cursor: _Cursor) -> list[Any]:
    """Return the elements of an array. LimitError: too many nulls of an array of void."""
    values: list[Any] = []
    while count := _block(cursor, "" if void else "elements"):
        if void and count > _VOIDS - len(values):
            raise LimitError(f"got an Avro array of more than {_VOIDS:,} nulls", offset=cursor.at)
        values += [read(cursor) for _ in range(count)]
    return values


def _map(read: _Read, cursor: _Cursor) -> tuple[list[Any], list[Any]]:
    """Return the keys and the values of a map."""
    keys: list[Any] = []
    values: list[Any] = []
    while count := _block(cursor, "entries"):
        for _ in range(count):
            keys.append(_bytes(cursor))
            values.append(read(cursor))
    return keys, values


def _block(cursor: _Cursor, noun: str) -> int:
    """Return the number of values in the next block; 0 at the end.

    A negative count is followed by the bytes of the block, which are passed over.
    """
    number = cursor.number()
    count = abs(number)
    if number < 0:
        cursor.size()
    # A value takes a byte at least, except for void, which has no noun.
    if noun and count > cursor.remaining:
        message = f"got {cursor.remaining} bytes, expected {count} Avro {noun}"
        raise TruncatedError(message, offset=cursor.at)
    return count


def _bytes(cursor: _Cursor) -> bytes:
    """Return the next bytes with a length before them."""
    return cursor.take(cursor.size())


def _boolean(cursor: _Cursor) -> bytes:
    """Return a boolean as one byte. RowError: neither 0 nor 1."""
    start, value = cursor.at, cursor.take(1)
    if value not in (b"\0", b"\1"):
        raise RowError(f"got {value[0]} as an Avro boolean", offset=start)
    return value


def _number(bits: int, form: str, cursor: _Cursor) -> bytes:
    """Return the next number, packed in a ``struct`` form. RowError: the form is too narrow."""
    start, value = cursor.at, cursor.number(bits)
    try:
        return struct.pack(form, value)
    except struct.error:
        raise RowError(f"got {value}, expected a number of its type", offset=start) from None


def _widen(form: str, target: str, cursor: _Cursor) -> bytes:
    """Return the next number of the struct format ``form``, packed in the format ``target``."""
    (value,) = struct.unpack(form, cursor.take(struct.calcsize(form)))
    return struct.pack(target, value)


def _decimal(data_type: types.DecimalType, cursor: _Cursor) -> bytes:
    """Return the unscaled number of a decimal: 8 bytes up to 18 digits, else as few as it needs."""
    start = cursor.at
    limit: int = 10**data_type.precision
    size = ((limit - 1).bit_length() + 8) // 8
    value = int.from_bytes(cursor.take(size), "big", signed=True)
    if abs(value) >= limit:
        message = f"got an Avro decimal of more than {data_type.precision} digits"
        raise RowError(message, offset=start)
    if data_type.slot_width is not None:
        return value.to_bytes(8, "little", signed=True)
    needed = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return value.to_bytes(needed, "big", signed=True)


# readers of atomic types by kind
_PLAIN: Mapping[str, _Read] = {
    "boolean": _boolean,
    "byte": partial(_number, _INT_BITS, "<b"),
    "short": partial(_number, _INT_BITS, "<h"),
    **dict.fromkeys(("integer", "date"), partial(_number, _INT_BITS, "<i")),
    **dict.fromkeys(("long", "timestamp", "timestamp_ntz"), partial(_number, _LONG_BITS, "<q")),
    "float": lambda cursor: cursor.take(4),
    "double": lambda cursor: cursor.take(8),
    "binary": _bytes,
    "void": lambda _cursor: None,
}
_WIDENED: Mapping[tuple[str, str], _Read] = {
    ("integer", "long"): partial(_number, _INT_BITS, "<q"),
    ("integer", "float"): partial(_number, _INT_BITS, "<f"),
    ("integer", "double"): partial(_number, _INT_BITS, "<d"),
    ("long", "float"): partial(_number, _LONG_BITS, "<f"),
    ("long", "double"): partial(_number, _LONG_BITS, "<d"),
    ("float", "double"): partial(_widen, "<f", "<d"),
}
"""Readers of numbers that a newer schema has widened (``StateSchemaCompatibilityChecker``)."""
