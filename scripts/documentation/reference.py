"""The reference of an analysis as Markdown, made from its declaration."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from inspector.analyses.shared.declare import Analysis, DataTable, TableOptions
from inspector.analyses.shared.options import KEYS, Options, Parameter
from inspector.render.tabular import Column, Row, Unit

UNITS = {
    Unit.TEXT: "text",
    Unit.COUNT: "count",
    Unit.BYTES: "bytes",
    Unit.PER_HOUR: "number per hour",
    Unit.BYTES_PER_HOUR: "bytes per hour",
    Unit.SHARE: "share from 0 to 1",
    Unit.RATIO: "ratio",
    Unit.DURATION_MS: "ms",
    Unit.TIME_MS: "time in epoch ms",
    Unit.ID: "number",
    Unit.VALUE: "JSON value",
    Unit.FLAG: "true or false",
}
"""Unit of a column -> what its values are."""

_FACTS = {
    "fit": "checks every row against its schema and every file against its checksums",
    "matched": "counts the rows of joins that have found a partner",
    "fields": "measures what each field takes",
    "rewrites": "counts in how many versions in a row each key was put",
    "top": "ranks the keys",
    "partitions": "keeps the numbers of each partition apart",
}
"""Field of a fact request -> what the command does besides replaying."""

_DEFAULT = re.compile(r"\s*\[default: (.*)\]")
"""A default in the words of an option's help."""


@dataclass(frozen=True)
class CommandOption:
    """An option that a command has and a call of ``inspector.api`` has not.

    Attributes:
        spelling: the option with its value, as in the help.
        meaning: its help.
    """

    spelling: str
    meaning: str


Meaning = tuple[str, Unit, bool, str]  # name, unit, exactness and description of a column


@dataclass(frozen=True)
class SharedText:
    """What stands once for all commands, on pages of their own.

    Attributes:
        columns: columns that tables of several analyses have.
        flags: options that several commands have, by the title of their section. The value of an
            option is its default, if that differs from command to command, else "".
    """

    columns: Set[Meaning] = frozenset()
    flags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def reference(
    analysis: Analysis,
    command_options: Iterable[CommandOption] = (),
    example: Sequence[str] = (),
    shared: SharedText | None = None,
) -> str:
    """Return the page of an analysis: example, options, the call of the API, tables.

    Args:
        analysis: the analysis to describe.
        command_options: options of its command that the analysis does not declare.
        example: lines of an example, as Markdown.
        shared: what other pages describe. By default nothing: the page describes all itself.
    """
    lines = _lines(analysis, command_options, example, shared or SharedText())
    return "\n".join(lines) + "\n"


def _lines(
    analysis: Analysis,
    command_options: Iterable[CommandOption],
    example: Sequence[str],
    shared: SharedText,
) -> Iterator[str]:
    first, *paragraphs = _paragraphs(analysis.text)
    yield from (f"# {analysis.name}", "", first, "", *example)
    for paragraph in paragraphs:
        yield from (paragraph, "")
    if analysis.facts is not None:
        extras = [text for name, text in _FACTS.items() if getattr(analysis.facts, name)]
        options = f", and {' and '.join(extras)}" if extras else ""
        yield from (f"It replays every version that the state files can restore{options}.", "")
    yield from ("## Options", "", *_options(analysis, command_options, shared), *_call(analysis))
    for i, table in enumerate(analysis.tables):
        same = [
            item.table_name for item in analysis.tables[:i] if item.columns() == table.columns()
        ]
        yield from _table(table, same[:1], shared.columns)
    for data in analysis.data_tables:
        yield from _data_table(data)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.replace("``", "`").split("\n\n")]


# --- options ---------------------------------------------------------------------------------


def _options(
    analysis: Analysis, command_options: Iterable[CommandOption], shared: SharedText
) -> Iterator[str]:
    described = {flag for flags in shared.flags.values() for flag in flags}
    rows = [option_row(option, option.name) for option in analysis.options]
    rows += map(_command_option, command_options)
    rows += [
        option_row(item, f"Options.{item.name}")
        for item in analysis.shared
        if item.flag not in described
    ]
    rows = [*OPTION_HEAD, *rows] if rows else []
    if not analysis.command:  # its options have no spelling on the command line
        rows = [f"| {row.split('| ', 2)[2]}" for row in rows]
    if analysis.command:
        yield from ("```text", _usage(analysis), "```", "")
    yield from (*rows, *([""] if rows else []))
    for title, flags in shared.flags.items():
        anchor = title.lower().replace(" ", "-")
        names = ", ".join(map(_flag_text, flags, flags.values()))
        yield f"- [{title}](../commands.md#{anchor}): {names}"
    yield from [""] if shared.flags else []


def _flag_text(flag: str, default: str) -> str:
    return f"`{flag}` (default `{default}`)" if default else f"`{flag}`"


OPTION_HEAD = ("| option | in a call | default | meaning |", "| --- | --- | --- | --- |")
"""The head of a table of options."""


def _usage(analysis: Analysis) -> str:
    words = [_argument(argument, several_values=analysis.many) for argument in analysis.arguments]
    return " ".join(["inspector", analysis.name, "[OPTIONS]", *words])


