"""What the templates of a page fill in: every value in words, with the bare number behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from inspector.light_dataclasses import dataclass
from inspector.quantities import bytes_text, capitalise, duration_text
from inspector.render.cells import NUMBERS, UNKNOWN, about, about_time, cell_text, summary_text
from inspector.render.page.page_model import MOST_ROWS, BarChart, Block, LineChart, Scale, Text
from inspector.render.tabular import Column, Table, Unit
from inspector.time_text import time_ms_text

_LEAST_BAR = 0.4  # percent that a bar of anything but zero is drawn wide, so that one sees it


View = SimpleNamespace
"""What a template fills in, under the names that it has for it; ``kind`` says which of them."""


def views_of(blocks: Iterable[Block]) -> Iterator[View]:
    """What a template needs of the blocks of a section; lines that follow each other are one."""
    for are_lines, group in groupby(blocks, lambda block: isinstance(block, LineChart)):
        if are_lines:
            # Side by side, where there is room.
            yield View(kind="lines", charts=list(map(_VIEWS[LineChart], group)))
        else:
            yield from (_VIEWS[type(block)](block) for block in group)


def table_view(table: Table) -> View:
    """A table with the columns that are for people, and as many rows as a page has."""
    columns = [column for column in table.columns if not column.wide]
    rows = list(islice(iter(table.rows), MOST_ROWS + 1))
    more = f"This page shows only the first {MOST_ROWS:,} rows." if len(rows) > MOST_ROWS else ""
    return _table(
        capitalise(table.title),
        [_head(column.head, number=column.unit in NUMBERS) for column in columns],
        [[cell(column, row.get(column.name)) for column in columns] for row in rows[:MOST_ROWS]],
        more,
        empty=capitalise(table.empty) + ".",
        docs=[(column.head, column.doc.replace("`", "")) for column in columns if column.doc],
    )


def _table(
    title: str,
    heads: Sequence[View],
    rows: Sequence[Sequence[Cell]],
    more: str,
    *,
    empty: str = "There are no rows.",
    docs: Sequence[tuple[str, str]] = (),
) -> View:
    """A table; ``more`` is said of rows that are left out, ``docs`` of the columns."""
    return View(
        kind="table", title=title, heads=heads, rows=rows, more=more, empty=empty, docs=docs
    )


def _head(text: str, *, number: bool = True) -> View:
    """The head of a column: its words, and whether numbers stand below it."""
    return View(text=text, number=number)


def chart_view(chart: LineChart) -> View:
    """Lines over batches: a table of the newest, from which the script draws them."""
    newest = slice(-MOST_ROWS, None)
    columns = [Column("time_ms", Unit.TIME_MS), *(Column(series.name) for series in chart.series)]
    lines = zip(*(series.values[newest] for series in chart.series), strict=True)
    batches = zip(chart.batches[newest], chart.times_ms[newest], lines, strict=True)
    rows = []
    for batch, time, line in batches:
        pairs = zip(chart.series, line, strict=True)
        numbers = [number_cell(chart.scale, value, exact=of.exact) for of, value in pairs]
        rows.append([Cell(str(batch), batch), cell(columns[0], time), *numbers])
    one, several = chart.over
    heads = [_head(one), _head("time", number=False)]
    heads += [_head(series.name) for series in chart.series]
    left_out = len(chart.batches) > MOST_ROWS
    more = f"This page shows only the newest {MOST_ROWS:,} {several}." if left_out else ""
    table = _table(chart.title, heads, rows, more, empty="No version can be restored.")
    said, scale = _description(chart), chart.scale.value
    return View(title=chart.title, about=chart.about, said=said, scale=scale, table=table)


def _description(chart: LineChart) -> str:
    """What the chart shows, for those who do not see it."""
    sentences = []
    for series in chart.series:
        pairs = zip(chart.batches, series.values, strict=True)
        points = [(batch, value) for batch, value in pairs if value is not None]
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


def bars_view(chart: BarChart) -> View:
    """Bars, drawn in percent of the longest: a table that has a drawing in it."""
    longest = max((sum(bar.parts) for bar in chart.bars), default=0)
    bars = [
        View(
            label=bar.label,
            rects=list(_rects(bar.parts, longest)),
            cells=[number_cell(chart.scale, part, exact=bar.exact) for part in bar.parts],
            note=capitalise(bar.note),
            exact=bar.exact,
        )
        for bar in chart.bars
    ]
    return View(kind="bars", **vars(chart) | {"bars": bars})


def _rects(parts: Sequence[int], longest: int) -> Iterator[View]:
    x = 0.0
    for part, amount in enumerate(parts):
        width = max(100 * amount / longest, _LEAST_BAR) if amount > 0 else 0.0
        width = min(width, 100 - x)
        if width > 0:
            yield View(part=part, x=round(x, 2), width=round(width, 2))
        x += width


_VIEWS: Mapping[type, Callable[[Any], View]] = {
    Table: table_view,
    LineChart: chart_view,
    BarChart: bars_view,
    Text: lambda text: View(kind="text", **vars(text)),
}

WIDTH, HEIGHT = 300, 60
MOST_POINTS = 120  # points of a line; of more batches the newest of each few is drawn


def growth_of(charts: Sequence[LineChart]) -> Iterator[View]:
    """The charts in small, if their first line goes through two batches at least: it alone.

    What is drawn, its numbers in words, and the drawing, which has numbers and no other text.
    """
    for chart in charts:
        values = chart.series[0].values
        points = [(b, v) for b, v in zip(chart.batches, values, strict=True) if v is not None]
        if len(points) > 1:
            (first, begin), (last, end) = points[0], points[-1]
            start, now = (number_text(chart.scale, value) for value in (begin, end))
            text = f"{start} after {chart.over[0]} {first}, {now} after {chart.over[0]} {last}"
            yield View(title=chart.title, text=text, svg=Markup(_svg(chart.batches, values)))


def _svg(batches: Sequence[int], values: Sequence[int | None]) -> str:
    step = -(-len(values) // MOST_POINTS)
    sampled = list(zip(batches, values, strict=True))[::-step][::-1]
    first, last = sampled[0][0], sampled[-1][0]
    across = WIDTH / max(last - first, 1)
    up = (HEIGHT - 4) / (max(value for _, value in sampled if value is not None) or 1)
    lines = []
    for is_known, points in groupby(sampled, lambda point: point[1] is not None):
        if is_known:
            line = (
                f"{(batch - first) * across:.0f},{HEIGHT - 2 - (value or 0) * up:.1f}"
                for batch, value in points
            )
            lines.append(
                f'<polyline vector-effect="non-scaling-stroke" points="{" ".join(line)}"/>'
            )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" fill="none" '
        'stroke="currentColor" stroke-width="2" preserveAspectRatio="none" aria-hidden="true" '
        f'focusable="false"><path d="M0 {HEIGHT - 1}H{WIDTH}" stroke-width="1" opacity=".35"/>'
        f"{''.join(lines)}</svg>"
    )


@dataclass(frozen=True)
class Cell:
    """What one cell shows."""

    text: str  # for people; it may hold anything that a key or a path can
    number: int | float | None = None  # as machine formats have it; None if it is none
    code: bool = False  # it is a key, a value or a schema


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


def summary_cell(name: str, value: Any, summary: Mapping[str, Any]) -> Cell:
    """A value of a report's summary."""
    if name.endswith("_ms") and value is not None:
        return Cell(about_time(name) + time_text(value), value)
    if name.endswith("_bytes") and value is not None:
        return Cell(("~" if "estimate" in name else "") + bytes_text(value), value)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Cell(summary_text(name, value, summary), value if number else None)
