"""Options about the rules by which rows should go, and the file that may hold them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from inspector.model import TimeoutKind

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

F = TypeVar("F", bound=Callable[..., Any])


def _config(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """Take the file's values as defaults: the command line and the environment go before them."""
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
    for name, given in content.items():
        option = options.get(name)
        if option is None:
            known = ", ".join(sorted(options))
            message = f"{value}: no option {name!r}; there are {known}"
            raise click.BadParameter(message, context, parameter)
        assert option.name is not None
        defaults[option.name] = _value(given, multiple=option.multiple)
    context.default_map = {**(context.default_map or {}), **defaults}


def _value(given: Any, *, multiple: bool) -> Any:
    if not multiple:
        return given
    if isinstance(given, dict):
        return [f"{name}={value}" for name, value in given.items()]
    return given if isinstance(given, list) else [given]


def rule_options(command: F) -> F:
    """For commands that judge: what the checkpoint does not tell of the rules."""
    for decorate in (
        click.option(
            "--config",
            type=click.Path(dir_okay=False),
            is_eager=True,
            expose_value=False,
            callback=_config,
            metavar="FILE",
            help="TOML file with values for the options of this command, under their names.",
        ),
        click.option(
            "--join-retention",
            multiple=True,
            metavar="[OP:]SIDE=DURATION",
            help="How far behind the watermark a join's side keeps its rows, such as left=1h.",
        ),
        click.option(
            "--operator-rule",
            multiple=True,
            metavar="OP[:STORE]=RULE",
            help="Rule of an operator: never, or a comparison such as 'key.ts<=watermark', "
            "'key.window<=watermark-1h' or 'value.expires<processing'.",
        ),
        click.option(
            "--event-time-field",
            multiple=True,
            metavar="[OP=]FIELD",
            help="Field that carries the watermark, where the schema does not mark it: "
            "key.ts or value.ts.",
        ),
        click.option(
            "--timeout-kind",
            type=click.Choice([kind.value for kind in TimeoutKind]),
            help="Clock of group-state timeouts, where the bytes do not tell it.",
        ),
    ):
        command = decorate(command)
    return command
