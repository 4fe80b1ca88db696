"""Values of options from files: the nearest ``pyproject.toml``, and the one of ``--config``.

Of an option the command line counts most, then the environment, the file of ``--config``,
``[tool.inspector]`` of the nearest ``pyproject.toml`` from the working folder upwards, and the
default. A name at the top is for every command that has such an option; a table with a command's
name is for that command alone.

A ``pyproject.toml`` is found, not named: it may lie in a folder that others write to. So it is read
only if nobody but its user and root can have written it, and it never sets an
:class:`ActingOption`.
"""

from __future__ import annotations

import difflib
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from inspector import analyses
from inspector.cli.terminal import echo_message
from inspector.plain_text import escape

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = "pyproject.toml"
LARGEST_BYTES = 1 << 20
"""Of a file of options."""

_FILES = "inspector.config_files"
"""Where a context keeps the names of the files whose values it uses."""


class ActingOption(click.Option):
    """An option by which something is run, written or connected to: no found file sets it."""


_NOT_IN_FILES = frozenset({"config", "help"})


def config_option() -> click.Option:
    """The option that names a file; every command has it, as its options about rules may be long.

    It is looked at before the others, whether it is given or not: it makes their defaults.
    """
    return click.Option(
        ["--config"],
        type=click.Path(dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_config,
        metavar="FILE",
        help="TOML file with values for the options of this command, under their names; "
        "[tool.inspector] of the nearest pyproject.toml is read too, if nobody else can write to "
        "it, but for options that run, write or connect.",
    )


def verbose_option() -> click.Option:
    """Whether the files of options are named."""
    return click.Option(
        ["-v", "--verbose"],
        is_flag=True,
        expose_value=False,
        callback=_name_files,
        help="Name the files of options that are used.",
    )


def _name_files(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    for file in context.meta.get(_FILES, ()) if value else ():
        echo_message(f"options: {file}")


def project_file(folder: Path) -> Path | None:
    """The nearest ``pyproject.toml`` from a folder upwards."""
    places = (folder, *folder.parents)
    return next((place / PROJECT for place in places if (place / PROJECT).is_file()), None)


def _config(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Make the files' values defaults."""
    defaults: dict[str, Any] = {}
    name = PROJECT
    try:
        for file, content in _contents(context, parameter, value):
            name = escape(str(file))
            settings = _defaults(context.command, content)
            if value is None or file != Path(value):
                settings = _shown_only(context.command, settings, name)
            if settings:
                context.meta.setdefault(_FILES, []).append(name)
            defaults |= settings
    except ValueError as error:
        raise click.BadParameter(f"{name}: {error}", context, parameter) from None
    if defaults:
        context.default_map = {**(context.default_map or {}), **defaults}


def _shown_only(command: click.Command, settings: dict[str, Any], file: str) -> dict[str, Any]:
    """The values of a found file but for those of options that act; these are named."""
    acting = {
        option.name: max(option.opts, key=len)
        for option in command.params
        if isinstance(option, ActingOption)
    }
    ignored = [acting[name] for name in settings if name in acting]
    if ignored:
        echo_message(
            f"{file}: {', '.join(ignored)} is ignored: only --config, the environment and the "
            "command line set what is run, written or connected to"
        )
    return {name: value for name, value in settings.items() if name not in acting}


def _writers(file: Path) -> str | None:
    """Who else can have written a file; None if nobody but its user and root.

    Asked of the file, of the folder that it lies in and, behind a link, of both ends of it: whoever
    can write to a folder can put another file there.
    """
    if not hasattr(os, "getuid"):
        return None
    real = file.resolve()
    for path in dict.fromkeys((file, file.parent, real, real.parent)):
        status = path.lstat() if path == file else path.stat()
        if status.st_uid not in (0, os.getuid()):
            return f"{escape(str(path))} belongs to another user"
        others = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if others and not stat.S_ISLNK(status.st_mode):
            return f"others can write to {escape(str(path))}"
    return None


def _contents(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The tables of the files, what counts more after what counts less."""
    project = project_file(Path.cwd())
    for file in (project, None if value is None else Path(value)):
        if file is None:
            continue
        named = file is not project or (value is not None and Path(value) == project)
        try:
            content = _parsed(file)
        except (OSError, ValueError) as error:
            if not named:
                # It is for other tools, and one of these will say what is wrong with it.
                continue
            raise click.BadParameter(f"{file}: {error}", context, parameter) from None
        settings = _own_table(content) if file.name == PROJECT else content
        writers = None if named or not settings else _writers(file)
        if writers is not None:
            echo_message(
                f"{escape(str(file))} is not read: {writers}; --config reads it all the same"
            )
            continue
        yield file, settings


def _parsed(file: Path) -> dict[str, Any]:
    with file.open("rb") as source:
        data = source.read(LARGEST_BYTES + 1)
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _own_table(content: Mapping[str, Any]) -> Mapping[str, Any]:
    tools = content.get("tool", {})
    own = tools.get("inspector", {}) if isinstance(tools, dict) else {}
    return own if isinstance(own, dict) else {}


def _defaults(command: click.Command, content: Mapping[str, Any]) -> dict[str, Any]:
    """The values for one command, those of its own table last.

    Raises:
        ValueError: there is no such option, or a table that is no command's.
    """
    options = _options(command)
    found: dict[str, Any] = {}
    own: Mapping[str, Any] = {}
    for name, setting in content.items():
        if name == command.name and isinstance(setting, dict):
            own = setting
        elif name in options:
            found |= _default(options[name], setting)
        elif not _is_of_another(name, setting):
            raise ValueError(_unknown(name, options))
    for name, setting in own.items():
        if name not in options:
            raise ValueError(_unknown(name, options))
        found |= _default(options[name], setting)
    return found


def _options(command: click.Command) -> dict[str, click.Option]:
    return {
        spelled.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for spelled in option.opts
        if spelled.startswith("--") and spelled.removeprefix("--") not in _NOT_IN_FILES
    }


def _is_of_another(name: str, setting: Any) -> bool:
    """Whether it is an option, or the table, of another command."""
    if isinstance(setting, dict) and name in analyses.names():
        return True
    loaded = map(analyses.load, analyses.names())
    flags = {each.flag for one in loaded for each in (*one.options, *one.shared)}
    return f"--{name}" in flags or name in _OF_SOME


_OF_SOME = frozenset({"fail-on", "recursive", "at-once", "details", "output", "output-file"})
"""Options that are in no declaration, and that not every command has."""


def _unknown(name: str, options: Mapping[str, click.Option]) -> str:
    near = difflib.get_close_matches(name, options, 1)
    meant = f", did you mean {near[0]!r}?" if near else ""
    return f"no option {name!r}{meant}; this command has {', '.join(sorted(options))}"


def _default(option: click.Option, setting: Any) -> dict[str, Any]:
    assert option.name is not None
    return {option.name: _value(setting, multiple=option.multiple)}


def _value(setting: Any, *, multiple: bool) -> Any:
    if not multiple:
        return setting
    if isinstance(setting, dict):
        return [f"{name}={value}" for name, value in setting.items()]
    return setting if isinstance(setting, list) else [setting]
