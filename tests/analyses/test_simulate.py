"""``inspector simulate``: the state of a changed query."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from inspector import api
from inspector.analyses.simulate import bound_of_sum
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.what_if import delay_of
from inspector.exceptions import CheckpointError
from inspector.model import JOIN_COUNT_STORES, JOIN_INDEX_STORES, JOIN_ROW_STORES
from tests import cases
from tests.checkpoint_files import remove_paths
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.profiles import sampled
from tests.reports import cell_values, row_where, rows_where


def with_delay(case: str) -> bool:
    return delay_of(open_checkpoint(str(NEWEST / case / "checkpoint"))) is not None


CASES = [path.name for path in sorted(NEWEST.iterdir()) if (path / "checkpoint").is_dir()]


def simulated(case: str, **change: Any) -> api.Report:
    return api.simulate(str(checkpoint_of(case)), **change)


@pytest.mark.parametrize("case", sampled(tuple(filter(with_delay, CASES)), 6))
def test_current_watermark_delay_changes_nothing(case: str) -> None:
    delay = delay_of(open_checkpoint(str(checkpoint_of(case))))
    assert delay is not None
    batches = simulated(case, watermark_delay=f"{delay // 1000}s").tables[1].rows
    assert cell_values(batches, "rows_then", "row_bytes_then") == cell_values(
        batches, "rows", "row_bytes"
    )


@pytest.mark.parametrize("case", ["agg_append", "agg_update", "dedup_event_time", "session_window"])
def test_current_watermark_delay_keeps_the_heap(case: str) -> None:
    (row,) = simulated(case, watermark_delay="10s", old_delay="10s").primary.rows
    assert row["heap_bytes_then"] == row["heap_bytes"]


def test_old_delay_of_zero_is_printed() -> None:
    report = simulated("agg_append", watermark_delay="10s", old_delay="0s")
    assert "(now 0 s)" in "\n".join(api.render(report))


def test_join_counter_with_a_lost_version_starts_later(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("trouble_join_without_range"), root)
    (root / "state/0/0/left-keyToNumValues/1.delta").unlink()
    (root / "state/0/1/left-keyToNumValues/1.delta").unlink()
    options = api.Options(join_retention=("left=15s", "right=15s"))
    report = api.simulate(str(root), options, watermark_delay="10m", old_delay="1m")
    counted = rows_where(report.tables[1].rows, store_name="left-keyToNumValues")
    assert min(cell_values(counted, "batch_id")) > 0


@pytest.mark.parametrize(
    ("delay", "rows"),
    [
        ("1s", [50, 100, 150, 100, 150, 50, 100, 150, 100, 100]),
        ("10s", [50, 100, 150, 200, 150, 150, 200, 150, 200, 100]),
        ("60s", [50, 100, 150, 200, 250, 250, 300, 350, 400, 400]),
        ("300s", [50, 100, 150, 200, 250, 250, 300, 350, 400, 400]),
    ],
)
def test_longer_watermark_delay_keeps_more_rows(delay: str, rows: list[int]) -> None:
    report = simulated("agg_append", watermark_delay=delay)
    assert cell_values(report.tables[1].rows, "rows_then") == rows


def test_rows_dropped_as_late_make_a_lower_bound() -> None:
    (row,) = simulated("agg_append", watermark_delay="300s").primary.rows
    assert (row["certainty"], row["rows_then"]) == ("at least", 400)
    assert "dropped as late" in row["why"]


def test_rows_removed_before_the_oldest_version_make_a_lower_bound() -> None:
    (row,) = simulated("snapshots_cleaned", watermark_delay="1h").primary.rows
    assert row["certainty"] == "at least"
    assert "at least" in simulated("snapshots_cleaned", watermark_delay="1h").primary.title
    (row,) = simulated("snapshots_cleaned", watermark_delay="1s").primary.rows
    assert row["certainty"] == "exact"


@pytest.mark.parametrize(
    ("certainties", "word"),
    [
        (("exact", "unchanged"), ""),
        (("at least", "exact"), "at least "),
        (("at most",), "at most "),
        (("at least", "at most"), "about "),
        (("at least", "inferred"), "about "),
    ],
)
def test_sum_of_lower_and_upper_bounds_is_approximate(
    certainties: tuple[str, ...], word: str
) -> None:
    assert bound_of_sum(certainties) == word


def test_snapshot_that_differs_from_its_deltas_makes_rows_inferred(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("snapshots_cleaned"), root)
    cases.write_store(root / "state/0/0", {}, {14: []})
    (row,) = api.simulate(str(root), watermark_delay="1s").primary.rows
    assert row["certainty"] == "inferred"
    assert "a snapshot differs" in row["why"]


def test_batches_without_offset_log_entry_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("agg_append"), root)
    rows = list(api.simulate(str(root), watermark_delay="1s").tables[1].rows)
    remove_paths(root, "offsets/[0-5]")
    report = api.simulate(str(root), watermark_delay="1s")
    assert list(report.tables[1].rows) == rows[6:]
    (row,) = report.primary.rows
    assert row["certainty"] == "exact"
    shutil.rmtree(root / "offsets")
    (row,) = api.simulate(str(root), api.Options(batch=9), watermark_delay="1s").primary.rows
    assert (row["certainty"], row["rows_then"]) == ("unknown", None)
    assert "offset log of the batch is gone" in row["why"]


@pytest.mark.parametrize(
    ("case", "delay", "certainties"),
    [
        ("agg_two_levels", "1s", ["unknown", "exact"]),
        ("agg_after_dedup", "1s", ["at most", "exact"]),
        ("agg_after_dedup", "1h", ["at least", "at least"]),
        ("dedup_after_join", "1s", ["unknown"] * 5),
        ("limit_after_dedup", "1s", ["unchanged", "unchanged"]),
    ],
)
def test_downstream_operators_are_bounded_or_unknown(
    case: str, delay: str, certainties: list[str]
) -> None:
    report = simulated(case, watermark_delay=delay, old_delay="10s")
    assert cell_values(report.primary.rows, "certainty") == certainties


def test_join_rows_are_at_most_without_early_logs(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("join_left_outer"), root)
    options = api.Options(join_retention=("left=0s", "right=0s"))
    rows = api.simulate(str(root), options, watermark_delay="1s").primary.rows
    assert cell_values(rows, "certainty") == ["exact"] * 4
    remove_paths(root, "offsets/[0-3]", "commits/[0-3]")
    rows = api.simulate(str(root), options, watermark_delay="1s").primary.rows
    assert cell_values(rows, "certainty") == ["at most"] * 4


def test_ttl_adds_24_bytes_to_a_value() -> None:
    """A struct of the value and of its expiry time has three more words."""
    rows = simulated("rocksdb_tws_processing", ttl="1000d").primary.rows
    row = row_where(rows, store_name="total")
    assert (row["rows"], row["rows_then"]) == (14, 14)
    assert (row["row_bytes"], row["row_bytes_then"]) == (600, 600 + 14 * 24)


def test_join_without_watermark_keeps_its_counters() -> None:
    rows = simulated("join_no_watermark", watermark_delay="1m").primary.rows
    assert cell_values(rows, "store_name", "certainty", "rows", "rows_then") == [
        ("left-keyToNumValues", "unchanged", 60, 60),
        ("left-keyWithIndexToValue", "unchanged", 60, 60),
        ("right-keyToNumValues", "unchanged", 36, 36),
        ("right-keyWithIndexToValue", "unchanged", 36, 36),
    ]


def test_join_without_time_range_is_unknown() -> None:
    report = simulated("join_left_outer", watermark_delay="1m")
    assert cell_values(report.primary.rows, "certainty", "rows_then") == [("unknown", None)] * 4
    assert not report.tables[1].rows
    assert "is not known" in report.primary.title
    assert report.summary["simulated_rows"] is None


def joined_rows(case: str, store: str, version: int) -> set[tuple[str, str]]:
    """Return the rows of a join side at a version, without their index."""
    options = api.Options(state_version=version, store_name=store)
    rows = list(api.rows(str(checkpoint_of(case)), options).primary.rows)
    keys = ({name: of for name, of in row["key"].items() if name != "index"} for row in rows)
    return {(str(key), str(row["value"])) for key, row in zip(keys, rows, strict=True)}


@pytest.mark.parametrize(
    "case", ["join_left_outer", "join_window_key", "rocksdb_join_left_outer_v4"]
)
def test_join_with_a_long_delay_keeps_all_rows(case: str) -> None:
    options = api.Options(join_retention=("left=0s", "right=0s"))
    delay = {"watermark_delay": "1000d", "old_delay": "10s"}
    batches = api.simulate(str(checkpoint_of(case)), options, **delay).tables[1].rows
    counters = {
        (row["store_name"].partition("-")[0], row["batch_id"]): row["rows_then"]
        for row in batches
        if row["store_name"] in JOIN_COUNT_STORES
    }
    for store in set(cell_values(batches, "store_name")) - {*JOIN_COUNT_STORES}:
        of_store = rows_where(batches, store_name=store)
        came: set[tuple[str, str]] = set()
        for row in of_store:
            came |= joined_rows(case, store, row["batch_id"] + 1)
            assert row["rows_then"] == len(came)
            if store in JOIN_ROW_STORES:
                side = store.partition("-")[0]
                assert counters[side, row["batch_id"]] == len({key for key, _ in came})
        assert of_store[-1]["rows"] < len(came)


@pytest.mark.parametrize(
    "case",
    [
        *("join_left_outer", "join_window_key", "rocksdb_join_left_outer"),
        *("rocksdb_join_left_outer_v4", "rocksdb_join_left_outer_snapshots_v4"),
    ],
)
def test_current_delay_keeps_join_counters_and_indexes(case: str) -> None:
    """The retention is so long that no rule removes a row; each row goes when it went."""
    options = api.Options(join_retention=("left=1000d", "right=1000d"))
    delay = {"watermark_delay": "10s", "old_delay": "10s"}
    report = api.simulate(str(checkpoint_of(case)), options, **delay)
    stores = {*JOIN_COUNT_STORES, *JOIN_INDEX_STORES}
    followers = [row for row in report.tables[1].rows if row["store_name"] in stores]
    assert len(followers) >= 10
    expected = cell_values(followers, "rows", "row_bytes")
    assert cell_values(followers, "rows_then", "row_bytes_then") == expected


def test_timeout_removes_leaked_keys() -> None:
    (row,) = simulated("trouble_kept_timeouts", timeout="20s").primary.rows
    assert (row["rows"], row["rows_then"]) == (113, 33)
    assert (row["heap_bytes"], row["heap_bytes_then"]) == (37_608, 13_870)
    assert row["certainty"] == "inferred"
    assert "the function sets" in row["why"]


def test_dedup_within_removes_old_keys() -> None:
    (row,) = simulated("trouble_dedup_without_time", dedup_within="20s").primary.rows
    # The watermark of a batch is that of the events before it.
    assert (row["rows"], row["rows_then"]) == (113, 40)
    assert row["certainty"] == "inferred"


def test_ttl_applies_to_state_variables() -> None:
    report = simulated("rocksdb_tws_processing", ttl="1s")
    assert cell_values(report.primary.rows, "store_name", "certainty", "rows", "rows_then") == [
        ("$count_recent", "inferred", 4, 3),
        ("$min_recent", "inferred", 4, 3),
        ("$procTimers_keyToTimestamp", "unchanged", 9, 9),
        ("$procTimers_timestampToKey", "unchanged", 9, 9),
        ("$rowCounter_amounts", "unknown", 9, None),
        ("$rowCounter_recent", "unchanged", 0, 0),
        ("$ttl_recent", "inferred", 4, 3),
        ("$ttl_seen", "inferred", 3, 2),
        ("$ttl_visited", "inferred", 7, 3),
        ("amounts", "inferred", 22, 7),
        ("default", "unchanged", 0, 0),
        ("pages", "inferred", 24, 4),
        ("recent", "inferred", 8, 6),
        ("seen", "inferred", 3, 2),
        ("total", "inferred", 14, 2),
        ("visited", "inferred", 7, 3),
    ]
    (row,) = simulated("agg_append", ttl="1s").primary.rows
    assert (row["certainty"], row["rows_then"]) == ("unchanged", row["rows"])
    assert "no state variable" in row["why"]


@pytest.mark.parametrize(("delay", "certainty"), [("1s", "inferred"), ("1h", "unknown")])
def test_timers_with_a_longer_delay_are_unknown(delay: str, certainty: str) -> None:
    report = simulated("rocksdb_tws_event", watermark_delay=delay, old_delay="10s")
    assert cell_values(report.primary.rows, "store_name", "certainty")[:2] == [
        ("$eventTimers_keyToTimestamp", certainty),
        ("$eventTimers_timestampToKey", certainty),
    ]


def test_watermark_delay_leaves_processing_time_timers_as_they_are() -> None:
    report = simulated("fmgws_processing_time", watermark_delay="1s", old_delay="10s")
    assert cell_values(report.primary.rows, "rows", "rows_then") == [(89, 89)]


def test_group_state_without_timeout_is_unchanged() -> None:
    report = simulated("fmgws_no_timeout", watermark_delay="1h")
    assert cell_values(report.primary.rows, "certainty") == ["unchanged"]
    assert "nothing would change" in report.primary.title


def test_equal_delay_is_no_difference() -> None:
    report = simulated("agg_append", watermark_delay="10s")
    expected = "would hold 100 rows (8.6 KiB), as it does now."
    assert report.primary.title.startswith("No difference: with a watermark delay of 10 s")
    assert expected in report.primary.title


@pytest.mark.parametrize("options", [(), ("--ttl", "1h", "--timeout", "1h")])
def test_exactly_one_change_is_required(options: tuple[str, ...]) -> None:
    outcome = run("simulate", checkpoint_of("agg_append"), *options)
    assert outcome.code == 2
    assert "one of --watermark-delay, --timeout, --ttl, --dedup-within" in outcome.err
    with pytest.raises(CheckpointError, match="one change"):
        simulated("agg_append")


def test_invalid_duration_is_refused() -> None:
    with pytest.raises(CheckpointError, match="expected a duration"):
        simulated("agg_append", watermark_delay="soon")
