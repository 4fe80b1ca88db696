"""The parts of a page that are made and not written."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from documentation.generated import COMPLETED, GENERATED

BLOCK = re.compile(r"(<!-- ([\w-]+) -->\n)(.*?)(<!-- /\2 -->)", re.DOTALL)
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
    return f"{command[1]}{printed(arguments).rstrip()}\n```\n"
