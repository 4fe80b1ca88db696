"""Spark SQL types as plain values; fields by ordinal, as the names of buffers repeat."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inspector.exceptions import DecodeError
from inspector.light_dataclasses import dataclass, field, replace

SLOT_BYTES = 8  # every field of an UnsafeRow has a slot of this many bytes
LONG_DIGITS = 18  # decimals up to it are a long in their slot (``Decimal.MAX_LONG_DIGITS``)
MAX_DIGITS = 38  # ``DecimalType.MAX_PRECISION``

BINARY_COLLATION = "UTF8_BINARY"


@dataclass(frozen=True)
class DataType:
    """A Spark SQL type."""

    @property
    def slot_width(self) -> int | None:
        """Bytes of a value in its slot and in an array (1, 2, 4, 8), None if of variable size."""
        return None


@dataclass(frozen=True)
class AtomicType(DataType):
    """A type without parts."""

    kind: str  # a key of :data:`KINDS`, or ``unknown`` for a type that no release up to 4.3 has
    name: str  # its name in Spark's JSON, with its parameters (``time(6)``, ``interval year``)

    @property
    def slot_width(self) -> int | None:
        """Bytes of a value in its slot and in an array, None if of variable size."""
        return KINDS.get(self.kind)


KINDS: Mapping[str, int | None] = {
    **dict.fromkeys(("boolean", "byte"), 1),
    "short": 2,
    **dict.fromkeys(("integer", "float", "date", "year_month"), 4),
    **dict.fromkeys(("long", "double", "timestamp", "timestamp_ntz", "day_time"), 8),
    "time": 8,  # 4.1: nanoseconds of the day
    "void": 8,  # always null; its slot is there
    "interval": None,  # CalendarInterval: months, days, microseconds
    # 4.3: micros and the rest of nanoseconds, 16 bytes
    **dict.fromkeys(("timestamp_nanos", "timestamp_ntz_nanos"), None),
    **dict.fromkeys(("binary", "variant", "geometry", "geography"), None),
}
"""Atomic kinds and the width of their values; None is of variable size."""

INT64_KINDS = ("long", "timestamp", "timestamp_ntz", "time", "day_time")

UNKNOWN = "unknown"  # kind of a type that no release has


def _plain(name: str) -> AtomicType:
    return AtomicType(name, name)


BOOLEAN, BYTE, SHORT, INTEGER = (_plain(n) for n in ("boolean", "byte", "short", "integer"))
LONG, FLOAT, DOUBLE, BINARY = (_plain(n) for n in ("long", "float", "double", "binary"))
DATE, TIMESTAMP, TIMESTAMP_NTZ = (_plain(n) for n in ("date", "timestamp", "timestamp_ntz"))
VOID, VARIANT, CALENDAR_INTERVAL = (_plain(n) for n in ("void", "variant", "interval"))
DAY_TIME_INTERVAL = AtomicType("day_time", "interval day to second")
YEAR_MONTH_INTERVAL = AtomicType("year_month", "interval year to month")


@dataclass(frozen=True)
class DecimalType(DataType):
    """A decimal of ``precision`` digits, ``scale`` of them after the point."""

    precision: int = 10
    scale: int = 0

    @property
    def slot_width(self) -> int | None:
        """8 up to 18 digits, above that of variable size."""
        return SLOT_BYTES if self.precision <= LONG_DIGITS else None


@dataclass(frozen=True)
class StringType(DataType):
    """UTF-8 text: ``string``, ``char(n)`` or ``varchar(n)``; no collation changes bytes."""

    collation: str = BINARY_COLLATION
    declared: str = "string"


@dataclass(frozen=True)
class ArrayType(DataType):
    """A list of values of one type."""

    element: DataType
    contains_null: bool = True


@dataclass(frozen=True)
class MapType(DataType):
    """Keys to values; a key is never null."""

    key: DataType
    value: DataType
    value_contains_null: bool = True


@dataclass(frozen=True)
class StructField:
    """A field of a struct."""

    name: str  # as declared; may repeat within a struct
    data_type: DataType
    # as declared; says nothing about the bytes, where every field has a null bit
    nullable: bool = True
    # Spark's field metadata, such as ``spark.watermarkDelayMs`` of an event-time column; collations
    # are part of the type and not repeated here
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class StructType(DataType):
    """Fields in order; a schema is one of these."""

    fields: tuple[StructField, ...] = ()


@dataclass(frozen=True)
class UserDefinedType(DataType):
    """A type of the user's: the SQL type that is stored, and the JSON with its class names."""

    sql_type: DataType
    definition: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def slot_width(self) -> int | None:
        """Width of the stored value."""
        return self.sql_type.slot_width


def storage_type(data_type: DataType) -> DataType:
    """The type whose bytes are stored: user-defined types unwrapped."""
    while isinstance(data_type, UserDefinedType):
        data_type = data_type.sql_type
    return data_type


