"""Content of a page as plain values: sections of text, tables and charts.

A page is a report as one HTML file that opens offline. The analyses make its blocks, the module
``document`` writes them; script, style and uPlot, which draws lines, are in ``assets`` and become
part of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from inspector.light_dataclasses import dataclass
from inspector.render.tabular import Table, Unit

MOST_ROWS = 400  # rows of a table in a page, which says how many it leaves out, to stay small


@dataclass(frozen=True)
class Series:
    """One line of a chart: a value for each batch, None where it is not known."""

    name: str  # name of the line
    values: Sequence[int | None]  # one value for each batch; None if unknown
    exact: bool = True  # False for estimates


@dataclass(frozen=True)
class LineChart:
    """Numbers over batches, or over something else that has numbers and times."""

    title: str  # heading
    scale: Unit  # unit of its numbers
    batches: Sequence[int]  # batch ids, oldest first
    times_ms: Sequence[int | None]  # clock of each batch, epoch ms; None if unknown
    series: Sequence[Series]  # lines
    about: str = ""  # sentences below the chart
    # what the horizontal axis counts, in the singular and the plural
    over: tuple[str, str] = ("batch", "batches")


@dataclass(frozen=True)
class Bar:
    """One bar of a chart, with a number for each part."""

    label: str  # name of the bar
    parts: Sequence[int]  # numbers, in the order of the chart's parts
    note: str = ""  # meaning of the bar
    exact: bool = True  # False for estimates


@dataclass(frozen=True)
class BarChart:
    """Bars one below the other, each with its number; a bar may have several parts."""

    title: str  # heading
    scale: Unit  # unit of its numbers
    label: str  # what a bar stands for; heading of that column
    parts: Sequence[str]  # the names of the parts; one name if bars have but one
    bars: Sequence[Bar]  # bars, from top to bottom
    about: str = ""  # sentences below the chart


@dataclass(frozen=True)
class Text:
    """Paragraphs of a page, or a list if ``points`` is True."""

    lines: Sequence[str]  # paragraphs or points
    points: bool = False  # True for a list


class Picture:
    """Base of the blocks that are drawn as SVG without a script, in :mod:`.pictures`."""


@dataclass(frozen=True)
class LinkedTable:
    """A table with cells that lead to other pages."""

    table: Table  # its rows are a list
    # column name -> URL for each row; "" for a cell without a link
    links: Mapping[str, Sequence[str]]


# what a section consists of
Block = Table | LinkedTable | LineChart | BarChart | Picture | Text


@dataclass(frozen=True)
class Section:
    """A part of a page, by its name in links."""

    name: str  # name in links
    title: str  # heading
    blocks: Sequence[Block]  # content, from top to bottom
    command: str = ""  # command line that shows the same; "" if none is named
