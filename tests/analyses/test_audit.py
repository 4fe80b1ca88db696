"""``inspector audit``: its report from the API and its printed output."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from tests.cli.support import checkpoint_of, copy_of, flip, run
from tests.reports import cell_values, finding_ids, row_where, rows_of_table


def test_audit_summary_is_the_sum_of_its_tables() -> None:
    report = api.audit(str(checkpoint_of("join_left_outer")))
    assert (report.summary["rows"], report.summary["row_bytes"]) == (132, 7144)
    assert cell_values(rows_of_table(report, "sizes"), "store_name", "rows", "row_bytes") == [
        ("left-keyToNumValues", 44, 1408),
        ("left-keyWithIndexToValue", 61, 4392),
        ("right-keyToNumValues", 12, 384),
        ("right-keyWithIndexToValue", 15, 960),
    ]
    names = ("from_version", "to_version", "puts", "inserts", "updates", "removals")
    assert cell_values(rows_of_table(report, "changes"), *names) == [
        (1, 10, 195, 104, 91, 60),
        (1, 10, 279, 160, 119, 99),
        (1, 10, 117, 54, 63, 42),
        (1, 10, 135, 96, 39, 81),
    ]


def test_audit_lists_few_leftovers_and_counts_all() -> None:
    report = api.audit(str(checkpoint_of("agg_complete")))
    assert len(rows_of_table(report, "leftovers")) == 5
    assert cell_values(rows_of_table(report, "classes"), "keys") == [201]
    assert report.summary["leftovers"] == 201


def test_rocksdb_rows_take_no_heap() -> None:
    in_rocksdb = api.audit(str(checkpoint_of("rocksdb_agg_update"))).summary
    on_heap = api.audit(str(checkpoint_of("rocksdb_agg_update_hdfs"))).summary
    assert on_heap.keys() - in_rocksdb.keys() == {"heap_estimate_bytes"}
    assert in_rocksdb["row_bytes"] == on_heap["row_bytes"]


def test_helper_rows_of_spark_are_counted_separately() -> None:
    """Spark recorded 40 rows in the column families of indexes, counters and timers by time."""
    summary = api.audit(str(checkpoint_of("rocksdb_tws_processing"))).summary
    assert summary["helper_rows"] == 40
    assert (summary["helper_row_bytes"], summary["row_bytes"]) == (2568, 9144)
    assert "helper_rows" not in api.audit(str(checkpoint_of("rocksdb_agg_update"))).summary


# --- command line --------------------------------------------------------------------------------


HEALTHY, LEAK = checkpoint_of("agg_update"), checkpoint_of("fmgws_event_ignore")


def test_healthy_checkpoint_has_no_findings() -> None:
    outcome = run("audit", HEALTHY)
    assert outcome.code == 0
    assert outcome.out.startswith("Healthy: no findings; the state does not grow (100 rows, ")
    assert "findings\n(none)\n" in outcome.out


def test_leaked_keys_are_an_error_with_rows_and_bytes() -> None:
    outcome = run("audit", LEAK, "-o", "json")
    assert outcome.code == 1
    finding = outcome.rows[0]
    assert (finding["id"], finding["severity"], finding["certainty"]) == (
        "SS203",
        "error",
        "proven",
    )
    assert (finding["rows"], finding["bytes"]) == (68, 6528)
    assert finding["next_step"]
    assert outcome.json["summary"]["leftovers"] == 68
    assert "rows" not in outcome.json
    assert "findings" not in outcome.json["tables"]


@pytest.mark.parametrize(
    ("fail_on", "code"), [("error", 1), ("warning", 1), ("info", 1), ("never", 0)]
)
def test_fail_on_option_sets_exit_code(fail_on: str, code: int) -> None:
    assert run("audit", LEAK, "--fail-on", fail_on).code == code


def test_warning_fails_unless_fail_on_error() -> None:
    path = checkpoint_of("dedup_no_watermark")
    assert run("audit", path).code == 1
    assert run("audit", path, "--fail-on", "error").code == 0


def test_audit_lists_oldest_leftovers_with_hashed_keys() -> None:
    listed = run("audit", LEAK, "-o", "json").json["tables"]["leftovers"]
    assert cell_values(listed, "expired_batch") == [4, 4, 4, 4, 4]
    assert listed[0]["key"].startswith("sha256:")


@pytest.mark.parametrize(
    ("case", "rows"), [("dedup_no_watermark", 402), ("dedup_watermark_not_key", 400)]
)
def test_expiry_rule_that_never_holds_is_a_warning(case: str, rows: int) -> None:
    finding = run("audit", checkpoint_of(case), "-o", "json").rows[0]
    assert (finding["id"], finding["severity"], finding["operator_id"]) == ("SS201", "warning", 0)
    assert finding["rows"] == rows
    assert "watermark" in finding["evidence"]


def test_function_that_removes_keys_has_no_proven_finding() -> None:
    rows = run("audit", checkpoint_of("fmgws_no_timeout"), "-o", "json").rows
    assert "proven" not in cell_values(rows, "certainty")


def test_missing_delta_is_a_finding_and_a_problem(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    outcome = run("audit", path, "-o", "json")
    assert outcome.code == 4
    assert set(cell_values(outcome.rows, "id")) == {"SS101", "SS105"}
    assert set(cell_values(outcome.json["problems"], "problem")) == {
        "missing-delta",
        "missing-version",
    }
    assert outcome.json["verdict"]["problems"] == 2


@pytest.mark.parametrize("case", ["snapshots_cleaned", "rocksdb_agg_update_zips_cleaned_one"])
def test_version_removed_by_cleanup_is_no_error(case: str) -> None:
    outcome = run("audit", checkpoint_of(case), "--batch", "2", "-o", "json")
    assert outcome.code == 4
    assert "error" not in cell_values(outcome.rows, "severity")
    assert "missing-version" in cell_values(outcome.json["problems"], "problem")


def test_damaged_delta_is_an_error_with_its_path(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    flip(path / "state/0/1/10.delta", 40)
    outcome = run("audit", path, "-o", "json")
    assert outcome.code == 4
    (finding,) = outcome.rows
    assert finding["id"] == "SS102"
    assert str(path / "state/0/1/10.delta") in finding["evidence"]


@pytest.mark.parametrize(("batch", "leftovers"), [(3, 0), (4, 26), (5, 35), (12, 68)])
def test_batch_option_audits_an_older_version(batch: int, leftovers: int) -> None:
    summary = api.audit(str(LEAK), api.Options(batch=batch)).summary
    assert summary["leftovers"] == leftovers


# --- gates and the baseline ------------------------------------------------------------------


def test_exceeded_gate_fails_and_is_shown_in_every_format() -> None:
    limit = ("--max", "state.bytes=1KiB", "--max", "state.rows=1000")
    table = run("audit", HEALTHY, *limit)
    assert table.code == 1
    assert "gates: 1 of 2 exceeded" in table.out
    assert "state.bytes is 8.6 KiB, above the limit of 1.0 KiB" in table.out
    assert "above the limit" in run("audit", HEALTHY, *limit, "-o", "markdown").out
    rows = run("audit", HEALTHY, *limit, "-o", "json").json["tables"]["gates"]
    assert cell_values(rows, "metric", "result", "value") == [
        ("state.bytes", "exceeded", 8800),
        ("state.rows", "passed", 100),
    ]
    expected = [("gate", "state.bytes is above its limit")]
    assert cell_values(run("audit", HEALTHY, *limit, "-o", "csv").csv, "id", "title") == expected
    ndjson = run("audit", HEALTHY, *limit, "-o", "ndjson")
    assert (ndjson.code, cell_values(ndjson.ndjson, "id", "title")) == (1, expected)
    assert 'metric="state.bytes"' in run("audit", HEALTHY, *limit, "-o", "prometheus").out
    assert "<failure" in run("audit", HEALTHY, *limit, "-o", "junit").out


def test_passed_gates_do_not_fail() -> None:
    assert (
        run("audit", HEALTHY, "--max", "state.bytes=8GiB", "--max", "leftovers.ratio=0%").code == 0
    )


def test_gate_metrics_equal_the_printed_numbers() -> None:
    report = run("audit", LEAK, "-o", "json").json
    summary, verdict = report["summary"], report["verdict"]
    assert report["metrics"] == {
        "state.rows": summary["rows"],
        "state.bytes": summary["row_bytes"],
        "files.bytes": summary["state_file_bytes"],
        "heap.bytes": verdict["size"]["heap_bytes"],
        "leftovers.rows": 68,
        "leftovers.bytes": 6528,
        "leftovers.ratio": 0.53125,
        "growth.rows_per_hour": verdict["growth"]["rows_per_hour"],
        "growth.bytes_per_hour": verdict["growth"]["bytes_per_hour"],
        "growth.heap_bytes_per_hour": verdict["growth"]["heap_bytes_per_hour"],
        "watermark.lag_seconds": 31.0,
        "findings.errors": 1,
        "findings.warnings": 1,
        "problems": 0,
    }
    assert cell_values(report["tables"]["classes"], "keys", "row_bytes") == [(68, 6528)]
    assert summary["leftovers"] == 68


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--max", "state.byte=1"), "did you mean state.bytes?"),
        (("--max", "state.bytes"), "expected KEY=VALUE"),
        (("--baseline", "/nowhere.json"), "cannot be read"),
        (("--tolerance", "much"), "expected a value such as 10%"),
    ],
)
def test_invalid_gate_or_baseline_is_a_usage_error(option: tuple[str, str], message: str) -> None:
    outcome = run("audit", HEALTHY, *option)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_baseline_of_the_same_checkpoint_has_no_changes(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    assert run("audit", LEAK, "-O", old).code == 1
    outcome = run("audit", LEAK, "--baseline", old)
    assert outcome.code == 0
    assert "0 new, 0 worse, 0 gone, 0 better, 16 same" in outcome.out


def test_baseline_shows_fixed_and_new_findings(tmp_path: Path) -> None:
    """The fixed query is the same query whose function removed the keys whose timeout fired."""
    old, location = tmp_path / "old.json", tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("trouble_kept_timeouts"), location)
    run("audit", location, "-O", old)
    shutil.rmtree(location)
    shutil.copytree(checkpoint_of("healthy_kept_timeouts"), location)
    fixed = run("audit", location, "--baseline", old, "-o", "json")
    assert fixed.code == 0
    rows = fixed.json["tables"]["comparison"]
    assert row_where(rows, name="SS203")["trend"] == "gone"
    assert row_where(rows, name="leftovers.rows")["trend"] == "better"
    assert row_where(rows, name="growth.bytes_per_hour")["trend"] == "better"
    run("audit", location, "-O", old, "--force")
    shutil.rmtree(location)
    shutil.copytree(checkpoint_of("trouble_kept_timeouts"), location)
    broken = run("audit", location, "--baseline", old, "-o", "json")
    assert broken.code == 1
    rows = broken.json["tables"]["comparison"]
    assert row_where(rows, name="SS203")["trend"] == "new"
    assert row_where(rows, name="leftovers.rows")["trend"] == "worse"
    assert run("audit", location, "--baseline", old, "--fail-on", "never").code == 0


def test_checkpoint_missing_from_baseline_is_new(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    run("audit", HEALTHY, "-O", old)
    outcome = run("audit", LEAK, "--baseline", old)
    assert outcome.code == 1
    assert "which does not contain this checkpoint: all findings are new" in outcome.out


def test_threshold_option_changes_findings() -> None:
    path = checkpoint_of("trouble_skew")
    assert "SS307" in finding_ids(api.audit(str(path)))
    set_ = run("audit", path, "-o", "json", "--threshold", "SS307=1000")
    assert set_.json["findings"] == []
    heap = run("audit", path, "-o", "json", "--threshold", "heap_bytes=1KiB", "--fail-on", "never")
    assert "SS306" in cell_values(heap.json["findings"], "id")


@pytest.mark.parametrize("arguments", ["skew=5", "skew_rows=many", "SS999=1"])
def test_invalid_threshold_is_a_usage_error(arguments: str) -> None:
    outcome = run("audit", checkpoint_of("agg_update"), "--threshold", arguments)
    assert outcome.code == 2
    assert "threshold" in outcome.err
