"""The reference of an analysis as Markdown, made from its declaration."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from inspector.analyses.shared.declare import Analysis, DataTable, TableOptions
from inspector.analyses.shared.options import Options, Parameter
from inspector.render.tabular import Column, Row, Unit

UNITS = {
    Unit.TEXT: "text",
    Unit.COUNT: "count",
    Unit.BYTES: "bytes",
    Unit.PER_HOUR: "number per hour",
    Unit.BYTES_PER_HOUR: "bytes per hour",
    Unit.SHARE: "share",
    Unit.RATIO: "ratio",
    Unit.DURATION_MS: "ms",
    Unit.TIME_MS: "epoch-ms",
    Unit.ID: "number",
    Unit.VALUE: "JSON",
    Unit.FLAG: "boolean",
}
"""Unit of a column -> what its values are."""

MOST_USED = (
    *("--batch", "--operator", "--store", "--partition", "--key", "--where", "--limit"),
    "--fail-on",
)
"""Shared options that the page of a command names: what is read, printed, and makes it fail.

It also names the shared options in its text.
"""

_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
"""An option in the text of an analysis."""

_SHARED_OPTIONS = "(../commands.md#shared-options)"
"""Target of a link from the page of a command."""

_EXPLAINED = {
    "--batch": "`--batch` (default: last committed)",
    "--limit": "`--limit` (100 in tables; 0: all)",
    "--partition": "`--partition` (selection)",
    "--where": "`--where` (filter)",
}
"""Texts of those options that are named with their default, or with what they choose."""

_KEYWORDS = {"simulate": 'timeout="1h"', "changes": "from_batch=3"}
"""Analysis -> keyword in the example of its call: one that it needs, or its most used."""

_CALLS = {
    "copy": 'api.copy(path, dest, evict="leftovers", plan=True)',
    "diff": "api.diff(path, from_batch=3, to_batch=9)",
    "history": 'api.history(path, api.Options(key=("user=a",)))',
}
"""Analysis -> example of its call, if shared options would not show what it is for."""

_MOST_NAMED = 7  # of more columns that are described above only the first and last are named

_WORDS_OF_UNITS = {
    Unit.BYTES: "bytes",
    Unit.PER_HOUR: "per_hour",
    Unit.BYTES_PER_HOUR: "bytes_per_hour",
    Unit.SHARE: "share",
    Unit.DURATION_MS: "ms",
    Unit.RATIO: "seconds",
}
"""Unit of a column -> words in its name that say so."""

QUANTILE = re.compile("_bytes_(p50|p90|p99|max)$")
"""End of the name of a column with a quantile of the bytes of a row."""

_DEFAULT = re.compile(r"\s*\[default: (.*)\]")
"""A default in the words of an option's help."""

_SOME_TABLES = "Tables without a condition need no option."
"""Sentence on a page with several tables, some of which state a condition."""

_CONDITION = re.compile("^with(out)? |`--as`|`--find`", re.IGNORECASE)
"""Part of the text of a table that not every report has."""


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
    """Descriptions that have pages of their own.

    Attributes:
        columns: columns that tables of several analyses have.
        flags: options that several commands have.
        tables: table -> the analysis whose page describes it.
    """

    columns: Set[Meaning] = frozenset()
    flags: Set[str] = frozenset()
    tables: Mapping[type[Row], str] = field(default_factory=dict)


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
    if not analysis.command:
        first += " It is a call of `inspector.api`, not a command."
    yield from (f"# {analysis.name}", "", first, "", *example)
    for paragraph in paragraphs:
        yield from (paragraph, "")
    yield from ("## Options", "", *_options(analysis, command_options, shared))
    yield from _tables(analysis, shared)


def _tables(analysis: Analysis, shared: SharedText) -> Iterator[str]:
    """Yield the lines on the tables of an analysis."""
    described: set[Meaning] = set()
    conditions = [_CONDITION.search(table.row_meaning()) for table in analysis.tables]
    if any(conditions) and conditions.count(None) > 1:
        yield from (_SOME_TABLES, "")
    for i, table in enumerate(analysis.tables):
        owner = shared.tables.get(table, analysis.name)
        if owner != analysis.name:
            yield from _table_elsewhere(table, owner)
            continue
        same = [
            entry.table_name for entry in analysis.tables[:i] if entry.columns() == table.columns()
        ]
        yield from _table(table, same[:1], shared.columns, described)
        described |= set(map(meaning, table.columns()))


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.replace("``", "`").split("\n\n")]


# --- options ---------------------------------------------------------------------------------


