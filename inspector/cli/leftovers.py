"""``inspector leftovers``: expired keys that are still there."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq

from inspector import api
from inspector.cli.command import NEVER, code_of, fail_on_option, finish
from inspector.cli.key_options import schema_options
from inspector.cli.limits import FOR_PEOPLE, limit_of, limit_option
from inspector.cli.on_spark import FORMATS as BY_SPARK
from inspector.cli.options import (
    api_options,
    checkpoint_options,
    formats,
    redact_option,
    work_options,
)
from inspector.cli.rule_options import rule_options
from inspector.cli.table_files import written
from inspector.cli.writing import outside
from inspector.engines.local import LocalEngine
from inspector.render.as_arrow import arrow_table
from inspector.render.formats import FORMATS
from inspector.render.text import problem_line

PARQUET = "parquet"


@click.command()
@click.argument("path")
@click.option(
    "--explain",
    metavar="KEY|CLASS",
    help="Tell the story of a key (NAME=VALUE, JSON or hex) or of a class, batch by batch.",
)
@limit_option
@fail_on_option(NEVER)
@rule_options
@redact_option("none")
@work_options
@schema_options
@checkpoint_options
@formats(*FORMATS, PARQUET)
def leftovers(
    path: str, explain: str | None, limit: int | None, fail_on: str, **given: Any
) -> None:
    """Expired keys that were never removed, each with the batch that proves it."""
    to_parquet = given["output"] == PARQUET
    if to_parquet and not given["output_file"]:
        raise click.UsageError("-o parquet needs a file: -O leftovers.parquet")
    options = api_options(given)
    if explain is not None:
        finish(api.explain(path, explain, options), given, fail_on)
    run = api.Run.start(path, options)
    outside(run.checkpoint.root, given["output_file"] or os.devnull)
    if given["output"] in BY_SPARK and not isinstance(run.engine, LocalEngine):
        _by_spark(run, limit, given, fail_on)
    report = api.leftovers(run, limit=limit_of(limit, given))
    if not to_parquet:
        finish(report, given, fail_on)
    with written([Path(given["output_file"])], force=given["force"]) as (file,):
        pq.write_table(arrow_table(report), file)
    sys.exit(code_of(report, fail_on))


def _by_spark(run: api.Run, limit: int | None, given: dict[str, Any], fail_on: str) -> None:
    """All keys go where they belong by Spark's hands; a number of them is a report as any."""
    if limit:
        return
    if not given["output_file"]:
        raise click.UsageError(
            "on Spark all leftover keys are written by the executors: give -O FOLDER, or --limit"
        )
    from inspector.spark import writing  # noqa: PLC0415 - takes a second to import

    form, place = given["output"], given["output_file"]
    report = api.leftovers(run, limit=FOR_PEOPLE)
    writing.write_leftovers(run, place, form, force=given["force"])
    for problem in report.problems:
        click.echo(f"problem: {problem_line(problem)}", err=True)
    if not given["quiet"]:
        click.echo(f"{place}: {report.summary['leftovers']:,} keys, written by Spark", err=True)
    sys.exit(code_of(report, fail_on))
