"""Parts of a report that tests compare with literal values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar

from inspector.findings.finding import Finding
from inspector.model import Problem
from inspector.render.page import Section
from inspector.render.report import Report
from tests.attributes import attributes

Rows = Iterable[Mapping[str, Any]]
BlockT = TypeVar("BlockT")


def json_lines(text: str) -> list[dict[str, Any]]:
    """Return the JSON documents of a text that has one of them in each line."""
    return [json.loads(line) for line in text.splitlines()]


def primary_rows(report: Report) -> list[dict[str, Any]]:
    """Return the rows of the primary table of a report as dicts."""
    return [dict(row) for row in report.primary.rows]


def rows_of_table(report: Report, name: str) -> list[Any]:
    """Return the rows of the table of this name, or no rows if the report has no such table."""
    return [row for table in report.tables if table.name == name for row in table.rows]


def blocks_of(page: Sequence[Section], kind: type[BlockT]) -> list[BlockT]:
    """Return the blocks of one class in all sections of a page, in their order."""
    blocks = chain.from_iterable(attributes(page, "blocks"))
    return [block for block in blocks if isinstance(block, kind)]


def table_names(report: Report) -> list[str]:
    """Return the names of all tables of a report, in their order."""
    return [table.name for table in report.tables]


def cell_values(rows: Rows, *names: str) -> list[Any]:
    """Return one column of rows as a list; several columns as a list of tuples."""
    if len(names) == 1:
        return [row[names[0]] for row in rows]
    return [tuple(row[name] for name in names) for row in rows]


def rows_where(rows: Rows, **columns: Any) -> list[dict[str, Any]]:
    """Return the rows that have these values in these columns."""
    return [dict(row) for row in rows if columns.items() <= dict(row).items()]


def row_where(rows: Rows, **columns: Any) -> dict[str, Any]:
    """Return the only row that has these values in these columns."""
    (row,) = rows_where(rows, **columns)
    return row


def notes_starting_with(report: Report, text: str) -> list[str]:
    """Return the notes of a report that begin with a text."""
    return [note for note in report.notes if note.startswith(text)]


def finding_ids(report: Report) -> list[str]:
    """Return the ids of the findings of a report, in their order."""
    return [finding.kind.id for finding in report.findings]


def damage_ids(report: Report) -> set[str]:
    """Return the ids of the findings about damage (SS1nn)."""
    return {finding.kind.id for finding in report.findings if finding.kind.id < "SS2"}


def findings_with_id(report: Report, kind_id: str) -> list[Finding]:
    """Return the findings of one kind."""
    return [finding for finding in report.findings if finding.kind.id == kind_id]


def slugs(problems: Iterable[Problem]) -> list[str]:
    """Return the slugs of problems, in their order."""
    return [problem.slug for problem in problems]
