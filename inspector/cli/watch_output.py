"""``inspector watch``: a line for each batch of a running query, as soon as it was committed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.cli.click_options import api_options, no_progress_option, own_options, quiet_option
from inspector.cli.exits import Exit
from inspector.cli.output_files import destination, outside, write
from inspector.cli.terminal import ViewOption, display_of, display_options
from inspector.plain_text import escape
from inspector.render.renderers import render
from inspector.render.report import Report
from inspector.render.text import message_lines
from inspector.render.watch_lines import batch_lines, head_line


def watch_options() -> Iterator[click.Option]:
    """How the batches are written."""
    yield ViewOption(
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
        "of the Prometheus node exporter. It is rewritten for every batch, and an "
        "existing file is replaced even without --force.",
    )
    yield from display_options()
    yield quiet_option()
    yield no_progress_option()


def watch(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """Write the batches of a running query until told to end, and end the process."""
    reports = analysis.function(
        parsed["path"], api_options(parsed, analysis.shared), **own_options(analysis, parsed)
    )
    target = parsed["prometheus"]
    if target is not None:
        outside(parsed["path"], target)  # before the state is replayed, which may take long
    complete, said = True, set[str]()
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
            _export(report, target)
            complete &= report.complete
            said |= _say(report, said, parsed)
    sys.exit(Exit.OK if complete else Exit.INCOMPLETE)


def _export(report: Report, target: str | None) -> None:
    """Renamed into its place, so that who reads it never sees half of it."""
    if target is None:
        return
    with destination(target, force=True) as file:
        write(render(report, "prometheus"), file)


def _say(report: Report, said: set[str], parsed: dict[str, Any]) -> set[str]:
    """Problems, each once, and notes on stderr."""
    problems = dict.fromkeys(message_lines(report.problems, quiet=parsed["quiet"]))
    for line in problems.keys() - said:
        click.echo(line, err=True)
    for note in report.notes if not parsed["quiet"] else ():
        click.echo(f"note: {escape(note)}", err=True)
    return set(problems)
