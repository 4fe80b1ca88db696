"""Declarations read from signatures."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest

from inspector.analyses.shared.declare import (
    Analysis,
    Option,
    Parameter,
    TableSpec,
    analysis,
    parameter,
)
from inspector.render.report import Column

HELP = Option("Help.")


class Color(enum.Enum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("hint", "kind", "many", "choices"),
    [
        (int, int, False, ()),
        (int | None, int, False, ()),
        (bool, bool, False, ()),
        (tuple[str, ...], str, True, ()),
        (Mapping[str, str], dict, True, ()),
        (Color | None, Color, False, ("red", "blue")),
        (Literal["a", "b"], str, False, ("a", "b")),
    ],
)
def test_an_annotation_says_the_type(
    hint: Any, kind: type, many: bool, choices: tuple[str, ...]
) -> None:
    found = parameter("some_name", Annotated[hint, HELP], None)
    assert found is not None
    assert (found.kind, found.many, found.choices) == (kind, many, choices)
    assert (found.flag, found.source) == ("--some-name", "someName")


def test_names_that_a_declaration_gives_go_first() -> None:
    found = Parameter("partition_id", int, Option("", flag="--partition", source="partition"))
    assert (found.flag, found.source) == ("--partition", "partition")


def test_what_has_no_option_is_of_the_call_alone() -> None:
    assert parameter("mode", str, "x") is None
    assert parameter("mode", Annotated[str, "a remark"], "x") is None


@analysis(uses=((Parameter("batch", int, HELP),),))
def example(
    what: Annotated[Literal["a", "b"], Option("What.")],
    path: str,
    options: str | None = None,
    *,
    limit: Annotated[int, Option("Limit.", minimum=1)] = 5,
    mode: str = "strict",
) -> str:
    """The first line.

    The second paragraph.

    Args:
        what: not in the help.
        path: the checkpoint.
        options: shared ones.
        limit: of rows.
        mode: of the call alone.
    """
    return f"{what} {path} {options} {limit} {mode}"


def test_a_function_is_its_declaration() -> None:
    found: Analysis = example.analysis  # type: ignore[attr-defined]
    assert found.name == "example"
    assert found.text == "The first line.\n\nThe second paragraph."
    assert [(each.name, each.required) for each in found.arguments] == [
        ("what", True),
        ("path", True),
    ]
    assert found.arguments[0].choices == ("a", "b")
    assert [(each.name, each.default) for each in found.options] == [("limit", 5)]
    assert [each.name for each in found.shared] == ["batch"]
    assert found.check({}) is None
    assert example("a", "p") == "a p None 5 strict"


def test_a_spec_makes_its_table() -> None:
    spec = TableSpec(
        "t", "a thing", (Column("a"), Column("b")), (Column("c"),), "nothing", frozenset("b")
    )
    table = spec.table("Things", [])
    assert (table.name, table.title, table.columns) == ("t", "Things", spec.columns)
    assert (table.empty, table.wide) == ("nothing", frozenset("b"))
    other = spec.table(
        "x", [], columns=spec.with_raw(raw=True), empty="none here", wide=frozenset()
    )
    assert [column.name for column in other.columns] == ["a", "b", "c"]
    assert (other.empty, other.wide) == ("none here", frozenset())
    assert spec.with_raw(raw=False) == spec.columns
