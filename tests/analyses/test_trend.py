"""``inspector trend``: growth, findings and commits over many audits."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import inspector.api as api
from inspector.exceptions import CheckpointError
from inspector.render import audit_history
from inspector.render.page import BarChart, LineChart
from tests.attributes import attributes
from tests.reports import blocks_of, cell_values, rows_of_table

NOW = datetime(2026, 5, 31, 12, tzinfo=timezone.utc)


def row(days_ago: float, checkpoint: str = "s3://bucket/a", **columns: Any) -> audit_history.Row:
    """Return the history row of one store at one audit."""
    common = {"command": "audit", "level": "ok", "operator_id": 0, "store_name": "default"}
    return {
        **common,
        "audited": NOW - timedelta(days=days_ago),
        "checkpoint": checkpoint,
        "rows": 10,
        "row_bytes": 1000,
        "findings": [],
        "batch_id": 7,
        "batch_time": NOW - timedelta(days=3),
        "is_part": False,
        **columns,
    }


def trend(tmp_path: Path, *rows: audit_history.Row, **options: Any) -> api.Report:
    """Return the trend of a history that has these rows."""
    for item in rows:
        audit_history.HistoryTable(str(tmp_path / "h"), {}).append([item])
    return api.trend(str(tmp_path / "h"), **options)


def test_checkpoint_with_most_growth_is_first(tmp_path: Path) -> None:
    report = trend(
        tmp_path,
        row(40, row_bytes=1),
        row(20, row_bytes=1_000),
        row(0, row_bytes=1_500, rows=12),
        row(10, "s3://bucket/b", row_bytes=100),
        row(0, "s3://bucket/b", row_bytes=5_000),
        row(5, "s3://bucket/once"),
    )
    growth = rows_of_table(report, "growth")
    assert cell_values(growth, "checkpoint", "added_bytes", "added_rows", "audits") == [
        ("s3://bucket/b", 4_900, 0, 2),
        ("s3://bucket/a", 500, 2, 2),
    ]
    assert growth[1]["bytes_per_hour"] == pytest.approx(500 / (20 * 24))


def test_days_option_sets_the_period(tmp_path: Path) -> None:
    rows = [row(40, row_bytes=1), row(20, row_bytes=1_000), row(0, row_bytes=1_500)]
    growth = rows_of_table(trend(tmp_path, *rows, days=50), "growth")
    assert cell_values(growth, "added_bytes") == [1_499]


def ms_days_ago(days: int) -> int:
    return int((NOW - timedelta(days=days)).timestamp() * 1000)


def test_finding_stands_since_the_first_consecutive_audit(tmp_path: Path) -> None:
    report = trend(
        tmp_path,
        row(9, findings=["SS202"]),
        row(8),
        row(7, findings=["SS201", "SS202"]),
        row(6, findings=["SS202", "SS301"]),
        row(5, "s3://bucket/b", findings=["SS101"]),
    )
    names = ("finding", "audits", "since_ms", "is_since_first")
    assert cell_values(rows_of_table(report, "standing"), *names) == [
        ("SS202", 2, ms_days_ago(7), False),
        ("SS301", 1, ms_days_ago(6), False),
        ("SS101", 1, ms_days_ago(5), True),
    ]


def test_checkpoint_idle_for_longest_is_first(tmp_path: Path) -> None:
    report = trend(
        tmp_path,
        row(9, batch_id=6, batch_time=NOW - timedelta(days=9)),
        row(2),
        row(1),
        row(1, "s3://bucket/b", batch_id=90, batch_time=NOW - timedelta(days=1, hours=1)),
        audit_history.row_of_failure("s3://bucket/b", "it is gone", "audit", NOW),
    )
    first, second = rows_of_table(report, "commits")
    assert (first["checkpoint"], first["batch_id"]) == ("s3://bucket/a", 7)
    assert first["idle_ms"] == 2 * 86_400_000
    assert first["seen_since_ms"] == ms_days_ago(2)
    assert (second["level"], second["batch_id"]) == ("failed", 90)


def test_partial_audits_and_other_commands_are_left_out(tmp_path: Path) -> None:
    report = trend(
        tmp_path,
        row(2, row_bytes=100),
        row(1, row_bytes=1, is_part=True),
        row(1, row_bytes=1, command="verify"),
        row(0, row_bytes=300),
    )
    assert cell_values(rows_of_table(report, "growth"), "audits", "added_bytes") == [(2, 200)]


def test_limit_of_trend_rows(tmp_path: Path) -> None:
    names = ("s3://bucket/a", "s3://bucket/b", "s3://bucket/c")
    rows = [row(days, name) for days in (1, 0) for name in names]
    report = trend(tmp_path, *rows, limit=2)
    assert len(rows_of_table(report, "growth")) == 2
    assert len(rows_of_table(report, "commits")) == 2


def test_folder_without_audits_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="got no audits at this path"):
        api.trend(str(tmp_path))


def charts(tmp_path: Path, *rows: audit_history.Row) -> list[LineChart | BarChart]:
    """Return the charts on the page of a trend."""
    page = trend(tmp_path, *rows).page
    assert page is not None
    assert cell_values(map(vars, page), "title") == ["Growth", "Findings", "Commits"]
    blocks = blocks_of(page, object)
    return [block for block in blocks if isinstance(block, (LineChart, BarChart))]


def test_trend_page_has_charts_of_growth_findings_and_idle_time(tmp_path: Path) -> None:
    bytes_of, findings, idle = charts(
        tmp_path,
        row(2, row_bytes=100, findings=["SS202"]),
        row(2, row_bytes=50, store_name="other", findings=["SS202"]),
        row(1, row_bytes=300, findings=["SS202", "SS203"]),
        row(1, "s3://bucket/shrinks", row_bytes=90),
        row(0, "s3://bucket/shrinks", row_bytes=80),
        row(0, "s3://bucket/b", row_bytes=10, batch_time=NOW),
    )
    assert isinstance(bytes_of, LineChart)
    assert attributes(bytes_of.series, "name", "values") == [("s3://bucket/a", [150, 300, None])]
    assert (bytes_of.batches, bytes_of.over) == (range(1, 4), ("audit", "audits"))
    assert isinstance(findings, LineChart)
    # Both stores of the checkpoint have the finding of the first audit.
    assert attributes(findings.series, "values") == [[1, 2, 0]]
    assert isinstance(idle, BarChart)
    assert attributes(idle.bars, "label", "parts") == [
        ("shrinks", (3 * 86_400_000,)),
        ("a", (2 * 86_400_000,)),
        ("b", (0,)),
    ]


def test_trend_page_of_one_audit_has_no_lines(tmp_path: Path) -> None:
    assert attributes(charts(tmp_path, row(0)), "title") == ["The longest idle"]


def test_trend_page_has_at_most_5_lines_and_10_bars(tmp_path: Path) -> None:
    rows = [
        row(days, f"s3://bucket/{n}", row_bytes=1000 - days * (n + 1))
        for days in (1, 0)
        for n in range(12)
    ]
    audit_history.HistoryTable(str(tmp_path / "h"), {}).append(rows)
    bytes_of, _, idle = charts(tmp_path)
    assert isinstance(bytes_of, LineChart)
    assert attributes(bytes_of.series, "name") == ["11", "10", "9", "8", "7"]
    assert bytes_of.about == "In s3://bucket/NAME"
    assert isinstance(idle, BarChart)
    assert len(idle.bars) == 10
