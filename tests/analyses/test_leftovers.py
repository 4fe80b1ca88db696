"""``inspector leftovers``: its report from the API and its printed output."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.shared.options import Options
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.planted import plant_old_rows
from tests.reports import cell_values, finding_ids, row_where, rows_of_table, rows_where


@pytest.mark.parametrize(
    ("case", "kind", "certainty", "keys", "row_bytes", "oldest_batch"),
    [
        ("fmgws_event_ignore", "kept_without_timeout", "proven", 68, 6528, 4),
        ("fmgws_event_update", "kept_without_timeout", "proven", 68, 6528, 4),
        ("pandas_event_ignore", "ignored_timeout", "proven", 74, 7104, 4),
        ("fmgws_event_rearm", "rearmed", "proven", 68, 6528, 10),
        ("agg_complete", "past_watermark", "inferred", 201, 17688, 4),
    ],
)
def test_leftover_classes_count_the_listed_keys(
    case: str, kind: str, certainty: str, keys: int, row_bytes: int, oldest_batch: int
) -> None:
    report = api.leftovers(str(checkpoint_of(case)))
    (row,) = rows_of_table(report, "classes")
    assert (row["class"], row["certainty"]) == (kind, certainty)
    assert (row["keys"], row["row_bytes"]) == (keys, row_bytes)
    assert row["oldest_expired_batch"] == oldest_batch
    listed = report.primary.rows
    assert cell_values(listed, "class", "certainty") == [(kind, certainty)] * keys
    assert (
        sum(cell_values(listed, "key_bytes")) + sum(cell_values(listed, "value_bytes")) == row_bytes
    )
    assert min(cell_values(listed, "expired_batch")) == oldest_batch
    assert report.summary["leftovers"] == keys
    assert report.summary["leftover_row_bytes"] == row_bytes


def test_rules_table_has_every_store() -> None:
    report = api.leftovers(str(checkpoint_of("join_left_outer")))
    counter = "unknown: a counter goes with the last row of its join key"
    side = (
        "unknown: the time range of the join condition is not in the checkpoint "
        "(--join-retention gives it)"
    )
    assert cell_values(rows_of_table(report, "rules"), "store_name", "expires") == [
        ("left-keyToNumValues", counter),
        ("left-keyWithIndexToValue", side),
        ("right-keyToNumValues", counter),
        ("right-keyWithIndexToValue", side),
    ]


def test_rule_of_a_join_by_time_is_refuted_by_old_rows(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("join_window_key"), root)
    report = api.leftovers(str(root))
    assert "every expired key has been removed" in report.primary.empty
    (rule,) = rows_where(rows_of_table(report, "rules"), store_name="left-keyWithIndexToValue")
    assert rule["expires"] == "field1.end <= watermark"
    plant_old_rows(root, 1)
    report = api.leftovers(str(root))
    assert "no store has a known rule" in report.primary.empty
    assert list(report.primary.rows) == []
    (rule,) = rows_where(rows_of_table(report, "rules"), store_name="left-keyWithIndexToValue")
    assert rule["expires"].startswith("unknown: the time range")
    assert "SS202" not in finding_ids(report)


def test_unknown_rule_below_a_join_names_an_operator_rule() -> None:
    path = str(checkpoint_of("dedup_after_join"))
    report = api.leftovers(path)
    assert "no store has a known rule" in report.primary.empty
    rule = str(row_where(rows_of_table(report, "rules"), operator_id=0)["expires"])
    assert "downstream of symmetricHashJoin" in rule
    behind = row_where(rows_of_table(report, "retention"), operator_id=0)
    assert behind["oldest_behind_ms"] == 13_600
    (option,) = re.findall("'(0=.*)'", rule)
    result = api.leftovers(path, Options(operator_rules=(option.replace("1h", "14s"),)))
    assert "every expired key has been removed" in result.primary.empty
    result = api.leftovers(path, Options(operator_rules=(option.replace("1h", "1s"),)))
    expected = {("past_watermark", "proven")}
    assert set(cell_values(result.primary.rows, "class", "certainty")) == expected


def test_timer_without_no_data_batches_is_proven_by_calls() -> None:
    """No batch ran without data, so only the calls show that the watermark fires the timers."""
    rows = list(api.leftovers(str(checkpoint_of("fmgws_nodata_off"))).primary.rows)
    assert cell_values(rows, "certainty") == ["proven"] * 8
    assert (rows[0]["clock_ms"], rows[0]["threshold_ms"]) == (1_704_067_221_000, 1_704_067_229_000)


# --- command line --------------------------------------------------------------------------------


PATH = checkpoint_of("fmgws_event_ignore")
PROMISED = {
    *("operator_id", "operator_name", "store_name", "partition_id", "key", "key_hex"),
    *("key_bytes", "value_bytes", "class", "certainty", "expired_batch", "expired_version"),
    *("clock_ms", "clock", "threshold_ms", "threshold", "last_put_version", "last_put_batch"),
}


def test_leftover_rows_have_the_documented_columns() -> None:
    assert set(run("leftovers", PATH, "-o", "json").rows[67]) >= PROMISED
    assert set(run("leftovers", PATH, "-o", "ndjson").ndjson[67]) >= PROMISED
    assert set(run("leftovers", PATH, "-o", "csv").csv[67]) >= PROMISED


def test_leftover_row_has_clock_threshold_and_margin() -> None:
    rows = run("leftovers", PATH, "-o", "ndjson").ndjson
    assert rows[0] == {
        "operator_id": 0,
        "operator_name": "flatMapGroupsWithState",
        "store_name": "default",
        "partition_id": 0,
        "key": {"value": "once-000"},
        "key_hex": "000000000000000008000000100000006f6e63652d303030",
        "key_bytes": 24,
        "value_bytes": 72,
        "row_bytes": 96,
        "class": "kept_without_timeout",
        "certainty": "proven",
        "state": "untouched",
        "expired_batch": 4,
        "expired_version": 5,
        "first_expired_batch": 4,
        "clock_ms": 1_704_067_221_000,
        "clock": "2024-01-01T00:00:21.000Z",
        "threshold_ms": 1_704_067_229_000,
        "threshold": "2024-01-01T00:00:29.000Z",
        "margin_ms": 8000,
        "fired": 1,
        "last_put_version": 5,
        "last_put_batch": 4,
        "last_put_ms": 1_704_067_240_000,
        "last_put": "2024-01-01T00:00:40.000Z",
        "age_ms": 80_000,
        "puts": 2,
        "unchanged_since": True,
        "reason": None,
    }
    batches = cell_values(rows, "expired_batch")
    assert batches == sorted(batches)
    assert cell_values(rows_of_table(api.leftovers(str(PATH)), "classes"), "fired_max") == [1]


def test_leftover_clock_equals_the_log_of_the_query() -> None:
    file = NEWEST / "fmgws_event_ignore" / "expected_leftovers.json"
    expected = {row["key"]: row for row in json.loads(file.read_text(encoding="utf-8"))}
    for row in run("leftovers", PATH, "-o", "ndjson").ndjson:
        logged = expected[row["key"]["value"]]
        assert (row["clock_ms"], row["fired"]) == (logged["timeout_ms"], logged["fired"])
        assert row["threshold_ms"] == logged["clock_ms"]


def test_limit_keeps_the_oldest_leftovers() -> None:
    complete = run("leftovers", PATH, "-o", "json", "--limit", "0").json
    short = run("leftovers", PATH, "-o", "json", "--limit", "5").json
    assert len(complete["rows"]) == 68
    assert short["summary"] == complete["summary"]
    assert short["tables"]["classes"] == complete["tables"]["classes"]
    assert cell_values(short["rows"], "expired_batch") == [4, 4, 4, 4, 4]
    assert "leftover keys, the oldest 5 of 68\n" in run("leftovers", PATH, "--limit", "5").out


def test_table_shows_100_leftovers_and_ndjson_all() -> None:
    path = checkpoint_of("agg_complete")
    assert "leftover keys, the oldest 100 of 201\n" in run("leftovers", path).out
    assert len(run("leftovers", path, "-o", "ndjson").ndjson) == 201
    assert len(run("leftovers", path, "-o", "ndjson", "--limit", "7").ndjson) == 7


def test_healthy_checkpoint_has_no_leftovers() -> None:
    path = checkpoint_of("fmgws_event_remove")
    outcome = run("leftovers", path)
    assert outcome.code == 0
    assert "(none: every expired key has been removed)\n" in outcome.out
    assert run("leftovers", path, "-o", "ndjson").out == ""
    header = run("leftovers", path, "-o", "csv").out
    assert header.count("\n") == 1
    assert set(header.strip().split(",")) >= PROMISED
    assert run("leftovers", path, "-o", "json").json["complete"] is True


def test_leftovers_fail_only_with_fail_on() -> None:
    assert run("leftovers", PATH).code == 0
    assert run("leftovers", PATH, "--fail-on", "error").code == 1
    clean = checkpoint_of("agg_update")
    assert run("leftovers", clean, "--fail-on", "info").code == 0


def test_timeout_kind_option() -> None:
    path = checkpoint_of("fmgws_event_ignore")
    assert len(run("leftovers", path, "--timeout-kind", "event", "-o", "ndjson").ndjson) == 68
    outcome = run("leftovers", path, "--timeout-kind", "lunar")
    assert outcome.code == 2


def test_redacted_leftovers_have_no_key_bytes() -> None:
    hashed = run("leftovers", PATH, "-o", "ndjson", "--redact", "hash").ndjson
    assert cell_values(hashed, "key_hex") == [None] * 68
    assert len(set(cell_values(hashed, "key"))) == 68
    hidden = run("leftovers", PATH, "-o", "ndjson", "--redact", "all").ndjson
    assert cell_values(hidden, "key_hex") == [None] * 68


@pytest.mark.parametrize(
    ("thresholds", "findings"),
    [({}, ["SS203"]), ({"SS203": "80"}, ["SS203"]), ({"SS203": "81"}, [])],
)
def test_threshold_leaves_out_findings(thresholds: dict[str, str], findings: list[str]) -> None:
    options = Options(thresholds=thresholds)
    report = api.leftovers(str(checkpoint_of("trouble_kept_timeouts")), options)
    assert finding_ids(report) == findings
