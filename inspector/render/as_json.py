"""JSON: one envelope for the whole report.

The pages ``reference/output`` and ``reference/report.schema.json`` say what it has. Where findings
or problems are the own table, they are there once, under their name, and there is no ``rows``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inspector.findings.verdict import Verdict
from inspector.light_dataclasses import asdict
from inspector.render import plain
from inspector.render.first_screen import command_line
from inspector.render.plain import dumps, fields_of, plain_row
from inspector.render.report_data import LISTED, SCHEMA_VERSION, ReportData
from inspector.render.tabular import values
from inspector.time_text import time_ms_text


def render_json(report: ReportData) -> Iterator[str]:
    """Yield the JSON of a report, piece by piece; rows are written as they are read."""
    primary = report.primary
    columns = {
        table.name: [
            {"name": c.name, "unit": c.unit.value, "exact": c.exact} for c in table.columns
        ]
        for table in report.tables
    }
    head = {
        "schema_version": SCHEMA_VERSION,
        **fields_of(report, "command", "checkpoint"),
        "part": None if report.part is None else asdict(report.part),
        "verdict": None if report.verdict is None else verdict_value(report.verdict, report),
        **({"metrics": report.metrics} if report.metrics else {}),
        "summary": plain.plain_summary(report),
        "table": primary.name,
        "columns": columns,
    }
    prefix = dumps(head)[:-1] + ", "
    if primary.name not in LISTED:
        yield prefix + '"rows": ['
        prefix = "\n], "
        for number, row in enumerate(primary.rows):
            yield (",\n" if number else "\n") + dumps(plain_row(primary, row))
    tail = {
        "tables": {
            table.name: [plain_row(table, row) for row in table.rows]
            for table in report.tables[1:]
            if table.name not in LISTED
        },
        "findings": [values(plain.finding_row(finding)) for finding in report.findings],
        "problems": [values(plain.problem_row(problem)) for problem in report.problems],
        "complete": report.complete,
        "notes": [*report.notes, *report.footnotes],
        **({"steps": [asdict(step) for step in report.steps]} if report.steps else {}),
    }
    yield prefix + dumps(tail)[1:] + "\n"


def verdict_value(verdict: Verdict, report: ReportData) -> dict[str, Any]:
    """Return a verdict as a JSON object: level and counts, and its parts as objects or null."""
    size, growth, cause, restart = verdict.size, verdict.growth, verdict.cause, verdict.restart
    rates = ("rows_per_hour", "bytes_per_hour", "heap_bytes_per_hour")
    changes = ("new_rows_per_hour", "removed_rows_per_hour")
    growth_fields = fields_of(growth, *rates, *changes) if growth else {}
    return {
        "level": verdict.level.value,
        **fields_of(verdict, "errors", "warnings", "infos", "problems", "leftovers"),
        "restart": restart
        and {
            **fields_of(restart, "possible", "batch", "again", "planned_ms"),
            "planned": None if restart.planned_ms is None else time_ms_text(restart.planned_ms),
            "committed_batch": restart.committed,
            "sentence": restart.sentence,
            "obstacles": [str(obstacle) for obstacle in restart.obstacles],
            **({"options": list(map(str, restart.conditions))} if restart.conditions else {}),
        },
        "size": size
        and {"rows": size.rows, "row_bytes": size.bytes, "heap_bytes": size.heap_bytes},
        "growth": growth
        and {
            "growing": growth.growing,
            **{name: None if rate is None else round(rate) for name, rate in growth_fields.items()},
            **fields_of(growth, "since_batch", "since_ms"),
            "since": time_ms_text(growth.since_ms),
            **fields_of(growth, "since_oldest", "versions", "judged"),
        },
        "cause": cause
        and {
            "finding": cause.finding.kind.id,
            "operator_id": cause.finding.operator_id,
            **fields_of(cause, "operator_name", "store_name", "sentence"),
            **fields_of(cause, "rows_share", "bytes_share", "heap_share", "to_do"),
            "command": command_line(cause.command, report),
        },
    }
