"""``inspector top``: biggest, hottest, oldest keys; skew."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.cli.command import finish
from inspector.cli.key_options import schema_options
from inspector.cli.options import (
    api_options,
    checkpoint_options,
    output_options,
    redact_option,
    work_options,
)


@click.command()
@click.argument("path")
@click.option(
    "--limit", type=click.IntRange(1), default=5, show_default=True, help="Keys by each ranking."
)
@redact_option("none")
@work_options
@schema_options
@checkpoint_options
@output_options
def top(path: str, limit: int, **given: Any) -> None:
    """Biggest keys by bytes, hottest by puts, oldest by last put; skew of partitions."""
    finish(api.top(path, api_options(given), limit=limit), given)
