"""A report as plain values: what every machine format writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspector.findings.finding import Finding
from inspector.model import Problem
from inspector.render.report import Column, Report, Table, Unit
from inspector.time_text import time_ms_text

FINDING_COLUMNS = (
    Column("id"),
    Column("severity"),
    Column("certainty"),
    Column("title"),
    Column("cause", doc="What is the matter, in one plain sentence."),
    Column("operator_id", Unit.ID),
    Column("store_name"),
    Column("rows", Unit.COUNT, doc="Rows that the finding is about; null if it counts none."),
    Column("bytes", Unit.BYTES, doc="Their key and value bytes."),
    Column("evidence"),
    Column("next_step"),
    Column("command", doc="The command that shows more: `leftovers`."),
    Column("spark"),
)
PROBLEM_COLUMNS = (
    Column("problem"),
    Column("path"),
    Column("offset", Unit.ID),
    Column("operator_id", Unit.ID),
    Column("store_name"),
    Column("partition_id", Unit.ID),
    Column("version", Unit.ID),
    Column("message"),
)


def finding_row(finding: Finding) -> dict[str, Any]:
    """A finding under :data:`FINDING_COLUMNS`."""
    return {
        "id": finding.kind.id,
        "severity": finding.severity.word,
        "certainty": finding.certainty.value,
        "title": finding.kind.title,
        "cause": finding.cause,
        "operator_id": finding.operator_id,
        "store_name": finding.store_name,
        "rows": finding.rows,
        "bytes": finding.bytes,
        "evidence": finding.evidence,
        "next_step": finding.next_step,
        "command": finding.command,
        "spark": finding.kind.spark,
    }


def problem_row(problem: Problem) -> dict[str, Any]:
    """A problem under :data:`PROBLEM_COLUMNS`."""
    store = problem.store
    return {
        "problem": problem.slug,
        "path": problem.path,
        "offset": problem.offset,
        "operator_id": store.operator_id if store else None,
        "store_name": store.store_name if store else None,
        "partition_id": store.partition_id if store else None,
        "version": problem.version,
        "message": problem.message,
    }


def plain_row(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with every column of its table in order; a time also as RFC 3339.

    A column ``x_ms`` of epoch milliseconds is followed by ``x`` with the same as text.
    """
    plain: dict[str, Any] = {}
    for column in table.columns:
        value = row.get(column.name)
        plain[column.name] = value
        if column.unit is Unit.TIME_MS:
            text = None if value is None else time_ms_text(value)
            plain[column.name.removesuffix("_ms")] = text
    return plain


def plain_names(table: Table) -> list[str]:
    """The names of :func:`plain_row`."""
    return list(plain_row(table, {}))


def plain_summary(report: Report) -> dict[str, Any]:
    """The summary with its times as text too."""
    plain: dict[str, Any] = {}
    for name, value in report.summary.items():
        plain[name] = value
        if name.endswith("_ms"):
            plain[name.removesuffix("_ms")] = None if value is None else time_ms_text(value)
    return plain
