"""What the templates of a page fill in: every value in words, with the bare number behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any

from inspector.light_dataclasses import dataclass, field
from inspector.quantities import bytes_text, capitalise, duration_text
from inspector.render.cells import NUMBERS, UNKNOWN, about, about_time, cell_text, summary_text
from inspector.render.page.page_model import (
    MOST_LEAVES,
    MOST_ROWS,
    BarChart,
    Block,
    LineChart,
    Scale,
    Text,
    Treemap,
)
from inspector.render.tabular import Column, Table, Unit
from inspector.sums import sum_by_key
from inspector.time_text import time_ms_text

_LEAST_BAR = 0.4
"""Percent that a bar of anything but zero is drawn wide, so that one sees it."""


@dataclass(frozen=True)
class Head:
    """The head of a column: its words, and whether numbers stand below it."""

    text: str
    number: bool = False


@dataclass(frozen=True)
class TableView:
    """A table: its rows are as many as a page has.

    Attributes:
        more: what is said of rows that are left out.
        docs: head and meaning of the columns that have one.
    """

    title: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    empty: str = ""
    more: str = ""
    docs: Sequence[tuple[str, str]] = ()
    kind: str = "table"


@dataclass(frozen=True)
class ChartView:
    """Lines over batches: the numbers are a table, from which the script draws them."""

    title: str
    about: str
    said: str
    scale: str
    table: TableView


@dataclass(frozen=True)
class ChartsView:
    """Lines side by side, where there is room."""

    charts: Sequence[ChartView]
    kind: str = "lines"


@dataclass(frozen=True)
class Rect:
    """A part of a bar, in percent of the widest bar."""

    part: int
    x: float
    width: float


@dataclass(frozen=True)
class BarView:
    """A bar with its numbers."""

    label: str
    rects: Sequence[Rect]
    cells: Sequence[Cell]
    note: str
    exact: bool


@dataclass(frozen=True)
class BarsView:
    """Bars: a table that has a drawing in it."""

    title: str
    about: str
    label: str
    parts: Sequence[str]
    bars: Sequence[BarView]
    kind: str = "bars"


@dataclass(frozen=True)
class TreeView:
    """A treemap: each choice of levels is a table, from which the script draws it."""

    title: str
    about: str
    said: str
    views: Sequence[TreeChoice]
    kind: str = "tree"


@dataclass(frozen=True)
class TreeChoice:
    """One choice of levels."""

    name: str
    table: TableView


@dataclass(frozen=True)
class TextView:
    """Paragraphs or points."""

    lines: Sequence[str]
    points: bool
    kind: str = field(default="text", init=False)


View = TableView | ChartsView | BarsView | TreeView | TextView


def views_of(blocks: Iterable[Block]) -> Iterator[View]:
    """What a template needs of the blocks of a section; lines that follow each other are one."""
    for are_lines, group in groupby(blocks, lambda block: isinstance(block, LineChart)):
        if are_lines:
            yield ChartsView([chart_view(block) for block in group if isinstance(block, LineChart)])
        else:
            yield from (_view_of(block) for block in group if not isinstance(block, LineChart))


def _view_of(block: Table | BarChart | Treemap | Text) -> View:
    if isinstance(block, Table):
        return table_view(block)
    if isinstance(block, BarChart):
        return bars_view(block)
    if isinstance(block, Treemap):
        return tree_view(block)
    return TextView(block.lines, block.points)


def table_view(table: Table) -> TableView:
    """A table with the columns that are for people."""
    columns = [column for column in table.columns if not column.wide]
    rows = list(islice(iter(table.rows), MOST_ROWS + 1))
    more = f"This page shows only the first {MOST_ROWS:,} rows." if len(rows) > MOST_ROWS else ""
    return TableView(
        capitalise(table.title),
        [Head(column.head, column.unit in NUMBERS) for column in columns],
        [[cell(column, row.get(column.name)) for column in columns] for row in rows[:MOST_ROWS]],
        capitalise(table.empty) + ".",
        more,
        [(column.head, column.doc.replace("`", "")) for column in columns if column.doc],
    )


# --- lines -----------------------------------------------------------------------------------


def chart_view(chart: LineChart) -> ChartView:
    """Lines over batches, the newest of which a page has at most :data:`MOST_ROWS`."""
    newest = slice(-MOST_ROWS, None)
    columns = [Column("time_ms", Unit.TIME_MS), *(Column(series.name) for series in chart.series)]
    lines = zip(*(series.values[newest] for series in chart.series), strict=True)
    rows = [
        [
            Cell(str(batch), batch),
            cell(columns[0], time),
            *(
                number_cell(chart.scale, value, exact=series.exact)
                for series, value in zip(chart.series, line, strict=True)
            ),
        ]
        for batch, time, line in zip(
            chart.batches[newest], chart.times_ms[newest], lines, strict=True
        )
    ]
    one, several = chart.over
    heads = [Head(one, number=True), Head("time")]
    heads += [Head(series.name, number=True) for series in chart.series]
    more = ""
    if len(chart.batches) > MOST_ROWS:
        more = f"This page shows only the newest {MOST_ROWS:,} {several}."
    table = TableView(chart.title, heads, rows, "No version can be restored.", more)
    return ChartView(chart.title, chart.about, _description(chart), chart.scale.value, table)


def _description(chart: LineChart) -> str:
    """What the chart shows, for those who do not see it."""
    sentences = []
    for series in chart.series:
        points = [
            (batch, value)
            for batch, value in zip(chart.batches, series.values, strict=True)
            if value is not None
        ]
        if not points:
            sentences.append(f"{capitalise(series.name)}: not known.")
            continue
        about = "" if series.exact else "about "
        (first, begin), (last, end) = points[0], points[-1]
        least, most = min(value for _, value in points), max(value for _, value in points)
        now = f"{about}{number_text(chart.scale, end)}"
        text = f"{capitalise(series.name)}: {now} after {chart.over[0]} {last}"
        if len(points) > 1:
            text += f", {number_text(chart.scale, begin)} after {chart.over[0]} {first}"
            text += f"; least {number_text(chart.scale, least)}"
            text += f", most {number_text(chart.scale, most)}"
        sentences.append(f"{text}.")
    return " ".join(sentences)


# --- bars ------------------------------------------------------------------------------------


def bars_view(chart: BarChart) -> BarsView:
    """Bars, drawn in percent of the longest."""
    longest = max((sum(bar.parts) for bar in chart.bars), default=0)
    bars = [
        BarView(
            bar.label,
            list(_rects(bar.parts, longest)),
            [number_cell(chart.scale, part, exact=bar.exact) for part in bar.parts],
            capitalise(bar.note),
            bar.exact,
        )
        for bar in chart.bars
    ]
    return BarsView(chart.title, chart.about, chart.label, chart.parts, bars)


def _rects(parts: Sequence[int], longest: int) -> Iterator[Rect]:
    x = 0.0
    for part, amount in enumerate(parts):
        width = max(100 * amount / longest, _LEAST_BAR) if amount > 0 else 0.0
        width = min(width, 100 - x)
        if width > 0:
            yield Rect(part, round(x, 2), round(width, 2))
        x += width


# --- rectangles ------------------------------------------------------------------------------


def tree_view(tree: Treemap) -> TreeView:
    """A treemap: for each choice of levels the places with their bytes, the largest first."""
    choices = [TreeChoice(name, _choice(tree, name, levels)) for name, levels in tree.views]
    total = sum(leaf.bytes for leaf in tree.leaves)
    largest = []
    for choice in choices[:1]:
        for row in choice.table.rows[:3]:
            words = ", ".join(word_cell.text for word_cell in row[:-1])
            share = f"{100 * (row[-1].number or 0) / total:.0f} %"
            largest.append(f"{words}: {row[-1].text} ({share})")
    said = f"The largest: {'; '.join(largest)}." if largest else "There are no rows."
    return TreeView(tree.title, tree.about, said, choices)


def _choice(tree: Treemap, name: str, levels: Sequence[int]) -> TableView:
    sums = sum_by_key(
        (tuple(leaf.places[level] for level in levels), leaf.bytes) for leaf in tree.leaves
    )
    rows = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    kept, small = dict(rows[:MOST_LEAVES]), rows[MOST_LEAVES:]
    for path, amount in small:
        # Of many partitions the fields are still told.
        last = path[2:] or ("others",)
        sum_path = (path[0], "others", *last)[: len(path)]
        kept[sum_path] = kept.get(sum_path, 0) + amount
    more = ""
    if small:
        more = f"The {len(small):,} smallest are summed up as “others”, each within its operator."
    heads = [Head(tree.levels[level]) for level in levels]
    return TableView(
        f"Bytes by {name}",
        [*heads, Head("bytes", number=True)],
        [
            [*(Cell(label) for label in path), number_cell(Scale.BYTES, amount)]
            for path, amount in kept.items()
        ],
        "There are no rows.",
        more,
    )


# --- words -----------------------------------------------------------------------------------


# --- Lines as plain SVG: no script draws them, so that a notebook, paper and a phone show ---------

WIDTH, HEIGHT = 300, 60
MOST_POINTS = 120
"""Points of a line; of more batches the newest of each few is drawn."""


@dataclass(frozen=True)
class Growth:
    """A chart in small: its first line alone.

    Attributes:
        title: what is drawn. text: its numbers, in words.
        svg: the drawing; it holds numbers and no text of a checkpoint.
    """

    title: str
    text: str
    svg: str


def growth_of(charts: Sequence[LineChart]) -> Iterator[Growth]:
    """The charts that have a line through two batches at least."""
    for chart in charts:
        values = chart.series[0].values
        points = [(b, v) for b, v in zip(chart.batches, values, strict=True) if v is not None]
        if len(points) > 1:
            (first, begin), (last, end) = points[0], points[-1]
            start, now = (number_text(chart.scale, value) for value in (begin, end))
            text = f"{start} after {chart.over[0]} {first}, {now} after {chart.over[0]} {last}"
            yield Growth(chart.title, text, _svg(chart.batches, values))


def _svg(batches: Sequence[int], values: Sequence[int | None]) -> str:
    step = -(-len(values) // MOST_POINTS)
    sampled = list(zip(batches, values, strict=True))[::-step][::-1]
    first, last = sampled[0][0], sampled[-1][0]
    across = WIDTH / max(last - first, 1)
    up = (HEIGHT - 4) / (max(value for _, value in sampled if value is not None) or 1)
    lines = []
    for known, points in groupby(sampled, lambda point: point[1] is not None):
        if known:
            line = [
                f"{(batch - first) * across:.0f},{HEIGHT - 2 - (value or 0) * up:.1f}"
                for batch, value in points
            ]
            lines.append(
                f'<polyline vector-effect="non-scaling-stroke" points="{" ".join(line)}"/>'
            )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" fill="none" '
        'stroke="currentColor" stroke-width="2" preserveAspectRatio="none" aria-hidden="true" '
        f'focusable="false"><path d="M0 {HEIGHT - 1}H{WIDTH}" stroke-width="1" opacity=".35"/>'
        f"{''.join(lines)}</svg>"
    )


# --- Values as a page shows them, and the bare numbers behind them --------------------------------


@dataclass(frozen=True)
class Cell:
    """What one cell shows.

    Attributes:
        text: for people; it may hold anything that a key or a path can.
        number: the bare number, as machine formats have it; None if it is none.
        code: it is a key, a value or a schema.
    """

    text: str
    number: int | float | None = None
    code: bool = False


def cell(column: Column, value: Any) -> Cell:
    """A value under its column."""
    if column.unit is Unit.TIME_MS and value is not None:
        return Cell(about(column, value) + time_text(value), value)
    text = cell_text(column, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return Cell(text, value)
    code = isinstance(value, (dict, list)) or column.unit is Unit.VALUE
    return Cell(text, code=value is not None and (code or column.name.endswith("_schema")))


def number_cell(scale: Scale, value: float | None, *, exact: bool = True) -> Cell:
    """A number of a chart, or of a table."""
    if value is None:
        return Cell(UNKNOWN)
    return Cell(("" if exact else "~") + number_text(scale, value), value)


def number_text(scale: Scale, value: float) -> str:
    """A number with its unit."""
    if scale is Scale.BYTES:
        return bytes_text(round(value))
    return duration_text(round(value)) if scale is Scale.DURATION_MS else f"{value:,}"


def time_text(millis: int) -> str:
    """A time in UTC, to the second, or to the millisecond where it has some."""
    return time_ms_text(millis).replace("T", " ").removesuffix("Z").removesuffix(".000")


def summary_cell(name: str, value: Any) -> Cell:
    """A value of a report's summary."""
    if name.endswith("_ms") and value is not None:
        return Cell(about_time(name) + time_text(value), value)
    if name.endswith("_bytes") and value is not None:
        return Cell(("~" if "estimate" in name else "") + bytes_text(value), value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(summary_text(name, value), value if number else None)
