"""The reference of commands, made from what click knows of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import click

from inspector.cli.main import inspector as group

_SHARED_BY = 3
"""Commands that must have an option in common for it to be described once."""


def commands() -> str:
    """Each command with its own options, and then the options that several share."""
    context = click.Context(group)
    found = {name: group.get_command(context, name) for name in group.list_commands(context)}
    of_command = {name: list(_options(one)) for name, one in found.items() if one is not None}
    count = Counter(option for options in of_command.values() for option in options)
    shared = [option for option, users in count.items() if users >= _SHARED_BY]
    parts = [
        part
        for name, one in found.items()
        if one is not None
        for part in _command(one, of_command[name], shared)
    ]
    users = {
        option: [name for name, options in of_command.items() if option in options]
        for option in shared
    }
    return "\n".join([*parts, "\n## Shared options\n", *_table(shared, users)])


_Option = tuple[str, str]
"""Spelling with values, and what it does."""


def _options(command: click.Command) -> Iterator[_Option]:
    context = click.Context(command, info_name=command.name)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            yield record


def _command(
    command: click.Command, options: list[_Option], shared: list[_Option]
) -> Iterator[str]:
    context = click.Context(command, info_name=f"inspector {command.name}")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    help_text = command.help or ""
    yield f"\n### `{command.name}`\n"
    yield f"```text\n{usage}\n```\n"
    yield "\n\n".join(" ".join(part.split()) for part in help_text.split("\n\n")) + "\n"
    own = [option for option in options if option not in shared]
    if own:
        yield "\n".join(_table(own, {})) + "\n"
    common = [option[0] for option in options if option in shared]
    if common:
        yield "Shared options: " + ", ".join(f"`{_short(name)}`" for name in common) + "."


def _short(spelling: str) -> str:
    """``--batch`` of ``-b, --batch INTEGER``."""
    return next(word for word in spelling.replace(",", "").split() if word.startswith("--"))


def _table(options: list[_Option], users: dict[_Option, list[str]]) -> list[str]:
    head = ["| option | meaning |", "|---|---|"]
    if users:
        head = ["| option | meaning | commands |", "|---|---|---|"]
    rows = [f"| `{_cell(spelling)}` | {_cell(meaning)} |" for spelling, meaning in options]
    if users:
        rows = [
            f"{row} {', '.join(f'`{name}`' for name in users[option])} |"
            for row, option in zip(rows, options, strict=True)
        ]
    return head + rows


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
