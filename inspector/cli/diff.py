"""``inspector diff``: two versions, or two checkpoints."""

from __future__ import annotations

from typing import Any

import click

from inspector import api
from inspector.cli.command import finish
from inspector.cli.key_options import key_options, schema_options
from inspector.cli.limits import limit_of, limit_option
from inspector.cli.options import (
    api_options,
    output_options,
    part_options,
    redact_option,
)

_VERSION = click.IntRange(0)


@click.command()
@click.argument("path")
@click.argument("path2", required=False)
@click.option("--from-batch", type=_VERSION, help="Compare the state that this batch made ...")
@click.option("--to-batch", type=_VERSION, help="... with the state that this batch made.")
@click.option("--from-version", type=_VERSION, help="The same as a state version (batch + 1).")
@click.option("--to-version", type=_VERSION, help="The same as a state version (batch + 1).")
@click.option("--raw", is_flag=True, help="Add the UnsafeRow bytes in hex.")
@key_options
@limit_option
@redact_option("none")
@schema_options
@part_options
@output_options
def diff(path: str, path2: str | None, limit: int | None, *, raw: bool, **given: Any) -> None:
    """Rows added, removed and changed between two versions.

    By default the newest committed version and the one before it; of two checkpoints, PATH as the
    old one and PATH2 as the new one, the newest committed version of each.
    """
    for end in ("from", "to"):
        if given[f"{end}_batch"] is not None and given[f"{end}_version"] is not None:
            raise click.UsageError(f"--{end}-batch and --{end}-version exclude each other")
    names = ("from_batch", "to_batch", "from_version", "to_version")
    ends = api.Ends(**{name: given[name] for name in names})
    limit = limit_of(limit, given)
    finish(api.diff(path, path2, api_options(given), ends=ends, limit=limit, raw=raw), given)
