"""The row that stands for one checkpoint."""

from __future__ import annotations

from dataclasses import replace

import pytest

from inspector.findings.metrics import apply_gates, parse_gates
from inspector.findings.verdict import Level, Verdict
from inspector.model import Problem
from inspector.render.fleet_rows import (
    JUDGED,
    cause_text,
    groups_of,
    numbers_text,
    row_of,
    row_of_failure,
)
from inspector.render.report import Report
from inspector.render.tabular import Table, Unit
from tests.attributes import attributes
from tests.render.samples import finding, growth

TABLES = (Table("t", "", (), []),)
METRICS = {"state.rows": 3, "state.bytes": 300, "growth.bytes_per_hour": -5, "leftovers.rows": 0}
AUDIT = Report(
    "audit",
    "/ck",
    {"batch_id": 4, "query_id": "q"},
    TABLES,
    verdict=Verdict(Level.OK, 0, 0, 0, 0),
    metrics=METRICS,
)


def test_fleet_row_of_audit_has_metrics_and_gate_message() -> None:
    row, columns = row_of(AUDIT)
    assert columns == JUDGED
    assert set(row) == set(attributes(JUDGED, "name")) - {"exit_code"}
    assert (row["level"], row["rows"], row["row_bytes"]) == ("ok", 3, 300)
    assert (row["gates_exceeded"], row["new_or_worse"], row["message"]) == (None, None, None)
    gates = apply_gates(parse_gates({"state.rows": 1, "state.bytes": "1GiB"}), METRICS)
    row, _ = row_of(replace(AUDIT, gates=gates))
    assert row["gates_exceeded"] == 1
    assert row["message"] == "state.rows is 3, above the limit of 1"


def test_fleet_row_level_includes_findings_and_problems() -> None:
    assert row_of(replace(AUDIT, findings=[finding()]))[0]["level"] == "error"
    part = replace(AUDIT, problems=[Problem("truncated", "too short")])
    assert row_of(part)[0]["level"] == "unreadable"


def test_fleet_row_of_other_command_has_summary() -> None:
    summary = {"checkpoint": "/ck", "rows": 3, "heap_estimate_bytes": 9, "at_ms": 0, "has": True}
    row, columns = row_of(Report("sizes", "/ck", summary, TABLES))
    assert {name: row[name] for name in summary} == summary
    units = {column.name: (column.unit, column.exact) for column in columns}
    assert units["rows"] == (Unit.COUNT, True)
    assert units["heap_estimate_bytes"] == (Unit.BYTES, False)
    assert units["at_ms"] == (Unit.TIME_MS, True)
    assert units["has"] == (Unit.TEXT, True)


def test_fleet_row_of_failed_checkpoint() -> None:
    row, columns = row_of_failure("/ck", "gone", 3)
    assert row == {"level": "unreadable", "checkpoint": "/ck", "message": "gone", "exit_code": 3}
    assert attributes(columns, "name") == ["level", "checkpoint", "message", "exit_code"]


def test_fleet_row_of_growth_by_new_keys() -> None:
    grows = growth(new_rows_per_hour=20.0, removed_rows_per_hour=0.0)
    row, _ = row_of(replace(AUDIT, verdict=Verdict(Level.OK, 0, 0, 0, 0, growth=grows)))
    assert row["message"].startswith("Growing by new keys only: ~20 keys come per hour")
    level = growth(growing=False)
    row, _ = row_of(replace(AUDIT, verdict=Verdict(Level.OK, 0, 0, 0, 0, growth=level)))
    assert row["message"] is None


def test_growth_rate_of_short_history_is_omitted_or_marked() -> None:
    summary = {"batch_timestamp_ms": 50_000}
    metrics = METRICS | {"growth.bytes_per_hour": 2048}
    verdict = Verdict(Level.OK, 0, 0, 0, 0, growth=growth(since_ms=0))
    short = replace(AUDIT, summary=summary, metrics=metrics, verdict=verdict)
    assert row_of(short)[0]["bytes_per_hour"] is None
    assert cause_text(short).endswith(". (Extrapolated from 50 seconds.)")
    long = replace(short, summary={"batch_timestamp_ms": 600_000})
    assert row_of(long)[0]["bytes_per_hour"] == 2048
    assert "xtrapolated" not in cause_text(long)


def test_numbers_text_drops_last_numbers_to_fit_width() -> None:
    row = {"rows": 68, "row_bytes": 6963, "bytes_per_hour": 77_722}
    assert numbers_text(row) == "68 rows, 6.8 KiB, ~75.9 KiB/h"
    assert numbers_text(row, 20) == "68 rows, 6.8 KiB"
    assert numbers_text(row, 3) == ""


@pytest.mark.parametrize(
    ("causes", "spanned"),
    [
        (["3 rows.", "1,200 rows."], "3 to 1,200 rows."),
        (["364 d 3 h ahead.", "399 d 23 h ahead."], "364 d 3 h to 399 d 23 h ahead."),
        (["to 2027-12-28.", "to 2026-11-23."], "to 2026-11-23 ... 2027-12-28."),
        (["in 2032-05-15.", "in +58866-01-20."], "in 2032-05-15 to +58866-01-20."),
        (["has 1.5 MiB.", "has 848 B."], "has 848 B to 1.5 MiB."),
        (["from 9 to 10.", "from 8 to 12."], "from 8 ... 9 to 10 ... 12."),
    ],
)
def test_causes_that_differ_in_numbers_are_merged_into_range(
    causes: list[str], spanned: str
) -> None:
    (group,) = groups_of([(f"/{index}", "info", cause) for index, cause in enumerate(causes)])
    assert group.cause == spanned


def test_fleet_causes_differ_by_key_and_finding() -> None:
    causes = ("One key (sha256:aa1). (SS303)", "One key (sha256:aa2). (SS303)", "Rows. (SS201)",
              "Rows. (SS202)")  # fmt: skip
    assert len(list(groups_of([("/", "info", cause) for cause in causes]))) == 4


def test_causes_that_differ_in_version_are_grouped() -> None:
    causes = ["written by Spark 4.3.0", "written by Spark 3.5.9"]
    (group,) = groups_of([(f"/{n}", "error", cause) for n, cause in enumerate(causes)])
    assert group.cause == "written by Spark 3.5.9 to 4.3.0"
