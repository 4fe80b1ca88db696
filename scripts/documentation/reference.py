"""The reference of an analysis as Markdown, made from its declaration."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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
    """An option that the command alone has, and no call.

    Attributes:
        spelling: with its value, as in the help.
        meaning: its help.
    """

    spelling: str
    meaning: str


def reference(analysis: Analysis, command_options: Iterable[CommandOption] = ()) -> str:
    """All that is to be known of an analysis: usage, options, the API's call, tables.

    Args:
        analysis: what is described.
        command_options: of its command, besides those that the analysis declares.
    """
    return "\n".join(_lines(analysis, command_options)) + "\n"


def _lines(analysis: Analysis, command_options: Iterable[CommandOption]) -> Iterator[str]:
    yield from (f"# {analysis.name}", "", *_paragraphs(analysis.text))
    if analysis.facts is not None:
        extras = [text for name, text in _FACTS.items() if getattr(analysis.facts, name)]
        more = f", and {' and '.join(extras)}" if extras else ""
        yield from (f"It replays every version that the state files can restore{more}.", "")
    if analysis.command:
        yield from ("```text", _usage(analysis), "```", "")
    yield from ("## Options", "", *_options(analysis, command_options), "", *_call(analysis))
    for i, table in enumerate(analysis.tables):
        same = [one.table_name for one in analysis.tables[:i] if one.columns() == table.columns()]
        yield from _table(table, same[:1])
    for data in analysis.data_tables:
        yield from _data_table(data)


def _paragraphs(text: str) -> Iterator[str]:
    for part in text.replace("``", "`").split("\n\n"):
        yield from (" ".join(part.split()), "")


# --- options ---------------------------------------------------------------------------------


def _usage(analysis: Analysis) -> str:
    words = [_argument(each, many=analysis.many) for each in analysis.arguments]
    return " ".join(["inspector", analysis.name, "[OPTIONS]", *words])


def _options(analysis: Analysis, command_options: Iterable[CommandOption]) -> Iterator[str]:
    rows = [
        "| option | in a call | default | meaning |",
        "| --- | --- | --- | --- |",
        *(_option(each, each.name) for each in analysis.options),
        *map(_command_option, command_options),
        *(_option(each, f"Options.{each.name}") for each in analysis.shared),
    ]
    if not analysis.command:  # its options have no spelling on the command line
        rows = [f"| {row.split('| ', 2)[2]}" for row in rows]
    yield from rows
    yield ""
    if analysis.command and not (analysis.files or analysis.follows):
        yield "Also the [options of output](../commands.md#output) that all commands have."
    yield "`Options` is `api.Options`, and its `engine` an `api.EngineOptions`."


def _argument(each: Parameter, *, many: bool) -> str:
    if each.choices:
        return "|".join(each.choices)
    name = each.option.metavar or each.name.upper()
    if many and each.name == "path":
        return f"{name}..."
    return name if each.required else f"[{name}]"


def _option(each: Parameter, place: str) -> str:
    values = f" One of `{'`, `'.join(each.choices)}`." if each.choices else ""
    text = f"{_DEFAULT.sub('', ' '.join(each.option.help.split()))}{values}"
    return f"| `{_cell(_spelling(each))}` | `{place}` | {_default(each)} | {_cell(text)} |"


def _spelling(each: Parameter) -> str:
    """``--batch N``: the option with what stands for its value."""
    value = each.option.metavar
    if value is None and not each.choices:
        value = "SIZE" if each.option.size else {int: "N", str: "TEXT"}.get(each.kind)
    return f"{each.flag} {value}" if value else each.flag


def _default(each: Parameter) -> str:
    words = _DEFAULT.search(each.option.help)
    if words is not None:
        return words[1]
    text = _value(each.default)
    of_call = _value(attrgetter(each.name)(Options())) if "." in each.name else ""
    return f"{text}, in a call {of_call}" if of_call not in ("", text) else text


def _value(value: Any) -> str:
    if isinstance(value, enum.Enum):
        value = value.value
    return "" if value in (None, (), {}) or value is False else f"`{value}`"


def _command_option(each: CommandOption) -> str:
    words = _DEFAULT.search(each.meaning)
    default = "" if words is None else words[1]
    meaning = _DEFAULT.sub("", each.meaning)
    return f"| `{_cell(each.spelling)}` |  | {default} | {_cell(meaning)} |"


def _call(analysis: Analysis) -> Iterator[str]:
    words = [
        f'"{each.choices[0]}"' if each.choices else each.name if each.required else "None"
        for each in analysis.arguments
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


def _table(table: type[Row], same: list[str]) -> Iterator[str]:
    yield from (f"## Table `{table.table_name}`", "", f"A row: {table.row_meaning()}.", "")
    if same:
        yield from (f"It has the columns of `{same[0]}`.", "")
    else:
        yield from ("| column | unit | meaning |", "|---|---|---|")
        columns = table.columns()
        yield from map(_column, (*columns, *_marked(table.columns(raw=True)[len(columns) :])))
        yield ""
    hidden = [f"`{each.name}`" for each in table.columns() if each.wide]
    if hidden:
        yield from (f"A terminal shows {', '.join(hidden)} with `--wide`.", "")


def _marked(columns: Iterable[Column]) -> Iterator[Column]:
    for each in columns:
        yield Column(each.name, each.unit, each.exact, f"With `--raw`: {_lower(each.doc)}")


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _column(column: Column) -> str:
    unit = UNITS[column.unit] + ("" if column.exact else ", estimate")
    return f"| `{column.name}` | {unit} | {_cell(column.doc)} |"


def _data_table(data: DataTable) -> Iterator[str]:
    yield from (f"## As a DataFrame: `{data.name}`", "", *_paragraphs(data.doc))
    own = [name for name in TableOptions.parameters() if name in data.options]
    more = "".join(f", {name}=..." for name in own)
    where = "[in a notebook](../../how-to/notebook.md)"
    yield from (f"`inspector.spark.{data.name}(spark, path, options{more})`, see {where}.", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
