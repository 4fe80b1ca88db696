"""The commands, made from the declarations of the analyses."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.run import Run
from inspector.cli.by_executors import is_for_executors, write_by_executors
from inspector.cli.command import code_of, finish, write_report
from inspector.cli.exits import Exit, exit_of
from inspector.cli.options import (
    NEVER,
    api_options,
    arguments_of,
    own_options,
    parameters,
    report_options,
)
from inspector.cli.writing import outside
from inspector.exceptions import InspectorError
from inspector.render.as_arrow import arrow_table
from inspector.render.report import Report


def command_of(analysis: Analysis) -> click.Command:
    """The command that offers an analysis."""
    run: Callable[[Analysis, dict[str, Any]], None] = _report
    params = [*parameters(analysis), *report_options(analysis.formats)]
    if analysis.files:
        from inspector.cli.export import (  # noqa: PLC0415 - only where state is read
            export,
            export_options,
        )

        run, params = export, export_options([*parameters(analysis)])
    elif analysis.many:
        run = _reports

    def callback(**parsed: Any) -> None:
        message = analysis.check(parsed)
        if message is not None:
            raise click.UsageError(message)
        run(analysis, parsed)

    return click.Command(analysis.name, params=params, callback=callback, help=analysis.text)


def _report(analysis: Analysis, parsed: dict[str, Any]) -> None:
    output, place = parsed["output"], parsed["output_file"]
    if output in analysis.formats and not place:
        raise click.UsageError(f"-o {output} needs a file: -O {analysis.name}.{output}")
    arguments, own = arguments_of(analysis, parsed), own_options(analysis, parsed)
    options = api_options(parsed)
    if analysis.by_executors is not None:
        run = Run.start(parsed["path"], options)
        if place:
            outside(run.checkpoint.root, place)
        if is_for_executors(analysis, run, parsed, own):
            write_by_executors(analysis, run, parsed)
        arguments = [run]
    report = analysis.function(*arguments, options, **own)
    fail_on = parsed.get("fail_on", NEVER)
    if output in analysis.formats:
        _write_parquet(report, parsed)
        sys.exit(code_of(report, fail_on))
    finish(report, parsed, fail_on)


def _write_parquet(report: Report, parsed: dict[str, Any]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415 - takes a while to import

    from inspector.cli.table_files import written  # noqa: PLC0415 - as above

    with written([Path(parsed["output_file"])], force=parsed["force"]) as (file,):
        pq.write_table(arrow_table(report), file)


def _reports(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """The reports of several checkpoints, one after the other."""
    paths = parsed["paths"]
    if len(paths) > 1 and parsed["output_file"]:
        raise click.UsageError("--output-file takes one PATH")
    options, own = api_options(parsed), own_options(analysis, parsed)
    codes: list[Exit] = []
    count = 0
    array = parsed["output"] == "json" and len(paths) > 1
    for path in paths:
        try:
            report = analysis.function(path, options, **own)
        except (InspectorError, OSError) as error:
            if len(paths) == 1:
                raise
            click.echo(f"error: {error}", err=True)
            codes.append(exit_of(error))
            continue
        if count or array:
            click.echo(_before(parsed["output"], count), nl=False)
        write_report(report, parsed, header=not count)
        codes.append(code_of(report, parsed.get("fail_on", NEVER)))
        count += 1
    if array:
        click.echo("]" if count else "[]")
    sys.exit(max(codes))


def _before(output: str, count: int) -> str:
    """What stands before a report: JSON is one array; for people there is an empty line."""
    if output == "json":
        return "," if count else "["
    return "\n" if output in ("table", "markdown") else ""
