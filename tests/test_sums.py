"""Values that add field by field."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import reduce
from operator import add

from hypothesis import given
from hypothesis import strategies as st

from inspector.light_dataclasses import dataclass
from inspector.sums import Sums, group_by, sum_by_key, sum_of
from tests.attributes import attributes


@dataclass(frozen=True)
class Inner(Sums):
    """A part."""

    count: int = 0


@dataclass(frozen=True)
class Outer(Sums):
    """A whole."""

    rows: int = 0
    inner: Inner = field(default_factory=Inner)
    names: tuple[str, ...] = ()
    sizes: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True)
class Newest(Sums):
    """Adds in its own way."""

    version: int = 0

    def __add__(self, operand: Newest) -> Newest:
        return Newest(max(self.version, operand.version))


def test_sum_adds_field_by_field() -> None:
    assert Outer(1, Inner(2), ("a",)) + Outer(10, Inner(20), ("b",)) == Outer(
        11, Inner(22), ("a", "b")
    )
    assert type(Outer() + Outer()) is Outer


def test_sum_without_arguments_is_zero() -> None:
    outer = Outer(3, Inner(4), ("c",))
    assert outer + Outer() == Outer() + outer == outer


OUTERS = st.builds(
    Outer,
    st.integers(),
    st.builds(Inner, st.integers()),
    st.lists(st.text(max_size=2), max_size=2).map(tuple),
    st.dictionaries(st.integers(0, 3), st.integers(0, 9), max_size=4).map(Counter),
)


@given(st.lists(OUTERS, min_size=1, max_size=5))
def test_sum_of_many_equals_pairwise_sums(values: list[Outer]) -> None:
    result = [Counter(element.sizes) for element in values]
    assert sum_of(values) == reduce(add, values)
    assert attributes(values, "sizes") == result, "what is added stays as it was"


def test_sum_uses_custom_add() -> None:
    assert sum_of([Newest(3), Newest(7), Newest(5)]) == Newest(7)


def test_values_are_grouped_in_order_of_first_key() -> None:
    groups = group_by(["by", "a", "bx", "an"], lambda word: word[0])
    assert list(groups.items()) == [("b", ["by", "bx"]), ("a", ["a", "an"])]
    sums = sum_by_key([("b", 2), ("a", 0), ("b", 5)])
    assert list(sums.items()) == [("b", 7), ("a", 0)]
