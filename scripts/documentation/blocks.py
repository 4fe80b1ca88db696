"""The parts of a page that are made and not written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from documentation.generated import COMPLETED, GENERATED

BLOCK = re.compile(r"(<!-- ?([\w-]+) ?-->\n)(.*?)(<!-- ?/\2 ?-->)", re.DOTALL)
_COMMAND = re.compile(r"(```text\n\$ ([^\n]+)\n)")


def refreshed(page: str, printed: Callable[[list[str]], str]) -> str:
    """A page with all its made parts as they should be.

    Args:
        page: its Markdown.
        printed: what ``inspector`` prints with these arguments.
    """
    return BLOCK.sub(lambda block: block[1] + _made(block[2], block[3], printed) + block[4], page)


def _made(name: str, before: str, printed: Callable[[list[str]], str]) -> str:
    if name in COMPLETED:
        return f"\n{COMPLETED[name](before).strip()}\n\n"
    if name in GENERATED:
        return f"\n{GENERATED[name]().strip()}\n\n"
    command = _COMMAND.match(before)
    if command is None:
        raise ValueError(f"block {name!r} starts with no command, and nothing makes it")
    program, *arguments = shlex.split(command[2])
    if program != "inspector":
        raise ValueError(f"block {name!r}: got the command {program!r}, expected inspector")
    return f"{command[1]}{_as_before(printed(arguments).rstrip(), before)}\n```\n"


def _as_before(output: str, before: str) -> str:
    """Return the part of an output that a page shows.

    A page that left out the block that names the checkpoint leaves it out again. A page whose
    output ended with ``...`` shows the first lines, the same number of lines as before.
    """
    if not re.search("^checkpoint  ", before, re.MULTILINE):
        parts = output.split("\n\n")
        output = "\n\n".join(part for part in parts if not part.startswith("checkpoint  "))
    lines = output.split("\n")
    old_lines = before.rstrip().split("\n")[2:-1]
    is_cut = old_lines[-1:] == ["..."]
    return "\n".join([*lines[: len(old_lines) - 1], "..."] if is_cut else lines)
