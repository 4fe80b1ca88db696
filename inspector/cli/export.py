"""``inspector export``: rows or changes as files of data."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from inspector import api
from inspector.cli.exits import Exit
from inspector.cli.key_options import key_options, schema_options
from inspector.cli.on_spark import check_format
from inspector.cli.options import api_options, checkpoint_options, engine_options
from inspector.cli.table_files import (
    SUFFIXES,
    TYPED,
    targets,
    write_report,
    write_typed,
    written,
)
from inspector.cli.writing import outside
from inspector.engines.local import LocalEngine
from inspector.model import READABLE, Problem
from inspector.render.text import problem_line


@click.command()
@click.argument("what", type=click.Choice(["rows", "changes"]))
@click.argument("path")
@click.option(
    "-O",
    "--output-file",
    required=True,
    type=click.Path(),
    help="File for one store; folder for several, or where it ends with a slash.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(SUFFIXES)),
    help="Format.  [default: by the file's name, else parquet]",
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
@click.option(
    "--from-batch", type=click.IntRange(0), default=0, help="Leave out changes of older batches."
)
@click.option("--raw", is_flag=True, help="Add the UnsafeRow bytes of key and value.")
@engine_options
@key_options
@schema_options
@checkpoint_options
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on stderr but errors.")
def export(what: str, path: str, output_file: str, form: str | None, **given: Any) -> None:
    """The rows of a version, or every change, as Parquet, Arrow, CSV or NDJSON.

    Parquet and Arrow keep all types: key and value are structs. Each store gets a file of its own,
    whole or not at all; what cannot be read is left out, named, and makes the exit code 4. On Spark
    the executors write: a folder for each store, at any URL that Spark knows.
    """
    form = form or _by_name(output_file)
    asked = {
        "changes": what == "changes",
        "from_batch": given.pop("from_batch"),
        "raw": given.pop("raw"),
    }
    if asked["from_batch"] and not asked["changes"]:
        raise click.UsageError("--from-batch is for changes")
    write = _typed if form in TYPED else _text
    run = api.Run.start(path, api_options(given))
    outside(run.checkpoint.root, output_file)
    if isinstance(run.engine, LocalEngine):
        problems = write(run, output_file, form, given, asked)
    else:
        problems = _by_spark(run, output_file, form, given, asked)
    for problem in problems:
        click.echo(f"problem: {problem_line(problem)}", err=True)
    sys.exit(Exit.INCOMPLETE if any(p.slug not in READABLE for p in problems) else Exit.OK)


def _typed(
    run: api.Run, output: str, form: str, given: dict[str, Any], asked: dict[str, Any]
) -> Sequence[Problem]:
    tables = api.typed_tables(run, wanted=api.Typed(**asked))
    places = targets(output, [table.name for table in tables], SUFFIXES[form])
    with written(places, force=given["force"]) as files:
        counts = [write_typed(*pair, form) for pair in zip(tables, files, strict=True)]
    for place, count in zip(places, counts, strict=True):
        _say(f"{place}: {count:,} {'changes' if asked['changes'] else 'rows'}", given)
    return [problem for table in tables for problem in table.problems]


def _text(
    run: api.Run, output: str, form: str, given: dict[str, Any], asked: dict[str, Any]
) -> Sequence[Problem]:
    reports = api.report_tables(run, **asked)
    places = targets(output, [name for name, _ in reports], SUFFIXES[form])
    with written(places, force=given["force"]) as files:
        for (_, report), file in zip(reports, files, strict=True):
            write_report(report, file, form)
    for place in places:
        _say(f"{place}: written", given)
    return [problem for _, report in reports for problem in report.problems]


def _by_spark(
    run: api.Run, output: str, form: str, given: dict[str, Any], asked: dict[str, Any]
) -> Sequence[Problem]:
    from inspector.spark import writing  # noqa: PLC0415 - takes a second to import

    check_format(form)
    done = writing.write_typed(run, api.Typed(**asked), output, form, force=given["force"])
    for each in done:
        rows = "rows" if not asked["changes"] else "changes"
        count = "" if each.rows is None else f"{each.rows:,} {rows}, "
        _say(f"{each.place}: {count}written by Spark", given)
    return [*run.listed, *(problem for each in done for problem in each.problems)]


def _say(text: str, given: dict[str, Any]) -> None:
    if not given["quiet"]:
        click.echo(text, err=True)


def _by_name(output: str) -> str:
    suffix = Path(output).suffix
    return next((form for form, ending in SUFFIXES.items() if ending == suffix), "parquet")
