"""Values as a page shows them, and the bare numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inspector.quantities import bytes_text, duration_text
from inspector.render.cells import UNKNOWN, about, about_time, cell_text, summary_text
from inspector.render.page.model import Scale
from inspector.render.tabular import Column, Unit
from inspector.time_text import time_ms_text


@dataclass(frozen=True)
class Cell:
    """What one cell shows."""

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
