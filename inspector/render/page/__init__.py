"""Content of a page as plain values: sections of text, tables and charts.

A page is a report as one HTML file that opens offline. The analyses make its blocks, the module
``document`` writes them; script, style and uPlot, which draws lines, are in ``assets`` and become
part of the file.
"""

from __future__ import annotations

from collections.abc import Sequence

from inspector.light_dataclasses import dataclass
from inspector.render.tabular import Table, Unit

MOST_ROWS = 400  # rows of a table in a page, which says how many it leaves out, to stay small


@dataclass(frozen=True)
class Series:
    """One line of a chart: a value for each batch, None where it is not known."""

    name: str
    values: Sequence[int | None]
    exact: bool = True


@dataclass(frozen=True)
class LineChart:
    """Numbers over batches, or over something else that has numbers and times."""

    title: str
    scale: Unit  # what its numbers count
    batches: Sequence[int]  # batch ids, oldest first
    times_ms: Sequence[int | None]  # their clocks, where they are known
    series: Sequence[Series]
    about: str = ""
    over: tuple[str, str] = ("batch", "batches")  # what the line goes over, one and several of them


@dataclass(frozen=True)
class Bar:
    """One bar, with what it means, and a number for each part of the chart."""

    label: str
    parts: Sequence[int]
    note: str = ""
    exact: bool = True


@dataclass(frozen=True)
class BarChart:
    """Bars one below the other, each with its number; a bar may have several parts."""

    title: str
    scale: Unit  # what its numbers count
    label: str  # what the bars are by, as the head of their column
    parts: Sequence[str]  # the names of the parts; one name if bars have but one
    bars: Sequence[Bar]
    about: str = ""


@dataclass(frozen=True)
class Text:
    """Paragraphs, or points of a list."""

    lines: Sequence[str]
    points: bool = False


Block = Table | LineChart | BarChart | Text  # what a section consists of


@dataclass(frozen=True)
class Section:
    """A part of a page, by its name in links."""

    name: str
    title: str
    blocks: Sequence[Block]
