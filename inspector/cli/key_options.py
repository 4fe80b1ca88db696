"""Options about keys and schemas: which keys, and what their bytes mean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def key_options(command: F) -> F:
    """Which keys a command about rows is asked for."""
    for decorate in (
        click.option(
            "--where",
            multiple=True,
            metavar="NAME=VALUE",
            help="Only keys whose field has this value; a dot leads into a struct "
            "(window.end=2024-01-01T00:00:10Z), null is null; repeatable.",
        ),
        click.option(
            "--key",
            metavar="JSON|HEX",
            help="Only keys with these fields, as the output shows them: "
            '\'{"user": "a"}\'; or one key by all bytes of its row.',
        ),
    ):
        command = decorate(command)
    return command


def _texts(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(map(_text, values))


def _text(value: str) -> str:
    """``[OP[:STORE]=]@FILE`` with the file's content in place of its name."""
    place, sign, name = value.rpartition("@")
    if not sign or (place and not place.endswith("=")):
        return value
    try:
        return place + Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{name} cannot be read: {error}") from None


def schema_options(command: F) -> F:
    """State schemas in place of those in the checkpoint."""
    for side in ("value", "key"):
        command = click.option(
            f"--{side}-schema",
            multiple=True,
            metavar="[OP[:STORE]=]SCHEMA",
            callback=_texts,
            help=f"Schema of a store's {side}s, where the checkpoint has none (Spark 3.0 and "
            "older) or another: Spark DDL, StructType JSON, or @FILE; repeatable.",
        )(command)
    return command
