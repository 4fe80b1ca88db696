"""``inspector history``: the life of one key."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.cli.command import finish
from inspector.cli.key_options import key_options, schema_options
from inspector.cli.limits import limit_of, limit_option
from inspector.cli.options import (
    api_options,
    checkpoint_options,
    output_options,
    redact_option,
)


@click.command()
@click.argument("path")
@key_options
@click.option("--uncommitted", is_flag=True, help="Read files of versions without a commit too.")
@click.option("--raw", is_flag=True, help="Add key_hex and value_hex: the UnsafeRow bytes.")
@limit_option
@redact_option("none")
@schema_options
@checkpoint_options
@output_options
def history(path: str, limit: int | None, *, uncommitted: bool, raw: bool, **given: Any) -> None:
    """Every put and removal of a key, with the clocks of its batch.

    It reaches back to the oldest version that can be restored. With a limit the newest are shown.
    """
    if given["key"] is None and not given["where"]:
        raise click.UsageError('say which key: --key \'{"user": "a"}\', or --where user=a')
    options = api_options(given)
    limit = limit_of(limit, given)
    report = api.history(path, options, uncommitted=uncommitted, limit=limit, raw=raw)
    finish(report, given)
