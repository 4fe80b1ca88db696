"""The table of rows that will expire, compared with what later batches of Spark removed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.shared.judged import StoreIds
from inspector.analyses.shared.rehearsals import YEAR_MS
from inspector.analyses.timeline import MOST_LINES, ExpiringRow, _expiring_rows, readable
from inspector.facts.expiring import Expiring, Width
from inspector.model import TimeoutKind
from inspector.operators.rule import StoreRule
from inspector.render.tabular import Table
from tests.attributes import objects_where
from tests.cases import Batch, put, user, write_group_state
from tests.cli.support import checkpoint_of
from tests.reports import blocks_of, cell_values, rows_of_table, rows_where


def expiring_rows(case: str, **options: Any) -> list[dict[str, Any]]:
    """Return the rows of the table of expiring rows."""
    report = api.timeline(str(checkpoint_of(case)), api.Options(**options))
    return rows_of_table(report, "expiring")


def rows_due(expiring: list[dict[str, Any]], at_ms: int) -> int:
    """Return the number of rows in the intervals that have begun at this time."""
    return sum(row["rows"] for row in expiring if row["expires_from_ms"] <= at_ms)


@pytest.mark.parametrize(
    ("case", "batch", "watermark_ms", "at_least", "removed", "at_most"),
    [
        ("agg_update", 4, 1_704_067_237_350, 0, 0, 0),
        ("agg_update", 8, 1_704_067_267_350, 100, 100, 100),
        ("agg_append", 4, 1_704_067_237_350, 0, 0, 0),
        ("agg_append", 8, 1_704_067_267_350, 100, 100, 100),
        ("dedup_event_time", 4, 1_704_067_237_350, 47, 50, 50),
        ("dedup_event_time", 8, 1_704_067_267_350, 47, 50, 50),
        ("session_window", 4, 1_704_067_234_410, 26, 29, 33),
        ("session_window", 8, 1_704_067_264_470, 27, 30, 33),
        ("agg_two_watermarks", 5, 1_704_067_241_350, 20, 20, 20),
        ("agg_two_watermarks", 8, 1_704_067_261_350, 20, 20, 20),
    ],
)
def test_expiring_rows_equal_removals_of_the_next_batch(
    case: str, batch: int, watermark_ms: int, at_least: int, removed: int, at_most: int
) -> None:
    """The next batch has no new data. It removes part of the interval of its watermark."""
    following = list(api.timeline(str(checkpoint_of(case))).primary.rows)[batch + 1]
    assert (following["watermark_ms"], following["removals"]) == (watermark_ms, removed)
    expiring = expiring_rows(case, batch=batch)
    assert rows_due(expiring, watermark_ms - Width.SECOND) == at_least
    assert rows_due(expiring, watermark_ms) == at_most


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("agg_update", [("default", "expires", "watermark", 100, 0, 0)]),
        (
            "fmgws_event_ignore",
            [
                ("default", "expires", "watermark", 1, 127, 12_608),
                ("default", "expires", "watermark", 8, 119, 11_840),
                ("default", "expires", "watermark", 1, 118, 11_744),
                ("default", "expires", "watermark", 12, 106, 10_496),
                ("default", "expires", "watermark", 8, 98, 9_728),
                ("default", "expires", "watermark", 1, 97, 9_632),
                ("default", "expires", "watermark", 4, 93, 9_184),
                ("default", "expires", "watermark", 8, 85, 8_416),
                ("default", "expires", "watermark", 2, 83, 8_208),
                ("default", "never", "watermark", 83, 83, 8_208),
            ],
        ),
        (
            "join_left_outer",
            [
                ("left-keyToNumValues", "unknown", None, 44, 44, 1_408),
                ("left-keyWithIndexToValue", "unknown", None, 61, 61, 4_392),
                ("right-keyToNumValues", "unknown", None, 12, 12, 384),
                ("right-keyWithIndexToValue", "unknown", None, 15, 15, 960),
            ],
        ),
        ("dedup_no_watermark", [("default", "never", None, 402, 402, 19_296)]),
    ],
)
def test_fates_of_rows_and_rows_left(case: str, expected: list[tuple[object, ...]]) -> None:
    names = ("store_name", "fate", "clock", "rows", "rows_left", "row_bytes_left")
    assert cell_values(expiring_rows(case), *names) == expected


def test_timers_expire_by_the_clock_of_the_newest_batch(tmp_path: Path) -> None:
    """A restart between the two batches gave the timers the processing-time clock."""
    now = 1_795_802_052_000
    event = now - 2 * YEAR_MS
    batches = [Batch(0, now), Batch(now + 100_000, now + 1000)]
    by_event_time = [put(user("a"), event + 15_000), put(user("b"), event + 16_000)]
    write_group_state(tmp_path, batches, {1: by_event_time, 2: [put(user("a"), now + 50_000)]})
    expiring = rows_of_table(api.timeline(str(tmp_path)), "expiring")
    assert cell_values(expiring, "fate", "clock", "rows") == [
        ("expired", "processing time", 1),
        ("expires", "processing time", 1),
    ]


def test_expired_rows_are_listed_first() -> None:
    first, *_ = expiring_rows("agg_complete")
    assert (first["fate"], first["clock"]) == ("expired", "watermark")
    assert "complete mode keeps every group" in first["why"]


def test_store_without_expiry_rule_has_a_reason() -> None:
    assert cell_values(expiring_rows("fmgws_event_ignore"), "why")[-1] == "no timer is set"
    (dedup,) = cell_values(expiring_rows("dedup_no_watermark"), "why")
    assert dedup.startswith("none of the columns of dropDuplicates carries a watermark")
    count, value, *_ = cell_values(expiring_rows("join_left_outer"), "why")
    assert count == "a counter goes with the last row of its join key"
    assert value.startswith("the time range of the join condition is not in the checkpoint")


@pytest.mark.parametrize(
    ("retention", "first_ms"),
    [("left=1h", 1_704_070_847_000), ("left=3h", 1_704_070_847_000 + 2 * Width.HOUR)],
)
def test_join_retention_option_shifts_expiry(retention: str, first_ms: int) -> None:
    rows = expiring_rows("join_left_outer", join_retention=(retention,))
    values = rows_where(rows, store_name="left-keyWithIndexToValue")
    assert cell_values(values, "fate", "expires_from_ms", "rows")[0] == ("expires", first_ms, 1)


def test_join_with_a_time_in_the_key_expires() -> None:
    names = ("store_name", "fate", "expires_from_ms")
    assert cell_values(expiring_rows("join_time_key"), *names) == [
        ("left-keyToNumValues", "unknown", None),
        ("left-keyWithIndexToValue", "expires", 1_704_067_230_000),
        ("left-keyWithIndexToValue", "expires", 1_704_067_231_000),
        ("left-keyWithIndexToValue", "expires", 1_704_067_232_000),
        ("left-keyWithIndexToValue", "expires", 1_704_067_233_000),
        ("right-keyToNumValues", "unknown", None),
        ("right-keyWithIndexToValue", "unknown", None),
    ]
    assert cell_values(expiring_rows("join_window_key"), *names) == [
        ("left-keyToNumValues", "unknown", None),
        ("left-keyWithIndexToValue", "expires", 1_704_067_240_000),
        ("right-keyToNumValues", "unknown", None),
        ("right-keyWithIndexToValue", "expires", 1_704_067_240_000),
    ]


def test_timers_follow_the_clock_of_the_timeout_kind() -> None:
    rows = expiring_rows("fmgws_event_ignore", timeout_kind=TimeoutKind.PROCESSING_TIME)
    assert set(cell_values(rows, "clock")) == {"processing time"}
    assert cell_values(expiring_rows("fmgws_processing_time"), "clock") == ["processing time"] * 3


@pytest.mark.parametrize(
    ("hours", "width"),
    [(0, Width.SECOND), (1, Width.MINUTE), (2, Width.HOUR), (70, Width.HOUR), (200, Width.DAY)],
)
def test_interval_width_follows_the_time_span(hours: int, width: Width) -> None:
    # A row each half second of the first second, and of the last.
    seconds = (0, 1, 3600 * hours)
    expiring = Expiring(rows=Counter(dict.fromkeys(seconds, 1)), bytes=Counter({0: 1}))
    assert readable(expiring).width is width


def test_expiry_forecast_has_the_shortest_width_of_at_most_72_lines() -> None:
    fits = Expiring(width=Width.SECOND, rows=Counter({0: 100, 71: 100}))
    assert readable(fits).width is Width.SECOND
    longer = Expiring(width=Width.SECOND, rows=Counter({0: 100, 72: 100}))
    assert readable(longer).width is Width.MINUTE


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
    (table,) = objects_where(blocks_of(page, Table), name="expiring")
    assert cell_values(table.rows, "rows") == [100]
