"""Pictures: areas are proportional to amounts, sizes are bounded and hostile text is escaped."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.render.page import Section
from inspector.render.page.document import render_page, views_of
from inspector.render.page.pictures import (
    MOST_BARS,
    MOST_CELLS,
    MOST_GROUPS,
    MOST_MARKS,
    MOST_PARTS,
    HeatCell,
    HeatStrip,
    Mark,
    MarkedLine,
    Rect,
    Tile,
    TimeHistogram,
    Treemap,
    largest_tiles,
    picture_view,
    squarify,
)
from inspector.render.tabular import Unit
from tests.attributes import attributes
from tests.render.samples import report
from tests.reports import cell_values

ROOM = Rect(0, 0, 1000, 320)
HOSTILE = "<script>window.ran=1</script>\x1b[31m\u202eevil\"'>"


def treemap(*tiles: Tile) -> Treemap:
    return Treemap("Bytes", Unit.BYTES, "store", "field", tiles)


def line(values: list[int | None], *marks: Mark) -> MarkedLine:
    batches = list(range(10, 10 + len(values)))
    times = list(range(10_000, 1000 * (10 + len(values)), 1000))
    return MarkedLine("Growth", Unit.BYTES, "row bytes", batches, times, values, marks)


def histogram(*bars: tuple[int, int], now: int | None = 0) -> TimeHistogram:
    others = (("expired", 3), ("never", 0))
    return TimeHistogram("Expiry", Unit.COUNT, "rows", 1000, bars, "watermark", now, others)


# --- treemap ---------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=40))
def test_treemap_areas_are_proportional_to_amounts(amounts: list[int]) -> None:
    amounts.sort(reverse=True)
    rects = squarify(amounts, ROOM)
    assert len(rects) == len(amounts)
    for amount, rect in zip(amounts, rects, strict=True):
        assert rect.area == pytest.approx(ROOM.area * amount / sum(amounts), rel=1e-6, abs=1e-3)
        assert -1e-6 <= rect.x <= ROOM.width - rect.width + 1e-6
        assert -1e-6 <= rect.y <= ROOM.height - rect.height + 1e-6
    assert sum(attributes(rects, "area")) == pytest.approx(ROOM.area)


@given(st.lists(st.integers(1, (1 << 63) - 1), min_size=1, max_size=9))
def test_treemap_accepts_any_amounts(amounts: list[int]) -> None:
    rects = squarify(sorted(amounts, reverse=True), ROOM)
    assert min(attributes(rects, "width")) >= 0
    assert min(attributes(rects, "height")) >= 0


def test_treemap_rectangles_do_not_overlap() -> None:
    rects = squarify([50, 30, 9, 6, 3, 1, 1], ROOM)
    for index, rect in enumerate(rects):
        for second in rects[index + 1 :]:
            across = min(rect.x + rect.width, second.x + second.width) - max(rect.x, second.x)
            down = min(rect.y + rect.height, second.y + second.height) - max(rect.y, second.y)
            assert across <= 1e-6 or down <= 1e-6


def test_smallest_tiles_are_merged_and_sum_is_kept() -> None:
    tiles = [Tile(f"store {number}", number) for number in range(1, 40)]
    listed = largest_tiles(tiles, 8)
    assert attributes(listed[:7], "amount") == [39, 38, 37, 36, 35, 34, 33]
    assert listed[7].label == "32 others"
    assert sum(attributes(listed, "amount")) == sum(range(1, 40))


def test_treemap_number_of_rectangles_is_bounded() -> None:
    parts = [Tile(f"field {number}", 5) for number in range(100)]
    view = picture_view(treemap(*(Tile(f"store {n}", 500, parts) for n in range(100))))
    assert len(view.rects) <= MOST_GROUPS * MOST_PARTS
    amounts = cell_values(view.numbers.rows, "amount")
    assert sum(amounts) == 50_000
    assert len(amounts) == len(view.rects)


def test_treemap_has_text_alternative() -> None:
    view = picture_view(treemap(Tile("agg", 300, [Tile("key.a", 100), Tile("value.b", 200)])))
    assert view.description == "300 B in 2 rectangles. Largest: agg, value.b: 200 B, 67 % of all."
    assert attributes(view.rects, "name") == ["value.b", "key.a"]
    assert view.legend == []
    assert not view.links


def test_treemap_without_bytes_has_note() -> None:
    view = picture_view(treemap(Tile("agg", 0)))
    assert (view.rects, view.description) == ([], "There is nothing to draw.")


def test_treemap_estimates_are_marked() -> None:
    estimate = Treemap("Heap", Unit.BYTES, "store", "part", [Tile("agg", 2048)], exact=False)
    view = picture_view(estimate)
    assert view.description == "~2.0 KiB in 1 rectangle. Largest: agg: ~2.0 KiB, 100 % of all."


# --- strip -----------------------------------------------------------------------------------


def strip(*amounts: int | None) -> HeatStrip:
    cells = [HeatCell(f"partition {n}", [amount]) for n, amount in enumerate(amounts)]
    return HeatStrip("Partitions", "partition", [("rows", Unit.COUNT)], cells)


def test_heat_strip_shades_are_relative_to_largest_cell() -> None:
    view = picture_view(strip(0, 1, 50, 100, None))
    assert attributes(view.lines[0].cells, "shade") == [0, 1, 3, 5, -1]
    assert view.description == "Rows: 151 in all, most in partition 3: 100."
    assert view.lines[0].cells[4].tip == "partition 4: not known rows"
    assert attributes(picture_view(strip(0, 1)).lines[0].cells, "shade") == [0, 5]


def test_heat_strip_merges_partitions_and_keeps_sum() -> None:
    view = picture_view(strip(*range(1001)))
    (row,) = view.lines
    assert len(row.cells) <= MOST_CELLS
    assert view.remark == "Each cell is the sum of up to 6 partitions."
    rows = list(view.numbers.rows)
    assert rows[0] == {"cell": "partition 0 to 5", "rows": 15}
    assert sum(cell_values(rows, "rows")) == sum(range(1001))


def test_heat_strip_sum_with_unknown_number_is_unknown() -> None:
    view = picture_view(strip(None, *[1] * 500))
    rows = list(view.numbers.rows)
    assert rows[0]["rows"] is None
    assert rows[1]["rows"] == 3


# --- histogram -------------------------------------------------------------------------------


def test_histogram_marks_the_clock() -> None:
    view = picture_view(histogram((5000, 2), (7000, 6), now=4500))
    assert attributes(view.bars, "height") == pytest.approx([140 / 3, 140], abs=0.01)
    assert view.clock == 12.5  # half of the first of four bars
    assert view.description == (
        "Watermark: 1970-01-01 00:00:04.500. Expired: 3 rows. "
        "Later: 8 rows; most at once: 6, 1970-01-01 00:00:07."
    )
    assert cell_values(view.numbers.rows, "from")[0] == "expired"


def test_histogram_clock_outside_range_is_at_the_edge() -> None:
    assert picture_view(histogram((900_000, 2), now=5)).clock == 0
    assert picture_view(histogram((5000, 2), now=900_000)).clock == 100
    assert picture_view(histogram((5000, 2), now=None)).clock is None


@given(
    st.lists(st.tuples(st.integers(-(1 << 63), (1 << 63) - 1), st.integers(1, 99)), max_size=200),
    st.none() | st.integers(-(1 << 63), (1 << 63) - 1),
)
def test_histogram_bars_are_bounded_and_contain_all_rows(
    bars: list[tuple[int, int]], now: int | None
) -> None:
    view = picture_view(histogram(*bars, now=now))
    assert len(view.bars) <= MOST_BARS
    listed = sum(cell_values(view.numbers.rows, "amount")) - 3
    assert listed == sum(amount for _, amount in bars)
    assert all(bar.x >= -0.01 and bar.x + bar.width <= 100.01 for bar in view.bars)
    assert view.clock is None or 0 <= view.clock <= 100


def test_outlier_does_not_stretch_histogram() -> None:
    near = [(number * 1000, 10) for number in range(20)]
    view = picture_view(histogram(*near, (10**15, 1), (-(10**15), 1)))
    tips = attributes(view.bars, "tip")
    assert len(tips) == 22
    assert tips[0].startswith("before 1970-01-01 00:00:00: 1 rows")
    assert tips[-1].endswith(": 1 rows")


def test_histogram_shows_the_times_with_most_rows() -> None:
    fewer = zip(range(0, 10_000, 1000), [9, 1] * 5, strict=True)
    more = zip(range(200_000, 210_000, 1000), [6] * 10, strict=True)
    tips = attributes(picture_view(histogram(*fewer, *more)).bars, "tip")
    assert len(tips) == 11
    assert tips[:2] == [
        "before 1970-01-01 00:03:20: 50 rows",
        "1970-01-01 00:03:20: 6 rows",
    ]


def test_histogram_without_expiry_has_no_bars() -> None:
    view = picture_view(histogram())
    assert view.bars == []
    assert view.description.endswith("Nothing expires later.")


# --- line ------------------------------------------------------------------------------------


def test_line_chart_has_panels_over_time_and_batches() -> None:
    view = picture_view(line([100, None, 300], Mark(11, "SS201", "warning")))
    assert attributes(view.panels, "name") == ["over the time of batches", "over batches"]
    assert view.description == (
        "Row bytes: 100 B after batch 10, 300 B after batch 12. Findings on the line: 1."
    )
    assert view.panels[0].points == "0.0,97.33 1000.0,20.0"
    (mark,) = view.panels[0].marks
    assert (mark.x, mark.number) == (100, 1)  # batch 11 is not known: the next one is marked
    assert cell_values(view.numbers.rows, "mark") == [None, "1"]


def test_line_chart_without_clocks_has_one_panel() -> None:
    picture = MarkedLine("Growth", Unit.BYTES, "row bytes", [1, 2], [None, None], [5, 6])
    assert attributes(picture_view(picture).panels, "name") == ["over batches"]


def test_empty_line_chart_has_note() -> None:
    view = picture_view(line([None, None], Mark(3, "SS201", "error")))
    assert (view.panels, view.marks, view.description) == ([], [], "No version can be restored.")


def test_line_chart_marks_and_points_are_bounded() -> None:
    marks = [Mark(number, "finding", "warning") for number in range(40)]
    view = picture_view(line(list(range(5000)), *marks, Mark(50, "grave", "error")))
    assert len(view.marks) == MOST_MARKS
    assert "grave" in attributes(view.marks, "label")
    assert view.remark == "29 findings"
    assert all(len(panel.points.split()) <= 240 for panel in view.panels)


# --- page ------------------------------------------------------------------------------------


def test_hostile_names_are_escaped_in_every_picture() -> None:
    blocks = [
        treemap(Tile(HOSTILE, 9, [Tile(HOSTILE, 9)]), Tile("b", 3, link=f"/x?{HOSTILE}")),
        HeatStrip(HOSTILE, "partition", [("rows", Unit.COUNT)], [HeatCell(HOSTILE, [1])]),
        line([1, 2], Mark(10, HOSTILE, "error")),
        TimeHistogram(HOSTILE, Unit.COUNT, "rows", 1000, [(0, 1)], HOSTILE, 0),
    ]
    sections = (Section("pictures", "In pictures", blocks),)
    text = "".join(render_page(report(page=sections)))
    assert "<script>window" not in text
    assert "\x1b" not in text
    assert not re.search(r"&#(27|8238);", text)
    assert text.count("window.ran=1") >= 8


def test_pictures_have_name_text_and_table() -> None:
    views = list(views_of([treemap(Tile("a", 1)), strip(1), histogram((0, 1)), line([1, 2])]))
    assert len(views) == 4
    assert "" not in attributes(views, "description")
    assert [] not in attributes(views, "table.rows")


def test_treemap_with_links_has_link_per_rectangle() -> None:
    view = picture_view(treemap(Tile("a", 5, link="/0/op/1"), Tile("b", 3)))
    assert view.links
    assert attributes(view.rects, "link") == ["/0/op/1", ""]
