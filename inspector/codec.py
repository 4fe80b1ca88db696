"""Frozen dataclasses as JSON, by the types of their fields: how tasks travel to workers.

Understood are None, bool, int, float, str, enums (by value), NewTypes, ``X | None``, tuples, sets,
mappings (those with keys other than str as lists of pairs), NamedTuples and dataclasses of these.
Anything else is refused when the first value of its type is written or read.

The worker of a Spark cluster has the package's own requirements and nothing more: a library that
structures dataclasses would be one more, for what these functions do.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_type_hints

from inspector.light_dataclasses import fields, hints_of, is_dataclass
from inspector.type_hints import hint_parts

T = TypeVar("T", bound="Message")  # class of messages


class Message:
    """Base of frozen dataclasses that are sent to workers as JSON."""

    def to_json(self) -> str:
        """Return the value as JSON; equal values give equal text."""
        return json.dumps(_codec(type(self)).write(self))

    @classmethod
    def from_json(cls: type[T], text: str) -> T:
        """Return the value of a text that :meth:`to_json` wrote."""
        value: T = _codec(cls).read(json.loads(text))
        return value


class _Codec(NamedTuple):
    """Functions that turn a value into what JSON has, and back."""

    write: Callable[[Any], Any]  # returns what JSON has for a value
    read: Callable[[Any], Any]  # returns the value


# codec of values that JSON has as they are
_PLAIN = _Codec(lambda value: value, lambda value: value)


def _codec(hint: Any) -> _Codec:
    """Return the codec for a type.

    It is the cached :func:`_make_codec`, with a type that type checkers know.
    """
    return _make_codec(hint)


@cache
def _make_codec(hint: Any) -> _Codec:
    """Return the codec for values of a type; TypeError if JSON here has no form for it."""
    parts = hint_parts(hint)
    codec = _codec_of(parts.origin, parts.arguments)
    return _optional(codec) if parts.is_optional else codec


def _codec_of(origin: Any, arguments: tuple[Any, ...]) -> _Codec:
    """Return the codec of a class, or of a collection and the types in its brackets."""
    if origin in (bool, int, float, str, type(None)):
        return _PLAIN
    if origin is tuple:
        return _tuple(arguments)
    if origin is frozenset:
        return _set(_codec(arguments[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(*arguments)
    if isinstance(origin, type):
        return _of_class(origin)
    raise TypeError(f"values of type {origin} have no form in JSON here")


def _of_class(cls: type) -> _Codec:
    """Return the codec of an enum, a dataclass or a NamedTuple; TypeError for other classes."""
    if issubclass(cls, enum.Enum):
        members: dict[Any, Any] = {member.value: member for member in cls}
        return _Codec(lambda member: member.value, lambda value: members.get(value) or cls(value))
    if is_dataclass(cls):
        return _record(cls)
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        hints = get_type_hints(cls)
        parts = _tuple(tuple(hints[name] for name in cls._fields))
        return _Codec(parts.write, lambda value: cls(*parts.read(value)))
    raise TypeError(f"values of type {cls.__name__} have no form in JSON here")


def _optional(inner: _Codec) -> _Codec:
    """Return a codec that also allows None."""
    if inner is _PLAIN:
        return _PLAIN
    return _Codec(
        lambda value: None if value is None else inner.write(value),
        lambda value: None if value is None else inner.read(value),
    )


def _tuple(arguments: tuple[Any, ...]) -> _Codec:
    """Return the codec of a tuple with elements of these types; ``(X, ...)`` is any number of X."""
    if arguments[1:] == (...,):
        element = _codec(arguments[0])
        return _Codec(
            lambda value: list(map(element.write, value)),
            lambda value: tuple(map(element.read, value)),
        )
    parts = [_codec(argument) for argument in arguments]
    return _Codec(
        lambda value: [c.write(part) for c, part in zip(parts, value, strict=True)],
        lambda value: tuple(c.read(part) for c, part in zip(parts, value, strict=True)),
    )


def _set(part: _Codec) -> _Codec:
    """Return the codec of a frozenset: a sorted list in JSON."""
    return _Codec(
        lambda value: sorted(map(part.write, value)), lambda value: frozenset(map(part.read, value))
    )


def _mapping(key: Any, value: Any) -> _Codec:
    """Return the codec of a mapping: an object in JSON, or sorted pairs if keys are no texts."""
    values = _codec(value)
    if key is str:
        return _Codec(
            lambda mapping: {name: values.write(value) for name, value in mapping.items()},
            lambda mapping: {name: values.read(value) for name, value in mapping.items()},
        )
    keys = _codec(key)
    return _Codec(
        lambda mapping: sorted(
            ([keys.write(k), values.write(v)] for k, v in mapping.items()), key=lambda pair: pair[0]
        ),
        lambda mapping: {keys.read(k): values.read(v) for k, v in mapping},
    )


def _record(cls: Any) -> _Codec:
    """Return the codec of a dataclass, which writes fields by name.

    Reading raises ValueError if fields are missing or unknown.
    """
    hints = hints_of(cls)
    codecs = {f.name: _codec(hints[f.name]) for f in fields(cls)}
    # A task has a thousand files: what JSON has as it is passes without a call.
    converted = {name: codec for name, codec in codecs.items() if codec is not _PLAIN}

    def write(value: Any) -> Any:
        values = vars(value).copy()
        if values.keys() != codecs.keys():  # something is kept with it
            values = {name: getattr(value, name) for name in codecs}
        for name, codec in converted.items():
            values[name] = codec.write(values[name])
        return values

    def read(value: Any) -> Any:
        if value.keys() != codecs.keys():
            raise ValueError(f"got the fields {sorted(value)} of {cls.__name__}")
        values = dict(value)
        for name, codec in converted.items():
            values[name] = codec.read(values[name])
        return cls(**values)

    return _Codec(write, read)
