"""``inspector audit``: its report through the API, and what the command line prints."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.audit import AUDIT_KEYS
from tests.cli.support import checkpoint_of, copy_of, flip, run


def test_audit_summary_is_the_sum_of_its_tables() -> None:
    report = api.audit(str(checkpoint_of("join_left_outer")))
    tables = {table.name: list(table.rows) for table in report.tables}
    sizes = tables["sizes"]
    assert report.summary["rows"] == sum(row["rows"] for row in sizes) > 0
    assert report.summary["row_bytes"] == sum(row["row_bytes"] for row in sizes) > 0
    changes = tables["changes"]
    assert {(row["from_version"], row["to_version"]) for row in changes} == {(1, 10)}
    for row in changes:
        assert row["puts"] == row["inserts"] + row["updates"]


def test_inserts_minus_removals_are_the_live_rows() -> None:
    report = api.audit(str(checkpoint_of("agg_update")))
    (changes,) = next(list(t.rows) for t in report.tables if t.name == "changes")
    assert changes["inserts"] - changes["removals"] == report.summary["rows"]


def test_audit_lists_few_leftovers_and_counts_all() -> None:
    report = api.audit(str(checkpoint_of("agg_complete")))
    tables = {table.name: list(table.rows) for table in report.tables}
    assert len(tables["leftovers"]) == AUDIT_KEYS
    assert report.summary["leftovers"] == sum(row["keys"] for row in tables["classes"]) == 201


def test_rocksdb_rows_take_no_heap() -> None:
    in_rocksdb, on_heap = (
        api.audit(str(checkpoint_of(case))).summary
        for case in ("rocksdb_agg_update", "rocksdb_agg_update_hdfs")
    )
    assert on_heap.keys() - in_rocksdb.keys() == {"heap_estimate_bytes"}
    assert in_rocksdb["row_bytes"] == on_heap["row_bytes"]


def test_helper_rows_of_spark_are_counted_separately() -> None:
    case = checkpoint_of("rocksdb_tws_processing")
    counts = json.loads((case.parent / "truth_counts.json").read_text("utf-8"))
    newest = [count for count in counts if count["ver"] == 8 and count["cf"] is not None]
    helpers = [item["rows"] for item in newest if re.match(r"\$(?!.*_keyTo)", item["cf"])]
    summary = api.audit(str(case)).summary
    assert summary["helper_rows"] == sum(helpers) == 40
    assert 0 < summary["helper_row_bytes"] < summary["row_bytes"]
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
    assert len(listed) == 5
    assert [row["expired_batch"] for row in listed] == [4] * 5
    assert all(row["key"].startswith("sha256:") for row in listed)


def test_expiry_rule_that_never_holds_is_a_warning() -> None:
    for case, rows in (("dedup_no_watermark", 402), ("dedup_watermark_not_key", 400)):
        finding = run("audit", checkpoint_of(case), "-o", "json").rows[0]
        kind = (finding["id"], finding["severity"], finding["operator_id"])
        assert kind == ("SS201", "warning", 0)
        assert finding["rows"] == rows
        assert "watermark" in finding["evidence"]


def test_function_that_removes_keys_has_no_proven_finding() -> None:
    rows = run("audit", checkpoint_of("fmgws_no_timeout"), "-o", "json").rows
    assert [row["id"] for row in rows if row["certainty"] == "proven"] == []


def test_missing_delta_is_a_finding_and_a_problem(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    outcome = run("audit", path, "-o", "json")
    assert outcome.code == 4
    assert {finding["id"] for finding in outcome.rows} == {"SS101", "SS105"}
    assert {p["problem"] for p in outcome.json["problems"]} == {"missing-delta", "missing-version"}
    assert outcome.json["verdict"]["problems"] == 2


@pytest.mark.parametrize("case", ["snapshots_cleaned", "rocksdb_agg_update_zips_cleaned_one"])
def test_version_removed_by_cleanup_is_no_error(case: str) -> None:
    outcome = run("audit", checkpoint_of(case), "--batch", "2", "-o", "json")
    assert outcome.code == 4
    assert {row["id"] for row in outcome.rows if row["severity"] == "error"} == set()
    assert {p["problem"] for p in outcome.json["problems"]} >= {"missing-version"}


def test_damaged_delta_is_an_error_with_its_path(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    flip(path / "state/0/1/10.delta", 40)
    outcome = run("audit", path, "-o", "json")
    assert outcome.code == 4
    (finding,) = outcome.rows
    assert finding["id"] == "SS102"
    assert str(path / "state/0/1/10.delta") in finding["evidence"]


def test_batch_option_audits_an_older_version() -> None:
    result = {
        batch: run("audit", LEAK, "--batch", str(batch), "-o", "json").json["summary"]["leftovers"]
        for batch in (3, 4, 5, 12)
    }
    assert result[3] == 0 < result[4] < result[5] < result[12] == 68


# --- gates and the baseline ------------------------------------------------------------------


def test_exceeded_gate_fails_and_is_shown_in_every_format() -> None:
    limit = ("--max", "state.bytes=1KiB", "--max", "state.rows=1000")
    table = run("audit", HEALTHY, *limit)
    assert table.code == 1
    assert "gates: 1 of 2 exceeded" in table.out
    assert "state.bytes is 8.6 KiB, above the limit of 1.0 KiB" in table.out
    assert "above the limit" in run("audit", HEALTHY, *limit, "-o", "markdown").out
    rows = run("audit", HEALTHY, *limit, "-o", "json").json["tables"]["gates"]
    assert [(row["metric"], row["result"], row["value"]) for row in rows] == [
        ("state.bytes", "exceeded", 8800),
        ("state.rows", "passed", 100),
    ]
    for output in ("csv", "ndjson"):
        outcome = run("audit", HEALTHY, *limit, "-o", output)
        (row,) = outcome.csv if output == "csv" else outcome.ndjson
        assert (row["id"], row["title"]) == ("gate", "state.bytes is above its limit")
        assert outcome.code == 1
    assert 'metric="state.bytes"' in run("audit", HEALTHY, *limit, "-o", "prometheus").out
    assert "<failure" in run("audit", HEALTHY, *limit, "-o", "junit").out


def test_passed_gates_do_not_fail() -> None:
    assert (
        run("audit", HEALTHY, "--max", "state.bytes=8GiB", "--max", "leftovers.ratio=0%").code == 0
    )


def test_gate_metrics_equal_the_printed_numbers() -> None:
    report = run("audit", LEAK, "-o", "json").json
    metrics, summary, verdict = report["metrics"], report["summary"], report["verdict"]
    assert metrics["state.rows"] == summary["rows"] == verdict["size"]["rows"]
    assert metrics["state.bytes"] == summary["row_bytes"]
    assert metrics["files.bytes"] == summary["state_file_bytes"]
    assert metrics["heap.bytes"] == verdict["size"]["heap_bytes"]
    assert metrics["leftovers.rows"] == summary["leftovers"] == 68
    classes = report["tables"]["classes"]
    assert metrics["leftovers.bytes"] == sum(row["row_bytes"] for row in classes)
    assert metrics["leftovers.ratio"] == 68 / 128
    for name in ("rows_per_hour", "bytes_per_hour", "heap_bytes_per_hour"):
        assert metrics[f"growth.{name}"] == verdict["growth"][name]
    lag = summary["batch_timestamp_ms"] - summary["watermark_ms"]
    assert metrics["watermark.lag_seconds"] == lag / 1000
    assert metrics["findings.errors"] == verdict["errors"]


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
    """The same query before and after its function removed the keys whose timeout fired."""
    old, location = tmp_path / "old.json", tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("trouble_kept_timeouts"), location)
    run("audit", location, "-O", old)
    shutil.rmtree(location)
    shutil.copytree(checkpoint_of("healthy_kept_timeouts"), location)
    fixed = run("audit", location, "--baseline", old, "-o", "json")
    assert fixed.code == 0
    trends = {row["name"]: row["trend"] for row in fixed.json["tables"]["comparison"]}
    assert trends["SS203"] == "gone"
    assert trends["leftovers.rows"] == trends["growth.bytes_per_hour"] == "better"
    run("audit", location, "-O", old, "--force")
    shutil.rmtree(location)
    shutil.copytree(checkpoint_of("trouble_kept_timeouts"), location)
    broken = run("audit", location, "--baseline", old, "-o", "json")
    assert broken.code == 1
    trends = {row["name"]: row["trend"] for row in broken.json["tables"]["comparison"]}
    assert trends["SS203"] == "new"
    assert trends["leftovers.rows"] == "worse"
    assert run("audit", location, "--baseline", old, "--fail-on", "never").code == 0


def test_checkpoint_missing_from_baseline_is_new(tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    run("audit", HEALTHY, "-O", old)
    outcome = run("audit", LEAK, "--baseline", old)
    assert outcome.code == 1
    assert "which does not contain this checkpoint: all findings are new" in outcome.out


def test_threshold_option_changes_findings() -> None:
    path = checkpoint_of("trouble_skew")
    usual = run("audit", path, "-o", "json")
    assert "SS307" in [element["id"] for element in usual.json["findings"]]
    set_ = run("audit", path, "-o", "json", "--threshold", "SS307=1000")
    assert set_.json["findings"] == []
    heap = run("audit", path, "-o", "json", "--threshold", "heap_bytes=1KiB", "--fail-on", "never")
    assert "SS306" in [item["id"] for item in heap.json["findings"]]


@pytest.mark.parametrize("arguments", ["skew=5", "skew_rows=many", "SS999=1"])
def test_invalid_threshold_is_a_usage_error(arguments: str) -> None:
    outcome = run("audit", checkpoint_of("agg_update"), "--threshold", arguments)
    assert outcome.code == 2
    assert "threshold" in outcome.err
