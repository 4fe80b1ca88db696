"""Spark SQL types as plain values, read from Spark's schema JSON or from DDL text.

The JSON form is what ``StructType.json`` writes into a store's ``_metadata/schema``; the DDL form
is what people type (``user string, sub struct<a: int, b: string>``). Field names may repeat, which
aggregation buffers do all the time, so a field is addressed by its ordinal and never by its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inspector.exceptions import DecodeError
from inspector.model import LIMITS, Limits

SLOT_BYTES = 8
"""Every field of an UnsafeRow has a slot of this many bytes."""

LONG_DIGITS = 18
"""Decimals up to this precision are a long in their slot (``Decimal.MAX_LONG_DIGITS``)."""

MAX_DIGITS = 38
"""``DecimalType.MAX_PRECISION``."""

BINARY_COLLATION = "UTF8_BINARY"


@dataclass(frozen=True)
class DataType:
    """A Spark SQL type."""

    @property
    def fixed_width(self) -> int | None:
        """Bytes of a value in its slot and in an array (1, 2, 4, 8), None if of variable size."""
        return None


@dataclass(frozen=True)
class AtomicType(DataType):
    """A type without parts.

    Attributes:
        kind: a key of :data:`KINDS`, or ``unknown`` for a type that no release up to 4.3 has.
        name: its name in Spark's JSON, with its parameters (``time(6)``, ``interval year``).
    """

    kind: str
    name: str

    @property
    def fixed_width(self) -> int | None:
        """Bytes of a value in its slot and in an array, None if of variable size."""
        return KINDS.get(self.kind)


KINDS: Mapping[str, int | None] = {
    "boolean": 1,
    "byte": 1,
    "short": 2,
    "integer": 4,
    "long": 8,
    "float": 4,
    "double": 8,
    "binary": None,
    "date": 4,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "timestamp_nanos": None,  # 4.3: micros and the rest of nanoseconds, 16 bytes
    "timestamp_ntz_nanos": None,
    "time": 8,  # 4.1: nanoseconds of the day
    "void": 8,  # always null; its slot is there
    "interval": None,  # CalendarInterval: months, days, microseconds
    "year_month": 4,
    "day_time": 8,
    "variant": None,
    "geometry": None,
    "geography": None,
}
"""Atomic kinds and the width of their values; None is of variable size."""


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
    def fixed_width(self) -> int | None:
        """8 up to 18 digits, above that of variable size."""
        return SLOT_BYTES if self.precision <= LONG_DIGITS else None


@dataclass(frozen=True)
class StringType(DataType):
    """UTF-8 text.

    Attributes:
        collation: how Spark compares it (4.0+); the bytes are the same.
        declared: ``string``, or ``char(n)`` / ``varchar(n)``, which are stored alike.
    """

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
    """A field of a struct.

    Attributes:
        name: as declared; may repeat within a struct.
        data_type: type of its values.
        nullable: as declared; says nothing about the bytes, where every field has a null bit.
        metadata: Spark's field metadata, such as ``spark.watermarkDelayMs`` of an event-time
            column; collations are part of the type and not repeated here.
    """

    name: str
    data_type: DataType
    nullable: bool = True
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class StructType(DataType):
    """Fields in order; a schema is one of these."""

    fields: tuple[StructField, ...] = ()


@dataclass(frozen=True)
class UserDefinedType(DataType):
    """A type of the user's; stored as ``sql_type``.

    Attributes:
        sql_type: the type of the stored value.
        definition: the JSON object as Spark wrote it, for its class names.
    """

    sql_type: DataType
    definition: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def fixed_width(self) -> int | None:
        """Width of the stored value."""
        return self.sql_type.fixed_width


def storage_type(data_type: DataType) -> DataType:
    """The type whose bytes are stored: user-defined types unwrapped."""
    while isinstance(data_type, UserDefinedType):
        data_type = data_type.sql_type
    return data_type


def unique_names(fields: Sequence[StructField]) -> list[str]:
    """Names of fields with every repetition numbered: ``count``, ``count#2``, ``count#3``.

    A number that a declared name already uses is passed over, so the result never collides, and
    the same fields always get the same names.
    """
    taken = {each.name for each in fields}
    last: dict[str, int] = {}
    names = []
    for each in fields:
        name = each.name
        if name in last:
            while name in taken:
                last[each.name] += 1
                name = f"{each.name}#{last[each.name]}"
            taken.add(name)
        last.setdefault(each.name, 1)
        names.append(name)
    return names


def widen_timeout(schema: StructType) -> StructType:
    """Declare the last field ``timeoutTimestamp`` as the long that it is.

    Group state of format 1 declares ``integer`` but stores epoch milliseconds in all 64 bits
    (``FlatMapGroupsWithStateExecHelper``, every release). Other schemas come back as they are.
    """
    if not schema.fields:
        return schema
    last = schema.fields[-1]
    if last.name != "timeoutTimestamp" or last.data_type != INTEGER:
        return schema
    return StructType((*schema.fields[:-1], replace(last, data_type=LONG)))


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
    return AtomicType("unknown", name)


def decimal_type(precision: int, scale: int) -> DecimalType:
    """A decimal type.

    Raises:
        DecodeError: above 38 digits, or more digits after the point than there are. A negative
            scale is legal (``spark.sql.legacy.allowNegativeScaleOfDecimal``).
    """
    if not 1 <= precision <= MAX_DIGITS or not -MAX_DIGITS <= scale <= precision:
        raise DecodeError(f"decimal({precision},{scale}) is not a type that Spark has")
    return DecimalType(precision, scale)


# --- JSON ------------------------------------------------------------------------------------


def parse_schema_json(text: str | bytes, limits: Limits = LIMITS) -> StructType:
    """Read Spark's ``StructType`` JSON.

    Args:
        text: the JSON document.
        limits: ``nesting`` bounds the depth of types.

    Raises:
        DecodeError: not JSON, not a struct, or a part that Spark would not write.
    """
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise DecodeError("schema is nested too deeply") from error
    except ValueError as error:
        raise DecodeError(f"schema is not JSON: {error}") from error
    parsed = _from_json(document, {}, "", limits.nesting)
    if not isinstance(parsed, StructType):
        raise DecodeError(f"schema is a {type(parsed).__name__}, expected a struct")
    return parsed


def _from_json(node: Any, collations: Mapping[str, Any], path: str, depth: int) -> DataType:
    """The type of a JSON node; ``path`` is its place in its field, as in ``__COLLATIONS``."""
    if depth <= 0:
        raise DecodeError("schema is nested too deeply")
    if isinstance(node, str):
        parsed = atomic(node)
        collation = collations.get(path)
        if isinstance(parsed, StringType) and isinstance(collation, str):
            return replace(parsed, collation=collation.partition(".")[2] or collation)
        return parsed
    builder = _COMPLEX.get(_get(node, "type", str))
    if builder is None:
        raise DecodeError(f"schema has the unknown complex type {str(node['type'])[:80]!r}")
    return builder(node, collations, path, depth - 1)


def _get(node: Any, key: str, kind: type[Any]) -> Any:
    """``node[key]`` if the node is an object that has it with that type."""
    if not isinstance(node, dict) or not isinstance(node.get(key), kind):
        raise DecodeError(f"schema lacks {key!r} ({kind.__name__}) in {node!r:.80}")
    return node[key]


def _struct(node: Any, _collations: Mapping[str, Any], _path: str, depth: int) -> DataType:
    return StructType(tuple(_field(each, depth) for each in _get(node, "fields", list)))


def _field(node: Any, depth: int) -> StructField:
    # A lone surrogate is legal in JSON and in a Java string, but not in Arrow.
    name = str(_get(node, "name", str)).encode("utf-8", "replace").decode()
    metadata = dict(_get(node, "metadata", dict)) if "metadata" in node else {}
    collations = metadata.pop("__COLLATIONS", {})
    if "type" not in node:
        raise DecodeError(f"schema lacks 'type' in {node!r:.80}")
    data_type = _from_json(
        node["type"], collations if isinstance(collations, dict) else {}, name, depth
    )
    return StructField(name, data_type, bool(node.get("nullable", True)), metadata)


def _array(node: Any, collations: Mapping[str, Any], path: str, depth: int) -> DataType:
    element = _from_json(node.get("elementType"), collations, f"{path}.element", depth)
    return ArrayType(element, bool(node.get("containsNull", True)))


def _map(node: Any, collations: Mapping[str, Any], path: str, depth: int) -> DataType:
    key = _from_json(node.get("keyType"), collations, f"{path}.key", depth)
    value = _from_json(node.get("valueType"), collations, f"{path}.value", depth)
    return MapType(key, value, bool(node.get("valueContainsNull", True)))


def _udt(node: Any, collations: Mapping[str, Any], path: str, depth: int) -> DataType:
    return UserDefinedType(_from_json(node.get("sqlType"), collations, path, depth), dict(node))


_COMPLEX: Mapping[str, Callable[[Any, Mapping[str, Any], str, int], DataType]] = {
    "struct": _struct,
    "array": _array,
    "map": _map,
    "udt": _udt,
}


def to_json(data_type: DataType) -> str:
    """Spark's JSON of a type, compact, collations in the metadata of their field."""
    return json.dumps(_node(data_type), separators=(",", ":"))


