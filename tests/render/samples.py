"""Reports made by hand: what renderers are tested with."""

from __future__ import annotations

from typing import Any

from inspector.findings.cost.ss304_same_values import SameValues
from inspector.findings.finding import Finding
from inspector.findings.lifetime.ss201_never_expires import NeverExpires
from inspector.findings.lifetime.ss203_kept_keys import KeptKeys
from inspector.findings.verdict import Cause, Level, StateGrowth, StateSize, Verdict
from inspector.model import Certainty, Problem, StoreId
from inspector.render.report import Report
from inspector.render.report_data import Part
from inspector.render.tabular import Column, Table, Unit

HOSTILE = "\x1b[31mred\x1b[0m\r\n| <b>*x*</b> \u202e`\t"
"""Text with an escape sequence, line ends, markup and a change of the text direction."""

COLUMNS = (
    Column("operator_id", Unit.ID),
    Column("store_name"),
    Column("key", Unit.VALUE),
    Column("rows", Unit.COUNT),
    Column("bytes", Unit.BYTES),
    Column("heap", Unit.BYTES, exact=False),
    Column("clock_ms", Unit.TIME_MS),
    Column("done"),
    Column("hidden", wide=True),
)
ROWS: list[dict[str, Any]] = [
    {
        "operator_id": 0,
        "store_name": "default",
        "key": {"user": "Ä", "window": {"end": "2024-01-01T00:00:20.000000Z"}},
        "rows": 1_234_567,
        "bytes": 2**53 + 1,
        "heap": 4096,
        "clock_ms": 1_704_067_220_500,
        "done": True,
        "hidden": "not for people",
    },
    {"operator_id": 12, "store_name": HOSTILE, "key": [HOSTILE, None], "rows": 0, "done": False},
]
EMPTY = Table("others", "other things", (Column("a"),), [], empty="none at all")


def table(rows: list[dict[str, Any]] | None = None) -> Table:
    """Return a table with every unit and a hidden column."""
    arguments = ROWS if rows is None else rows
    return Table("things", "the things", COLUMNS, arguments, "no things")


def finding(**options: Any) -> Finding:
    """Return a finding with a value in every field."""
    complete: dict[str, Any] = {
        "kind": KeptKeys.kind,
        "certainty": Certainty.PROVEN,
        "evidence": f"3 rows {HOSTILE}",
        "next_step": "call state.remove()",
        "operator_id": 0,
        "store_name": "left-keyToNumValues",
        "rows": 3,
        "bytes": 5000,
    }
    return Finding(**(complete | options))


PROBLEM = Problem("truncated", "got 3 bytes", "/ck/1.delta", 7, StoreId(0, "default", 1), 1)


PART = Part(0, None, 1, None, 1, 2, 1, 5, 1024, 4096)
"""One partition of five."""


def verdict(**options: Any) -> Verdict:
    """Return a verdict with a value in every field."""
    complete: dict[str, Any] = {
        "level": Level.ERROR,
        "errors": 1,
        "warnings": 0,
        "infos": 2,
        "problems": 0,
        "growth": growth(),
        "cause": Cause(
            finding(),
            "The timeout of 3 keys fired, and the function kept them.",
            rows_share=0.75,
            bytes_share=0.5,
            heap_share=0.504,
            to_do="Call state.remove().",
            command="leftovers --operator 0",
            operator_name="flatMapGroupsWithState",
            store_name="left-keyToNumValues",
        ),
        "size": StateSize(4, 10_000, 20_000),
        "leftovers": 3,
    }
    return Verdict(**(complete | options))


def growth(**options: Any) -> StateGrowth:
    """Return the growth of a state that grows."""
    complete: dict[str, Any] = {
        "rows_per_hour": 1_200_000.4,
        "bytes_per_hour": 30.6 * 2**30,
        "heap_bytes_per_hour": 61.0 * 2**30,
        "since_batch": 4,
        "since_ms": 1_704_067_200_000,
        "growing": True,
        "since_oldest": False,
        "versions": 10,
        "new_rows_per_hour": 1_200_000.4,
        "removed_rows_per_hour": 0.0,
    }
    return StateGrowth(**(complete | options))


def report(**options: Any) -> Report:
    """Return a report with a value in every field."""
    complete: dict[str, Any] = {
        "command": "things",
        "checkpoint": f"/ck/{HOSTILE}",
        "summary": {
            "checkpoint": f"/ck/{HOSTILE}",
            "rows": 1_234_567,
            "row_bytes": 1536,
            "watermark_ms": 1_704_067_220_500,
            "batch_timestamp_ms": None,
            "committed": True,
        },
        "tables": (table(), EMPTY),
        "findings": (
            finding(),
            finding(kind=NeverExpires.kind, operator_id=None, store_name=None, bytes=None),
            finding(
                kind=SameValues.kind, certainty=Certainty.INFERRED, store_name="default", bytes=1
            ),
        ),
        "problems": [PROBLEM, Problem("storage", "Permission denied")],
        "notes": ("A note.",),
        "judged": True,
    }
    return Report(**(complete | options))


def bare() -> Report:
    """Return a report without rows, findings and problems."""
    return report(summary={}, tables=(table([]),), findings=(), problems=[], notes=())
