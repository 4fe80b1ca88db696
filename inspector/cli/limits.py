"""How many rows a listing shows."""

from __future__ import annotations

from typing import Any

import click

FOR_PEOPLE = 100
"""Rows in a table for people unless told otherwise; machine formats get all."""

limit_option = click.option(
    "--limit",
    type=click.IntRange(0),
    help=f"At most so many rows; 0: all.  [default: {FOR_PEOPLE} in table and markdown, else 0]",
)


def limit_of(limit: int | None, given: dict[str, Any]) -> int:
    """The limit in force; 0 for none."""
    if limit is not None:
        return limit
    return FOR_PEOPLE if given["output"] in ("table", "markdown") else 0
