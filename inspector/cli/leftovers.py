"""``inspector leftovers``: expired keys that are still there."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.cli.command import NEVER, fail_on_option, finish
from inspector.cli.key_options import schema_options
from inspector.cli.limits import limit_of, limit_option
from inspector.cli.options import (
    api_options,
    checkpoint_options,
    output_options,
    redact_option,
    work_options,
)
from inspector.cli.rule_options import rule_options


@click.command()
@click.argument("path")
@limit_option
@fail_on_option(NEVER)
@rule_options
@redact_option("none")
@work_options
@schema_options
@checkpoint_options
@output_options
def leftovers(path: str, limit: int | None, fail_on: str, **given: Any) -> None:
    """Expired keys that were never removed, each with the batch that proves it."""
    report = api.leftovers(path, api_options(given), limit=limit_of(limit, given))
    finish(report, given, fail_on)
