"""``inspector sizes`` and ``inspector sharing``: what versions weigh and share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from inspector import api
from inspector.cli.command import finish
from inspector.cli.key_options import schema_options
from inspector.cli.options import api_options, checkpoint_options, output_options, work_options

FIELD = "field"
_PLACES = ("operator", "store", "partition")


def _by_option(*more: str) -> Callable[[Any], Any]:
    return click.option(
        "--by",
        type=click.Choice([*_PLACES, *more]),
        default="store",
        show_default=True,
        help="What a line stands for.",
    )


@click.command()
@click.argument("path")
@_by_option(FIELD)
@work_options
@schema_options
@checkpoint_options
@output_options
def sizes(path: str, by: str, **given: Any) -> None:
    """Rows, key and value bytes with their quantiles; or what each field takes. All exact."""
    options = api_options(given)
    finish(api.fields(path, options) if by == FIELD else api.sizes(path, options, by=by), given)


@click.command()
@click.argument("path")
@_by_option()
@work_options
@schema_options
@checkpoint_options
@output_options
def sharing(path: str, by: str, **given: Any) -> None:
    """Per version: new, changed, same-value and removed rows, and what is shared."""
    finish(api.sharing(path, api_options(given), by=by), given)
