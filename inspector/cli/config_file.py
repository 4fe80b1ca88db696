"""Values of options from files: the nearest ``pyproject.toml``, and the one of ``--config``.

Of an option the command line counts most, then the environment, the file of ``--config``,
``[tool.inspector]`` of the nearest ``pyproject.toml`` from the working folder upwards, and the
default. A name at the top is for every command that has such an option; a table with a command's
name is for that command alone.

A ``pyproject.toml`` is merely found, and may be anybody's. It is read only where nobody but the
user and root can have written it, and sets only a :class:`ViewOption`; keys and values it may
redact more than the command does, never less.
"""

from __future__ import annotations

import difflib
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import click

from inspector import analyses
from inspector.cli.terminal import ViewOption
from inspector.plain_text import escape

PROJECT = "pyproject.toml"
REDACT = "redact"
LARGEST_BYTES = 1 << 20  # of a file of options

_NOT_IN_FILES = frozenset({"config", "help", "verbose"})
_MESSAGES = "inspector.config_file"  # in a context: (it is a warning, what is said of its files)

_MOST_LINKS = 40  # symbolic links that lead to a file at the most, as Linux has it


def config_options() -> Iterator[click.Option]:
    """The option that names a file, looked at first as it makes defaults of others; ``-v``."""
    yield click.Option(
        ["--config"],
        type=click.Path(dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_config,
        metavar="FILE",
        help="TOML file with option values. Display options are also read from "
        "[tool.inspector] in the nearest pyproject.toml.",
    )
    yield click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        help="Print the engine and the option files in use on stderr.",
    )


def say_files(context: click.Context, *, verbose: bool, quiet: bool) -> None:
    """Say on stderr which files were refused and, if that is asked for, which are used."""
    for warning, text in context.meta.pop(_MESSAGES, ()):
        if (warning and not quiet) or (verbose and not warning):
            click.echo(text, err=True)


def _config(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    defaults: dict[str, Any] = {}
    file = PROJECT
    try:
        for path, content in _contents(context, parameter, value):
            file = escape(str(path))
            values = _defaults(context.command, content)
            if value is None or path != Path(value):
                values = _views(context, file, values)
            defaults |= values
            _add_message(context, f"options: {file}", warning=False)
    except ValueError as error:
        raise click.BadParameter(f"{file}: {error}", context, parameter) from None
    if defaults:
        context.default_map = {**(context.default_map or {}), **defaults}


def _contents(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The tables of the files, what counts more after what counts less."""
    folder = Path.cwd()
    files = (candidate / PROJECT for candidate in (folder, *folder.parents))
    project = next((file for file in files if file.is_file()), None)
    if project is not None and os.path.realpath(project) != os.path.realpath(value or ""):
        try:
            data, fault = _read_project(project)
            if fault is None:
                yield project, _own_table(_parse(data))
            elif b"inspector" in data:
                words = f"{escape(str(project))} is not used: {escape(fault)}"
                text = f"warning: {words}; --config uses it in any case"
                _add_message(context, text, warning=True)
        except (OSError, ValueError):
            pass  # It is for other tools, and one of these will say what is wrong with it.
    if value is not None:
        file = Path(value)
        try:
            with file.open("rb") as source:
                content = _parse(source.read(LARGEST_BYTES + 1))
        except (OSError, ValueError) as error:
            raise click.BadParameter(f"{escape(value)}: {error}", context, parameter) from None
        yield file, _own_table(content) if file.name == PROJECT else content


def _read_project(file: Path) -> tuple[bytes, str | None]:
    """The content of a file that was found, and why it must not be used; None if it may be.

    What is looked at is the file that is open: another may get its name in between.
    """
    number = os.open(file, os.O_RDONLY | os.O_NONBLOCK)  # of a pipe no writer is waited for
    with open(number, "rb") as source:
        status = os.fstat(number)
        fault = None if stat.S_ISREG(status.st_mode) else "it is not a regular file"
        fault = fault or _others(status, str(file)) or _others_on_way(file)
        return source.read(LARGEST_BYTES + 1) if stat.S_ISREG(status.st_mode) else b"", fault


def _others_on_way(file: Path) -> str | None:
    """Who else may choose the file that a name leads to: its folder, links, and their folders."""
    for _ in range(_MOST_LINKS):
        fault = _others(os.stat(file.parent), str(file.parent))
        if fault is not None or not file.is_symlink():
            return fault
        owner = os.lstat(file).st_uid
        if owner not in (0, os.geteuid()):
            return f"user {owner} owns the link {file}"
        file = file.parent / file.readlink()
    return f"too many links lead to {file}"


def _others(status: os.stat_result, name: str) -> str | None:
    """Who else can write to a file or a folder, in words; None if nobody but the user and root.

    A sticky folder such as ``/tmp`` is no exception: there everybody can put a file.
    """
    if status.st_uid not in (0, os.geteuid()):
        return f"user {status.st_uid} owns {name}"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others than its owner can write to {name}"
    return None


def _views(context: click.Context, file: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values that a file which was merely found may set; of the others a warning."""
    views = {o.name: o for o in context.command.params if isinstance(o, ViewOption)}
    allowed = set(views)
    if REDACT in values and REDACT in views:
        # Nor may it show more of keys and values than the default of the command.
        levels = list(cast("click.Choice[str]", views[REDACT].type).choices)
        default = cast("str", views[REDACT].get_default(context))
        if values[REDACT] in levels[: levels.index(default)]:
            allowed.remove(REDACT)
    refused = sorted(name.replace("_", "-") for name in values.keys() - allowed)
    if refused:
        _add_message(
            context,
            f"warning: {file} does not set {', '.join(refused)}: a file that --config does not "
            "name sets only how things are shown and judged, and redacts no less than without it",
            warning=True,
        )
    return {name: setting for name, setting in values.items() if name in allowed}


def _add_message(context: click.Context, text: str, *, warning: bool) -> None:
    context.meta.setdefault(_MESSAGES, []).append((warning, text))


def _parse(data: bytes) -> dict[str, Any]:
    """The content of a file of options; ValueError if it is too large or no TOML."""
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES:,} bytes")
    # Imported here, as most runs have no such file.
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return cast("dict[str, Any]", toml.loads(data.decode("utf-8")))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _own_table(content: Mapping[str, Any]) -> Mapping[str, Any]:
    tools = content.get("tool", {})
    table = tools.get("inspector", {}) if isinstance(tools, dict) else {}
    return table if isinstance(table, dict) else {}


def _defaults(command: click.Command, content: Mapping[str, Any]) -> dict[str, Any]:
    """The values for one command, those of its own table last; ValueError for other names."""
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
    if isinstance(setting, dict) and name in analyses.names():
        return True
    loaded = map(analyses.load, analyses.names())
    flags = {item.flag for analysis in loaded for item in (*analysis.options, *analysis.shared)}
    return f"--{name}" in flags or name in _OF_SOME


# Options that are in no declaration, and that not every command has.
_OF_SOME = frozenset({"fail-on", "recursive", "at-once", "details", "output", "output-file"})


def _unknown_text(name: str, options: Mapping[str, click.Option]) -> str:
    near = difflib.get_close_matches(name, options, 1)
    meant = f", did you mean {near[0]!r}?" if near else ""
    return f"no option {name!r}{meant}; this command has {', '.join(sorted(options))}"


def _default(option: click.Option, setting: Any) -> dict[str, Any]:
    assert option.name is not None
    if option.multiple and isinstance(setting, dict):
        setting = [f"{name}={value}" for name, value in setting.items()]
    elif option.multiple and not isinstance(setting, list):
        setting = [setting]
    return {option.name: setting}
