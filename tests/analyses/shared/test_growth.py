"""Growth of the state: of one store, and of all stores together."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.shared.state_growth import Point, growth_of
from inspector.findings.verdict import StateGrowth
from tests.attributes import attributes
from tests.cli.support import checkpoint_of, copy_of
from tests.fixture_folder import NEWEST
from tests.reports import cell_values, findings_with_id


def growth(path: Path) -> StateGrowth | None:
    verdict = api.audit(str(path)).verdict
    assert verdict is not None
    return verdict.growth


def known_growth(path: Path) -> StateGrowth:
    result = growth(path)
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("case", "new_rows", "removed_rows", "seconds"),
    [
        # Counts of Spark's progress after its first batch (numRowsTotal, numRowsRemoved).
        ("dedup_no_watermark", 352, 0, 80),
        ("agg_update", 351, 301, 90),
        ("trouble_kept_timeouts", 104, 0, 130),
    ],
)
def test_new_and_removed_rows_per_hour_equal_spark_progress(
    case: str, new_rows: int, removed_rows: int, seconds: int
) -> None:
    """Spark counts a key that is removed and returns in one batch as removed; it is one change."""
    result = known_growth(checkpoint_of(case))
    assert result.since_batch == 0
    assert result.new_rows_per_hour == pytest.approx(new_rows / seconds * 3600, rel=0.01)
    assert result.removed_rows_per_hour == pytest.approx(removed_rows / seconds * 3600, rel=0.01)


def test_growth_of_a_join_sums_its_stores() -> None:
    path = checkpoint_of("trouble_join_without_range")
    rows = api.arrow_table(api.timeline(str(path)), "growth").to_pylist()
    assert cell_values(rows, "store_name", "rows_per_hour", "bytes_per_hour") == [
        ("left-keyToNumValues", 10_800, 345_600),
        ("left-keyWithIndexToValue", 10_800, 777_600),
        ("right-keyToNumValues", 2160, 69_120),
        ("right-keyWithIndexToValue", 2160, 138_240),
    ]
    result = known_growth(path)
    assert result.growing
    assert (result.rows_per_hour, result.bytes_per_hour) == (25_920, 1_330_560)


def test_growth_excludes_timers_and_count_rows() -> None:
    """The stores amounts, pages and total grow from 28 to 63 rows in 70 seconds."""
    result = known_growth(checkpoint_of("rocksdb_tws_event"))
    assert result.new_rows_per_hour == pytest.approx(60 / 70 * 3600)
    assert result.removed_rows_per_hour == pytest.approx(25 / 70 * 3600)


def test_growth_of_a_steady_state_is_not_positive() -> None:
    path = checkpoint_of("healthy_skew")
    result = known_growth(path)
    assert (result.judged, result.growing) == (True, False)
    assert result.bytes_per_hour <= 0
    assert result.rows_per_hour <= 0
    assert result.heap_bytes_per_hour is not None
    assert result.heap_bytes_per_hour <= 0
    # The fitted line rises because the state filled up. The timeline reports no rate either.
    growths = api.arrow_table(api.timeline(str(path)), "growth").to_pylist()
    assert max(cell_values(growths, "bytes_per_hour")) <= 0


def test_never_removed_keys_are_info_if_the_store_does_not_grow() -> None:
    report = api.audit(str(checkpoint_of("fmgws_timer_only")))
    # Data removed the timer of some keys; other keys never had one.
    without_timer, never_set = findings_with_id(report, "SS201")
    assert (without_timer.severity, never_set.severity) == (api.Severity.INFO, api.Severity.INFO)
    assert "the store does not grow" in without_timer.cause
    assert "the store does not grow" in never_set.cause


def test_growth_skips_versions_that_a_partition_cannot_restore() -> None:
    result = known_growth(checkpoint_of("snapshots_cleaned"))
    # Batch 10 is the oldest batch in the offset log.
    assert (result.since_batch, result.since_oldest, result.growing) == (10, True, False)
    assert result.removed_rows_per_hour is not None


def test_growth_of_one_batch_is_none() -> None:
    assert growth(Path(checkpoint_of("agg_update"), "state/0/0/1.delta")) is None


def test_growth_of_few_batches_is_not_judged() -> None:
    result = known_growth(Path(checkpoint_of("dedup_no_watermark"), "state/0/0/3.delta"))
    assert (result.versions, result.judged, result.growing) == (3, False, False)


def test_growth_of_a_single_snapshot_is_none(tmp_path: Path) -> None:
    root = copy_of("snapshots_cleaned", tmp_path)
    for delta in root.glob("state/*/*/*.delta"):
        if not delta.with_suffix(".snapshot").exists():
            delta.unlink()
    # Only one of the snapshots is of a batch in the offset log.
    assert growth(root) is None


def test_growth_lines_start_where_bytes_start_to_grow() -> None:
    sizes = [100, 102, 99, 101, 100, 150, 200, 250, 300, 350]
    points = [Point(i + 1, 60_000 * i, n, 10 * n, 30 * n, None, None) for i, n in enumerate(sizes)]
    result = growth_of(points)
    assert result is not None
    assert result.bytes.start == 4
    lines = (result.rows, result.bytes.line, result.heap)
    assert attributes(lines, "points") == [6] * 3
    assert attributes(lines, "per_hour") == pytest.approx([3000, 30_000, 90_000])


@pytest.mark.parametrize("case", ["session_window", "join_left_outer", "trouble_kept_timeouts"])
def test_growth_of_partitions_that_are_summed_early(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = checkpoint_of(case)
    apart = known_growth(path)
    monkeypatch.setattr("inspector.analyses.shared.run.MANY", 0)
    assert known_growth(path) == apart


def points(times_ms: range) -> list[Point]:
    return [
        Point(n + 1, t, 100 * n + 1, 3200 * n + 32, 0, None, None) for n, t in enumerate(times_ms)
    ]


@pytest.mark.parametrize(
    ("times_ms", "judged"),
    [
        (range(0, 50_000, 10_000), False),  # five batches
        (range(0, 8_000, 1_000), False),  # eight batches in eight seconds
        (range(0, 80_000, 10_000), True),
    ],
)
def test_growth_needs_enough_batches_and_seconds(times_ms: range, *, judged: bool) -> None:
    result = growth_of(points(times_ms))
    assert result is not None
    assert (result.bytes.judged, result.bytes.growing) == (judged, judged)


@pytest.mark.parametrize("case", sorted(attributes(NEWEST.glob("*/checkpoint"), "parent.name")))
def test_audit_and_timeline_judge_growth_alike(case: str) -> None:
    """A timeline reports growth of all stores only if the audit does."""
    path = checkpoint_of(case)
    result, messages = growth(path), api.timeline(str(path), capacity=1 << 40)
    text = " ".join(messages.notes)
    rows = api.arrow_table(messages, "growth").to_pylist()
    if result is None or not result.judged:
        assert "reaches_capacity_ms" not in str(messages.summary)
        assert result is None or "to tell whether the state grows" in text
    elif not result.growing:
        assert messages.summary["rows_reach_capacity_ms"] is None
        assert len(rows) > 1 or (rows[0]["bytes_per_hour"] or 0) <= 0
