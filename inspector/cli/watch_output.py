"""``inspector watch``: a line for each batch of a running query, as soon as it was committed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.cli.click_options import api_options, message_options, own_options
from inspector.cli.exits import Exit
from inspector.cli.output_files import destination, outside, write
from inspector.cli.terminal import display_of, display_options
from inspector.plain_text import escape
from inspector.quantities import bytes_text, duration_text
from inspector.render.display import Display
from inspector.render.renderers import render
from inspector.render.report import Report
from inspector.render.report_data import ReportData
from inspector.render.text import message_lines
from inspector.time_text import time_ms_text


def watch_options() -> Iterator[click.Option]:
    """Yield the options on how batches are written."""
    yield click.Option(
        ["-o", "--output"],
        type=click.Choice(["table", "ndjson"]),
        default="table",
        show_default=True,
        help="Print a line of text for each batch, or a JSON object.",
    )
    yield click.Option(
        ["--prometheus"],
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write the metrics of the newest batch to this file, for the textfile collector "
        "of Prometheus. Each batch replaces the file, also without --force.",
    )
    yield from display_options()
    yield from message_options()


def watch(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """Write the batches of a running query until the watch ends, then end the process."""
    reports = analysis.function(
        parsed["path"], api_options(parsed, analysis.shared), **own_options(analysis, parsed)
    )
    target = parsed["prometheus"]
    if target is not None:
        outside(parsed["path"], target)  # before the state is replayed, which may take long
    complete, printed = True, set[str]()
    with destination(None, force=False) as file:
        display = display_of(parsed)
        for number, report in enumerate(reports):
            if target is not None:
                outside(report.checkpoint, target)  # the path may be that of a part
            if parsed["output"] == "ndjson":
                write(render(report, "ndjson"), file)
            else:
                write([] if number else [head_line(display)], file)
                write(batch_lines(report, display), file)
            file.flush()
            if target is not None:
                # Renamed into its place, so that who reads it never sees half of it.
                with destination(target, force=True) as metrics:
                    write(render(report, "prometheus"), metrics)
            complete &= report.complete
            printed |= _say(report, printed, parsed)
    sys.exit(Exit.OK if complete else Exit.INCOMPLETE)


def _say(report: Report, printed: set[str], parsed: dict[str, Any]) -> set[str]:
    """Print a report's notes and new problems on stderr, and return the lines of all its problems.

    ``printed`` are the lines that were printed before.
    """
    problems = dict.fromkeys(message_lines(report.problems, quiet=parsed["quiet"]))
    for line in problems.keys() - printed:
        click.echo(line, err=True)
    for note in report.notes if not parsed["quiet"] else ():
        click.echo(f"note: {escape(note)}", err=True)
    return set(problems)


# names of the columns
_HEADS = ("BATCH", "TIME", "ROWS", "BYTES", "PUTS", "REMOVED", "LAG", "LEFTOVERS")
_COLUMNS = dict(zip(_HEADS, (6, 8, 11, 10, 9, 9, 11, 9), strict=True))  # 80 columns wide
# columns in the order in which a narrow terminal shows them
_IMPORTANT = ("BATCH", "ROWS", "BYTES", "LEFTOVERS", "REMOVED", "LAG", "PUTS", "TIME")
UNKNOWN = "-"  # text for null
_INDENT = " " * 7  # begin of a line about a finding


def head_line(display: Display) -> str:
    """Return the line with the names of the columns of :func:`batch_lines`."""
    return _line({name: name for name in _COLUMNS}, display)


def batch_lines(report: ReportData, display: Display) -> Iterator[str]:
    """Yield the line of a batch, and a line for each finding that came (+) or went (-)."""
    (row,) = report.primary.rows
    rows = _count(row["rows"])
    if row["stores_read"] != row["stores"]:
        rows = f">{rows}" if row["stores_read"] else UNKNOWN
    clock, lag = row["batch_timestamp_ms"], row["lag_ms"]
    size = row["row_bytes"]
    texts = [str(row["batch_id"]), UNKNOWN if clock is None else time_ms_text(clock)[-13:-5], rows]
    texts += [UNKNOWN if size is None else bytes_text(size), _count(row["puts"])]
    texts += [_count(row["removals"]), UNKNOWN if lag is None else duration_text(lag)]
    cells = dict(zip(_HEADS, [*texts, _count(row["leftovers"])], strict=True))
    yield _line(cells, display)
    for finding in row["findings_new"]:
        text = f"{_head(finding)}: {finding['cause']}"
        yield from display.text(text, finding["severity"], prefix=f"{_INDENT}+ ")
    for finding in row["findings_gone"]:
        text = f"{_head(finding)}: {finding['title']}: gone"
        yield from display.text(text, "ok", prefix=f"{_INDENT}- ")


def _line(cells: Mapping[str, str], display: Display) -> str:
    """Return the cells as one line; the least important columns are left out without room."""
    names: list[str] = []
    for name in _IMPORTANT:
        wide = sum(_COLUMNS[column] + 1 for column in (*names, name)) - 1
        if display.every_column or wide <= (display.width or 0):
            names.append(name)
    return " ".join(f"{cells[n]:>{_COLUMNS[n]}}" for n in _COLUMNS if n in names) + "\n"


def _count(number: int | None) -> str:
    """Return a number with separators; ``-`` for None."""
    return UNKNOWN if number is None else f"{number:,}"


def _head(finding: Mapping[str, Any]) -> str:
    """Return id, severity and store: ``SS205 info (operator 0, left-keyToNumValues)``."""
    operator, store = finding["operator_id"], finding["store_name"]
    store_text = "" if store in (None, "default") else f", {store}"
    location = "" if operator is None else f" (operator {operator}{store_text})"
    return f"{finding['id']} {finding['severity']}{location}"
