"""Values that add field by field."""

from __future__ import annotations

from dataclasses import dataclass, field

from inspector.sums import Sums


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


def test_each_field_is_added_to_its_own() -> None:
    assert Outer(1, Inner(2), ("a",)) + Outer(10, Inner(20), ("b",)) == Outer(
        11, Inner(22), ("a", "b")
    )
    assert type(Outer() + Outer()) is Outer


def test_without_arguments_it_is_the_zero() -> None:
    some = Outer(3, Inner(4), ("c",))
    assert some + Outer() == Outer() + some == some
