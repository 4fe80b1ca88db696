"""The state that a changed query would have."""

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
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.profiles import sampled


def with_delay(case: str) -> bool:
    return delay_of(open_checkpoint(str(NEWEST / case / "checkpoint"))) is not None


CASES = [path.name for path in sorted(NEWEST.iterdir()) if (path / "checkpoint").is_dir()]


def simulated(case: str, **change: Any) -> api.Report:
    return api.simulate(str(checkpoint_of(case)), **change)


@pytest.mark.parametrize("case", sampled(tuple(filter(with_delay, CASES)), 6))
def test_current_watermark_delay_changes_nothing(case: str) -> None:
    delay = delay_of(open_checkpoint(str(checkpoint_of(case))))
    assert delay is not None
    report = simulated(case, watermark_delay=f"{delay // 1000}s")
    for row in report.tables[1].rows:
        assert (row["rows_then"], row["row_bytes_then"]) == (row["rows"], row["row_bytes"]), row


@pytest.mark.parametrize("case", ["agg_append", "agg_update", "dedup_event_time", "session_window"])
def test_current_watermark_delay_keeps_the_heap(case: str) -> None:
    (row,) = simulated(case, watermark_delay="10s", old_delay="10s").primary.rows
    assert row["heap_bytes_then"] == row["heap_bytes"]


def test_old_delay_of_zero_is_printed() -> None:
    report = simulated("agg_append", watermark_delay="10s", old_delay="0s")
    assert any("(now 0 s)" in line for line in api.render(report))


def test_join_counter_with_a_lost_version_starts_later(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("trouble_join_without_range"), root)
    for lost in root.glob("state/0/*/left-keyToNumValues/1.delta"):
        lost.unlink()
    options = api.Options(join_retention=("left=15s", "right=15s"))
    report = api.simulate(str(root), options, watermark_delay="10m", old_delay="1m")
    counted = [row for row in report.tables[1].rows if row["store_name"] == "left-keyToNumValues"]
    assert min(row["batch_id"] for row in counted) > 0


def test_longer_watermark_delay_keeps_more_rows() -> None:
    rows = {
        delay: [
            row["rows_then"]
            for row in simulated("agg_append", watermark_delay=delay).tables[1].rows
        ]
        for delay in ("1s", "10s", "60s", "300s")
    }
    for longer, shorter in (("300s", "60s"), ("60s", "10s"), ("10s", "1s")):
        assert all(a >= b for a, b in zip(rows[longer], rows[shorter], strict=True))
    assert rows["300s"] == sorted(rows["300s"])
    assert rows["300s"][-1] > rows["10s"][-1]
    (row,) = simulated("agg_append", watermark_delay="300s").primary.rows
    assert (row["certainty"], row["rows_then"]) == ("at least", rows["300s"][-1])
    assert "dropped as late" in row["why"]


def test_rows_removed_before_the_oldest_version_make_a_lower_bound() -> None:
    (row,) = simulated("snapshots_cleaned", watermark_delay="1h").primary.rows
    assert row["certainty"] == "at least"
    assert "at least" in simulated("snapshots_cleaned", watermark_delay="1h").primary.title
    (row,) = simulated("snapshots_cleaned", watermark_delay="1s").primary.rows
    assert row["certainty"] == "exact"


def test_sum_of_lower_and_upper_bounds_is_approximate() -> None:
    words = {
        ("exact", "unchanged"): "",
        ("at least", "exact"): "at least ",
        ("at most",): "at most ",
        ("at least", "at most"): "about ",
        ("at least", "inferred"): "about ",
    }
    assert {certainties: bound_of_sum(certainties) for certainties in words} == words


def test_snapshot_that_differs_from_its_deltas_makes_rows_inferred(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("snapshots_cleaned"), root)
    folder = root / "state/0/0"
    newest = max(int(path.stem) for path in folder.glob("[0-9]*.delta"))
    cases.write_store(folder, {}, {newest: []})
    (row,) = api.simulate(str(root), watermark_delay="1s").primary.rows
    assert row["certainty"] == "inferred"
    assert "a snapshot differs" in row["why"]


def test_batches_without_offset_log_entry_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("agg_append"), root)
    rows = list(api.simulate(str(root), watermark_delay="1s").tables[1].rows)
    for batch in range(6):
        (root / "offsets" / str(batch)).unlink()
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
        ("agg_two_levels", "1s", {"unknown", "exact"}),
        ("agg_after_dedup", "1s", {"at most", "exact"}),
        ("agg_after_dedup", "1h", {"at least"}),
        ("dedup_after_join", "1s", {"unknown"}),
        ("limit_after_dedup", "1s", {"unchanged"}),
    ],
)
def test_downstream_operators_are_bounded_or_unknown(
    case: str, delay: str, certainties: set[str]
) -> None:
    report = simulated(case, watermark_delay=delay, old_delay="10s")
    assert {row["certainty"] for row in report.primary.rows} == certainties
    first = [row for row in report.primary.rows if row["certainty"] in ("unknown", "at most")]
    assert {row["operator_id"] for row in first} <= {0} or case == "dedup_after_join"


