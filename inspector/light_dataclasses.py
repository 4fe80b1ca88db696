"""``dataclass`` as the standard library's, at a fifth of what it costs to make a class.

The standard library compiles up to seven functions for each class while its module is imported.
A command imports some two hundred classes: that was a third of the time of a short one. Here only
``__init__`` is compiled, for the first who asks for it, as most classes have no value in one run;
the other methods are closures over the names of the fields.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Set
from dataclasses import (
    MISSING,
    FrozenInstanceError,
    asdict,
    astuple,
    field,
    fields,
    is_dataclass,
    replace,
)
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import CodeType
from typing import TYPE_CHECKING, Any

__all__ = [
    "MISSING",
    "asdict",
    "astuple",
    "dataclass",
    "field",
    "fields",
    "hints_of",
    "is_dataclass",
    "replace",
]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, eq=True, order=False, kw_only=False, slots=False):
        """Decorate a class like :func:`dataclasses.dataclass`, with quicker generated methods."""

        def decorate(cls):
            if slots or order:
                options = {"eq": eq, "order": order, "kw_only": kw_only, "slots": slots}
                return dataclasses.dataclass(frozen=frozen, **options)(cls)
            cls.__doc__ = cls.__doc__ or cls.__name__  # else it is made of the signature
            dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
            _add_methods(cls, frozen=frozen, eq=eq)
            return cls

        return decorate if cls is None else decorate(cls)


def hints_of(cls: type) -> dict[str, Any]:
    """Return the types of a class's fields by name, including what ``Annotated`` adds.

    Like :func:`typing.get_type_hints`, but each annotation is compiled only once.
    """
    return {
        name: eval(_code(hint), vars(sys.modules[base.__module__]))
        for base in reversed(cls.__mro__)
        for name, hint in inspect.get_annotations(base).items()
    }


@cache
def _code(hint: str) -> CodeType:
    """Return a compiled annotation."""
    return compile(hint, "<hint>", "eval")


def _add_methods(cls: type, *, frozen: bool, eq: bool) -> None:
    """Add ``__init__``, ``__repr__``, ``__eq__`` and ``__hash__``, unless the class has its own.

    A frozen class also refuses changes.
    """
    members = fields(cls)
    init = _Deferred(cls, members, frozen)
    methods: dict[str, Any] = {"__init__": init, "__repr__": _repr(members)}
    if eq:
        methods["__eq__"] = _equality(_values([m.name for m in members if m.compare]))
        hashed = _values([m.name for m in members if (m.compare if m.hash is None else m.hash)])
        # What changes has none.
        methods["__hash__"] = (lambda value: hash(hashed(value))) if frozen else None
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(cls, name, method)
    if frozen:
        _freeze(cls, {member.name for member in members})


class _Deferred:
    """Descriptor in place of a class's ``__init__`` that makes it when it is first used."""

    def __init__(
        self, cls: type, members: tuple[dataclasses.Field[Any], ...], frozen: bool
    ) -> None:
        """Remember the class and its fields."""
        self._of = cls, members, frozen

    def __get__(self, value: object, owner: type) -> Any:
        """Return the compiled ``__init__``, and put it into the class in place of this object."""
        cls, init = self._of[0], _init(*self._of)
        if cls.__dict__["__init__"] is self:
            setattr(cls, "__init__", init)  # noqa: B010 - mypy holds that it is no attribute
        return init if value is None else init.__get__(value, owner)


def _init(
    cls: type, members: tuple[dataclasses.Field[Any], ...], frozen: bool
) -> Callable[..., None]:
    """Return the compiled ``__init__`` of a dataclass."""
    # Names that no field has.
    scope: dict[str, Any] = {"_missing_": MISSING}
    positional: list[str] = []
    keyword_names: list[str] = []
    # Half of what object.__setattr__ takes, which a frozen class itself does not let through.
    body: list[str] = ["_values_ = self.__dict__"] if frozen else []
    for member in members:
        name = value = member.name
        parameter = name
        if member.default_factory is not MISSING:
            scope[f"_make_{name}_"] = member.default_factory
            parameter += "=_missing_"
            value = f"_make_{name}_()"
            if member.init:
                value += f" if {name} is _missing_ else {name}"
        elif member.default is not MISSING:
            scope[f"_default_{name}_"] = member.default
            parameter += f"=_default_{name}_"
        if member.init:
            (keyword_names if member.kw_only else positional).append(parameter)
        elif member.default_factory is MISSING:
            continue  # its default is the class's, or __post_init__ sets it
        body.append(f"_values_[{name!r}] = {value}" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ["self", *positional, *(("*", *keyword_names) if keyword_names else ())]
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), scope)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {m.name: m.type for m in members if m.init} | {"return": None}
    return init


def _repr(members: tuple[dataclasses.Field[Any], ...]) -> Callable[[object], str]:
    """Return the ``__repr__`` of a dataclass, which shows fields by name."""
    names = [member.name for member in members if member.repr]

    @recursive_repr()
    def represent(value: object) -> str:
        parts = ", ".join(f"{name}={getattr(value, name)!r}" for name in names)
        return f"{type(value).__qualname__}({parts})"

    return represent


def _values(names: list[str]) -> Callable[[object], tuple[Any, ...]]:
    """Return a function that gives the named attributes of an object as a tuple."""
    # A tuple also of one value: its comparison takes an object to equal itself.
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _value: ()
    only = attrgetter(names[0])
    return lambda value: (only(value),)


def _equality(values: Callable[[object], tuple[Any, ...]]) -> Callable[[object, object], Any]:
    """Return an ``__eq__`` that compares these values of two objects of one class.

    With an object of another class it returns NotImplemented.
    """

    def equals(value: object, other: object) -> Any:
        if other.__class__ is not value.__class__:
            return NotImplemented
        return values(value) == values(other)

    return equals


def _freeze(cls: type, names: Set[str]) -> None:
    """Make assignment to, and deletion of, a class's fields an error.

    In the class itself, but not in subclasses, that holds for any attribute, as in the standard
    library.
    """

    def refuse(value: object, name: str, *new: object) -> None:
        if type(value) is cls or name in names:
            verb = "assign to" if new else "delete"
            raise FrozenInstanceError(f"cannot {verb} field {name!r}")
        parent = super(cls, value)
        (parent.__setattr__ if new else parent.__delattr__)(name, *new)

    cls.__setattr__ = refuse  # type: ignore[method-assign]
    cls.__delattr__ = refuse  # type: ignore[method-assign,assignment]
