"""Batches of a running query as lines that fit a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inspector.plain_text import escape
from inspector.quantities import bytes_text, duration_text
from inspector.render.display import Display
from inspector.render.report_data import ReportData
from inspector.time_text import time_ms_text

_COLUMNS = {
    "BATCH": 6,
    "TIME": 8,
    "ROWS": 11,
    "BYTES": 10,
    "PUTS": 9,
    "REMOVED": 9,
    "LAG": 11,
    "LEFTOVERS": 9,
}
"""Heads and widths; together 80 columns wide."""

_IMPORTANT = ("BATCH", "ROWS", "BYTES", "LEFTOVERS", "REMOVED", "LAG", "PUTS", "TIME")
"""What a narrow terminal shows first."""

UNKNOWN = "-"
_INDENT = " " * 7


def head_line(display: Display) -> str:
    """The names of the columns of :func:`batch_lines`."""
    return _line({name: name for name in _COLUMNS}, display)


def batch_lines(report: ReportData, display: Display) -> Iterator[str]:
    """The batch of a report of ``watch``, and its findings that came or went."""
    (row,) = report.primary.rows
    rows = _count(row["rows"])
    if row["stores_read"] != row["stores"]:
        rows = f">{rows}" if row["stores_read"] else UNKNOWN
    clock, lag = row["batch_timestamp_ms"], row["lag_ms"]
    size = row["row_bytes"]
    yield _line(
        {
            "BATCH": str(row["batch_id"]),
            "TIME": UNKNOWN if clock is None else time_ms_text(clock)[-13:-5],
            "ROWS": rows,
            "BYTES": UNKNOWN if size is None else bytes_text(size),
            "PUTS": _count(row["puts"]),
            "REMOVED": _count(row["removals"]),
            "LAG": UNKNOWN if lag is None else duration_text(lag),
            "LEFTOVERS": _count(row["leftovers"]),
        },
        display,
    )
    for finding in row["findings_new"]:
        text = escape(f"{_head(finding)}: {finding['cause']}")
        yield from display.text(text, finding["severity"], before=f"{_INDENT}+ ")
    for finding in row["findings_gone"]:
        text = escape(f"{_head(finding)}: {finding['title']}: gone")
        yield from display.text(text, "ok", before=f"{_INDENT}- ")


def _line(cells: Mapping[str, str], display: Display) -> str:
    names: list[str] = []
    for name in _IMPORTANT:
        wide = sum(_COLUMNS[column] + 1 for column in (*names, name)) - 1
        if display.every_column or wide <= (display.width or 0):
            names.append(name)
    return " ".join(f"{cells[n]:>{_COLUMNS[n]}}" for n in _COLUMNS if n in names) + "\n"


def _count(number: int | None) -> str:
    return UNKNOWN if number is None else f"{number:,}"


def _head(finding: Mapping[str, Any]) -> str:
    """``SS205 info (operator 0, left-keyToNumValues)``."""
    operator, store = finding["operator_id"], finding["store_name"]
    location = "" if operator is None else f" (operator {operator}"
    if location:
        location += ")" if store in (None, "default") else f", {store})"
    return f"{finding['id']} {finding['severity']}{location}"
