"""Options of the command line, made from their declarations."""

from __future__ import annotations

import enum
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from inspector.analyses.shared.declare import Analysis
from inspector.analyses.shared.options import SHARED, Options, Parameter
from inspector.cli.config_file import config_options
from inspector.cli.terminal import AUTO, NEVER, display_options, echo_message, has_color
from inspector.engines.choose import EngineOptions
from inspector.engines.engine import BYTES, Measure, Watch
from inspector.findings.finding import Severity
from inspector.findings.rule import parse_thresholds
from inspector.findings.verdict import Level
from inspector.light_dataclasses import replace
from inspector.quantities import bytes_of, bytes_text, duration_text
from inspector.render.renderers import FORMATS, SUFFIXES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


FAIL_ON = (*(severity.word for severity in reversed(Severity)), NEVER)  # values of ``--fail-on``
PEOPLE = ("table", "markdown", "html")  # formats that a person reads


def parameters(analysis: Analysis) -> Iterator[click.Parameter]:
    """Yield the arguments and options of an analysis' command, except those on its output."""
    for argument in analysis.arguments:
        yield _argument(argument, is_list=analysis.many and argument.name == "path")
    yield from map(_option, analysis.options)
    if analysis.fail_on is not None:
        yield click.Option(
            ["--fail-on"],
            type=click.Choice(FAIL_ON),
            default=analysis.fail_on,
            show_default=True,
            help="Exit with 1 if there is a finding of this severity or higher.",
        )
    yield from option_parameters(analysis.shared)
    yield from config_options()


def option_parameters(shared: Iterable[Parameter]) -> Iterator[click.Option]:
    """Yield the options that several commands share, from their declarations."""
    yield from map(_option, shared)


def report_options(formats: tuple[str, ...]) -> Iterator[click.Option]:
    """Yield the options on format and target of a report; ``formats`` are additional ones."""
    yield click.Option(
        ["-o", "--output"],
        type=_ReportFormat([*FORMATS, *formats]),
        help="Output format; ndjson and csv contain the main table only.  [default: by the "
        "suffix of the output file, else table]",
    )
    file = "Write the report to this file. The file is replaced only when the report is complete."
    yield click.Option(["-O", "--output-file"], type=click.Path(), help=file)
    yield click.Option(["--force"], is_flag=True, help="Overwrite the output file.")
    yield from display_options()
    yield from message_options()


def fleet_options() -> Iterator[click.Option]:
    """Yield the options of commands that take several checkpoints."""
    yield click.Option(
        ["-r", "--recursive"], is_flag=True, help="Read every checkpoint in or below PATH."
    )
    yield click.Option(
        ["--at-once"],
        type=click.IntRange(1),
        metavar="N",
        help="Number of checkpoints to read at the same time. By default 4, or 64 on Spark.",
    )
    details = "With several checkpoints, show the whole report of each."
    yield click.Option(["--details"], is_flag=True, help=details)


def filter_options() -> Iterator[click.Option]:
    """Yield the options that select checkpoints of a fleet by their verdicts."""
    yield click.Option(
        ["--level"],
        type=click.Choice([level.value for level in Level]),
        help="With several checkpoints, report only those at this level or a more severe one. "
        "The exit code still covers all of them.",
    )
    yield click.Option(
        ["--finding"],
        multiple=True,
        metavar="ID",
        help="With several checkpoints, report only those with this finding, such as SS203; "
        "repeatable.",
    )


def output_format(parsed: Mapping[str, Any], formats: tuple[str, ...]) -> str:
    """Return the format of a report, by ``-o`` or else the suffix of its file.

    ``formats`` are additional ones of the command. Raises click.UsageError if they contradict each
    other, or if no format has the suffix.
    """
    output, target = parsed["output"], parsed["output_file"]
    suffix = Path(target or "").suffix.removeprefix(".")
    if output is not None:
        means = {**SUFFIXES, **{form: form for form in formats}}.get(suffix)
        if means not in (None, "table", output):  # any text may be in a .txt
            raise click.UsageError(f"{target}: the name is that of {means}, got -o {output}")
        return str(output)
    offered = {end: form for end, form in SUFFIXES.items() if form in (*FORMATS, *formats)}
    offered |= {form: form for form in formats if form not in offered.values()}
    if not suffix:
        return "table"
    if suffix not in offered:
        endings = ", ".join(f".{end}" for end in offered)
        raise click.UsageError(
            f"{target}: no format ends with .{suffix}; give one of {endings}, or say it with -o"
        )
    return offered[suffix]


