"""Spark's variant (4.0 and later) to JSON values.

::

    metadata  header: version 1 in 4 bits, offset size - 1 in the top 2; dictionary size;
              size + 1 offsets; UTF-8 names
    value     header: kind in 2 bits, and 6 bits that the kind gives a meaning:
              0 primitive (type id), 1 short string (length), 2 object, 3 array (sizes of ids and
              offsets - 1, large flag)

All numbers are little-endian (``org.apache.spark.types.variant.VariantUtil``). The words are those
of Spark's ``Variant.toJson`` in UTC, except that decimals are strings, as everywhere in this
package's output.
"""

from __future__ import annotations

import base64
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from inspector.exceptions import RowError
from inspector.model import LIMITS

_VERSION = 1  # version of the metadata that is read
_DECIMALS = {8: 4, 9: 8, 10: 16}  # bytes of each decimal's unscaled number, by type id
_INTEGERS = {3: 1, 4: 2, 5: 4, 6: 8}  # bytes of each integer, by type id
_MAX_SCALE = 38  # largest scale of a decimal


class Timestamp(int):
    """Timestamp of a variant, in microseconds since the epoch."""


class LocalTimestamp(int):
    """Timestamp of a variant without a time zone, in microseconds."""


class Date(int):
    """Date of a variant, in days since the epoch."""


def variant_value(metadata: bytes, value: bytes, depth: int = LIMITS.nesting) -> Any:
    """Return a variant as Python values. RowError: it is invalid, or nested too deeply.

    Objects are dicts, arrays are lists. Values that JSON does not have are Decimal, bytes, UUID,
    and the three kinds of time above.
    """
    try:
        return _Variant(metadata, value).at(0, depth)
    except UnicodeDecodeError as error:
        raise RowError(f"got a variant with text that is not UTF-8 ({error.reason})") from None
    except (IndexError, struct.error) as error:
        raise RowError(f"got a variant that ends too early ({error})") from None


class _Variant:
    """Reader of one variant, whose parts may together have no more bytes than it has."""

    def __init__(self, metadata: bytes, value: bytes) -> None:
        self._value = value
        self._names = metadata
        header = metadata[0]
        if header & 0x0F != _VERSION:
            raise RowError(f"got variant version {header & 0x0F}, expected {_VERSION}")
        self._width = (header >> 6) + 1
        self._count = _number(metadata, 1, self._width)
        # Parts of a sound variant do not overlap. If members shared their bytes, a few bytes would
        # make a value of any size. So each part counts, up to the number of bytes.
        self._left, self._names_left = len(value), len(metadata)
        self._known: dict[int, str] = {}

    def at(self, start: int, depth: int) -> Any:
        """Return the value at a position. RowError: nested too deeply, or parts overlap."""
        if depth <= 0:
            raise RowError(f"got a variant nested deeper than {LIMITS.nesting}")
        result = self._at(start, depth)
        if isinstance(result, (str, bytes)):
            self._left = _is_less(self._left, len(result))
        return result

    def _at(self, start: int, depth: int) -> Any:
        """Return the value at a position, by its kind."""
        header = self._value[start]
        self._left = _is_less(self._left, 1)
        kind, info = header & 3, header >> 2
        if kind == 0:
            return self._primitive(info, start + 1)
        if kind == 1:
            return _take(self._value, start + 1, info).decode("utf-8")
        return (self._object if kind == 2 else self._array)(info, start + 1, depth - 1)

    def _name(self, number: int) -> str:
        """Return the name with a number in the dictionary. RowError: there is none."""
        if number in self._known:
            return self._known[number]
        if number >= self._count:
            raise RowError(f"got name {number} of a variant, expected less than {self._count}")
        first = 1 + self._width
        strings = first + (self._count + 1) * self._width
        a = _number(self._names, first + number * self._width, self._width)
        b = _number(self._names, first + (number + 1) * self._width, self._width)
        name = self._known[number] = _take(self._names, strings + a, b - a).decode("utf-8")
        self._names_left = _is_less(self._names_left, len(name))
        return name

    def _object(self, info: int, start: int, depth: int) -> dict[str, Any]:
        """Return the members of an object by name."""
        offset_width, id_width = (info & 3) + 1, (info >> 2 & 3) + 1
        count, ids = self._count_of(info >> 4 & 1, start, id_width + offset_width)
        offsets = ids + count * id_width
        data = offsets + (count + 1) * offset_width
        members: dict[str, Any] = {}
        for i in range(count):
            name = self._name(_number(self._value, ids + i * id_width, id_width))
            offset = _number(self._value, offsets + i * offset_width, offset_width)
            members[name] = self.at(data + offset, depth)
        return members

    def _array(self, info: int, start: int, depth: int) -> list[Any]:
        """Return the elements of an array."""
        width = (info & 3) + 1
        count, offsets = self._count_of(info >> 2 & 1, start, width)
        data = offsets + (count + 1) * width
        starts = range(offsets, offsets + count * width, width)
        return [self.at(data + _number(self._value, start, width), depth) for start in starts]

    def _count_of(self, large: int, start: int, min_size: int) -> tuple[int, int]:
        """Return the number of members at a position, and the position after it.

        ``min_size`` are the least bytes of a member. RowError: there is no room for them.
        """
        width = 4 if large else 1
        count = _number(self._value, start, width)
        if len(self._value) - start < count * min_size:
            raise RowError(f"got a variant of {count} members in {len(self._value)} bytes")
        return count, start + width

    def _primitive(self, type_id: int, start: int) -> Any:
        """Return a primitive value. RowError: Spark writes no such type."""
        if type_id in _INTEGERS:
            return _number(self._value, start, _INTEGERS[type_id], signed=True)
        if type_id in _DECIMALS:
            scale = self._value[start]
            if scale > _MAX_SCALE:
                raise RowError(f"got scale {scale} in a variant, expected at most {_MAX_SCALE}")
            unscaled = _number(self._value, start + 1, _DECIMALS[type_id], signed=True)
            return Decimal(unscaled).scaleb(-scale)
        read = _PRIMITIVES.get(type_id)
        if read is None:
            raise RowError(f"got type {type_id} in a variant, which no Spark up to 4.3 writes")
        return read(self._value, start)


