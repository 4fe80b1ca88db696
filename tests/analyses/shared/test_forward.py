"""The forward view, on what Spark wrote: it is what the later batches removed."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared.judged import StoreIds
from inspector.analyses.timeline import MOST_LINES, ExpiringRow, _expiring_rows, readable
from inspector.facts.expiring import Expiring, Width
from inspector.model import TimeoutKind
from inspector.operators.rule import StoreRule
from inspector.render.tabular import Table
from tests.cli.support import checkpoint_of

HOUR = int(Width.HOUR)


def forward(case: str, **options: Any) -> list[dict[str, Any]]:
    """The rows of the table."""
    report = api.timeline(str(checkpoint_of(case)), api.Options(**options))
    (table,) = (table for table in report.tables if table.name == "expiring")
    return [dict(row) for row in table.rows]


def batches(case: str) -> dict[int, dict[str, Any]]:
    """Batch id -> row of the first store."""
    rows = api.timeline(str(checkpoint_of(case))).primary.rows
    return {row["batch_id"]: dict(row) for row in rows if row["operator_id"] == 0}


@pytest.mark.parametrize(
    "case", ["agg_update", "agg_append", "dedup_event_time", "session_window", "agg_two_watermarks"]
)
def test_expiring_rows_equal_removals_of_the_next_batch(case: str) -> None:
    after = batches(case)
    compared = 0
    for batch in sorted(after)[1:-1]:
        watermark = after[batch + 1]["watermark_ms"]
        if after[batch + 1]["new_data"] or watermark is None:
            continue  # new rows may go in the batch that brought them, or keep an old one
        rows = [row for row in forward(case, batch=batch) if row["operator_id"] == 0]
        due = [
            row["rows"]
            for row in rows
            if row["fate"] == "expires"
            and row["expires_from_ms"] + row["within_ms"] <= watermark // 1000 * 1000
        ]
        assert sum(due) <= after[batch + 1]["removals"]
        begun = [
            row["rows"]
            for row in rows
            if row["fate"] == "expires" and row["expires_from_ms"] <= watermark
        ]
        assert sum(begun) >= after[batch + 1]["removals"]
        compared += bool(begun)
    assert compared


@pytest.mark.parametrize(
    "case", ["agg_update", "fmgws_event_ignore", "join_left_outer", "dedup_no_watermark"]
)
def test_every_row_has_one_fate_in_the_expiring_table(case: str) -> None:
    stores: dict[str, int] = {}
    for row in forward(case):
        stores[row["store_name"]] = stores.get(row["store_name"], 0) + row["rows"]
    report = api.sizes(str(checkpoint_of(case)))
    assert stores == {row["store_name"]: row["rows"] for row in report.primary.rows}


def test_rows_left_decrease_to_rows_that_never_expire() -> None:
    rows = forward("fmgws_event_ignore")
    *sample, never = rows
    assert never["fate"] == "never"
    assert never["why"] == "no timer is set"
    assert {row["clock"] for row in rows} == {"watermark"}
    total = sum(row["rows"] for row in rows)
    for row in sample:
        total -= row["rows"]
        assert row["rows_left"] == total
    assert never["rows"] == never["rows_left"] == total
    assert never["row_bytes"] == never["row_bytes_left"] == sample[-1]["row_bytes_left"]


def test_expired_rows_are_listed_first() -> None:
    first, *_ = forward("agg_complete")
    assert (first["fate"], first["clock"]) == ("expired", "watermark")
    assert "complete mode keeps every group" in first["why"]


def test_store_without_expiry_rule_has_a_reason() -> None:
    assert {row["fate"] for row in forward("dedup_no_watermark")} == {"never"}
    unknown = forward("join_left_outer")
    assert {row["fate"] for row in unknown} == {"unknown"}
    assert all(row["why"] for row in unknown)


def test_join_retention_option_shifts_expiry() -> None:
    rows = {
        hours: [
            row["expires_from_ms"]
            for row in forward("join_left_outer", join_retention=(f"left={hours}h",))
            if row["store_name"] == "left-keyWithIndexToValue" and row["fate"] == "expires"
        ]
        for hours in (1, 3)
    }
    assert rows[1]
    assert [time + 2 * HOUR for time in rows[1]] == rows[3]


@pytest.mark.parametrize("case", ["join_time_key", "join_window_key"])
def test_join_with_a_time_in_the_key_expires(case: str) -> None:
    rows = [row for row in forward(case) if row["store_name"].endswith("ToValue")]
    timed = [row for row in rows if row["fate"] == "expires"]
    report = api.timeline(str(checkpoint_of(case)))
    assert timed
    assert all(row["expires_from_ms"] > report.summary["watermark_ms"] - 1000 for row in timed)


def test_timers_follow_the_clock_of_the_timeout_kind() -> None:
    kind = TimeoutKind.PROCESSING_TIME
    rows = forward("fmgws_event_ignore", timeout_kind=kind)
    assert {row["clock"] for row in rows} == {"processing time"}
    assert {row["clock"] for row in forward("fmgws_processing_time")} == {"processing time"}


@pytest.mark.parametrize(
    ("hours", "width"),
    [(0, Width.SECOND), (1, Width.MINUTE), (2, Width.HOUR), (70, Width.HOUR), (200, Width.DAY)],
)
def test_interval_width_follows_the_time_span(hours: int, width: Width) -> None:
    # A row each half second of the first second, and of the last.
    seconds = (0, 1, 3600 * hours)
    expiring = Expiring(rows=Counter(dict.fromkeys(seconds, 1)), bytes=Counter({0: 1}))
    assert readable(expiring).width is width


def test_one_outlier_time_keeps_the_interval_width() -> None:
    usual = dict.fromkeys(range(0, 24 * 3600, 600), 5)
    result = readable(Expiring(rows=Counter(usual | {10**12: 1}), bytes=Counter()))
    assert result.width is Width.HOUR
    assert len(result.rows) == 25


def test_extreme_times_make_few_rows() -> None:
    times = {n * 10**13: 1 for n in range(-500, 500)}
    result = readable(Expiring(rows=Counter(times), bytes=Counter()))
    assert sum(result.rows.values()) == 1000
    assert len(result.rows) <= MOST_LINES


@pytest.mark.parametrize("form", ["table", "markdown", "html", "json", "csv", "ndjson"])
def test_extreme_times_in_every_output_form(form: str) -> None:
    ends = (-(1 << 63), -1, 0, (1 << 63) - 1)
    expiring = Expiring(width=Width.ALL, rows=Counter({t // Width.ALL: 1 for t in ends}))
    rule = StoreRule(never="unused")
    store: StoreIds = {"operator_id": 0, "operator_name": None, "store_name": "default"}
    rows = list(_expiring_rows(store, expiring, rule, None))
    assert rows[0].expires_from_ms == -(1 << 63)
    report = api.Report("timeline", "x", {}, (ExpiringRow.table("hostile", rows),))
    assert list(api.render(report, form))
    assert report.to_arrow().num_rows == len(rows)


def test_audit_page_has_the_expiring_table() -> None:
    page = api.audit(str(checkpoint_of("agg_update")), page=True).page
    assert page is not None
    (table,) = (
        block
        for section in page
        for block in section.blocks
        if isinstance(block, Table) and block.name == "expiring"
    )
    assert [row["rows"] for row in table.rows] == [100]
