"""``inspector timeline``: per batch."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.cli.command import finish
from inspector.cli.key_options import schema_options
from inspector.cli.options import api_options, checkpoint_options, output_options, work_options
from inspector.cli.sizes_of import ByteSize


@click.command()
@click.argument("path")
@click.option("--limit", type=ByteSize(), help="Tell when live rows reach so many bytes (8GiB).")
@work_options
@schema_options
@checkpoint_options
@output_options
def timeline(path: str, limit: int | None, **given: Any) -> None:
    """Per batch: clock, watermark, lag, rows, bytes, changes; growth and where it leads."""
    finish(api.timeline(path, api_options(given), limit=limit), given)
