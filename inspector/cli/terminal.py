"""Kind of stdout: a terminal with width and colours, or a pipe that people read later."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

import click

from inspector.render.display import Display

AUTO, ALWAYS, NEVER = "auto", "always", "never"  # values of ``--color``
UNKNOWN_WIDTH = 80  # columns of a terminal that does not say its width
PIPED_WIDTH = 100  # of what is piped or written to a file: CI logs and tickets are read by people
DUMB = ("dumb", "unknown")  # values of TERM that mean a terminal without colours


def display_options() -> Iterator[click.Option]:
    """Yield the options on text for people."""
    yield click.Option(
        ["--wide"],
        is_flag=True,
        help="Show all columns of tables, and do not wrap lines.",
    )
    yield click.Option(
        ["--color"],
        type=click.Choice([AUTO, ALWAYS, NEVER]),
        default=AUTO,
        show_default=True,
        help="Colour the severities; auto: on a terminal, unless NO_COLOR is set.",
    )


def display_of(parsed: Mapping[str, Any]) -> Display:
    """Return the width and colours for output to the target of the options.

    Only stdout can be a terminal.
    """
    stdout = sys.stdout if parsed.get("output_file") is None else None
    terminal = stdout is not None and stdout.isatty()
    wide, columns = bool(parsed.get("wide")), _columns()
    width: int | None = PIPED_WIDTH if columns is None else columns or None
    if stdout is not None and terminal:
        width = width_of(stdout)
    elif wide:
        width = None
    return Display(width, color=has_color(parsed.get("color", AUTO), terminal=terminal), wide=wide)


def width_of(terminal: TextIO) -> int:
    """Return the columns of a terminal; the environment variable COLUMNS wins."""
    columns = _columns()
    if columns:
        return columns
    try:
        return os.get_terminal_size(terminal.fileno()).columns or UNKNOWN_WIDTH
    except OSError:
        return UNKNOWN_WIDTH


def _columns() -> int | None:
    """Return the environment variable COLUMNS as a number; None if it is no number."""
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() else None


def echo_message(text: str) -> None:
    """Write a message to stderr, wrapped if stderr is a terminal."""
    width = width_of(sys.stderr) if sys.stderr.isatty() else None
    for line in Display(width).text(text):
        click.echo(line, nl=False, err=True)


def has_color(choice: str, *, terminal: bool) -> bool:
    """Return whether there are colours, by ``--color`` and the environment."""
    if choice != AUTO:
        return choice == ALWAYS
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in DUMB
