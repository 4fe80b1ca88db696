"""Tables that Spark's executors write, because they may be too large for one process."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.opening import Opened
from inspector.cli.click_options import NEVER
from inspector.cli.command import code_of
from inspector.engines.local import LocalEngine
from inspector.plain_text import escape
from inspector.render.text import message_lines

FORMATS = ("parquet", "ndjson", "csv")


def check_format(form: str) -> None:
    """Whether Spark writes it."""
    if form not in FORMATS:
        raise click.UsageError(f"Spark writes no {form}, expected {', '.join(FORMATS)}")


def is_for_executors(
    analysis: Analysis, run: Opened, parsed: Mapping[str, Any], values: Mapping[str, Any]
) -> bool:
    """Whether the executors write the whole table; a part of it is a report as any."""
    whole = all(values[option.name] == option.default for option in analysis.options)
    return whole and parsed["output"] in FORMATS and not isinstance(run.engine, LocalEngine)


def write_by_executors(analysis: Analysis, run: Opened, parsed: Mapping[str, Any]) -> None:
    """Write the table of an analysis by Spark, and end the process."""
    table = analysis.by_executors
    assert table is not None
    target = parsed["output_file"]
    if not target:
        raise click.UsageError(
            f"on Spark the executors write all {table.name}: name a folder with -O, or list some "
            "with --limit N"
        )
    from inspector.spark import writing  # noqa: PLC0415 - takes a second to import

    few = {option.name: option.option.for_people for option in analysis.options}
    report = analysis.function(run, **{name: few[name] for name in few if few[name]})
    writing.write_table(run, table, target, parsed["output"], force=parsed["force"])
    for line in message_lines(report.problems, quiet=parsed["quiet"]):
        click.echo(line, err=True)
    if not parsed["quiet"]:
        count = report.summary[table.name]
        click.echo(f"{escape(target)}: {count:,} keys, written by Spark", err=True)
    sys.exit(code_of(report, parsed.get("fail_on", NEVER)))