def _is_less(left: int, size: int) -> int:
    """Return ``left`` minus ``size``. RowError: it would be negative, because parts overlap."""
    if size > left:
        raise RowError("got a variant whose parts overlap: more is in them than it has bytes")
    return left - size


def _read_sized(data: bytes, start: int) -> bytes:
    """Return bytes with a 4-byte length before them."""
    return _take(data, start + 4, _number(data, start, 4))


def _take(data: bytes, start: int, size: int) -> bytes:
    """Return ``size`` bytes at a position. RowError: the variant ends before."""
    if size < 0 or start < 0 or len(data) - start < size:
        raise RowError(f"got {size} bytes at {start} of a variant of {len(data)}")
    return data[start : start + size]


def _number(data: bytes, start: int, size: int, *, signed: bool = False) -> int:
    """Return a little-endian number of ``size`` bytes at a position."""
    return int.from_bytes(_take(data, start, size), "little", signed=signed)


# functions that read the other primitive values, by type id
_PRIMITIVES: dict[int, Callable[[bytes, int], Any]] = {
    0: lambda _data, _position: None,
    1: lambda _data, _position: True,
    2: lambda _data, _position: False,
    7: lambda data, position: struct.unpack_from("<d", data, position)[0],
    11: lambda data, position: Date(_number(data, position, 4, signed=True)),
    12: lambda data, position: Timestamp(_number(data, position, 8, signed=True)),
    13: lambda data, position: LocalTimestamp(_number(data, position, 8, signed=True)),
    14: lambda data, position: struct.unpack_from("<f", data, position)[0],
    15: _read_sized,
    16: lambda data, position: _read_sized(data, position).decode("utf-8"),
    20: lambda data, position: uuid.UUID(bytes=_take(data, position, 16)),
}


def json_value(value: Any, words: dict[type, Callable[[Any], Any]]) -> Any:
    """Return a variant's Python value as a JSON value.

    ``words`` has functions that convert values by their type, such as times and decimals.
    """
    if isinstance(value, dict):
        return {name: json_value(member, words) for name, member in value.items()}
    if isinstance(value, list):
        return [json_value(member, words) for member in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, uuid.UUID):
        return str(value)
    word = words.get(type(value))
    return value if word is None else word(value)
