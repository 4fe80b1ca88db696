"""Frozen dataclasses as JSON: what is written is what is read."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple, NewType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.codec import Message
from inspector.discovery.tasks import StoreTask, Task
from inspector.light_dataclasses import dataclass
from inspector.model import BatchClock, Problem, StoreFile, StoreId

Number = NewType("Number", int)


class Colour(enum.Enum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


class Pair(NamedTuple):
    """A NamedTuple."""

    number: int
    word: str


@dataclass(frozen=True)
class Inner:
    """A dataclass in another."""

    colours: tuple[Colour, ...] = ()
    ratio: float | None = None


@dataclass(frozen=True)
class Outer(Message):
    """All that is understood."""

    flag: bool
    number: Number
    inner: Inner | None = None
    both: tuple[int, str] = (0, "")
    words: Mapping[str, str] = field(default_factory=dict)
    by_number: Mapping[int, Inner] = field(default_factory=dict)
    by_pair: Mapping[Pair, frozenset[Colour]] = field(default_factory=dict)
    colour: Colour | None = None


@dataclass(frozen=True)
class Unknown(Message):
    """A field of any type."""

    value: Any = None


@dataclass(frozen=True)
class AlsoUnknown(Message):
    """Bytes have no form in JSON."""

    values: tuple[bytes, ...] = (b"",)


colours = st.sampled_from(Colour)
inners = st.builds(
    Inner,
    st.lists(colours, max_size=3).map(tuple),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)
outers = st.builds(
    Outer,
    st.booleans(),
    st.integers().map(Number),
    st.none() | inners,
    st.tuples(st.integers(), st.text()),
    st.dictionaries(st.text(), st.text(), max_size=2),
    st.dictionaries(st.integers(), inners, max_size=3),
    st.dictionaries(st.builds(Pair, st.integers(), st.text()), st.frozensets(colours), max_size=3),
    st.none() | colours,
)


@given(outers)
def test_codec_round_trip_of_values_and_types(value: Outer) -> None:
    text = value.to_json()
    again = Outer.from_json(text)
    assert again == value
    assert repr(again.inner) == repr(value.inner)
    assert all(isinstance(pair, Pair) for pair in again.by_pair)
    assert again.to_json() == text


@given(outers)
def test_codec_text_is_equal_for_equal_values(value: Outer) -> None:
    turned = dict(reversed(list(value.by_number.items())))
    same = Outer(**(vars(value) | {"by_number": turned}))
    assert same == value
    assert same.to_json() == value.to_json()


@pytest.mark.parametrize("value", [Unknown(), AlsoUnknown()])
def test_codec_refuses_unknown_types(value: Message) -> None:
    with pytest.raises(TypeError, match="have no form in JSON"):
        value.to_json()


def test_codec_refuses_malformed_text() -> None:
    document = json.loads(Outer(True, Number(1)).to_json())
    for wrong in (document | {"more": 1}, {"flag": True}):
        with pytest.raises(ValueError, match=r"got the fields .* of Outer"):
            Outer.from_json(json.dumps(wrong))
    with pytest.raises(ValueError, match="green"):
        Outer.from_json(json.dumps(document | {"colour": "green"}))


stores = st.builds(StoreId, st.integers(0, 9), st.text(max_size=3), st.integers(0, 9))


@given(st.builds(Task), st.builds(Problem, store=st.none() | stores))
def test_codec_round_trip_of_tasks(task: Task, problem: Problem) -> None:
    assert Task.from_json(task.to_json()) == task

    @dataclass(frozen=True)
    class Listed(Message):
        problems: tuple[Problem, ...]

    listed = Listed((problem,))
    assert Listed.from_json(listed.to_json()) == listed


def test_decoded_task_parts_have_their_types() -> None:
    @dataclass(frozen=True)
    class Parts(Message):
        store: StoreTask
        file: StoreFile | None = None
        clock: BatchClock | None = None

    parts = Parts(StoreTask("default", ()))
    assert type(Parts.from_json(parts.to_json()).store) is StoreTask
