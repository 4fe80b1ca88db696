"""JSON: one envelope, or one line per row of the command's own table.

``schema_version`` 1: ``command``, ``checkpoint``, ``summary``, ``rows`` (the command's own table),
``columns`` (their names, units, exact or not), ``tables`` (the others), ``findings``, ``problems``,
``complete`` (nothing that should have been read could not be), ``notes``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from inspector.render.plain import finding_row, plain_row, plain_summary, problem_row
from inspector.render.report import SCHEMA_VERSION, Report, Table


def render_json(report: Report) -> Iterator[str]:
    """The envelope, piece by piece: rows are written as they are read."""
    head = {
        "schema_version": SCHEMA_VERSION,
        "command": report.command,
        "checkpoint": report.checkpoint,
        "summary": plain_summary(report),
        "columns": _columns(report.primary),
    }
    yield _dumps(head)[:-1] + ', "rows": ['
    comma = "\n"
    for row in report.primary.rows:
        yield comma + _dumps(plain_row(report.primary, row))
        comma = ",\n"
    tail = {
        "tables": {
            table.name: [plain_row(table, row) for row in table.rows] for table in report.tables[1:]
        },
        "findings": [finding_row(finding) for finding in report.findings],
        "problems": [problem_row(problem) for problem in report.problems],
        "complete": report.complete,
        "notes": [*report.notes, *report.footnotes],
    }
    yield "\n], " + _dumps(tail)[1:] + "\n"


def render_ndjson(report: Report) -> Iterator[str]:
    """One line per row of the command's own table; nothing else."""
    for row in report.primary.rows:
        yield _dumps(plain_row(report.primary, row)) + "\n"


def _columns(table: Table) -> list[dict[str, Any]]:
    return [{"name": c.name, "unit": c.unit.value, "exact": c.exact} for c in table.columns]


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