def message_options() -> Iterator[click.Option]:
    """Yield the options on messages on stderr."""
    yield click.Option(["-q", "--quiet"], is_flag=True, help="Print only errors on stderr.")
    no_progress = "Do not show progress. It is shown only if stderr is a terminal."
    yield click.Option(["--no-progress"], is_flag=True, help=no_progress)


def own_options(analysis: Analysis, parsed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the analysis' own options, by the parameters of its function."""
    values = {}
    for declared in analysis.options:
        value, default_for_people = parsed[_name(declared)], declared.option.for_people
        if value is None and default_for_people is not None:
            value = default_for_people if parsed["output"] in PEOPLE else declared.default
        values[declared.name] = value
    return values


def api_options(parsed: Mapping[str, Any], shared: Iterable[Parameter] = SHARED) -> Options:
    """Return the options of the API from the ``shared`` options of the command line.

    Raises click.UsageError if both a batch and a state version are given, or for a wrong threshold.
    """
    if parsed.get("batch") is not None and parsed.get("state_version") is not None:
        raise click.UsageError("--batch and --state-version exclude each other")
    values: dict[str, Any] = {}
    engine: dict[str, Any] = {}
    for item in shared:
        if _name(item) in parsed:
            value = parsed[_name(item)]
            is_word = issubclass(item.kind, enum.Enum) and value is not None
            target = engine if item.name.startswith("engine.") else values
            target[item.name.removeprefix("engine.")] = item.kind(value) if is_word else value
    try:  # once, and not for each of many checkpoints
        parse_thresholds(values.get("thresholds", {}))
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if engine:
        engine |= {"notify": _messages(parsed), "watch": watch_of(parsed)}
        values["engine"] = EngineOptions(**engine, verbose=bool(parsed.get("verbose")))
    return Options(**values)


def _messages(parsed: Mapping[str, Any]) -> Callable[[str], None]:
    """Return a function that writes a line of the engine to stderr, each once, unless quiet."""
    seen: set[str] = set()

    def say(text: str) -> None:
        if text not in seen and not parsed.get("quiet"):
            echo_message(text)
        seen.add(text)

    return say


def _name(declared: Parameter) -> str:
    """Return the name of an option in click and in environment variables."""
    return declared.flag.removeprefix("--").replace("-", "_")


def _argument(declared: Parameter, *, is_list: bool) -> click.Argument:
    """Return the argument of click for a parameter; with ``is_list`` it takes several paths."""
    name, metavar, required = declared.name, declared.option.metavar, declared.required
    if is_list:
        return click.Argument([f"{name}s"], metavar="PATH...", nargs=-1, required=True)
    if metavar is not None and not required:
        metavar = f"[{metavar}]"
    kind = click.Choice(declared.choices) if declared.choices else None
    return click.Argument([name], type=kind, metavar=metavar, required=required)


def _option(declared: Parameter) -> click.Option:
    """Return the option of click for a parameter."""
    option, default = declared.option, declared.default
    if declared.kind is bool:
        return click.Option([declared.flag], is_flag=True, help=option.help)
    if declared.many or option.for_people is not None:
        default = None
    default = default.value if isinstance(default, enum.Enum) else default
    return click.Option(
        [declared.flag],
        type=_type(declared),
        default=default,
        show_default=bool(default),
        multiple=declared.many,
        metavar=_value_name(declared),
        callback=_pairs if declared.kind is dict else _texts if option.file else None,
        help=option.help,
    )


def _value_name(declared: Parameter) -> str | None:
    """Return the name of an option's value in the help; None for click's default."""
    is_number = declared.kind is int and not declared.option.size and not declared.choices
    return declared.option.metavar or ("N" if is_number else None)


def _type(declared: Parameter) -> click.ParamType[Any] | None:
    """Return click's type for the values of a parameter; None for click's default."""
    if declared.choices:
        return click.Choice(declared.choices)
    if declared.kind is int:
        return ByteSize() if declared.option.size else click.IntRange(declared.option.minimum)
    return _Lines() if declared.many and declared.kind is str else None


class _Lines(click.types.StringParamType):
    """Type of texts that may have spaces: in an environment variable each is a line."""

    envvar_list_splitter = "\n"


def _pairs(_context: object, _parameter: object, values: tuple[str, ...]) -> dict[str, str]:
    """Return ``KEY=VALUE`` texts as a dictionary; raise click.BadParameter for another form."""
    pairs = [value.partition("=") for value in values]
    if any(not sign or not name for name, sign, _ in pairs):
        # The text itself is not shown: it may be a secret.
        raise click.BadParameter("expected KEY=VALUE")
    return {name: value for name, _, value in pairs}


def _texts(_context: object, _parameter: object, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return the texts, with ``@FILE`` replaced by the content of the file."""
    return tuple(map(_text, values))


def _text(value: str) -> str:
    """Return ``[OP[:STORE]=]@FILE`` with the file's content in place of ``@FILE``.

    Other texts are unchanged. Raises click.BadParameter if the file cannot be read.
    """
    scope, sign, name = value.rpartition("@")
    if not sign or (scope and not scope.endswith("=")):
        return value
    try:
        return scope + Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise click.BadParameter(f"{name} cannot be read: {error}") from None


class _ReportFormat(click.Choice[str]):
    """Type of the format of a report; for a format of data the error names ``export``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the format; click.BadParameter if reports do not have it."""
        if value in _DATA_FORMATS and value not in self.choices:
            message = f"{value} is a format of rows: inspector export rows PATH -O rows.{value}"
            self.fail(message, param, ctx)
        return super().convert(value, param, ctx)


_DATA_FORMATS = ("parquet", "arrow")  # formats of ``export`` that no report has


class ByteSize(click.ParamType[int]):
    """Type of sizes such as ``8GiB`` or ``512M``; units are powers of 1024, as Spark's are."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the size in bytes; click.BadParameter for a text that is no size."""
        if isinstance(value, int):
            return value
        size = bytes_of(str(value))
        if size is None:
            self.fail(f"{value!r} is not a size, expected one such as 8GiB", param, ctx)
        return size


REFRESH_SECONDS = 0.2  # seconds between two updates of the progress
ROOM_FOR_BAR = 60  # columns of a terminal below which no bar is drawn, only numbers


def watch_of(parsed: Mapping[str, Any]) -> Watch:
    """Return the context manager that shows a command's progress.

    It shows nothing if stderr is no terminal, or quiet, or if rows are printed to the same terminal
    meanwhile.
    """
    streams = parsed.get("output") not in ("table", "markdown") and not parsed.get("output_file")
    hidden = parsed.get("quiet") or parsed.get("no_progress") or not sys.stderr.isatty()
    if hidden or (streams and sys.stdout is not None and sys.stdout.isatty()):
        return lambda _measure: nullcontext()
    return partial(show_progress, color=has_color(parsed.get("color", AUTO), terminal=True))


@contextmanager
def show_progress(
    measure: Callable[[], Measure],
    patience: float = 1.0,
    console: Console | None = None,
    *,
    color: bool = False,
) -> Iterator[None]:
    """Show the progress while the block runs, if it takes longer than ``patience`` seconds.

    It is drawn on ``console``, by default on stderr.
    """
    ended = threading.Event()
    begin = time.monotonic()

    def show() -> None:
        if ended.wait(patience):
            return
        progress = _bar(console, color=color)
        task = progress.add_task("", **_state(measure(), time.monotonic() - begin))
        with progress:
            while not ended.wait(REFRESH_SECONDS):
                progress.update(task, **_state(measure(), time.monotonic() - begin))
                progress.refresh()

    thread = threading.Thread(target=show, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _state(now: Measure, seconds: float) -> dict[str, Any]:
    """Return the fields of the progress bar: work done, total and text.

    ``seconds`` is the time since the work began. Files that are read again do not exceed the total.
    """
    # What is read again, such as a file that has just changed, makes no more than all.
    done = min(now.done, now.total) if now.total else now.done
    text = progress_text(replace(now, done=done), seconds)
    return {"completed": done, "total": now.total or None, "text": text}


def progress_text(now: Measure, seconds: float) -> str:
    """Return ``8.0 MiB of 165.5 MiB, 2.3 MiB/s, 1 min left``; unknown parts are left out.

    ``seconds`` is the time since the begin, from which rate and remaining time follow.
    """
    is_bytes = now.unit == BYTES
    words = bytes_text if is_bytes else "{:,}".format
    text = words(now.done) + (f" of {words(now.total)}" if now.total else "")
    if not is_bytes:
        text += f" {now.unit}"
    elif now.done:
        text += f", {bytes_text(now.done / seconds)}/s"
    if now.done and now.total:
        remaining = (now.total - now.done) * seconds / now.done
        text += f", {duration_text(round(remaining) * 1000)} left"
    return text


def _bar(own: Console | None, *, color: bool) -> Progress:
    """Return the progress display of rich, on a given console or on stderr."""
    # rich takes a while to import, and most commands end before anything is shown.
    from rich import console, progress, table  # noqa: PLC0415 - for terminals

    screen = own or console.Console(stderr=True, no_color=not color)
    wide = screen.width >= ROOM_FOR_BAR
    column = table.Column(no_wrap=wide)
    text = progress.TextColumn("{task.fields[text]}", table_column=column)
    bar = (progress.BarColumn(bar_width=None),) if wide else ()
    return progress.Progress(
        text, *bar, console=screen, transient=True, expand=True, auto_refresh=False
    )
