"""Views of page blocks: bounded size and a text alternative."""

from __future__ import annotations

from inspector.render.page import (
    MOST_ROWS,
    Bar,
    BarChart,
    LineChart,
    Series,
    Text,
)
from inspector.render.page.document import (
    bars_view,
    chart_view,
    growth_of,
    table_view,
    views_of,
)
from inspector.render.tabular import Column, Table, Unit
from tests.attributes import attributes
from tests.render.samples import EMPTY, table

LINES = LineChart(
    "Rows",
    Unit.COUNT,
    [4, 5, 6],
    [1000, None, 3000],
    [Series("rows", [7, None, 9]), Series("heap", [None, None, None], exact=False)],
)
BARS = BarChart(
    "Ages", Unit.COUNT, "age", ("kept", "ignored"), [Bar("old", (30, 10)), Bar("new", (0, 1))]
)


def test_page_table_omits_columns_not_for_people() -> None:
    view = table_view(table())
    assert attributes(view.heads, "text")[-1] == "done"
    assert "not for people" not in {item.text for row in view.rows for item in row}
    assert view.heads[3].number
    nothing = table_view(EMPTY)
    assert (nothing.title, nothing.rows, nothing.empty) == ("Other things", [], "None at all.")


def test_page_table_is_bounded_with_note() -> None:
    rows = ({"n": n} for n in range(MOST_ROWS + 1))
    view = table_view(Table("many", "many", (Column("n", Unit.ID, doc="A `number`."),), rows))
    assert len(view.rows) == MOST_ROWS
    assert view.more == f"This page shows only the first {MOST_ROWS} rows."
    assert view.docs == [("n", "A number.")]
    sample = Table("few", "few", (Column("n"),), [{"n": n} for n in range(MOST_ROWS)])
    assert table_view(sample).more == ""


def test_line_chart_has_text_and_table() -> None:
    view = chart_view(LINES)
    assert view.said == (
        "Rows: 9 after batch 6, 7 after batch 4; least 7, most 9. Heap: not known."
    )
    assert [attributes(row, "text") for row in view.table.rows] == [
        ["4", "1970-01-01 00:00:01", "7", "-"],
        ["5", "-", "-", "-"],
        ["6", "1970-01-01 00:00:03", "9", "-"],
    ]


def test_line_chart_table_keeps_newest_batches() -> None:
    batches = list(range(MOST_ROWS + 3))
    chart = LineChart("Rows", Unit.COUNT, batches, batches, [Series("rows", batches)])
    view = chart_view(chart)
    assert [row[0].number for row in view.table.rows] == batches[3:]
    assert view.table.more == f"This page shows only the newest {MOST_ROWS} batches."


def test_bar_widths_are_relative_to_longest_bar() -> None:
    old, new = bars_view(BARS).bars
    assert attributes(old.rects, "part", "x", "width") == [(0, 0, 75), (1, 75, 25)]
    assert attributes(new.rects, "part", "x", "width") == [(1, 0, 2.5)]
    assert attributes(old.cells, "number") == [30, 10]


def test_small_bars_are_visible_and_bars_fit_width() -> None:
    parts = BarChart("a", Unit.BYTES, "b", ("c", "d"), [Bar("x", (10**9, 1)), Bar("y", (1, 0))])
    long, short = bars_view(parts).bars
    assert sum(attributes(long.rects, "width")) <= 100
    assert 0 < short.rects[0].width < 1
    nothing = bars_view(BarChart("a", Unit.BYTES, "b", ("c",), [Bar("x", (0,))]))
    assert nothing.bars[0].rects == []


def test_consecutive_line_charts_share_one_view() -> None:
    kinds = attributes(views_of([LINES, LINES, BARS, EMPTY, Text(["a"])]), "kind")
    assert kinds == ["lines", "bars", "table", "text"]


def test_line_chart_axis_can_be_other_than_batches() -> None:
    audits = range(1, MOST_ROWS + 2)
    chart = LineChart(
        *("Rows", Unit.COUNT, audits, audits, [Series("rows", audits)]),
        over=("audit", "audits"),
    )
    view = chart_view(chart)
    assert view.table.heads[0].text == "audit"
    assert view.table.more == f"This page shows only the newest {MOST_ROWS} audits."
    assert "1 after audit 1" in view.said
    (small,) = growth_of([chart])
    assert small.text == f"1 after audit 1, {len(audits)} after audit {len(audits)}"
