"""``inspector rows``: the decoded rows of a version."""

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
@click.option("--raw", is_flag=True, help="Add key_hex and value_hex: the UnsafeRow bytes.")
@limit_option
@redact_option("none")
@schema_options
@checkpoint_options
@output_options
def rows(path: str, limit: int | None, *, raw: bool, **given: Any) -> None:
    """The live rows of a version, decoded by the state schema."""
    finish(api.rows(path, api_options(given), limit=limit_of(limit, given), raw=raw), given)