def _node(data_type: DataType) -> Any:
    if isinstance(data_type, StructType):
        return {"type": "struct", "fields": [_field_node(each) for each in data_type.fields]}
    if isinstance(data_type, ArrayType):
        element = _node(data_type.element)
        null = data_type.contains_null
        return {"type": "array", "elementType": element, "containsNull": null}
    if isinstance(data_type, MapType):
        key, value = _node(data_type.key), _node(data_type.value)
        null = data_type.value_contains_null
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": null}
    if isinstance(data_type, UserDefinedType):
        return {**data_type.definition, "type": "udt", "sqlType": _node(data_type.sql_type)}
    return type_name(data_type)


def _field_node(each: StructField) -> dict[str, Any]:
    metadata = dict(each.metadata)
    if collations := dict(_collations(each.data_type, each.name)):
        metadata["__COLLATIONS"] = collations
    node = _node(each.data_type)
    return {"name": each.name, "type": node, "nullable": each.nullable, "metadata": metadata}


def _collations(data_type: DataType, path: str) -> Iterator[tuple[str, str]]:
    """Paths within a field, and collations, of the strings that are not compared by bytes."""
    if isinstance(data_type, StringType) and data_type.collation != BINARY_COLLATION:
        provider = "spark" if data_type.collation.startswith("UTF8_") else "icu"
        yield path, f"{provider}.{data_type.collation}"
    elif isinstance(data_type, ArrayType):
        yield from _collations(data_type.element, f"{path}.element")
    elif isinstance(data_type, MapType):
        yield from _collations(data_type.key, f"{path}.key")
        yield from _collations(data_type.value, f"{path}.value")


