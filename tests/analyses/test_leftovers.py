"""``inspector leftovers``: its report through the API, and what the command line prints."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.shared.options import Options
from inspector.operators.join import VALUE_STORES
from tests.cli.support import checkpoint_of, run
from tests.fixture_folder import NEWEST
from tests.planted import plant_old_rows

CASES = ("fmgws_event_ignore", "pandas_event_ignore", "fmgws_event_rearm", "agg_complete")


@pytest.mark.parametrize("case", CASES)
def test_leftover_classes_count_the_listed_keys(case: str) -> None:
    report = api.leftovers(str(checkpoint_of(case)))
    keys, classes, _ = (list(table.rows) for table in report.tables[:3])
    for row in classes:
        mine = [key for key in keys if (key["class"], key["certainty"]) == _kind(row)]
        assert row["keys"] == len(mine)
        assert row["row_bytes"] == sum(key["key_bytes"] + key["value_bytes"] for key in mine)
        assert row["oldest_expired_batch"] == min(key["expired_batch"] for key in mine)
    assert Counter(map(_kind, keys)) == {_kind(row): row["keys"] for row in classes}
    assert report.summary["leftovers"] == len(keys)
    total = sum(key["key_bytes"] + key["value_bytes"] for key in keys)
    assert report.summary["leftover_row_bytes"] == total


def _kind(row: object) -> tuple[str, str]:
    return row["class"], row["certainty"]  # type: ignore[index]


def test_rules_table_has_every_store() -> None:
    report = api.leftovers(str(checkpoint_of("join_left_outer")))
    rules = next(list(table.rows) for table in report.tables if table.name == "rules")
    assert len(rules) == 4
    assert all(rule["expires"] for rule in rules)


def test_rule_of_a_join_by_time_is_refuted_by_old_rows(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("join_window_key"), root)
    assert "every expired key has been removed" in api.leftovers(str(root)).primary.empty
    assert told_rules(root) == {"field1.end <= watermark"}
    # A row that the time in its key does not remove refutes the rule; it is no leftover by it.
    plant_old_rows(root, 1)
    report = api.leftovers(str(root))
    assert "no store has a known rule" in report.primary.empty
    assert list(report.primary.rows) == []
    assert all(rule.startswith("unknown: the time range") for rule in told_rules(root))
    assert [finding for finding in report.findings if finding.kind.id == "SS202"] == []


def told_rules(root: Path) -> set[str]:
    """What the report says of when the rows of a join's sides go."""
    report = api.leftovers(str(root))
    rules = next(table.rows for table in report.tables if table.name == "rules")
    return {str(rule["expires"]) for rule in rules if rule["store_name"] in VALUE_STORES}


def test_unknown_rule_below_a_join_names_an_operator_rule() -> None:
    path = str(checkpoint_of("dedup_after_join"))
    report = api.leftovers(path)
    assert "no store has a known rule" in report.primary.empty
    tables = {table.name: list(table.rows) for table in report.tables}
    (rule,) = (row for row in tables["rules"] if row["operator_id"] == 0)
    assert "downstream of symmetricHashJoin" in str(rule["expires"])
    (behind,) = (row for row in tables["retention"] if row["operator_id"] == 0)
    assert behind["oldest_behind_ms"] == 13_600
    # The option is spelled as it can be given.
    (actual,) = re.findall("'(0=.*)'", str(rule["expires"]))
    result = api.leftovers(path, Options(operator_rules=(actual.replace("1h", "14s"),)))
    assert "every expired key has been removed" in result.primary.empty
    result = api.leftovers(path, Options(operator_rules=(actual.replace("1h", "1s"),)))
    assert {_kind(row) for row in result.primary.rows} == {("past_watermark", "proven")}


def test_leftover_batch_is_one_less_than_its_version() -> None:
    for row in api.leftovers(str(checkpoint_of("fmgws_event_ignore"))).primary.rows:
        assert row["expired_batch"] == row["expired_version"] - 1
        assert row["last_put_batch"] == row["last_put_version"] - 1


def test_timer_without_no_data_batches_is_proven_by_calls() -> None:
    # No batch ran without data, so that only the calls show that one reaches the operator.
    rows = api.leftovers(str(checkpoint_of("fmgws_nodata_off"))).primary.rows
    assert {row["certainty"] for row in rows} == {"proven"}
    assert all(row["clock_ms"] < row["threshold_ms"] for row in rows)


# --- command line --------------------------------------------------------------------------------


PATH = checkpoint_of("fmgws_event_ignore")
PROMISED = {
    *("operator_id", "operator_name", "store_name", "partition_id", "key", "key_hex"),
    *("key_bytes", "value_bytes", "class", "certainty", "expired_batch", "expired_version"),
    *("clock_ms", "clock", "threshold_ms", "threshold", "last_put_version", "last_put_batch"),
}


def test_leftover_rows_have_the_documented_columns() -> None:
    for output in ("json", "ndjson", "csv"):
        outcome = run("leftovers", PATH, "-o", output)
        rows = getattr(outcome, "rows" if output == "json" else output)
        assert len(rows) == 68
        assert all(set(row) >= PROMISED for row in rows)


def test_leftover_row_has_clock_threshold_and_margin() -> None:
    rows = run("leftovers", PATH, "-o", "ndjson").ndjson
    for row in rows:
        assert row["clock_ms"] < row["threshold_ms"]
        assert row["margin_ms"] == row["threshold_ms"] - row["clock_ms"]
        assert row["expired_version"] == row["expired_batch"] + 1
        assert row["last_put_version"] == row["last_put_batch"] + 1
        assert row["key_bytes"] == len(row["key_hex"]) // 2
        assert (row["class"], row["certainty"]) == ("kept_without_timeout", "proven")
    assert rows[0]["key"] == {"value": "once-000"}
    assert rows[0]["clock"] == "2024-01-01T00:00:21.000Z"
    batches = [row["expired_batch"] for row in rows]
    assert batches == sorted(batches)


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
    assert (len(complete["rows"]), len(short["rows"])) == (68, 5)
    assert short["summary"] == complete["summary"]
    assert short["tables"]["classes"] == complete["tables"]["classes"]
    assert [r["expired_batch"] for r in short["rows"]] == [4] * 5
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
    assert (header.count("\n"), set(header.strip().split(",")) >= PROMISED) == (1, True)
    assert run("leftovers", path, "-o", "json").json["complete"] is True


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("pandas_event_ignore", "ignored_timeout"),
        ("fmgws_event_rearm", "rearmed"),
        ("fmgws_event_update", "kept_without_timeout"),
        ("agg_complete", "past_watermark"),
    ],
)
def test_leftover_class_of_each_query(case: str, kind: str) -> None:
    rows = run("leftovers", checkpoint_of(case), "-o", "ndjson").ndjson
    assert {row["class"] for row in rows} == {kind}


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
    for redact in ("hash", "all"):
        rows = run("leftovers", PATH, "-o", "ndjson", "--redact", redact).ndjson
        assert len(rows) == 68
        assert {row["key_hex"] for row in rows} == {None}
    hashed = run("leftovers", PATH, "-o", "ndjson", "--redact", "hash").ndjson
    assert len({row["key"] for row in hashed}) == 68


def test_threshold_leaves_out_findings() -> None:
    path = checkpoint_of("trouble_kept_timeouts")
    result = {
        maximum: [
            item["id"] for item in run("leftovers", path, *maximum, "-o", "json").json["findings"]
        ]
        for maximum in ((), ("--threshold", "SS203=80"), ("--threshold", "SS203=81"))
    }
    assert list(result.values()) == [["SS203"], ["SS203"], []]
