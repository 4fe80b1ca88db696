"""What a page shows, as plain values: sections of text, tables and charts."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from inspector.light_dataclasses import dataclass
from inspector.render.tabular import Table

MOST_ROWS = 400
"""Rows of one table in a page; a page says how many it leaves out, so that it stays small."""

MOST_LEAVES = 300
"""Rectangles of a treemap, the largest; the others are one rectangle for each of their groups."""


class Scale(enum.Enum):
    """What the numbers of a chart are."""

    COUNT = "count"
    BYTES = "bytes"
    DURATION_MS = "duration_ms"


@dataclass(frozen=True)
class Series:
    """One line of a chart.

    Attributes:
        values: one for each batch of the chart; None where it is not known.
    """

    name: str
    values: Sequence[int | None]
    exact: bool = True


@dataclass(frozen=True)
class LineChart:
    """Numbers over batches, or over something else that has numbers and times.

    Attributes:
        batches: batch ids, oldest first. times_ms: their clocks, where they are known.
        over: what the line goes over, one and several of them.
    """

    title: str
    scale: Scale
    batches: Sequence[int]
    times_ms: Sequence[int | None]
    series: Sequence[Series]
    about: str = ""
    over: tuple[str, str] = ("batch", "batches")


@dataclass(frozen=True)
class Bar:
    """One bar, with what it means, and a number for each part of the chart."""

    label: str
    parts: Sequence[int]
    note: str = ""
    exact: bool = True


@dataclass(frozen=True)
class BarChart:
    """Bars one below the other, each with its number; a bar may have several parts.

    Attributes:
        label: what the bars are by, as the head of their column.
        parts: the names of the parts; one name if bars have but one.
    """

    title: str
    scale: Scale
    label: str
    parts: Sequence[str]
    bars: Sequence[Bar]
    about: str = ""


@dataclass(frozen=True)
class Leaf:
    """The smallest rectangle of a treemap: the bytes of one place on every level."""

    places: tuple[str, ...]
    bytes: int


@dataclass(frozen=True)
class Treemap:
    """Rectangles in rectangles, as large as the bytes they stand for.

    Attributes:
        levels: what the places of a leaf are, outermost first.
        views: chosen levels, as places in ``levels``, by the name of the choice; the first is
            shown first.
    """

    title: str
    levels: Sequence[str]
    views: Sequence[tuple[str, Sequence[int]]]
    leaves: Sequence[Leaf]
    about: str = ""


@dataclass(frozen=True)
class Text:
    """Paragraphs, or points of a list."""

    lines: Sequence[str]
    points: bool = False


Block = Table | LineChart | BarChart | Treemap | Text
"""What a section consists of."""


@dataclass(frozen=True)
class Section:
    """A part of a page, by its name in links."""

    name: str
    title: str
    blocks: Sequence[Block]
