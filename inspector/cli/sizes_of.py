"""Sizes on the command line: ``8GiB``, ``512M``."""

from __future__ import annotations

import re
from typing import Any

import click

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE)
_POWERS = ("", "K", "M", "G", "T", "P")


class ByteSize(click.ParamType[int]):
    """A size such as ``8GiB`` or ``512M``; units are powers of 1024, as Spark's are."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The size in bytes."""
        if isinstance(value, int):
            return value
        match = _SIZE.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"{value!r} is no size, expected one like 8GiB", param, ctx)
        return round(float(match[1]) * 1024.0 ** _POWERS.index(match[2].upper()))
