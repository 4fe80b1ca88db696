"""The reference of an analysis as Markdown, made from its declaration."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

from inspector.analyses.shared.column_docs import doc_of
from inspector.analyses.shared.declare import Analysis, Parameter, TableSpec
from inspector.render.report import Column, Unit

UNITS = {
    Unit.TEXT: "text",
    Unit.COUNT: "count",
    Unit.BYTES: "bytes",
    Unit.TIME_MS: "time in epoch ms",
    Unit.ID: "number",
    Unit.VALUE: "JSON value",
    Unit.FLAG: "true or false",
}
"""Unit of a column -> what its values are."""

_FACTS = {
    "fit": "every row held against its schema and every file against its checksums",
    "matched": "the rows of joins that found a partner",
    "top": "the keys that rank highest",
    "partitions": "each partition for itself",
}
"""Field of a fact request -> what it adds to a replay."""


def reference(analysis: Analysis) -> str:
    """All that is to be known of an analysis: usage, options, the API's call, tables."""
    return "\n".join(_lines(analysis)) + "\n"


def _lines(analysis: Analysis) -> Iterator[str]:
    yield from (f"# {analysis.name}", "", analysis.text, "")
    if analysis.facts is not None:
        extras = [text for name, text in _FACTS.items() if getattr(analysis.facts, name)]
        extras += [f"the fact `{kind}`" for kind in analysis.facts.observed]
        more = f", with {', '.join(extras)}" if extras else ""
        yield from (f"It replays every state file in reach{more}.", "")
    if analysis.command:
        yield from ("```text", _usage(analysis), "```", "")
    options = (*analysis.options, *analysis.shared)
    yield from ("## Options", "", "| option | API | default | meaning |", "|---|---|---|---|")
    own = {each.name for each in analysis.options}
    yield from (_option(each, own=each.name in own) for each in options)
    yield from ("", "## As a call", "", "```python", *_call(analysis), "```", "")
    for table in analysis.tables:
        yield from _table(table)
    for data in analysis.data_tables:
        names = ", ".join(f"`{name}`" for name in data.options) or "none of its own"
        yield from (f"## As a DataFrame: `{data.name}`", "", " ".join(data.doc.split()), "")
        yield from (f"`inspector.spark.{data.name}(spark, path)`; options: {names}.", "")


def _usage(analysis: Analysis) -> str:
    words = [_argument(each, many=analysis.many) for each in analysis.arguments]
    return " ".join(["inspector", analysis.name, *words, "[OPTIONS]"])


def _argument(each: Parameter, *, many: bool) -> str:
    if each.choices:
        return "|".join(each.choices)
    name = each.option.metavar or each.name.upper()
    if many and each.name == "path":
        return f"{name}..."
    return name if each.required else f"[{name}]"


def _option(each: Parameter, *, own: bool) -> str:
    place = f"`{each.name}`" if own else f"`Options.{each.name}`"
    values = f" `{'`, `'.join(each.choices)}`." if each.choices else ""
    text = f"{' '.join(each.option.help.split())}{values}"
    return f"| `{each.flag}` | {place} | {_default(each.default)} | {_cell(text)} |"


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        value = value.value
    return "" if value is None or value == () or value is False else f"`{value}`"


def _call(analysis: Analysis) -> tuple[str, ...]:
    words = [
        repr(each.choices[0]) if each.choices else each.name if each.required else "None"
        for each in analysis.arguments
    ]
    call = ", ".join([*words, "api.Options(partition_id=0)"])
    return ("from inspector import api", "", f"found = api.{analysis.name}({call})")


def _table(table: TableSpec) -> Iterator[str]:
    yield from (f"## Table `{table.name}`", "", f"A row: {table.doc}.", "")
    yield from ("| column | unit | meaning |", "|---|---|---|")
    yield from map(_column, table.columns)
    if table.raw:
        yield from map(_column, _marked(table.raw))
    yield ""


def _marked(columns: Iterable[Column]) -> Iterator[Column]:
    for each in columns:
        yield Column(each.name, each.unit, each.exact, f"With `--raw`: {doc_of(each)}")


def _column(column: Column) -> str:
    unit = UNITS[column.unit] + ("" if column.exact else ", estimate")
    return f"| `{column.name}` | {unit} | {_cell(doc_of(column))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
