"""Tables drawn by rich: all columns, or as many of the most important ones as the width has."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from textwrap import wrap
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.containers import Lines
from rich.table import Table as RichTable
from rich.text import Text

from inspector.light_dataclasses import dataclass, replace
from inspector.quantities import short_count_text
from inspector.render.cells import NUMBERS, cell_text
from inspector.render.display import STYLES, Display, break_names
from inspector.render.tabular import Column, Table, Unit

GAP = 2  # spaces between columns
WORDS = 3  # a column of words may shrink to the terminal's width divided by this
FOLDED = (Unit.TEXT, Unit.VALUE)  # units whose cells may take several lines
LONGEST_VALUE = 400  # characters of a key or value that are shown unless every column is shown

_NAMES_ROW = 2  # the greatest rank of the columns that name a row
# texts of cells that are coloured as levels
_LEVELS = ("error", "warning", "info", "ok", "unreadable")


@dataclass(frozen=True)
class Drawn:
    """A column of a drawn table, with the texts of its cells and the widths that it needs."""

    column: Column  # column of the report's table
    head: Sequence[str]  # lines of its heading
    cells: Sequence[str]  # texts of its cells, in the order of rows
    natural: int  # the width that shows every cell on one line
    least: int  # the width that it needs at least
    is_cut: bool = False  # whether a cell has only the begin of its value


def drawn_table(table: Table, display: Display) -> Iterator[str]:
    """Yield a table line by line, its title first; columns without room are left out."""
    yield from display.text(table.title, "heading")
    rows = list(table.rows)
    if not rows:
        yield from display.text(f"({table.empty})")
        return
    candidates = [c for c in table.columns if display.every_column or not c.wide]
    if table.hides_constants and not display.every_column and len(rows) > 1:
        candidates = [c for c in candidates if _tells_rows_apart(c, rows)]
    measured = [_measure(column, rows, display) for column in candidates]
    visible = measured if display.every_column else _fitting(measured, display.width or 0)
    yield from _draw(visible, display)
    missing = len(table.columns) - len(visible)
    hidden_text = [short_count_text(missing, "more column")] if missing else []
    if any(drawn.is_cut for drawn in visible):
        hidden_text.append("whole values")
    if hidden_text:
        yield from display.text(f"({' and '.join(hidden_text)} with --wide)", "quiet")


def _tells_rows_apart(column: Column, rows: Sequence[Mapping[str, object]]) -> bool:
    """True if the values of a column differ, or if it is one of the two that name the row."""
    first = rows[0].get(column.name)
    is_name = column.rank is not None and column.rank <= _NAMES_ROW
    return is_name or any(row.get(column.name) != first for row in rows)


def _measure(column: Column, rows: Sequence[Mapping[str, object]], display: Display) -> Drawn:
    """Return a column with the texts of its cells and the widths that it needs."""
    cells = [cell_text(column, row.get(column.name)) for row in rows]
    longest = max(map(len, cells))
    is_cut = not display.every_column and column.unit is Unit.VALUE and longest > LONGEST_VALUE
    if is_cut:
        cells = [c if len(c) <= LONGEST_VALUE else f"{c[:LONGEST_VALUE]}..." for c in cells]
    widest = max(map(cell_len, cells))
    head = wrap(column.head.upper(), max(widest, 1), break_long_words=False, break_on_hyphens=False)
    if display.width is None:
        # One line and one word for each column: what is piped is searched and cut.
        head = [column.head.upper().replace(" ", "_")]
    natural = max(widest, *map(cell_len, head))
    folded = max((display.width or 0) // WORDS, *map(cell_len, head))
    if column.unit is Unit.TEXT and display.width:
        # A name is broken at its points and slashes alone, where it leaves room for others.
        words = (cell_len(word) for cell in cells for word in re.split(r"[\s./]", cell))
        folded = max([folded, *(word for word in words if word <= display.width // 2)])
    min_width = min(natural, folded) if column.unit in FOLDED else natural
    return Drawn(column, head, cells, natural, min_width, is_cut)


def _fitting(measured: Sequence[Drawn], width: int) -> list[Drawn]:
    """Return the columns that fit into a width, in the order of the table.

    The most important are chosen first; at least one is.
    """
    room, chosen = width + GAP, list[Drawn]()
    ranked = [math.inf if drawn.column.rank is None else drawn.column.rank for drawn in measured]
    for _, column in sorted(zip(ranked, measured, strict=True), key=itemgetter(0)):
        # A terminal too narrow for anything still shows what matters most.
        if column.least + GAP <= room or not chosen:
            chosen.append(column)
            room -= column.least + GAP
    return [column for column in measured if column in chosen]


def _draw(columns: Sequence[Drawn], display: Display) -> Iterator[str]:
    """Yield the lines of columns as a table."""
    table = RichTable(
        box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_edge=False, header_style=""
    )
    height = max(len(column.head) for column in columns)
    for column in columns:
        head = [""] * (height - len(column.head)) + list(column.head)
        min_width = min(column.least, display.width or 1)
        table.add_column(
            Text("\n".join(head), STYLES["heading"]),
            justify="right" if column.column.unit in NUMBERS else "left",
            no_wrap=display.every_column or column.column.unit not in FOLDED,
            overflow="fold",
            min_width=column.natural if display.every_column else min_width,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(_Cell(cell, STYLES[cell] if cell in _LEVELS else "") for cell in cells))
    yield from (replace(display, width=None) if display.wide else display).drawn(table)


class _Cell(Text):
    """A cell whose long names are broken at separators; rich decides on its width."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Wrap the cell as rich does, after breaking long names at separators."""
        return Text(break_names(self.plain, width), self.style).wrap(console, width, **options)
