"""Values of options from the file that ``--config`` names.

The command line wins over the environment, which wins over this file, which wins over the default.
A name at the top of the file applies to every command that has such an option. A table with the
name of a command applies to that command alone.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

from inspector import analyses
from inspector.plain_text import escape

PROJECT = "pyproject.toml"
"""Name of a file that other tools share: only its table ``[tool.inspector]`` is read."""

LARGEST_BYTES = 1 << 20  # size limit of a file with option values

_NOT_IN_FILES = frozenset({"config", "help", "verbose"})  # options that a file cannot set
_FILE_IN_USE = "inspector.config_file"  # key of the file's path in ``click.Context.meta``


def config_options() -> Iterator[click.Option]:
    """Yield ``--config`` and ``--verbose``.

    ``--config`` is evaluated before all other options, because it changes their defaults.
    """
    yield click.Option(
        ["--config"],
        type=click.Path(dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_config,
        metavar="FILE",
        help="TOML file with option values.",
    )
    yield click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        help="Print the engine and the option file in use on stderr.",
    )


def print_file_in_use(context: click.Context) -> None:
    """Print the path of the option file on stderr, if ``--config`` named one."""
    file = context.meta.get(_FILE_IN_USE)
    if file is not None:
        click.echo(f"options: {file}", err=True)


def _config(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Make the values of the named file the defaults of the command's options."""
    if value is None:
        return
    file = escape(value)
    try:
        with Path(value).open("rb") as source:
            content: Mapping[str, Any] = _parse(source.read(LARGEST_BYTES + 1))
        if Path(value).name == PROJECT:
            content = _own_table(content)
        defaults = _defaults(context.command, content)
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{file}: {error}", context, parameter) from None
    context.meta[_FILE_IN_USE] = file
    context.default_map = {**(context.default_map or {}), **defaults}


def _parse(data: bytes) -> dict[str, Any]:
    """Return the content of a file of options.

    Raises ValueError if it is too large, nested too deeply, or no TOML.
    """
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES:,} bytes")
    # Imported here, as most runs have no such file.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return cast("dict[str, Any]", toml.loads(data.decode("utf-8")))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _own_table(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the table ``[tool.inspector]``; empty if there is none."""
    tools = content.get("tool", {})
    table = tools.get("inspector", {}) if isinstance(tools, dict) else {}
    return table if isinstance(table, dict) else {}


def _defaults(command: click.Command, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a file has for one command; those of its own table win.

    Raises ValueError for an unknown option.
    """
    options = {
        spelled.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for spelled in option.opts
        if spelled.startswith("--") and spelled.removeprefix("--") not in _NOT_IN_FILES
    }
    values: dict[str, Any] = {}
    own = content.get(command.name or "")
    command_table = own if isinstance(own, dict) else {}
    for name, setting in (*content.items(), *command_table.items()):
        if setting is command_table:
            continue
        if name in options:
            values |= _default(options[name], setting)
        elif name in command_table or not _is_of_another(name, setting):
            raise ValueError(_unknown_text(name, options))
    return values


def _is_of_another(name: str, setting: Any) -> bool:
    """True if a name is an option, or the table, of another command."""
    if isinstance(setting, dict) and name in (*analyses.names(), *_TABLES):
        return True
    loaded = map(analyses.load, analyses.names())
    flags = {item.flag for analysis in loaded for item in (*analysis.options, *analysis.shared)}
    return f"--{name}" in flags or name in _OF_SOME


_TABLES = ("serve",)  # commands with options that are no analyses
# options without a declaration that only some commands have
_OF_SOME = frozenset({"fail-on", "recursive", "at-once", "details", "output", "output-file"}) | {
    *("host", "port", "allow-host", "show-values", "request-seconds"),
}


def _unknown_text(name: str, options: Mapping[str, click.Option]) -> str:
    """Return the message on an unknown option, with the nearest name if there is one."""
    near = difflib.get_close_matches(name, options, 1)
    meant = f", did you mean {near[0]!r}?" if near else ""
    return f"no option {name!r}{meant}; this command has {', '.join(sorted(options))}"


def _default(option: click.Option, setting: Any) -> dict[str, Any]:
    """Return the value of an option as click takes it, by the option's name.

    A repeatable option takes a table of pairs, a list, or a single value.
    """
    assert option.name is not None
    if option.multiple and isinstance(setting, dict):
        setting = [f"{name}={value}" for name, value in setting.items()]
    elif option.multiple and not isinstance(setting, list):
        setting = [setting]
    return {option.name: setting}
