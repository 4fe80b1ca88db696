"""The package's dataclasses behave as the standard library's."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar, get_type_hints

import pytest

from inspector import light_dataclasses
from inspector.codec import Message
from inspector.facts.fact import FACT_TYPES, Fact
from inspector.facts.registry import facts_schema
from inspector.render.tabular import StoreRow
from tests.attributes import attributes


def library(**options: bool) -> Callable[[type], type]:
    """The standard library's decorator."""
    decorator: Callable[[type], type] = dataclasses.dataclass(**options)
    return decorator


def light(**options: bool) -> Callable[[type], type]:
    """The package's."""
    decorator: Callable[[type], type] = light_dataclasses.dataclass(**options)
    return decorator


DECORATORS = [library, light]
OPTIONS = [
    {},
    {"frozen": True},
    {"frozen": True, "kw_only": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "order": True},
    {"frozen": True, "slots": True},
]


def family(decorator: Callable[..., Callable[[type], type]], **options: bool) -> tuple[type, type]:
    """A class and a subclass of it, of fields of all sorts."""

    @decorator(**options)
    class Base:
        """A base."""

        KIND: ClassVar[str] = "base"
        number: int
        names: list[str] = dataclasses.field(default_factory=list)
        hidden: int = dataclasses.field(default=7, repr=False, compare=False)
        unhashed: dict[str, int] = dataclasses.field(default_factory=dict, hash=False)

    @decorator(**options)
    class Derived(Base):
        """With a field that nobody gives, and one given by its name alone."""

        half: float = dataclasses.field(init=False)
        many: tuple[Any, ...] = dataclasses.field(default_factory=tuple, init=False)
        named: str = dataclasses.field(default="n", kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "half", self.number / 2)

    return Base, Derived


def outcome(call: Callable[[], object]) -> object:
    """What a call returns or raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - both may raise anything
        return type(error)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_light_dataclass_equals_standard_dataclass(options: dict[str, bool]) -> None:
    seen = []
    for decorator in DECORATORS:
        base, derived = family(decorator, **options)
        first, same, second = derived(number=1), derived(number=1, hidden=8), derived(number=2)
        seen.append(
            [
                outcome(lambda: base(1, ["a"], 2)),  # noqa: B023 - called at once
                outcome(base),
                outcome(lambda: derived(1, [], 2, {}, "by its place")),  # noqa: B023
                repr(derived(number=4, names=["x"], named="m")).replace("library", "light"),
                [first == same, first == second, first == base(number=1), first == (1,)],
                outcome(lambda: hash(base(number=1, names=())) == hash(base(number=1, names=()))),  # noqa: B023
                outcome(lambda: first < second),  # noqa: B023
                outcome(lambda: setattr(first, "number", 3)),  # noqa: B023
                outcome(lambda: delattr(first, "number")),  # noqa: B023
                attributes(dataclasses.fields(derived), "name", "type", "kw_only"),
                vars(derived)["__match_args__"],
                attributes(_parameters(derived), "name", "kind", "annotation"),
                dataclasses.asdict(second) | {"names": None},
            ]
        )
        assert derived.__doc__ == "With a field that nobody gives, and one given by its name alone."
        assert dataclasses.replace(second, number=8).half == 4
        assert copy.deepcopy(second).named == "n"
    theirs, ours = (["Base" if "Base(" in repr(item) else item for item in row] for row in seen)
    assert ours == theirs


def _parameters(cls: type) -> list[inspect.Parameter]:
    return list(inspect.signature(cls).parameters.values())


@light_dataclasses.dataclass(frozen=True)
class Node:
    """May hold itself, and a value that equals nothing."""

    value: object
    nodes: list[Node] = dataclasses.field(default_factory=list)


def test_light_dataclass_with_nan_equals_itself() -> None:
    node = Node(float("nan"))
    assert node == node
    assert Node(float("nan")) != Node(float("nan"))


def test_repr_of_recursive_light_dataclass() -> None:
    node = Node(1)
    node.nodes.append(node)
    assert repr(node) == "Node(value=1, nodes=[...])"


def test_light_dataclass_pickles() -> None:
    assert pickle.loads(pickle.dumps(Node("x"))) == Node("x")  # noqa: S301 - our own bytes
    assert {Node("x", ()): 1}[Node("x", ())] == 1  # type: ignore[arg-type]


def test_light_dataclass_type_hints() -> None:
    classes: list[type] = [
        Fact,
        *FACT_TYPES.values(),
        *Message.__subclasses__(),
        *StoreRow.__subclasses__(),
    ]
    assert facts_schema().names[-1] in FACT_TYPES, "all are declared"
    for cls in classes:
        assert light_dataclasses.hints_of(cls) == get_type_hints(cls, include_extras=True)


def test_light_dataclass_keeps_own_methods() -> None:
    @light_dataclasses.dataclass(frozen=True)
    class Own:
        number: int

        def __eq__(self, second: object) -> bool:
            return isinstance(second, Own)

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "own"

    assert (Own(1) == Own(2), hash(Own(3)), repr(Own(4))) == (True, 5, "own")


def test_undecorated_subclass_accepts_attributes() -> None:
    for decorator in DECORATORS:
        parent = decorator(frozen=True)(type("Parent", (), {"__annotations__": {"name": "str"}}))
        child: Any = type("Child", (parent,), {})("a")
        child.note = 1
        assert child.note == 1
        del child.note
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
            child.name = "b"
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
            del child.name
