"""What every command does after its analysis: write the report, say what went wrong, exit."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

import click

from inspector.cli.exits import Exit
from inspector.cli.options import NEVER
from inspector.cli.writing import destination, outside, write
from inspector.findings.finding import Severity
from inspector.render.formats import render
from inspector.render.report import Report
from inspector.render.text import problem_line


def finish(report: Report, parsed: dict[str, Any], fail_on: str = NEVER) -> NoReturn:
    """Write a report and end the process with the code that it deserves."""
    write_report(report, parsed)
    sys.exit(code_of(report, fail_on))


def write_report(report: Report, parsed: dict[str, Any], *, header: bool = True) -> None:
    """Write a report where the options say; problems also on stderr, where its format has none.

    Without ``header`` a CSV goes on below another one's.
    """
    output = parsed["output"]
    if parsed["output_file"] is not None:
        outside(report.checkpoint, parsed["output_file"])
    with destination(parsed["output_file"], force=parsed["force"]) as file:
        pieces = render(report, output)
        if output == "csv" and not header:
            next(pieces)
        write(pieces, file)
    if output in ("ndjson", "csv"):
        for problem in report.problems:
            click.echo(f"problem: {problem_line(problem)}", err=True)
        for note in report.notes if not parsed["quiet"] else ():
            click.echo(f"note: {note}", err=True)


def code_of(report: Report, fail_on: str) -> Exit:
    """4 if something could not be read, else 1 for findings at or above ``fail_on``, else 0."""
    if not report.complete:
        return Exit.INCOMPLETE
    if fail_on != NEVER:
        least = Severity[fail_on.upper()]
        if any(finding.kind.severity >= least for finding in report.findings):
            return Exit.FINDINGS
    return Exit.OK
