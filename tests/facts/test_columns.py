"""Arrow columns of frozen dataclasses: values come back as they were, by the types they had."""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.registry import column_of, struct_of
from inspector.facts.size_distributions import SizeCounts


class Word(enum.Enum):
    """An enum of words."""

    ONE = "one"
    TWO = "two"


class Level(enum.IntEnum):
    """An enum of numbers."""

    LOW = 0
    HIGH = 7


@dataclass(frozen=True)
class Point:
    """A dataclass in another."""

    x: int
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class Every:
    """All types of fields."""

    number: int
    flag: bool
    text: str
    data: bytes
    word: Word
    level: Level | None
    maybe: int | None
    path: tuple[int, ...]
    words: frozenset[Word]
    counts: Counter[int]
    sizes: SizeCounts
    point: Point
    points: tuple[Point, ...] | None


whole = st.integers(-(2**63), 2**63 - 1)
points = st.builds(Point, whole, st.none() | st.text(max_size=3))
counters = st.dictionaries(whole, st.integers(1, 2**40), max_size=3).map(Counter)
everything = st.builds(
    Every,
    number=whole,
    flag=st.booleans(),
    text=st.text(max_size=5),
    data=st.binary(max_size=5),
    word=st.sampled_from(Word),
    level=st.none() | st.sampled_from(Level),
    maybe=st.none() | whole,
    path=st.lists(whole, max_size=3).map(tuple),
    words=st.frozensets(st.sampled_from(Word)),
    counts=counters,
    sizes=counters.map(SizeCounts),
    point=points,
    points=st.none() | st.lists(points, max_size=2).map(tuple),
)


@given(st.lists(everything, max_size=6), st.integers(0, 6), st.integers(0, 6))
def test_column_values_round_trip_also_from_a_slice(
    rows: list[Every], start: int, length: int
) -> None:
    column = struct_of(Every)
    array = column.array(list(rows))
    array.validate(full=True)
    assert (array.type, array.null_count) == (column.type, 0)
    assert column.values(array) == rows
    assert column.values(array.slice(start, length)) == rows[start : start + length]


@given(st.lists(st.none() | points, max_size=6))
def test_nullable_struct_column_round_trips(rows: list[Point | None]) -> None:
    column = column_of(Point | None)
    array = column.array(list(rows))
    array.validate(full=True)
    assert array.null_count == rows.count(None)
    assert column.values(array) == rows


def test_sets_and_counters_are_stored_sorted() -> None:
    column = column_of(frozenset[Word])
    assert column.array([frozenset((Word.TWO, Word.ONE))]).to_pylist() == [["one", "two"]]
    flat = column_of(Counter[int]).array([Counter({9: 1, -2: 5})])
    assert flat.to_pylist() == [[-2, 5, 9, 1]]


def test_arrow_type_of_each_python_type() -> None:
    kinds: dict[Any, pa.DataType] = {
        int: pa.int64(),
        Level: pa.int64(),
        Word | None: pa.string(),
        tuple[Point, ...]: pa.list_(pa.struct([("x", pa.int64()), ("name", pa.string())])),
    }
    assert {hint: column_of(hint).type for hint in kinds} == kinds


@pytest.mark.parametrize("hint", [object, dict[str, int], float, Any])
def test_unsupported_column_type_is_refused(hint: Any) -> None:
    with pytest.raises(TypeError):
        column_of(hint)
