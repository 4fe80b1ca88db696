"""Tables drawn by rich: all columns, or as many of the most important ones as the width has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspector.quantities import short_count_text
from inspector.render.cells import NUMBERS, cell_text
from inspector.render.display import STYLES, Display
from inspector.render.report import Column, Table, Unit

if TYPE_CHECKING:
    from rich.text import Text

GAP = 2
"""Spaces between columns."""

WORDS = 3
"""A column of words gives way to others down to the terminal's width divided by this."""

FOLDED = (Unit.TEXT, Unit.VALUE)
"""Units of columns whose cells may take several lines; a number stays on one."""

_LEVELS = ("error", "warning", "info", "ok", "unreadable")


@dataclass(frozen=True)
class Drawn:
    """A column with the texts of its cells.

    Attributes:
        column: its declaration.
        head: the lines of its head.
        cells: of every row.
        natural: the width that shows every cell on one line.
        least: the width that it needs at least.
    """

    column: Column
    head: Sequence[str]
    cells: Sequence[str]
    natural: int
    least: int


def drawn_table(table: Table, display: Display) -> Iterator[str]:
    """A table line by line, its title first."""
    yield from display.text(table.title, "heading")
    rows = list(table.rows)
    if not rows:
        yield from display.text(f"({table.empty})")
        return
    measured = [_measured(column, rows, display) for column in _offered(table, display)]
    shown = measured if display.every_column else _fitting(measured, display.width or 0)
    yield from _drawn(shown, display)
    missing = len(table.columns) - len(shown)
    if missing:
        yield from display.text(
            f"({short_count_text(missing, 'more column')} with --wide)", "quiet"
        )


def _offered(table: Table, display: Display) -> list[Column]:
    return [c for c in table.columns if display.every_column or not c.wide]


def _measured(column: Column, rows: Sequence[Mapping[str, object]], display: Display) -> Drawn:
    from rich.cells import cell_len  # noqa: PLC0415 - slow to import, and not every report needs it

    cells = [cell_text(column, row.get(column.name)) for row in rows]
    widest = max(map(cell_len, cells))
    if display.width is None:
        # One line and one word for each column: what is piped is searched and cut.
        head: Sequence[str] = [column.head.upper().replace(" ", "_")]
    else:
        head = wrapped_head(column.head.upper(), widest)
    natural = max(widest, *map(cell_len, head))
    folded = max((display.width or 0) // WORDS, *map(cell_len, head))
    least = min(natural, folded) if column.unit in FOLDED else natural
    return Drawn(column, head, cells, natural, least)


def wrapped_head(head: str, width: int) -> Sequence[str]:
    """The words of a head on as few lines as a width allows."""
    lines: list[str] = []
    for word in head.split(" "):
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _fitting(measured: Sequence[Drawn], width: int) -> list[Drawn]:
    """The columns that have room, the most important first; in the order of the table."""
    room, taken = width + GAP, list[Drawn]()
    for each in sorted(measured, key=_rank):
        # A terminal too narrow for anything still shows what matters most.
        if each.least + GAP <= room or not taken:
            taken.append(each)
            room -= each.least + GAP
    return [each for each in measured if each in taken]


def _rank(drawn: Drawn) -> float:
    return math.inf if drawn.column.rank is None else drawn.column.rank


def _drawn(columns: Sequence[Drawn], display: Display) -> Iterator[str]:
    from rich.table import Table as RichTable  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415

    table = RichTable(
        box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_edge=False, header_style=""
    )
    height = max(len(each.head) for each in columns)
    for each in columns:
        head = [""] * (height - len(each.head)) + list(each.head)
        table.add_column(
            Text("\n".join(head), STYLES["heading"]),
            justify="right" if each.column.unit in NUMBERS else "left",
            no_wrap=display.every_column or each.column.unit not in FOLDED,
            overflow="fold",
            min_width=each.natural if display.every_column else min(each.least, display.width or 1),
        )
    for cells in zip(*(each.cells for each in columns), strict=True):
        table.add_row(*(_styled(Text(cell), cell) for cell in cells))
    yield from display.without_width().drawn(table) if display.wide else display.drawn(table)


def _styled(text: Text, cell: str) -> Text:
    if cell in _LEVELS:
        text.stylize(STYLES[cell])
    return text
