"""The options that several commands share, declared once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from inspector.api import Options
from inspector.engines.choose import AUTO, IO, NAMES, EngineOptions
from inspector.model import TimeoutKind
from inspector.render.formats import FORMATS
from inspector.render.keys import Redact

F = TypeVar("F", bound=Callable[..., Any])


def _pairs(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    pairs = [value.partition("=") for value in values]
    if any(not sign or not name for name, sign, _ in pairs):
        # The text itself is not shown: it may be a secret.
        raise click.BadParameter("expected KEY=VALUE")
    return {name: value for name, _, value in pairs}


def output_options(command: F) -> F:
    """How and where the report is written."""
    return formats(*FORMATS)(command)


def formats(*names: str) -> Callable[[F], F]:
    """The same with these formats."""
    return lambda command: _output(command, names)


def _output(command: F, names: Sequence[str]) -> F:
    for decorate in (
        click.option("-q", "--quiet", is_flag=True, help="Say nothing on stderr but errors."),
        click.option("--force", is_flag=True, help="Overwrite the output file."),
        click.option(
            "-O",
            "--output-file",
            type=click.Path(),
            help="Write the report to this file, whole or not at all.",
        ),
        click.option(
            "-o",
            "--output",
            type=click.Choice(list(names)),
            default="table",
            show_default=True,
            help="Format; ndjson and csv hold the command's own table only.",
        ),
    ):
        command = decorate(command)
    return command


def checkpoint_options(command: F) -> F:
    """Which checkpoint, and which part and version of it."""
    for decorate in (
        click.option(
            "--state-version", type=click.IntRange(0), help="Judge this state version (batch + 1)."
        ),
        click.option(
            "--batch",
            type=click.IntRange(0),
            help="Judge the state that this batch made; by default the last committed one.",
        ),
    ):
        command = decorate(command)
    return part_options(command)


def part_options(command: F) -> F:
    """Which checkpoint, and which part of it."""
    for decorate in (
        click.option("--partition", type=click.IntRange(0), help="Only this partition."),
        click.option("--store", help="Only this store, such as left-keyToNumValues."),
        click.option("--operator", type=click.IntRange(0), help="Only this operator id."),
        click.option(
            "--storage-option",
            multiple=True,
            metavar="KEY=VALUE",
            callback=_pairs,
            help="Option of the storage's fsspec driver; repeatable.",
        ),
    ):
        command = decorate(command)
    return command


def work_options(command: F) -> F:
    """How and where the state is read."""
    option = click.option(
        "--workers",
        type=click.IntRange(1),
        help="Partitions read at the same time in this process.  [default: the number of cores]",
    )
    return option(engine_options(command))


def engine_options(command: F) -> F:
    """Where the state is read."""
    for decorate in (
        click.option(
            "--io",
            type=click.Choice(IO),
            default=IO[0],
            show_default=True,
            help="How it is read: by fsspec, or by the file systems and credentials of Spark.",
        ),
        click.option(
            "--conf",
            multiple=True,
            metavar="KEY=VALUE",
            callback=_pairs,
            help="Spark conf of the session that is started; repeatable.",
        ),
        click.option(
            "--master",
            metavar="URL",
            help="Spark to run on: spark://host:7077, yarn, k8s://..., local[4], or sc://host of "
            "Spark Connect.",
        ),
        click.option(
            "--engine",
            type=click.Choice(NAMES),
            default=AUTO,
            show_default=True,
            help="Read in this process, or on Spark's executors.",
        ),
    ):
        command = decorate(command)
    return command


def redact_option(default: str) -> Callable[[F], F]:
    """For commands that show keys; ``default`` is what they hide unless asked."""

    def decorate(command: F) -> F:
        return click.option(
            "--redact",
            type=click.Choice([kind.value for kind in Redact]),
            default=default,
            show_default=True,
            help="Show keys and values, their hash, or nothing of them.",
        )(command)

    return decorate


def api_options(given: dict[str, Any]) -> Options:
    """The options of the API from those of the command line.

    Raises:
        click.UsageError: both a batch and a state version are given.
    """
    if given.get("batch") is not None and given.get("state_version") is not None:
        raise click.UsageError("--batch and --state-version exclude each other")
    engine = EngineOptions("local")
    if "engine" in given:
        engine = EngineOptions(
            given["engine"], given["master"], given["conf"], io=given["io"], notify=_teller(given)
        )
    redact, kind = given.get("redact"), given.get("timeout_kind")
    return Options(
        storage_options=given["storage_option"],
        batch=given.get("batch"),
        state_version=given.get("state_version"),
        operator_id=given.get("operator"),
        store_name=given.get("store"),
        partition_id=given.get("partition"),
        redact=None if redact is None else Redact(redact),
        workers=given.get("workers"),
        engine=engine,
        timeout_kind=None if kind is None else TimeoutKind(kind),
        event_time_fields=given.get("event_time_field", ()),
        operator_rules=given.get("operator_rule", ()),
        join_retention=given.get("join_retention", ()),
        key=given.get("key"),
        where=given.get("where", ()),
        key_schemas=given.get("key_schema", ()),
        value_schemas=given.get("value_schema", ()),
    )


def _teller(given: dict[str, Any]) -> Callable[[str], None]:
    said: set[str] = set()

    def tell(text: str) -> None:
        if text not in said and not given.get("quiet"):
            click.echo(text, err=True)
        said.add(text)

    return tell
