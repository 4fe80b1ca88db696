"""Sizes on the command line: ``8GiB``, ``512M``."""

from __future__ import annotations

from typing import Any

import click

from inspector.quantities import bytes_of


class ByteSize(click.ParamType[int]):
    """A size such as ``8GiB`` or ``512M``; units are powers of 1024, as Spark's are."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The size in bytes."""
        if isinstance(value, int):
            return value
        size = bytes_of(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size, expected one such as 8GiB", param, ctx)
        return size