def _argument(item: Parameter, *, several_values: bool) -> str:
    if item.choices:
        return "|".join(item.choices)
    name = item.option.metavar or item.name.upper()
    if several_values and item.name == "path":
        return f"{name}..."
    return name if item.required else f"[{name}]"


def option_row(item: Parameter, name_in_call: str, default: str | None = None) -> str:
    """Return the row of a declared option in a table of options.

    Args:
        item: the option.
        name_in_call: its parameter, or field of ``Options``, in ``inspector.api``.
        default: text that replaces the default.
    """
    values = f" One of `{'`, `'.join(item.choices)}`." if item.choices else ""
    text = f"{_DEFAULT.sub('', ' '.join(item.option.help.split()))}{values}"
    display = _default(item) if default is None else default
    return f"| `{_cell(_spelling(item))}` | `{name_in_call}` | {display} | {_cell(text)} |"


def _spelling(item: Parameter) -> str:
    """``--batch N``: the option with what stands for its value."""
    value = item.option.metavar
    if value is None and not item.choices:
        value = "SIZE" if item.option.size else {int: "N", str: "TEXT"}.get(item.kind)
    return f"{item.flag} {value}" if value else item.flag


def _default(item: Parameter) -> str:
    words = _DEFAULT.search(item.option.help)
    if words is not None:
        return words[1]
    text = _value(item.default)
    of_call = _value(attrgetter(item.name)(Options())) if "." in item.name else ""
    return f"{text}, in a call {of_call}" if of_call not in ("", text) else text


def _value(value: Any) -> str:
    if isinstance(value, enum.Enum):
        value = value.value
    return "" if value in (None, (), {}) or value is False else f"`{value}`"


def _command_option(item: CommandOption) -> str:
    words = _DEFAULT.search(item.meaning)
    default = "" if words is None else words[1]
    meaning = _DEFAULT.sub("", item.meaning)
    return f"| `{_cell(item.spelling)}` |  | {default} | {_cell(meaning)} |"


def _call(analysis: Analysis) -> Iterator[str]:
    words = [
        f'"{argument.choices[0]}"'
        if argument.choices
        else argument.name
        if argument.required
        else "None"
        for argument in analysis.arguments
    ]
    chosen = 'where=("user=a",)' if KEYS in analysis.uses else "partition_id=0"
    call = f"api.{analysis.name}({', '.join([*words, f'api.Options({chosen})'])})"
    yield from ("## As a call", "", "```python", "from inspector import api", "")
    if analysis.files:
        yield from (f"for table in {call}:", "    for batch in table.batches:")
        yield "        print(table.name, batch.num_rows)"
    elif analysis.follows:
        yield from (f"for report in {call}:", "    for row in report.primary.rows:")
        yield "        print(row)"
    else:
        yield from (f"report = {call}", "for row in report.primary.rows:", "    print(row)")
    yield from ("```", "")


# --- tables ----------------------------------------------------------------------------------


def _table(table: type[Row], same: list[str], shared: Set[Meaning]) -> Iterator[str]:
    yield from (f"## Table `{table.table_name}`", "", f"A row: {table.row_meaning()}.", "")
    if same:
        yield from (f"It has the columns of `{same[0]}`.", "")
        return
    columns = table.columns()
    elsewhere = [item for item in columns if meaning(item) in shared]
    described = [column for column in columns if meaning(column) not in shared]
    described += _marked(table.columns(raw=True)[len(columns) :])
    if described:
        yield from (*COLUMN_HEAD, *map(column_row, described), "")
    if elsewhere:
        names = ", ".join(map(_column_name, elsewhere))
        yield from (f"[Shared columns](../columns.md): {names}.", "")


COLUMN_HEAD = ("| column | unit | meaning |", "|---|---|---|")
"""The head of a table of columns."""


def meaning(column: Column) -> Meaning:
    """Return what has to be equal in two columns for one description of both."""
    return (column.name, column.unit, column.exact, column.doc)


def _marked(columns: Iterable[Column]) -> Iterator[Column]:
    for column in columns:
        yield Column(column.name, column.unit, column.exact, f"With `--raw`: {_lower(column.doc)}")


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def column_row(column: Column) -> str:
    """Return the row of a column in a table of columns."""
    unit = UNITS[column.unit] + ("" if column.exact else ", estimate")
    return f"| {_column_name(column)} | {unit} | {_cell(column.doc)} |"


def _column_name(column: Column) -> str:
    return f"`{column.name}`" + ("\\*" if column.wide else "")


def _data_table(data: DataTable) -> Iterator[str]:
    yield from (f"## As a DataFrame: `{data.name}`", "")
    for paragraph in _paragraphs(data.doc):
        yield from (paragraph, "")
    own = [name for name in TableOptions.parameters() if name in data.options]
    options = "".join(f", {name}=..." for name in own)
    where = "[in a notebook](../../how-to/notebook.md)"
    yield from (f"`inspector.spark.{data.name}(spark, path, options{options})`, see {where}.", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