def type_name(data_type: DataType) -> str:
    """The name of an atomic type in Spark's JSON."""
    if isinstance(data_type, DecimalType):
        return f"decimal({data_type.precision},{data_type.scale})"
    if isinstance(data_type, StringType):
        return data_type.declared
    return data_type.name if isinstance(data_type, AtomicType) else type(data_type).__name__


# --- DDL -------------------------------------------------------------------------------------

_DDL_NAMES: Mapping[str, str] = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
}
_FROM_DDL: Mapping[str, str] = {
    **{ddl: name for name, ddl in _DDL_NAMES.items()},
    "real": "float",
    "timestamp_ltz": "timestamp",
    "null": "void",
    "character": "char",
    "dec": "decimal",
    "numeric": "decimal",
    "time": "time(6)",
}
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>`(?:[^`]|``)+`)|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<word>\w+)|(?P<sign>[<>(),:-]))",
    re.DOTALL,
)
_INTERVAL_UNITS = ("year", "month", "day", "hour", "minute", "second")


def to_ddl(data_type: DataType) -> str:
    """DDL text of a type; a schema becomes ``a bigint, b string``, without nullability.

    ``parse_ddl`` reads it back, but for user-defined types (written as what they store).
    """
    if isinstance(data_type, StructType):
        return ", ".join(f"{_quote(f.name)} {_ddl(f.data_type)}" for f in data_type.fields)
    return _ddl(data_type)


def _ddl(data_type: DataType) -> str:
    data_type = storage_type(data_type)
    if isinstance(data_type, StructType):
        inner = ", ".join(f"{_quote(f.name)}: {_ddl(f.data_type)}" for f in data_type.fields)
        return f"struct<{inner}>"
    if isinstance(data_type, ArrayType):
        return f"array<{_ddl(data_type.element)}>"
    if isinstance(data_type, MapType):
        return f"map<{_ddl(data_type.key)}, {_ddl(data_type.value)}>"
    name = type_name(data_type)
    if isinstance(data_type, StringType) and data_type.collation != BINARY_COLLATION:
        return f"{name} collate {data_type.collation}"
    return _DDL_NAMES.get(name, name)


def _quote(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def parse_ddl(text: str, limits: Limits = LIMITS) -> StructType:
    """Read a schema from DDL text.

    ``user string, cnt long``, with ``name: type`` as well, backquoted names, ``NOT NULL``,
    ``COMMENT 'text'``, nested ``struct<>``, ``array<>`` and ``map<,>``; also one ``struct<...>``
    around it all.

    Args:
        text: the DDL.
        limits: ``nesting`` bounds the depth of types.

    Raises:
        DecodeError: not DDL; says at which character.
    """
    parser = _DdlParser(text, limits.nesting)
    if not text.strip():
        return StructType()
    if parser.peek().lower() == "struct" and parser.peek(1) == "<":
        schema = parser.data_type()
    else:
        schema = StructType(tuple(parser.fields("")))
    if parser.peek() or not isinstance(schema, StructType):
        raise parser.error("the end")
    return schema


class _DdlParser:
    """Recursive descent over the tokens of one DDL text."""

    def __init__(self, text: str, depth: int) -> None:
        self._depth = depth
        self._next = 0
        self._tokens: list[str] = []
        self._places: list[int] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None:
                raise DecodeError(f"schema text is not DDL at character {place}")
            self._tokens.append(match[match.lastgroup or 0])
            self._places.append(match.end() - len(self._tokens[-1]))
            place = match.end()
        self._places.append(end)

    def peek(self, ahead: int = 0) -> str:
        """A token to come, empty at the end."""
        place = self._next + ahead
        return self._tokens[place] if place < len(self._tokens) else ""

    def error(self, wanted: str) -> DecodeError:
        got = self.peek()[:40] or "the end"
        place = self._places[min(self._next, len(self._places) - 1)]
        return DecodeError(f"schema text at character {place}: got {got!r}, expected {wanted}")

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, *words: str) -> bool:
        """Take these tokens if all of them come next, whatever their case."""
        if all(self.peek(i).lower() == word for i, word in enumerate(words)):
            self._next += len(words)
            return True
        return False

    def _expect(self, token: str) -> None:
        if not self._accept(token):
            raise self.error(repr(token))

    def fields(self, closing: str) -> Iterator[StructField]:
        """Fields up to (not including) the closing token."""
        while self.peek() != closing:
            yield self._field()
            if not self._accept(","):
                return

    def _field(self) -> StructField:
        token = self.peek()
        if token[:1] == "`":
            name = token[1:-1].replace("``", "`")
        elif token[:1].isalnum() or token[:1] == "_":
            name = token
        else:
            raise self.error("a field name")
        self._take()
        self._accept(":")
        data_type = self.data_type()
        nullable = not self._accept("not", "null")
        metadata: dict[str, Any] = {}
        if self._accept("comment"):
            if self.peek()[:1] not in ("'", '"'):
                raise self.error("a quoted comment")
            metadata["comment"] = re.sub(r"\\(.)", r"\1", self._take()[1:-1], flags=re.DOTALL)
        return StructField(name, data_type, nullable, metadata)

    def data_type(self) -> DataType:
        """One type."""
        word = self.peek().lower()
        if not word.isidentifier():
            raise self.error("a type")
        self._take()
        if word in ("struct", "array", "map"):
            return self._nested(word)
        if word == "interval":
            return atomic(self._interval())
        name = _FROM_DDL.get(word, word)
        if self.peek() == "(":
            name = name.partition("(")[0] + self._arguments()
        parsed = atomic(name)
        if isinstance(parsed, StringType) and self._accept("collate"):
            parsed = replace(parsed, collation=self._collation())
        if isinstance(parsed, AtomicType) and parsed.kind == "unknown":
            raise DecodeError(f"schema text has the unknown type {name[:80]!r}")
        return parsed

    def _nested(self, word: str) -> DataType:
        self._depth -= 1
        if self._depth <= 0:
            raise DecodeError("schema text is nested too deeply")
        self._expect("<")
        parsed: DataType
        if word == "struct":
            parsed = StructType(tuple(self.fields(">")))
        elif word == "array":
            parsed = ArrayType(self.data_type())
        else:
            key = self.data_type()
            self._expect(",")
            parsed = MapType(key, self.data_type())
        self._expect(">")
        self._depth += 1
        return parsed

    def _interval(self) -> str:
        """Spark's name: ``interval``, ``interval day``, ``interval day to hour``."""
        name = "interval"
        if self.peek().lower() in _INTERVAL_UNITS:
            name += f" {self._take().lower()}"
            if self.peek().lower() == "to" and self.peek(1).lower() in _INTERVAL_UNITS:
                name += f" {self._take().lower()} {self._take().lower()}"
        return name

    def _arguments(self) -> str:
        """Arguments in parentheses, spelt as Spark's JSON does."""
        self._expect("(")
        parts = []
        while self.peek() not in (")", ""):
            parts.append(self._take())
        self._expect(")")
        if parts and all(part.isdigit() or part in ",-" for part in parts):
            return f"({''.join(parts)})"
        return "(" + " ".join(parts).replace(" ,", ",").replace(" : ", ":") + ")"

    def _collation(self) -> str:
        if not self.peek()[:1].isalpha() and self.peek()[:1] != "`":
            raise self.error("a collation")
        return self._take().strip("`")