def test_join_rows_are_at_most_without_early_logs(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("join_left_outer"), root)
    options = api.Options(join_retention=("left=0s", "right=0s"))
    for certainty in ("exact", "at most"):
        rows = api.simulate(str(root), options, watermark_delay="1s").primary.rows
        assert {row["certainty"] for row in rows} == {certainty}
        for log in ("offsets", "commits"):
            for batch in range(4):
                (root / log / str(batch)).unlink(missing_ok=True)


def test_ttl_adds_24_bytes_to_a_value() -> None:
    rows = simulated("rocksdb_tws_processing", ttl="1000d").primary.rows
    (row,) = (row for row in rows if row["store_name"] == "total")
    assert row["rows_then"] == row["rows"]
    assert row["row_bytes_then"] == row["row_bytes"] + 24 * row["rows"]


def test_join_without_watermark_keeps_its_counters() -> None:
    rows = simulated("join_no_watermark", watermark_delay="1m").primary.rows
    assert {(row["certainty"], row["rows_then"] - row["rows"]) for row in rows} == {
        ("unchanged", 0)
    }


def test_join_without_time_range_is_unknown() -> None:
    report = simulated("join_left_outer", watermark_delay="1m")
    assert {row["certainty"] for row in report.primary.rows} == {"unknown"}
    assert {row["rows_then"] for row in report.primary.rows} == {None}
    assert not report.tables[1].rows
    assert "is not known" in report.primary.title
    assert report.summary["simulated_rows"] is None


def joined_rows(case: str, store: str, version: int) -> set[tuple[str, str]]:
    """The rows of a side at a version, whichever index they have."""
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
    for store in {row["store_name"] for row in batches} - {*JOIN_COUNT_STORES}:
        of_store = [row for row in batches if row["store_name"] == store]
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
    # So long that no rule removes a row, and each goes when it went.
    options = api.Options(join_retention=("left=1000d", "right=1000d"))
    delay = {"watermark_delay": "10s", "old_delay": "10s"}
    report = api.simulate(str(checkpoint_of(case)), options, **delay)
    stores = {*JOIN_COUNT_STORES, *JOIN_INDEX_STORES}
    followers = [row for row in report.tables[1].rows if row["store_name"] in stores]
    assert followers
    for row in followers:
        assert (row["rows_then"], row["row_bytes_then"]) == (row["rows"], row["row_bytes"])


def test_timeout_removes_leaked_keys() -> None:
    (row,) = simulated("trouble_kept_timeouts", timeout="20s").primary.rows
    assert row["rows_then"] < row["rows"]
    assert row["heap_bytes_then"] < row["heap_bytes"]
    assert (row["certainty"], "the function sets" in row["why"]) == ("inferred", True)


def test_dedup_within_removes_old_keys() -> None:
    (row,) = simulated("trouble_dedup_without_time", dedup_within="20s").primary.rows
    # The watermark of a batch is that of the events before it.
    assert (row["rows"], row["rows_then"]) == (113, 40)
    assert row["certainty"] == "inferred"


def test_ttl_applies_to_state_variables() -> None:
    report = simulated("rocksdb_tws_processing", ttl="1s")
    changed = [row for row in report.primary.rows if row["certainty"] != "unchanged"]
    assert changed
    assert {row["store_name"] for row in changed if row["certainty"] == "unknown"} == {
        "$rowCounter_amounts"
    }
    result = [row for row in changed if row["certainty"] != "unknown"]
    assert all(row["rows_then"] <= row["rows"] for row in result)
    rows = {row["store_name"]: row["rows_then"] for row in result}
    for name in ("seen", "visited"):
        assert rows[f"$ttl_{name}"] == rows[name]
    assert rows["$count_recent"] == rows["$min_recent"] == rows["$ttl_recent"] == 3
    assert rows["recent"] == 6
    (row,) = simulated("agg_append", ttl="1s").primary.rows
    assert (row["certainty"], row["rows_then"]) == ("unchanged", row["rows"])
    assert "no state variable" in row["why"]


def test_timers_with_a_longer_delay_are_unknown() -> None:
    for delay, certainty in (("1s", "inferred"), ("1h", "unknown")):
        report = simulated("rocksdb_tws_event", watermark_delay=delay, old_delay="10s")
        result = {row["store_name"]: row["certainty"] for row in report.primary.rows}
        assert result["$eventTimers_keyToTimestamp"] == certainty
        assert result["$eventTimers_timestampToKey"] == certainty


def test_group_state_without_timeout_is_unchanged() -> None:
    report = simulated("fmgws_no_timeout", watermark_delay="1h")
    assert {row["certainty"] for row in report.primary.rows} == {"unchanged"}
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
