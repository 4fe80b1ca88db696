"""Spark SQL types as plain values; fields are found by ordinal, because names may repeat."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from inspector.exceptions import DecodeError
from inspector.light_dataclasses import dataclass, field, replace

SLOT_BYTES = 8  # every field of an UnsafeRow has a slot of this many bytes
LONG_DIGITS = 18  # digits up to which a decimal is a long in its slot (``Decimal.MAX_LONG_DIGITS``)
MAX_DIGITS = 38  # most digits of a decimal (``DecimalType.MAX_PRECISION``)

BINARY_COLLATION = "UTF8_BINARY"  # collation that compares strings by their bytes


@dataclass(frozen=True)
class DataType:
    """Base of Spark SQL types."""

    @property
    def slot_width(self) -> int | None:
        """Bytes of a value in its slot and in an array (1, 2, 4, 8); None if of variable size."""
        return None


@dataclass(frozen=True)
class AtomicType(DataType):
    """A type without parts."""

    kind: str  # a key of :data:`KINDS`, or ``unknown`` for a type that no release up to 4.3 has
    name: str  # its name in Spark's JSON, with its parameters (``time(6)``, ``interval year``)

    @property
    def slot_width(self) -> int | None:
        """Bytes of a value in its slot and in an array; None if of variable size."""
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
"""Bytes of a value of each atomic kind; None if of variable size."""

# kinds whose values are a 64-bit number
INT64_KINDS = ("long", "timestamp", "timestamp_ntz", "time", "day_time")

UNKNOWN = "unknown"  # kind of a type that no release has


def _plain(name: str) -> AtomicType:
    """Return an atomic type whose kind and name are equal."""
    return AtomicType(name, name)


# truth values, and whole numbers of 1, 2 and 4 bytes
BOOLEAN, BYTE, SHORT, INTEGER = (_plain(n) for n in ("boolean", "byte", "short", "integer"))
# whole numbers of 8 bytes, floating-point numbers, and bytes
LONG, FLOAT, DOUBLE, BINARY = (_plain(n) for n in ("long", "float", "double", "binary"))
# days, and microseconds with and without a time zone
DATE, TIMESTAMP, TIMESTAMP_NTZ = (_plain(n) for n in ("date", "timestamp", "timestamp_ntz"))
# nulls alone, values of any type, and calendar intervals
VOID, VARIANT, CALENDAR_INTERVAL = (_plain(n) for n in ("void", "variant", "interval"))
# interval from days to seconds
DAY_TIME_INTERVAL = AtomicType("day_time", "interval day to second")
# interval of years and months
YEAR_MONTH_INTERVAL = AtomicType("year_month", "interval year to month")


@dataclass(frozen=True)
class DecimalType(DataType):
    """A decimal of ``precision`` digits, ``scale`` of them after the point."""

    precision: int = 10  # all digits
    scale: int = 0  # digits after the point

    @property
    def slot_width(self) -> int | None:
        """8 for up to 18 digits; None above, because values are of variable size."""
        return SLOT_BYTES if self.precision <= LONG_DIGITS else None


@dataclass(frozen=True)
class StringType(DataType):
    """UTF-8 text: ``string``, ``char(n)`` or ``varchar(n)``; a collation changes no bytes."""

    collation: str = BINARY_COLLATION  # name of the collation
    declared: str = "string"  # type as declared, such as ``varchar(10)``


@dataclass(frozen=True)
class ArrayType(DataType):
    """List of values of one type."""

    element: DataType  # type of its elements
    contains_null: bool = True  # True if elements may be null, as declared


@dataclass(frozen=True)
class MapType(DataType):
    """Map from keys to values; a key is never null."""

    key: DataType  # type of its keys
    value: DataType  # type of its values
    value_contains_null: bool = True  # True if values may be null, as declared


@dataclass(frozen=True)
class StructField:
    """A field of a struct."""

    name: str  # as declared; may repeat within a struct
    data_type: DataType  # its type
    # True if it may be null, as declared; in the bytes every field has a null bit
    nullable: bool = True
    # Spark's field metadata, such as ``spark.watermarkDelayMs`` of an event-time column, without
    # collations, which are part of the type
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class StructType(DataType):
    """Fields in order; also the type of a schema."""

    fields: tuple[StructField, ...] = ()  # the fields


@dataclass(frozen=True)
class UserDefinedType(DataType):
    """User-defined type."""

    sql_type: DataType  # SQL type that is stored
    # its JSON, with the names of its classes
    definition: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def slot_width(self) -> int | None:
        """Width of the stored value."""
        return self.sql_type.slot_width


def storage_type(data_type: DataType) -> DataType:
    """Return the type whose bytes are stored; a user-defined type becomes its SQL type."""
    while isinstance(data_type, UserDefinedType):
        data_type = data_type.sql_type
    return data_type


def unique_names(fields: Sequence[StructField]) -> list[str]:
    """Return the names of fields with repetitions numbered: ``count``, ``count#2``, ``count#3``.

    A number is skipped if a declared name uses it already.
    """
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
    """Return the schema with a last field ``timeoutTimestamp`` of type integer as long.

    Any other schema is returned unchanged.
    """
    # Group state of format 1 declares ``integer`` but stores epoch milliseconds in all 64 bits
    # (FlatMapGroupsWithStateExecHelper, every release).
    if not schema.fields:
        return schema
    last = schema.fields[-1]
    if last.name != "timeoutTimestamp" or last.data_type != INTEGER:
        return schema
    return StructType((*schema.fields[:-1], replace(last, data_type=LONG)))


def unknown_type(data_type: DataType) -> str | None:
    """Return the name of the first type within a type that no release has; None without one."""
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
    """Return True if a type is that of ``window`` and ``session_window``: start and end."""
    fields = data_type.fields if isinstance(data_type, StructType) else ()
    return [column.name for column in fields] == ["start", "end"]


def field_at(schema: StructType, path: Sequence[int]) -> DataType | None:
    """Return the type of the field at a path of ordinals; None if there is none."""
    result = storage_type(schema)
    for ordinal in path:
        if not isinstance(result, StructType) or not 0 <= ordinal < len(result.fields):
            return None
        result = storage_type(result.fields[ordinal].data_type)
    return result


def is_int64(data_type: DataType | None) -> bool:
    """Return True if values are a 64-bit number in their slot, as clocks and counters are."""
    return isinstance(data_type, AtomicType) and data_type.kind in INT64_KINDS


# --- names of atomic types -------------------------------------------------------------------

# kind by the spelling of a type's name; an empty kind stands for the name itself
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
# name of a decimal type with precision and scale
_DECIMAL = re.compile(r"decimal(?:\((\d{1,3})(?:, ?(-?\d{1,3}))?\))?")
_STRING = re.compile(r"string|(var)?char\(\d+\)")  # names of string types


def atomic(name: str) -> DataType:
    """Return the type of a name in Spark's JSON; its kind is ``unknown`` if no release has it."""
    if match := _DECIMAL.fullmatch(name):
        return decimal_type(int(match[1] or 10), int(match[2] or 0))
    if _STRING.fullmatch(name):
        return StringType(declared=name)
    for pattern, kind in _KIND_OF:
        if pattern.fullmatch(name):
            return AtomicType(kind or name, "void" if kind == "void" else name)
    return AtomicType(UNKNOWN, name)


def decimal_type(precision: int, scale: int) -> DecimalType:
    """Return a decimal type. DecodeError: over 38 digits, or more after the point than in all."""
    # A negative scale is legal (spark.sql.legacy.allowNegativeScaleOfDecimal).
    if not 1 <= precision <= MAX_DIGITS or not -MAX_DIGITS <= scale <= precision:
        raise DecodeError(f"decimal({precision},{scale}) is not a type that Spark has")
    return DecimalType(precision, scale)


def type_name(data_type: DataType) -> str:
    """Return the name of an atomic type in Spark's JSON; of other types the name of the class."""
    if isinstance(data_type, DecimalType):
        return f"decimal({data_type.precision},{data_type.scale})"
    if isinstance(data_type, StringType):
        return data_type.declared
    return data_type.name if isinstance(data_type, AtomicType) else type(data_type).__name__
