"""Conditions on the fields of keys and values: read from what a user typed, compared with rows.

A name is looked for in this order: after ``key.`` or ``value.`` in that row; else, as it stands,
among the fields of the key, then among those of the value. A dot leads into a struct. A null is met
by ``= null`` alone, and by no other comparison.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from typing import Any

import pyarrow as pa

from inspector.arrays import Bools
from inspector.decode.arrow_types import arrow_type
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import dataclass
from inspector.passes.key_values import plain_value, text_value
from inspector.schemas import array_of, compute
from inspector.sparktypes import DataType, StructType, storage_type, unique_names
from inspector.sparktypes.ddl import to_ddl

KEY, VALUE = "key", "value"  # the sides of a row, as conditions name them
SHOWN = 60  # characters of what a user typed that an error repeats

Part = tuple[StructType, tuple[int, ...]]
"""Schema and position of a struct in a key."""

_LISTED = 24  # most fields that an error lists
_DEEPEST = 4  # levels of nested structs whose fields an error lists
# NAME, spaces, comparison and VALUE of a condition with a sign, such as ``value.count>10``
_TERM = re.compile(r"(?s)([^=<>!]+?)(\s*)(~=|==|=|!=|<>|<=|>=|<|>)(.*)")
# NAME, spaces, the word ``contains`` and VALUE
_CONTAINS = re.compile(r"(?s)([^=<>!~\s]+)(\s+)(contains)\s(.*)")
_SAME = {"==": "=", "<>": "!="}  # signs that are read as another sign
# comparisons of texts, with the Arrow function that does each
_TEXTS = {"~=": "match_substring_regex", "contains": "match_substring"}
# comparisons by order, with the Arrow function that does each
_ORDER = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


@dataclass(frozen=True)
class Condition:
    """Comparison of one field of a row with a value."""

    path: tuple[int, ...]  # ordinals from the row inwards
    value: Any = None  # an Arrow scalar; None looks for null
    present: bool = False  # look for anything but null instead
    # how the field stands to the value: ``= != < <= > >=``; of text also ``~=``, a regular
    # expression of RE2 that is found in it, and ``contains``
    compare: str = "="

    def holds(self, rows: Any) -> Bools:
        """Return a mask of the rows of an Arrow array of structs that meet this condition.

        A null row meets none.
        """
        pc = compute()
        # A field within a null struct is null: struct_field lets the struct's null through.
        field = reduce(lambda array, index: pc.struct_field(array, [index]), self.path, rows)
        result = pc.and_(rows.is_valid(), pc.fill_null(self._compare_field(field, pc), False))
        met: Bools = result.to_numpy(zero_copy_only=False)
        return met

    def _compare_field(self, field: Any, pc: Any) -> Any:
        """Return an Arrow array of booleans, by row True if the field meets the comparison.

        A null field gives null, unless the condition is about null itself. Greater-than also holds
        for NaN, which Spark orders above every number.
        """
        if self.present or self.value is None:
            is_null = pc.is_null(field)
            return pc.invert(is_null) if self.present or self.compare == "!=" else is_null
        if self.compare in _TEXTS:
            return getattr(pc, _TEXTS[self.compare])(field, self.value.as_py())
        if self.compare in _ORDER:
            met = getattr(pc, _ORDER[self.compare])(field, self.value)
            # Spark orders NaN above every number.
            nan_too = pa.types.is_floating(field.type) and self.compare[0] == ">"
            return pc.or_(met, pc.is_nan(field)) if nan_too else met
        if pa.types.is_nested(field.type):
            same = (item.equals(self.value) if item.is_valid else None for item in field)
            equal = pa.array(same, pa.bool_())
        elif _is_nan(self.value):
            equal = pc.is_nan(field)
        else:
            equal = pc.equal(field, self.value)
        return pc.invert(equal) if self.compare == "!=" else equal


def _is_nan(value: Any) -> bool:
    """Return True if an Arrow scalar is a floating NaN."""
    return pa.types.is_floating(value.type) and value.as_py() != value.as_py()


@dataclass(frozen=True)
class Term:
    """Condition as the user typed it, split into name, comparison and text: ``NAME<=VALUE``."""

    name: str  # dotted name of a field
    compare: str  # sign of the comparison, or ``contains``
    text: str  # the value, not yet read as the field's type

    @classmethod
    def parse(cls, text: str) -> Term:
        """Return the parts of a condition such as ``value.count>10``.

        If spaces surround the comparison, they do not belong to the value. CheckpointError: the
        text has no comparison.
        """
        match = _CONTAINS.fullmatch(text) or _TERM.fullmatch(text)
        if match is None:
            raise CheckpointError(
                f"got {text[:SHOWN]!r}, expected NAME=VALUE, or another comparison "
                "(!= < <= > >= ~= contains), such as value.count>10"
            )
        name, space, sign, value = match.groups()
        return cls(name, _SAME.get(sign, sign), value.strip() if space else value)

    def conditions(self, data_type: DataType, path: tuple[int, ...]) -> Iterator[Condition]:
        """Yield the conditions on the field at ``path``.

        CheckpointError: the value is not one of the field's type, has no order, or is no text.
        """
        if self.compare in _TEXTS:
            yield self._of_text(data_type, path)
            return
        try:
            expected = text_value(data_type, self.text)
        except ValueError as error:
            raise _misfit(self.name, self.text, str(error)) from None
        if self.compare == "=":
            yield from _conditions_of(data_type, expected, path, self.name)
            return
        value = _scalar(data_type, expected, self.name)
        no_order = value is None or pa.types.is_nested(value.type) or _is_nan(value)
        if self.compare in _ORDER and no_order:
            raise _misfit(self.name, self.text, f"which {self.compare} cannot compare with")
        yield Condition(path, value, compare=self.compare)

    def _of_text(self, data_type: DataType, path: tuple[int, ...]) -> Condition:
        """Return a condition that searches the field's text for a pattern or a substring.

        CheckpointError: the field is not text, or the regular expression is not valid.
        """
        if arrow_type(data_type) not in (pa.string(), pa.large_string()):
            reason = f"{self.compare} is for text, and the field is {to_ddl(data_type)}"
            raise _misfit(self.name, self.text, reason)
        try:
            getattr(compute(), _TEXTS[self.compare])(array_of([""], pa.string()), self.text)
        except pa.ArrowInvalid as error:
            raise _misfit(self.name, self.text, str(error)) from None
        return Condition(path, array_of([self.text], pa.string())[0], compare=self.compare)


def condition_of(
    term: Term,
    sides: Mapping[str, StructType | None],
    part: Part | None = None,
) -> tuple[str, tuple[Condition, ...]]:
    """Return the side of a row that a term is about (KEY or VALUE), and its conditions.

    ``sides`` has the schema of each side that may be named, None if it is not known. ``part`` is a
    struct within the key (the grouping key) whose fields are tried before the other fields of the
    key. CheckpointError: no side has the field, or the value is not one of its type.
    """
    first, _, remainder = term.name.partition(".")
    named = [(first, remainder)] if remainder else []
    for side, name in (*named, (KEY, term.name), (VALUE, term.name)):
        schema, parts = sides.get(side), name.split(".")
        result = None
        if part is not None and side == KEY:
            inner = _find(part[0], parts)
            result = None if inner is None else ((*part[1], *inner[0]), inner[1])
        if result is None and schema is not None:
            result = _find(schema, parts)
        if result is not None:
            path, data_type = result
            return side, tuple(term.conditions(data_type, path))
    raise no_field(term.name, sides)


def conditions_of_object(
    schema: StructType, requested: Mapping[str, Any], prefix: str = "", path: tuple[int, ...] = ()
) -> Iterator[Condition]:
    """Yield the conditions of a JSON object on a row, one for each field.

    CheckpointError: the schema has no such field, or the field no such value.
    """
    names = unique_names(schema.fields)
    for name, value in requested.items():
        if name not in names:
            raise no_field(prefix + name, {KEY: schema}, prefix)
        ordinal = names.index(name)
        data_type = storage_type(schema.fields[ordinal].data_type)
        yield from _conditions_of(data_type, value, (*path, ordinal), prefix + name)


def no_field(
    name: str, sides: Mapping[str, StructType | None], prefix: str = ""
) -> CheckpointError:
    """Return the error for a field that does not exist; it lists the fields and similar names.

    ``sides`` has the schema of each side that was searched. ``prefix`` is the dotted path of the
    struct that was searched, with a dot at its end.
    """
    fields = {
        (prefix or f"{side}." * (len(sides) > 1)) + item: to_ddl(data_type)
        for side, schema in sides.items()
        for item, data_type in _fields(schema or StructType())
    }
    spelled = {item.casefold(): item for item in reversed(fields)}
    spelled |= {item.partition(".")[2].casefold(): item for item in fields if len(sides) > 1}
    near = get_close_matches(name.casefold(), spelled, n=1)
    hint = f"; did you mean {spelled[near[0]]}?" if near else "."
    listed = [f"{item} {words}" for item, words in fields.items()]
    remainder = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    subject = "The field is" if len(listed) == 1 else "The fields are"
    owner = "rows have" if len(sides) > 1 else "keys have"
    names = f"{', '.join(listed[:_LISTED]) or 'none'}{remainder}"
    return CheckpointError(f"{owner} no field {name[:SHOWN]!r}{hint} {subject} {names}")


def _fields(schema: StructType, depth: int = _DEEPEST) -> Iterator[tuple[str, DataType]]:
    """Names with dots, and types, of all fields that are no structs."""
    for name, field in zip(unique_names(schema.fields), schema.fields, strict=True):
        data_type = storage_type(field.data_type)
        if isinstance(data_type, StructType) and data_type.fields and depth:
            for inner, inner_type in _fields(data_type, depth - 1):
                yield f"{name}.{inner}", inner_type
        else:
            yield name, field.data_type


def _find(schema: StructType, parts: Sequence[str]) -> tuple[tuple[int, ...], DataType] | None:
    """Return the path of ordinals and the type of a dotted name; None if there is no such field.

    Names may have dots themselves, so the longest name that fits is tried first.
    """
    names = unique_names(schema.fields)
    for size in range(len(parts), 0, -1):
        head = ".".join(parts[:size])
        if head not in names:
            continue
        ordinal = names.index(head)
        data_type = storage_type(schema.fields[ordinal].data_type)
        if size == len(parts):
            return (ordinal,), data_type
        inner = _find(data_type, parts[size:]) if isinstance(data_type, StructType) else None
        if inner is not None:
            return (ordinal, *inner[0]), inner[1]
    return None


def _conditions_of(
    data_type: DataType, value: Any, path: tuple[int, ...], name: str
) -> Iterator[Condition]:
    """Yield the conditions for a JSON value of a field; of a struct, one for each of its fields."""
    if isinstance(data_type, StructType) and isinstance(value, dict):
        yield Condition(path, present=True)
        yield from conditions_of_object(data_type, value, f"{name}.", path)
        return
    yield Condition(path, _scalar(data_type, value, name))


def _scalar(data_type: DataType, value: Any, name: str) -> Any:
    """Return a JSON value as an Arrow scalar; None for null. CheckpointError: of another type."""
    try:
        plain = plain_value(data_type, value)
        return None if plain is None else array_of([plain], arrow_type(data_type))[0]
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise _misfit(name, value, str(error)) from None


def _misfit(name: str, value: Any, message: str) -> CheckpointError:
    """Return the error for a value that does not suit the field of a name."""
    return CheckpointError(f"{name[:SHOWN]}: got {str(value)[:SHOWN]!r}, {message}")
