"""A report as plain values: what every machine format writes, and its own table line by line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from inspector.findings.finding import Finding
from inspector.model import Problem
from inspector.plain_text import escape
from inspector.render import tabular as t
from inspector.render.report_data import ReportData
from inspector.time_text import time_ms_text


class FindingRow(t.Row, table="findings"):
    """A judged statement about the checkpoint."""

    id: Annotated[t.Text, "The stable id of the kind of finding.", t.Rank(1)]
    severity: Annotated[t.Text, "`error`, `warning` or `info`.", t.Rank(2)]
    certainty: Annotated[t.Certainty, t.Rank(6)]
    title: Annotated[t.Text, "The kind of finding in a few words.", t.WIDE]
    cause: Annotated[t.Text | None, "What is the matter, in one plain sentence.", t.WIDE] = None
    operator_id: Annotated[t.OperatorId | None, t.Rank(3)] = None
    store_name: Annotated[t.StoreName | None, t.Rank(7)] = None
    rows: Annotated[
        t.Count | None, "Rows that the finding is about; null if it counts none.", t.Rank(4)
    ] = None
    bytes: Annotated[t.Bytes | None, "Their key and value bytes.", t.Rank(5)] = None
    evidence: Annotated[t.Text, "The numbers that show it.", t.WIDE]
    next_step: Annotated[t.Text | None, "What you can do.", t.WIDE] = None
    command: Annotated[
        t.Text | None, "The command that shows more, such as `leftovers`.", t.WIDE
    ] = None
    spark: Annotated[t.Text | None, "The conf or error class of Spark to look for.", t.WIDE] = None


class _CheckpointRow(t.Row):
    """Column with the checkpoint, for rows of many checkpoints."""

    checkpoint: Annotated[t.Text, "The checkpoint's root, spelled as in the command.", t.WIDE]


class AuditFindingRow(FindingRow, _CheckpointRow, table="findings"):
    """A judged statement about the checkpoint."""


class ProblemRow(t.Row, table="problems", empty="none: all files are readable and consistent"):
    """File or folder that cannot be read, is missing, or is not as it should be."""

    problem: Annotated[
        t.Text, "What is wrong, as a stable name (`inspector explain errors`).", t.Rank(1)
    ]
    path: Annotated[t.Text | None, "The file or folder.", t.Rank(2)]
    offset: Annotated[t.Id | None, "The byte of the file at which it is; null for the whole file."]
    operator_id: Annotated[t.OperatorId | None, t.WIDE]
    store_name: Annotated[t.StoreName | None, t.WIDE]
    partition_id: Annotated[t.PartitionId | None, t.WIDE]
    version: Annotated[t.Version | None, t.WIDE]
    message: Annotated[t.Text, "What is wrong, in words.", t.Rank(3)]


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Return the named attributes of a value, in this order."""
    return {name: getattr(value, name) for name in names}


def finding_row(finding: Finding) -> FindingRow:
    """Return a finding as a row of the table ``findings``."""
    kind = finding.kind
    return FindingRow(
        severity=finding.severity.word,
        certainty=finding.certainty.value,
        **fields_of(kind, "id", "title", "spark"),
        **fields_of(finding, "cause", "operator_id", "store_name", "rows", "bytes"),
        **fields_of(finding, "evidence", "next_step", "command"),
    )


def problem_row(problem: Problem) -> ProblemRow:
    """Return a problem as a row of the table ``problems``."""
    row = problem.to_row()
    return ProblemRow(problem=row.pop("slug"), **row)


def plain_row(table: t.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with every column of its table, in order; a missing value is None.

    A column ``x_ms`` of epoch milliseconds is followed by ``x`` with the time as RFC 3339 text.
    """
    plain: dict[str, Any] = {}
    for column in table.columns:
        value = row.get(column.name)
        plain[column.name] = value
        if column.unit is t.Unit.TIME_MS:
            text = None if value is None else time_ms_text(value)
            plain[column.name.removesuffix("_ms")] = text
    return plain


def plain_names(table: t.Table) -> list[str]:
    """Return the names of the values that :func:`plain_row` gives for a table."""
    return list(plain_row(table, {}))


def plain_summary(report: ReportData) -> dict[str, Any]:
    """Return the summary of a report, in which each time ``x_ms`` is followed by ``x`` as text."""
    plain: dict[str, Any] = {}
    for name, value in report.summary.items():
        plain[name] = value
        if name.endswith("_ms"):
            plain[name.removesuffix("_ms")] = None if value is None else time_ms_text(value)
    return plain


class EstimateRow(t.Row, table="estimate"):
    """With `--estimate`: what an audit of one checkpoint would request, read and cost."""

    checkpoint: Annotated[t.Text, "Its root.", t.Rank(1)]
    lists: Annotated[
        t.Count,
        "LIST requests.",
        t.ESTIMATE,
        t.Rank(5),
    ]
    gets: Annotated[t.Count, "GET and HEAD requests.", t.ESTIMATE, t.Rank(3)]
    files: Annotated[t.Count, "Files that are read.", t.ESTIMATE, t.Rank(6)]
    bytes: Annotated[t.EstimatedBytes, "Bytes that are read.", t.Rank(4)]
    core_seconds: Annotated[
        t.Ratio,
        "Processor seconds of this machine.",
        t.ESTIMATE,
        t.Rank(7),
    ]
    dollars: Annotated[
        t.Text | None,
        "Their price in US dollars; null without --price.",
        t.ESTIMATE,
        t.Rank(2),
    ]


def render_ndjson(report: ReportData) -> Iterator[str]:
    """Yield one line of JSON for each row of the command's own table."""
    for row in report.primary.rows:
        yield dumps(plain_row(report.primary, row)) + "\n"


def render_csv(report: ReportData) -> Iterator[str]:
    """Yield the command's own table as CSV (RFC 4180), header first, nested values as JSON.

    Null and the empty text are both an empty field. Control characters are escaped, because a CSV
    is read in terminals, too.
    """
    table = report.primary
    yield csv_line(plain_names(table))
    for row in table.rows:
        yield csv_line(list(plain_row(table, row).values()))


def csv_line(values: Sequence[Any]) -> str:
    """Return a line of CSV with these values."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(map(_cell, values))
    return text.getvalue()


def _cell(value: Any) -> Any:
    """Return a value for CSV: booleans in lower case, nested values as JSON, texts escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return dumps(value)
    return escape(value) if isinstance(value, str) else value


def dumps(value: Any) -> str:
    """Return a value as JSON in which characters that a terminal hides or obeys are escaped.

    Raises ValueError for NaN.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