def _options(
    analysis: Analysis, command_options: Iterable[CommandOption], shared: SharedText
) -> Iterator[str]:
    lines = [option_line(item) for item in analysis.options if item.flag not in shared.flags]
    lines += map(_command_option, command_options)
    lines += [option_line(item) for item in analysis.shared if item.flag not in shared.flags]
    if shared.flags and not analysis.command:
        lines = [option_line(item) for item in analysis.options]
    if analysis.command:
        yield from (f"    {_usage(analysis)}", "")
    yield from (*lines, *([""] if lines else []))
    if shared.flags and analysis.command:
        in_text = set(_FLAG.findall(analysis.text)) - {*MOST_USED, "--wide"}
        used = [flag for flag in (*MOST_USED, *sorted(in_text)) if flag in shared.flags]
        own = {item.flag: item.default for item in analysis.options if item.default}
        texts = _EXPLAINED | {flag: f"`{flag}` (default {own[flag]})" for flag in own}
        examples = [texts.get(flag, f"`{flag}`") for flag in used]
        if not analysis.files:
            examples.append("`--wide` (all columns)")
            examples.append("`-o ndjson`" if analysis.follows else "`-o json`")
        text = shared_options_like(examples)
        yield from (text if lines else f"No own options; {text}", "")
    elif shared.flags:
        names = ", ".join(f"`{item.flag}`" for item in analysis.shared)
        yield from (f"It also has these [shared options]{_SHARED_OPTIONS}: {names}.", "")
    result = _return_text(analysis)
    call = f"[`{_call(analysis)}`](../commands.md#calls){f', {result}' if result else ''}"
    yield from (f"In Python: {call}.", "")
    for data in analysis.data_tables:
        yield from _data_table(data)


def shared_options_like(examples: Iterable[str]) -> str:
    """Return the sentence of a command's page that names some of its shared options.

    Args:
        examples: the options, as the page prints them.
    """
    return f"[Shared options]{_SHARED_OPTIONS} like {', '.join(examples)}."


def _return_text(analysis: Analysis) -> str:
    """Return what the call of an analysis returns, as the end of a sentence; "" for a report."""
    if analysis.files:
        return "tables with Arrow `batches`"
    if analysis.relation:
        return "a relation of DuckDB"
    return "a report for each batch" if analysis.follows else ""


def _usage(analysis: Analysis) -> str:
    words = [_argument(item, many=analysis.many) for item in analysis.arguments]
    return " ".join(["inspector", analysis.name, "[OPTIONS]", *words])


def _argument(item: Parameter, *, many: bool) -> str:
    if item.choices:
        return "|".join(item.choices)
    name = item.option.metavar or item.name.upper()
    if many and item.name == "path":
        return f"{name}..."
    return name if item.required else f"[{name}]"


def option_line(item: Parameter, default: str | None = None) -> str:
    """Return the line of a declared option in a list of options.

    Args:
        item: the option.
        default: text that replaces the default.
    """
    text = _DEFAULT.sub("", " ".join(item.option.help.split()))
    display = _default(item) if default is None else default
    stated = [f"default {display}"] if display else []
    if item.flag[2:].replace("-", "_") != item.name.removeprefix("engine."):
        stated.append(f"in Python `{item.name}`")
    return spelled_line(_spelling(item), stated, text)


def spelled_line(spelling: str, notes: Sequence[str], text: str) -> str:
    """Return the line of an option in a list: its spelling, the notes in parentheses, its text."""
    parentheses = f" ({'; '.join(notes)})" if notes else ""
    return f"- `{spelling}`{parentheses}: {text}"


def _spelling(item: Parameter) -> str:
    """``--batch N``: the option with what stands for its value."""
    value = item.option.metavar
    if value is None and item.choices:
        value = "|".join(item.choices)
    if value is None:
        value = "SIZE" if item.option.size else {int: "N", str: "TEXT"}.get(item.kind)
    return f"{item.flag} {value}" if value else item.flag


def _default(item: Parameter) -> str:
    words = _DEFAULT.search(item.option.help)
    if words is not None:
        return words[1]
    text = _value(item.default)
    of_call = _value(attrgetter(item.name)(Options())) if "." in item.name else ""
    return f"{text}, in Python {of_call}" if of_call not in ("", text) else text


def _value(value: Any) -> str:
    if isinstance(value, enum.Enum):
        value = value.value
    return "" if value in (None, (), {}) or value is False else f"`{value}`"


def _command_option(item: CommandOption) -> str:
    words = _DEFAULT.search(item.meaning)
    notes = [] if words is None else [f"default {words[1]}"]
    return spelled_line(item.spelling, notes, _DEFAULT.sub("", item.meaning))