def unique_names(fields: Sequence[StructField]) -> list[str]:
    """Names of fields with every repetition numbered: ``count``, ``count#2``, ``count#3``."""
    # A number that a declared name already uses is passed over: no collision, always the same
    # names.
    used = {item.name for item in fields}
    last: dict[str, int] = {}
    names = []
    for item in fields:
        name = item.name
        if name in last:
            while name in used:
                last[item.name] += 1
                name = f"{item.name}#{last[item.name]}"
            used.add(name)
        last.setdefault(item.name, 1)
        names.append(name)
    return names


def widen_timeout(schema: StructType) -> StructType:
    """Declare the last field ``timeoutTimestamp`` as the long that it is, if it is there."""
    # Group state of format 1 declares ``integer`` but stores epoch milliseconds in all 64 bits
    # (FlatMapGroupsWithStateExecHelper, every release).
    if not schema.fields:
        return schema
    last = schema.fields[-1]
    if last.name != "timeoutTimestamp" or last.data_type != INTEGER:
        return schema
    return StructType((*schema.fields[:-1], replace(last, data_type=LONG)))


def unknown_type(data_type: DataType) -> str | None:
    """The first type in it that no release up to 4.3 has; None if all are known."""
    if isinstance(data_type, AtomicType):
        return data_type.name if data_type.kind == UNKNOWN else None
    parts: tuple[DataType, ...] = ()
    if isinstance(data_type, StructType):
        parts = tuple(item.data_type for item in data_type.fields)
    elif isinstance(data_type, ArrayType):
        parts = (data_type.element,)
    elif isinstance(data_type, MapType):
        parts = (data_type.key, data_type.value)
    elif isinstance(data_type, UserDefinedType):
        parts = (data_type.sql_type,)
    return next((name for part in parts if (name := unknown_type(part)) is not None), None)


def is_window(data_type: DataType | None) -> bool:
    """Return whether a type is that of ``window`` and ``session_window``: start and end."""
    fields = data_type.fields if isinstance(data_type, StructType) else ()
    return [column.name for column in fields] == ["start", "end"]


def field_at(schema: StructType, path: Sequence[int]) -> DataType | None:
    """The type of the field that ordinals lead to; None if they lead to none."""
    result = storage_type(schema)
    for ordinal in path:
        if not isinstance(result, StructType) or not 0 <= ordinal < len(result.fields):
            return None
        result = storage_type(result.fields[ordinal].data_type)
    return result


def is_int64(data_type: DataType | None) -> bool:
    """Return whether values are a 64-bit number in their slot, as clocks and counters are."""
    return isinstance(data_type, AtomicType) and data_type.kind in INT64_KINDS


# --- names of atomic types -------------------------------------------------------------------

_KIND_OF: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"interval (year|month)\b.*"), "year_month"),
    (re.compile(r"interval (day|hour|minute|second)\b.*"), "day_time"),
    (re.compile(r"time\(\d\)"), "time"),
    (re.compile(r"timestamp_ntz\([7-9]\)"), "timestamp_ntz_nanos"),
    (re.compile(r"timestamp(_ltz)?\([7-9]\)"), "timestamp_nanos"),
    (re.compile(r"timestamp_ntz(\([0-6]\))?"), "timestamp_ntz"),
    (re.compile(r"timestamp(_ltz)?(\([0-6]\))?"), "timestamp"),
    (re.compile(r"geometry\(.*\)"), "geometry"),
    (re.compile(r"geography\(.*\)"), "geography"),
    (re.compile(r"void|null"), "void"),  # "null" until 3.0
    (re.compile(r"boolean|byte|short|integer|long|float|double|binary|date|interval|variant"), ""),
)
_DECIMAL = re.compile(r"decimal(?:\((\d{1,3})(?:, ?(-?\d{1,3}))?\))?")
_STRING = re.compile(r"string|(var)?char\(\d+\)")


def atomic(name: str) -> DataType:
    """The type of a name in Spark's JSON; one that no release has becomes kind ``unknown``."""
    if match := _DECIMAL.fullmatch(name):
        return decimal_type(int(match[1] or 10), int(match[2] or 0))
    if _STRING.fullmatch(name):
        return StringType(declared=name)
    for pattern, kind in _KIND_OF:
        if pattern.fullmatch(name):
            return AtomicType(kind or name, "void" if kind == "void" else name)
    return AtomicType(UNKNOWN, name)


def decimal_type(precision: int, scale: int) -> DecimalType:
    """A decimal type; DecodeError above 38 digits, or for more after the point than there are."""
    # A negative scale is legal (spark.sql.legacy.allowNegativeScaleOfDecimal).
    if not 1 <= precision <= MAX_DIGITS or not -MAX_DIGITS <= scale <= precision:
        raise DecodeError(f"decimal({precision},{scale}) is not a type that Spark has")
    return DecimalType(precision, scale)


def type_name(data_type: DataType) -> str:
    """The name of an atomic type in Spark's JSON."""
    if isinstance(data_type, DecimalType):
        return f"decimal({data_type.precision},{data_type.scale})"
    if isinstance(data_type, StringType):
        return data_type.declared
    return data_type.name if isinstance(data_type, AtomicType) else type(data_type).__name__
