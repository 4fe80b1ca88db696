"""The file that may hold the values of a command's options."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def _config(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Use the file's values as defaults: the command line and the environment go before them."""
    if value is None:
        return
    try:
        content = tomllib.loads(Path(value).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.BadParameter(f"{value}: {error}", context, parameter) from None
    options = {
        spelled.removeprefix("--"): option
        for option in context.command.params
        if isinstance(option, click.Option) and option.name != parameter.name
        for spelled in option.opts
        if spelled.startswith("--")
    }
    defaults: dict[str, Any] = {}
    for name, setting in content.items():
        option = options.get(name)
        if option is None:
            known = ", ".join(sorted(options))
            message = f"{value}: no option {name!r}; there are {known}"
            raise click.BadParameter(message, context, parameter)
        assert option.name is not None
        defaults[option.name] = _value(setting, multiple=option.multiple)
    context.default_map = {**(context.default_map or {}), **defaults}


def _value(setting: Any, *, multiple: bool) -> Any:
    if not multiple:
        return setting
    if isinstance(setting, dict):
        return [f"{name}={value}" for name, value in setting.items()]
    return setting if isinstance(setting, list) else [setting]


def config_option() -> click.Option:
    """For commands that judge: their options about rules may be long."""
    return click.Option(
        ["--config"],
        type=click.Path(dir_okay=False),
        is_eager=True,
        expose_value=False,
        callback=_config,
        metavar="FILE",
        help="TOML file with values for the options of this command, under their names.",
    )
