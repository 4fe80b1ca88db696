"""What every command does after its analysis: write the report, say what went wrong, exit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from inspector.cli.click_options import NEVER
from inspector.cli.exits import Exit
from inspector.cli.output_files import destination, outside, write
from inspector.cli.terminal import display_of
from inspector.exceptions import OutpacedError
from inspector.findings.finding import Severity
from inspector.plain_text import escape
from inspector.render.first_screen import part_text
from inspector.render.renderers import render
from inspector.render.report import Report
from inspector.render.text import message_lines


def write_report(report: Report, parsed: dict[str, Any]) -> None:
    """Write a report where the options say; problems also on stderr, where its format has none."""
    output = parsed["output"]
    if parsed["output_file"] is not None:
        outside(report.checkpoint, parsed["output_file"])
    with destination(parsed["output_file"], force=parsed["force"]) as file:
        write(render(report, output, display_of(parsed)), file)
        if parsed["output_file"] is not None:
            # Rows of a version that went while they were written make no file: it would look whole.
            for problem in report.problems:
                if problem.slug == OutpacedError.slug and not report.judged:
                    raise OutpacedError(problem.message, problem.path)
    if output in ("ndjson", "csv"):
        for line in message_lines(report.problems, quiet=parsed["quiet"]):
            click.echo(line, err=True)
        part = [] if report.part is None else [part_text(report.part)]
        for note in (*part, *report.notes) if not parsed["quiet"] else ():
            click.echo(f"note: {escape(note)}", err=True)


def code_of(report: Report, fail_on: str) -> Exit:
    """4 if something could not be read, else 1 if what was found is a failure, else 0."""
    if not report.complete:
        return Exit.INCOMPLETE
    return Exit.FINDINGS if failing_on(report, fail_on).fails else Exit.OK


def failing_on(report: Report, fail_on: str) -> Report:
    """The report with the severity from which on a finding is a failure."""
    return replace(report, fail_on=None if fail_on == NEVER else Severity[fail_on.upper()])
