"""Values of options from files: the nearest ``pyproject.toml``, and the one of ``--config``.

Of an option the command line counts most, then the environment, the file of ``--config``,
``[tool.inspector]`` of the nearest ``pyproject.toml`` from the working folder upwards, and the
default. A name at the top is for every command that has such an option; a table with a command's
name is for that command alone.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from inspector import analyses

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT = "pyproject.toml"
LARGEST_BYTES = 1 << 20
"""Of a file of options."""

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
        "[tool.inspector] of the nearest pyproject.toml is read in any case.",
    )


def project_file(folder: Path) -> Path | None:
    """The nearest ``pyproject.toml`` from a folder upwards."""
    places = (folder, *folder.parents)
    return next((place / PROJECT for place in places if (place / PROJECT).is_file()), None)


def _config(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Make the files' values defaults."""
    defaults: dict[str, Any] = {}
    file = PROJECT
    try:
        for place, content in _contents(context, parameter, value):
            file = str(place)
            defaults |= _defaults(context.command, content)
    except ValueError as error:
        raise click.BadParameter(f"{file}: {error}", context, parameter) from None
    if defaults:
        context.default_map = {**(context.default_map or {}), **defaults}


def _contents(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The tables of the files, what counts more after what counts less."""
    project = project_file(Path.cwd())
    for file in (project, None if value is None else Path(value)):
        if file is None:
            continue
        try:
            content = _parsed(file)
        except (OSError, ValueError) as error:
            if file is project and value != str(project):
                # It is for other tools, and one of these will say what is wrong with it.
                continue
            raise click.BadParameter(f"{file}: {error}", context, parameter) from None
        yield file, _own_table(content) if file.name == PROJECT else content


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
