"""``inspector sql``: one statement, or those that are read from stdin until it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.analyses.sql import Session
from inspector.cli import click_options
from inspector.cli.exits import Exit
from inspector.cli.output_files import code_of, outside, write_report
from inspector.cli.terminal import NEVER
from inspector.exceptions import CheckpointError

_PROMPT, _CONTINUED = "sql> ", "...> "  # before the first line of a statement, and further lines


def answer(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """Write the result of each statement, and end the process."""
    session = Session(parsed["path"], click_options.api_options(parsed, analysis.shared))
    if parsed["output_file"]:
        outside(session.run.checkpoint.root, parsed["output_file"])
    limit = click_options.own_options(analysis, parsed)["limit"]
    if parsed["query"] is not None:
        report = session.report(parsed["query"], limit)
        write_report(report, parsed)
        sys.exit(code_of(report, NEVER))
    if parsed["output_file"]:
        raise click.UsageError("--output-file is for one statement, which is given after the path")
    sys.exit(max([_answer_one(session, text, limit, parsed) for text in _statements()], default=0))


def _answer_one(session: Session, statement: str, limit: int, parsed: dict[str, Any]) -> int:
    """Write the result of one statement of several, and return its exit code.

    CheckpointError: DuckDB refuses it. On a terminal the error is printed instead.
    """
    try:
        report = session.report(statement, limit, head=False)
        write_report(report, parsed)
    except CheckpointError as error:
        if not sys.stdin.isatty():
            raise
        click.echo(f"error: {error}", err=True)
        return Exit.OK
    return code_of(report, NEVER)


def _statements() -> Iterator[str]:
    """Yield the statements on stdin, each of which ends with a semicolon at the end of a line.

    On a terminal a prompt asks for each line.
    """
    is_terminal, lines = sys.stdin.isatty(), list[str]()
    if is_terminal:
        import readline  # noqa: F401, PLC0415 - gives input() a history and editing keys
    while True:
        try:
            prompt = _CONTINUED if lines else _PROMPT
            lines.append(input(prompt if is_terminal else ""))
        except EOFError:
            break
        if lines[-1].rstrip().endswith(";"):
            yield "\n".join(lines)
            lines = []
    if "".join(lines).strip():
        yield "\n".join(lines)
