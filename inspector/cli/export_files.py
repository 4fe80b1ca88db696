"""``inspector export``: tables as files of data."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from inspector.analyses.export import store_reports
from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import of_one_version
from inspector.cli.by_executors import check_format
from inspector.cli.click_options import api_options, no_progress_option, own_options, quiet_option
from inspector.cli.exits import Exit
from inspector.cli.output_files import outside
from inspector.cli.table_files import (
    SUFFIXES,
    TYPED,
    targets,
    write_report,
    write_store_table,
    written,
)
from inspector.engines.local import LocalEngine
from inspector.model import READABLE, Problem
from inspector.plain_text import escape
from inspector.render.text import message_lines


def export_options(parameters: Sequence[click.Parameter]) -> list[click.Parameter]:
    """The parameters of a command that writes files of data: its own, and those of the files."""
    arguments = [parameter for parameter in parameters if isinstance(parameter, click.Argument)]
    return [
        *arguments,
        click.Option(
            ["-O", "--output-file"],
            required=True,
            type=click.Path(),
            help="Output file for one store, or folder for several stores. A name that ends with "
            "a slash is a folder.",
        ),
        click.Option(
            ["--format", "form"],
            type=click.Choice(list(SUFFIXES)),
            help="Format.  [default: by the file's name, else parquet]",
        ),
        click.Option(["--force"], is_flag=True, help="Overwrite existing files."),
        *(parameter for parameter in parameters if parameter not in arguments),
        quiet_option(),
        no_progress_option(),
    ]


def export(analysis: Analysis, parsed: dict[str, Any]) -> None:
    """Write the tables of an analysis, one for each store, and end the process."""
    content, output = parsed["what"], parsed["output_file"]
    form = _format(output, parsed["form"])
    keywords = own_options(analysis, parsed)
    run = Run.start(parsed["path"], api_options(parsed, analysis.shared))
    outside(run.checkpoint.root, output)
    if not isinstance(run.engine, LocalEngine):
        problems = _by_spark(run, content, form, parsed, keywords)
    else:
        write = partial(_write_tables, analysis) if form in TYPED else _as_text
        problems = of_one_version(
            lambda: write(run, content, form, parsed, keywords), run.begin_anew
        )
    for line in message_lines(problems, quiet=parsed["quiet"]):
        click.echo(line, err=True)
    sys.exit(Exit.INCOMPLETE if any(p.slug not in READABLE for p in problems) else Exit.OK)


def _write_tables(
    analysis: Analysis,
    run: Run,
    content: str,
    form: str,
    parsed: Mapping[str, Any],
    keywords: Mapping[str, Any],
) -> Sequence[Problem]:
    tables = analysis.function(content, run, **keywords)
    paths = targets(parsed["output_file"], [table.name for table in tables], SUFFIXES[form])
    with written(paths, force=parsed["force"]) as files:
        counts = [write_store_table(*pair, form) for pair in zip(tables, files, strict=True)]
    for path, count in zip(paths, counts, strict=True):
        _say(f"{path}: {_count_text(count, content)}", parsed)
    return [problem for table in tables for problem in table.problems]


def _as_text(
    run: Run, content: str, form: str, parsed: Mapping[str, Any], keywords: Mapping[str, Any]
) -> Sequence[Problem]:
    reports = store_reports(run, content, **keywords)
    paths = targets(parsed["output_file"], [name for name, _ in reports], SUFFIXES[form])
    with written(paths, force=parsed["force"]) as files:
        for (_, report), file in zip(reports, files, strict=True):
            write_report(report, file, form)
    for path in paths:
        _say(f"{path}: written", parsed)
    return [problem for _, report in reports for problem in report.problems]


def _by_spark(
    run: Run, content: str, form: str, parsed: Mapping[str, Any], keywords: Mapping[str, Any]
) -> Sequence[Problem]:
    from inspector.spark import writing  # noqa: PLC0415 - takes a second to import

    check_format(form)
    output, force = parsed["output_file"], parsed["force"]
    done = writing.write_stores(run, content, output, form, force=force, **keywords)
    for table in done:
        count = "" if table.rows is None else f"{_count_text(table.rows, content)}, "
        _say(f"{table.place}: {count}written by Spark", parsed)
    return [*run.listed, *(problem for table in done for problem in table.problems)]


def _count_text(rows: int, noun: str) -> str:
    return f"{rows:,} {noun.removesuffix('s') if rows == 1 else noun}"


def _say(text: str, parsed: Mapping[str, Any]) -> None:
    if not parsed["quiet"]:
        click.echo(escape(text), err=True)


def _format(output: str, given: str | None) -> str:
    """The format that is given, or that the end of a name means; a folder's is Parquet."""
    path = Path(output)
    if not path.suffix or path.is_dir() or output.endswith(("/", os.sep)):
        return given or "parquet"
    means = {ending: form for form, ending in SUFFIXES.items()}.get(path.suffix)
    if means is not None and given not in (None, means):
        raise click.UsageError(f"{output}: the name is that of {means}, got --format {given}")
    form = given or means
    if form is not None:
        return form
    raise click.UsageError(
        f"{output}: no format ends with {path.suffix}; give one of {', '.join(SUFFIXES.values())}"
        ", a folder that ends with a slash, or --format"
    )
