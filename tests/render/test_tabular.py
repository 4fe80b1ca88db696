"""Tables as they are declared: a dataclass each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import pytest

from inspector.exceptions import InspectorError
from inspector.render import tabular as t
from inspector.render.tabular import Column, StreamedRows, Unit
from tests.attributes import attributes
from tests.reports import cell_values

Rows = Annotated[t.Count, "Live rows."]


class Base(t.Row):
    """A row with a name."""

    name: t.Text
    rows: Annotated[Rows | None, t.Rank(7)]


class ThingRow(Base, table="things", empty="nothing"):
    """A thing of some kind."""

    class_: Annotated[t.Text | None, "Which kind.", t.Title("kind"), t.WIDE] = None
    rows: Annotated[Rows, "Those of the thing.", t.Rank(1), t.ESTIMATE]
    key_hex: Annotated[t.Text | None, "In hex.", t.RAW] = None


def shown(column: Column) -> tuple[object, ...]:
    return (column.name, column.unit, column.exact, column.doc, column.head, column.wide)


def test_columns_follow_field_order_of_base_classes() -> None:
    assert [shown(column) for column in ThingRow.columns()] == [
        ("name", Unit.TEXT, True, "", "name", False),
        ("rows", Unit.COUNT, False, "Those of the thing.", "rows", False),
        ("class", Unit.TEXT, True, "Which kind.", "kind", True),
    ]
    assert attributes(ThingRow.columns(), "rank") == [None, 1, None]
    assert attributes(Base.columns(), "doc", "rank") == [("", None), ("Live rows.", 7)]


def test_optional_columns_appear_on_request() -> None:
    with pytest.raises(ValueError, match="ThingRow has no columns \\['naem'\\]"):
        ThingRow.columns(without=("naem",))
    names = attributes(ThingRow.columns(raw=True, without=("name",)), "name")
    assert names == ["rows", "class", "key_hex"]


def test_row_docstring_is_row_meaning() -> None:
    assert ThingRow.row_meaning() == "a thing of some kind"


def test_row_class_makes_table() -> None:
    row = ThingRow(name="a", class_="b", rows=1)
    table = ThingRow.table("Things", [row])
    assert (table.name, table.title, table.empty) == ("things", "Things", "nothing")
    assert table.rows == [{"name": "a", "rows": 1, "class": "b", "key_hex": None}]
    second = ThingRow.table("x", [], columns=ThingRow.columns(raw=True), empty="none here")
    assert len(second.columns) == 4
    assert second.empty == "none here"
    wide = table.with_wide("name")
    assert [column.name for column in wide.columns if column.wide] == ["name", "class"]


def test_generator_rows_are_read_with_table() -> None:
    calls: list[str] = []

    def rows() -> Iterator[ThingRow]:
        for name in "ab":
            calls.append(name)
            yield ThingRow(name=name, rows=1)

    table = ThingRow.table("Things", rows())
    assert isinstance(table.rows, StreamedRows)
    assert not calls
    assert cell_values(table.rows, "name") == ["a", "b"]
    with pytest.raises(InspectorError, match="things"):
        list(table.rows)
