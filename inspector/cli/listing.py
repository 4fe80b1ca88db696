"""``inspector info`` and ``inspector files``: from listings and small files alone."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.cli.command import finish
from inspector.cli.key_options import schema_options
from inspector.cli.options import api_options, checkpoint_options, output_options


@click.command()
@click.argument("path")
@schema_options
@checkpoint_options
@output_options
def info(path: str, **given: Any) -> None:
    """Identity: query, operators, stores, schemas, rules, batches, watermark, confs."""
    finish(api.info(path, api_options(given)), given)


@click.command()
@click.argument("path")
@checkpoint_options
@output_options
def files(path: str, **given: Any) -> None:
    """Inventory: chains of deltas and snapshots, replay depth, what else lies there."""
    finish(api.files(path, api_options(given)), given)
