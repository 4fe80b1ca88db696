"""``inspector leftovers``: expired keys that are still there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq

from inspector import api
from inspector.cli.command import NEVER, code_of, fail_on_option, finish
from inspector.cli.key_options import schema_options
from inspector.cli.limits import limit_of, limit_option
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
from inspector.report.as_arrow import arrow_table
from inspector.report.render import FORMATS

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
        report = api.explain(path, explain, options)
    else:
        report = api.leftovers(path, options, limit=limit_of(limit, given))
    if not to_parquet:
        finish(report, given, fail_on)
    outside(report.checkpoint, given["output_file"])
    with written([Path(given["output_file"])], force=given["force"]) as (file,):
        pq.write_table(arrow_table(report), file)
    sys.exit(code_of(report, fail_on))
