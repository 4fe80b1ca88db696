"""The row that stands for one checkpoint in the table of many."""

from __future__ import annotations

from typing import Any

from inspector.findings.gates import Passed
from inspector.findings.verdict import Level, Verdict
from inspector.quantities import short_count_text
from inspector.render.first_screen import growth_text
from inspector.render.report import Column, Report, Unit

LEVEL, CHECKPOINT, MESSAGE = Column("level"), Column("checkpoint"), Column("message")
EXIT_CODE = Column("exit_code", Unit.ID)
JUDGED = (
    LEVEL,
    CHECKPOINT,
    Column("rows", Unit.COUNT),
    Column("row_bytes", Unit.BYTES),
    Column("bytes_per_hour", Unit.BYTES_PER_HOUR, exact=False),
    Column("leftovers", Unit.COUNT),
    Column("gates_exceeded", Unit.COUNT),
    Column("new_or_worse", Unit.COUNT),
    MESSAGE,
    Column("heap_bytes", Unit.BYTES, exact=False),
    Column("errors", Unit.COUNT),
    Column("warnings", Unit.COUNT),
    Column("infos", Unit.COUNT),
    Column("problems", Unit.COUNT),
    Column("restarts"),
    Column("batch_id", Unit.ID),
    Column("query_id"),
    EXIT_CODE,
)
"""Of a command that judges."""

WIDE = frozenset(
    (
        "heap_bytes",
        "errors",
        "warnings",
        "infos",
        "problems",
        "restarts",
        "batch_id",
        "query_id",
        "exit_code",
    )
)
_IMPORTANT = "checkpoint level row_bytes gates_exceeded new_or_worse bytes_per_hour leftovers rows"
RANKS = {name: rank for rank, name in enumerate((*_IMPORTANT.split(), "message"))}
"""Column -> how important it is, the most important first."""

OPTIONAL = ("gates_exceeded", "new_or_worse")
"""Columns that are there if a checkpoint has a value."""

_UNITS = {"ms": Unit.TIME_MS, "bytes": Unit.BYTES, "id": Unit.ID, "version": Unit.ID}


def row_of(report: Report) -> tuple[dict[str, Any], tuple[Column, ...]]:
    """The row of a report, and its columns; problems are known when its tables have been read."""
    level = {"level": report.level.value}
    if report.verdict is None or not report.metrics:
        return level | _row(report), _columns(report)
    return level | _judged_row(report, report.verdict), JUDGED


def failed_row(
    checkpoint: str, message: str, exit_code: int
) -> tuple[dict[str, Any], tuple[Column, ...]]:
    """The same of a checkpoint that could not be read at all."""
    row = {
        "level": Level.UNREADABLE.value,
        "checkpoint": checkpoint,
        "message": message,
        "exit_code": int(exit_code),
    }
    return row, (LEVEL, CHECKPOINT, MESSAGE, EXIT_CODE)


def _judged_row(report: Report, verdict: Verdict) -> dict[str, Any]:
    metrics, comparison, cause = report.metrics, report.comparison, verdict.cause
    bad = None
    if comparison is not None:
        bad = sum(trend.is_bad for trend in comparison.trends)
    exceeded = [gate for gate in report.gates if gate.passed is Passed.EXCEEDED]
    growth = verdict.growth
    grows = growth_text(growth) if growth is not None and growth.growing else None
    return {
        "checkpoint": report.checkpoint,
        "message": cause.sentence if cause else exceeded[0].sentence if exceeded else grows,
        "rows": metrics.get("state.rows"),
        "row_bytes": metrics.get("state.bytes"),
        "heap_bytes": metrics.get("heap.bytes"),
        "bytes_per_hour": metrics.get("growth.bytes_per_hour"),
        "leftovers": metrics.get("leftovers.rows"),
        "gates_exceeded": len(exceeded) if report.gates else None,
        "new_or_worse": bad,
        "errors": verdict.errors,
        "warnings": verdict.warnings,
        "infos": verdict.infos,
        "problems": verdict.problems,
        "restarts": verdict.restart and verdict.restart.possible,
        "batch_id": report.summary.get("batch_id"),
        "query_id": report.summary.get("query_id"),
    }


def _row(report: Report) -> dict[str, Any]:
    message = next((finding.cause for finding in report.findings), None)
    if not report.complete:
        message = short_count_text(len(report.problems), "problem")
    return {**report.summary, "checkpoint": report.checkpoint, "message": message}


def _columns(report: Report) -> tuple[Column, ...]:
    own = tuple(
        Column(name, _unit(name, value), _exact(name))
        for name, value in report.summary.items()
        if name not in ("checkpoint", "query_id")
    )
    return (LEVEL, CHECKPOINT, *own, MESSAGE, Column("query_id"), EXIT_CODE)


def _unit(name: str, value: Any) -> Unit:
    if name.rpartition("_")[2] in _UNITS:
        return _UNITS[name.rpartition("_")[2]]
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return Unit.COUNT if is_count else Unit.TEXT


def _exact(name: str) -> bool:
    return "estimate" not in name