def _call(analysis: Analysis) -> str:
    if analysis.name in _CALLS:
        return _CALLS[analysis.name]
    accepted = {item.name for item in analysis.shared}
    options = ""
    if "where" in accepted:
        options = 'api.Options(where=("user=a",))'
    elif "batch" in accepted:
        options = "api.Options(batch=9)"
    elif "partition_id" in accepted:
        options = "api.Options(partition_id=0)"
    words = [
        f'"{item.choices[0]}"'
        if item.choices
        else item.name
        if item.required or not options
        else "None"
        for item in analysis.arguments
    ]
    if analysis.relation:
        words[-1] = '"select count(*) from op0_default"'
    keyword = _KEYWORDS.get(analysis.name, "")
    return f"api.{analysis.name}({', '.join(filter(None, [*words, options, keyword]))})"


# --- tables ----------------------------------------------------------------------------------


def _table_elsewhere(table: type[Row], owner: str) -> Iterator[str]:
    name = table.table_name
    yield from (f"## Table `{name}`", "", _row_text(table), "")
    yield from (f"See [{owner}]({owner}.md#table-{name}).", "")


def _table(
    table: type[Row], same: list[str], shared: Set[Meaning], described: Set[Meaning]
) -> Iterator[str]:
    yield from (f"## Table `{table.table_name}`", "", _row_text(table), "")
    if same:
        yield from (f"It has the columns of `{same[0]}`.", "")
        return
    columns = table.columns()
    elsewhere = [item for item in columns if meaning(item) in shared]
    above = [item for item in columns if meaning(item) in described - shared]
    new = [item for item in columns if meaning(item) not in described | shared]
    yield from (*meaning_table("column", map(column_entry, new)), *([""] if new else []))
    if above:
        names = [_column_name(item) for item in above]
        text = f"{names[0]} to {names[-1]}" if len(names) > _MOST_NAMED else ", ".join(names)
        yield from (f"As above: {text}.", "")
    if elsewhere:
        names = [_column_name(item) for item in elsewhere if not QUANTILE.search(item.name)]
        quantiles = [item for item in elsewhere if QUANTILE.search(item.name)]
        names += [f"quantiles such as {_column_name(item)}" for item in quantiles[:1]]
        yield from (f"[Shared columns](../columns.md): {', '.join(names)}.", "")


def meaning(column: Column) -> Meaning:
    """Return what has to be equal in two columns for one description of both."""
    return (column.name, column.unit, column.exact, column.doc)


def _row_text(table: type[Row]) -> str:
    """Return the sentence on what a row of a table is."""
    text = table.row_meaning()
    return f"{text[0].upper()}{text[1:]}."


def meaning_table(noun: str, entries: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of a table with name and meaning of each entry; none without entries.

    Args:
        noun: what an entry is, as ``column``.
        entries: name and meaning of each.
    """
    rows = ["|".join(("", *(cell.replace("|", r"\|") for cell in entry), "")) for entry in entries]
    return [f"|{noun}|meaning|", "|---|---|", *rows] if rows else []


def column_entry(column: Column) -> tuple[str, str]:
    """Return the name of a column, with its unit, and its meaning.

    The unit is left out for text, JSON, counts and numbers of things, if the name has it, and of a
    boolean that begins with "Whether".
    """
    word = _WORDS_OF_UNITS.get(column.unit)
    is_named = word is not None and re.search(rf"(^|_){word}($|_of_)", column.name) is not None
    is_flag = column.unit is Unit.FLAG and column.doc.startswith("Whether ")
    is_plain = is_flag or column.unit in (Unit.TEXT, Unit.COUNT, Unit.ID, Unit.VALUE)
    unit = "" if is_named or is_plain else UNITS[column.unit]
    notes = ", ".join(filter(None, (unit, "" if column.exact else "estimate")))
    return f"{_column_name(column)}{f' ({notes})' if notes else ''}", column.doc


def _column_name(column: Column) -> str:
    return f"`{column.name}`"


def _data_table(data: DataTable) -> Iterator[str]:
    """Yield the call that returns a DataFrame, and what it has."""
    # The linked page describes ``mode``, which most of these calls have.
    own = [name for name in TableOptions.parameters() if name in data.options and name != "mode"]
    more = "".join(f", {name}=..." for name in own)
    call = f"inspector.spark.{data.name}(spark, path, options{more})"
    _, *paragraphs = _paragraphs(data.doc)  # its first sentence repeats that of the page
    yield from (f"DataFrame: [`{call}`](../../how-to/notebook.md).", "")
    for paragraph in paragraphs:
        yield from (paragraph, "")
