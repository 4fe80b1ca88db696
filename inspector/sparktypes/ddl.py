"""Schemas as DDL, as users type them (``user string, sub struct<a: int, b: string>``)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inspector import sparktypes as types
from inspector.exceptions import DecodeError
from inspector.light_dataclasses import replace
from inspector.model import LIMITS, Limits, above_limit

# DDL name of a type by its name in JSON, if they differ
_DDL_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
# name in JSON of a type by its DDL name, if they differ
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
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # name that needs no backquotes
# one token: a quoted name, a text, a word or a sign
_TOKEN = re.compile(
    r"\s*(?:(?P<quoted>`(?:[^`]|``)+`)|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<word>\w+)|(?P<sign>[<>(),:-]))",
    re.DOTALL,
)
_INTERVAL_UNITS = ("year", "month", "day", "hour", "minute", "second")  # units of an interval


def to_ddl(data_type: types.DataType) -> str:
    """Return the DDL text of a type; a schema becomes ``a bigint, b string``, without nullability.

    :func:`parse_ddl` reads it back. A user-defined type is written as its SQL type.
    """
    # parse_ddl reads it back, except for user-defined types (written as what they store).
    if isinstance(data_type, types.StructType):
        return ", ".join(f"{_quote(f.name)} {_ddl(f.data_type)}" for f in data_type.fields)
    return _ddl(data_type)


def _ddl(data_type: types.DataType) -> str:
    """Return the DDL text of a type within another one."""
    data_type = types.storage_type(data_type)
    if isinstance(data_type, types.StructType):
        inner = ", ".join(f"{_quote(f.name)}: {_ddl(f.data_type)}" for f in data_type.fields)
        return f"struct<{inner}>"
    if isinstance(data_type, types.ArrayType):
        return f"array<{_ddl(data_type.element)}>"
    if isinstance(data_type, types.MapType):
        return f"map<{_ddl(data_type.key)}, {_ddl(data_type.value)}>"
    name = types.type_name(data_type)
    if isinstance(data_type, types.StringType) and data_type.collation != types.BINARY_COLLATION:
        return f"{name} collate {data_type.collation}"
    return _DDL_NAMES.get(name, name)


def _quote(name: str) -> str:
    """Return a name, in backquotes if it needs them."""
    return name if _PLAIN_NAME.fullmatch(name) else "`" + name.replace("`", "``") + "`"


def parse_ddl(text: str, limits: Limits = LIMITS) -> types.StructType:
    """Return the schema of a DDL text. DecodeError, with the character: it is no DDL.

    ``user string, cnt long``, also with ``name: type``, backquoted names, ``NOT NULL``, ``COMMENT
    'text'``, nested ``struct<>``, ``array<>`` and ``map<,>``; or one ``struct<...>``.
    """
    if text.count(",") >= limits.fields:
        raise above_limit("fields", f"schema with {text.count(',') + 1:,} fields", limits)
    parser = _DdlParser(text, limits.nesting - 1)  # the schema itself is a level, as in its JSON
    if not text.strip():
        return types.StructType()
    if parser.peek().lower() == "struct" and parser.peek(1) == "<":
        schema = parser.data_type()
    else:
        schema = types.StructType(tuple(parser.fields("")))
    if parser.peek() or not isinstance(schema, types.StructType):
        raise parser.error("the end")
    return schema


class _DdlParser:
    """Parser of a DDL text, token by token; ``depth`` is the most levels of nested types."""

    def __init__(self, text: str, depth: int) -> None:
        self._depth = depth
        self._next = 0
        self._tokens: list[str] = []
        self._places: list[int] = []
        location, end = 0, len(text.rstrip())
        while location < end:
            match = _TOKEN.match(text, location)
            if match is None:
                raise DecodeError(f"schema text is not DDL at character {location}")
            self._tokens.append(match[match.lastgroup or 0])
            self._places.append(match.end() - len(self._tokens[-1]))
            location = match.end()
        self._places.append(end)

    def peek(self, ahead: int = 0) -> str:
        """Return the next token, or one further ahead; empty at the end."""
        location = self._next + ahead
        return self._tokens[location] if location < len(self._tokens) else ""

    def error(self, expected: str) -> DecodeError:
        """Return the error for the next token, of which something else is expected."""
        got = self.peek()[:40] or "the end"
        location = self._places[min(self._next, len(self._places) - 1)]
        return DecodeError(f"schema text at character {location}: got {got!r}, expected {expected}")

    def _take(self) -> str:
        """Return the next token and go to the following one."""
        self._next += 1
        return self._tokens[self._next - 1]

    def _accept(self, *words: str) -> bool:
        """Take these tokens if all of them come next, in upper or lower case.

        Returns True if they were taken; otherwise none is.
        """
        if all(self.peek(i).lower() == word for i, word in enumerate(words)):
            self._next += len(words)
            return True
        return False

    def _expect(self, token: str) -> None:
        """Take a token. DecodeError: another one comes next."""
        if not self._accept(token):
            raise self.error(repr(token))

    def fields(self, closing: str) -> Iterator[types.StructField]:
        """Yield the fields up to a closing token."""
        while self.peek() != closing:
            yield self._field()
            if not self._accept(","):
                return

    def _field(self) -> types.StructField:
        """Return the next field: name, type, nullability and comment."""
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
        return types.StructField(name, data_type, nullable, metadata)

    def data_type(self) -> types.DataType:
        """Return the next type. DecodeError: it is not known."""
        word = self.peek().lower()
        if not word.isidentifier():
            raise self.error("a type")
        self._take()
        if word in ("struct", "array", "map"):
            return self._parse_nested(word)
        if word == "interval":
            return types.atomic(self._interval())
        name = _FROM_DDL.get(word, word)
        if self.peek() == "(":
            name = name.partition("(")[0] + self._arguments()
        parsed = types.atomic(name)
        if isinstance(parsed, types.StringType) and self._accept("collate"):
            if not self.peek()[:1].isalpha() and self.peek()[:1] != "`":
                raise self.error("a collation")
            parsed = replace(parsed, collation=self._take().strip("`"))
        if isinstance(parsed, types.AtomicType) and parsed.kind == "unknown":
            raise DecodeError(f"schema text has the unknown type {name[:80]!r}")
        return parsed

    def _parse_nested(self, word: str) -> types.DataType:
        """Return a struct, array or map. DecodeError: nested too deeply."""
        self._depth -= 1
        if self._depth <= 0:
            raise DecodeError("schema text is nested too deeply")
        self._expect("<")
        parsed: types.DataType
        if word == "struct":
            parsed = types.StructType(tuple(self.fields(">")))
        elif word == "array":
            parsed = types.ArrayType(self.data_type())
        else:
            key = self.data_type()
            self._expect(",")
            parsed = types.MapType(key, self.data_type())
        self._expect(">")
        self._depth += 1
        return parsed

    def _interval(self) -> str:
        """Return Spark's name of an interval, for example ``interval day to hour``."""
        name = "interval"
        if self.peek().lower() in _INTERVAL_UNITS:
            name += f" {self._take().lower()}"
            if self.peek().lower() == "to" and self.peek(1).lower() in _INTERVAL_UNITS:
                name += f" {self._take().lower()} {self._take().lower()}"
        return name

    def _arguments(self) -> str:
        """Return the arguments in parentheses, spelled as in Spark's JSON."""
        self._expect("(")
        parts = []
        while self.peek() not in (")", ""):
            parts.append(self._take())
        self._expect(")")
        if parts and all(part.isdigit() or part in ",-" for part in parts):
            return f"({''.join(parts)})"
        return "(" + " ".join(parts).replace(" ,", ",").replace(" : ", ":") + ")"
