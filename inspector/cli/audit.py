"""``inspector audit``: the main job."""

from __future__ import annotations

import sys
from typing import Any

import click

from inspector import api
from inspector.cli.command import code_of, fail_on_option, write_report
from inspector.cli.exits import Exit, exit_of
from inspector.cli.key_options import schema_options
from inspector.cli.options import (
    api_options,
    checkpoint_options,
    output_options,
    redact_option,
    work_options,
)
from inspector.cli.rule_options import rule_options
from inspector.exceptions import InspectorError


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@fail_on_option("warning")
@rule_options
@redact_option("hash")
@work_options
@schema_options
@checkpoint_options
@output_options
def audit(paths: tuple[str, ...], fail_on: str, **given: Any) -> None:
    """Apply every fact and every rule to checkpoints; one verdict each.

    With several PATHs a checkpoint that cannot be read does not keep the others from it; the
    code is the gravest of all, and JSON is an array of reports.
    """
    if len(paths) > 1 and given["output_file"]:
        raise click.UsageError("--output-file takes one PATH")
    options = api_options(given)
    codes: list[Exit] = []
    told = 0
    array = given["output"] == "json" and len(paths) > 1
    for path in paths:
        try:
            report = api.audit(path, options)
        except (InspectorError, OSError) as error:
            if len(paths) == 1:
                raise
            click.echo(f"error: {error}", err=True)
            codes.append(exit_of(error))
            continue
        if told or array:
            click.echo(_before(given["output"], told), nl=False)
        write_report(report, given, header=not told)
        codes.append(code_of(report, fail_on))
        told += 1
    if array:
        click.echo("]" if told else "[]")
    sys.exit(max(codes))


def _before(output: str, told: int) -> str:
    """What stands before a report: JSON is one array; for people there is an empty line."""
    if output == "json":
        return "," if told else "["
    return "\n" if output in ("table", "markdown") else ""
