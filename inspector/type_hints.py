"""Parts of type hints, for everything that is declared by the types of fields and parameters."""

from __future__ import annotations

import types
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin


class HintParts(NamedTuple):
    """A type hint taken apart: its class, and what ``None`` and ``Annotated`` add to it."""

    # class of the values, such as int, tuple or Mapping; ``Union`` for several, or ``Literal``
    origin: Any
    # types in its brackets, or the values of a ``Literal``; empty for a class without any
    arguments: tuple[Any, ...]
    # True if None is allowed, too
    is_optional: bool
    # values that ``Annotated`` adds, those of the innermost type first
    marks: tuple[Any, ...]


def hint_parts(hint: Any) -> HintParts:
    """Return the parts of a hint: of ``Annotated[int | None, "x"]`` an optional int with a mark.

    ``None``, ``Annotated`` and ``NewType`` are taken off at any depth outside of the brackets.
    """
    is_optional, marks = False, ()
    while True:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Annotated:
            marks = (*hint.__metadata__, *marks)
            hint = arguments[0]
        elif origin in (Union, types.UnionType):
            others = tuple(argument for argument in arguments if argument is not types.NoneType)
            is_optional |= len(others) < len(arguments)
            if len(others) > 1:
                return HintParts(Union, others, is_optional, marks)
            (hint,) = others
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        else:
            return HintParts(origin or hint, arguments, is_optional, marks)
