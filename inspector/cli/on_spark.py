"""Outputs that Spark writes itself, because they may be too large for one process."""

from __future__ import annotations

import click

FORMATS = ("parquet", "ndjson", "csv")


def check_format(form: str) -> None:
    """Whether Spark writes it.

    Raises:
        click.UsageError: it does not.
    """
    if form not in FORMATS:
        raise click.UsageError(f"Spark writes no {form}, expected {', '.join(FORMATS)}")
