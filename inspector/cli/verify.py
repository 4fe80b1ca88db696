"""``inspector verify``: integrity."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.cli.command import fail_on_option, finish
from inspector.cli.key_options import schema_options
from inspector.cli.options import api_options, checkpoint_options, output_options, work_options


@click.command()
@click.argument("path")
@fail_on_option("warning")
@work_options
@schema_options
@checkpoint_options
@output_options
def verify(path: str, fail_on: str, **given: Any) -> None:
    """Read and check every state file, going on past bad ones."""
    finish(api.verify(path, api_options(given)), given, fail_on)
