"""The tables of leftovers agree with one another."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.shared.options import Options
from inspector.operators.join import VALUE_STORES
from tests.cli.support import checkpoint_of
from tests.planted import plant_old_rows

CASES = ("fmgws_event_ignore", "pandas_event_ignore", "fmgws_event_rearm", "agg_complete")


@pytest.mark.parametrize("case", CASES)
def test_classes_count_the_keys_that_are_listed(case: str) -> None:
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


def test_every_store_has_its_rule_told() -> None:
    report = api.leftovers(str(checkpoint_of("join_left_outer")))
    rules = next(list(table.rows) for table in report.tables if table.name == "rules")
    assert len(rules) == 4
    assert all(rule["expires"] for rule in rules)


def test_a_join_by_time_has_the_rule_that_its_rows_tell(tmp_path: Path) -> None:
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


def test_below_a_join_what_cannot_be_told_is_said_with_what_would_settle_it() -> None:
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


def test_a_batch_is_one_less_than_its_version() -> None:
    for row in api.leftovers(str(checkpoint_of("fmgws_event_ignore"))).primary.rows:
        assert row["expired_batch"] == row["expired_version"] - 1
        assert row["last_put_batch"] == row["last_put_version"] - 1


def test_a_timer_that_fired_by_the_watermark_shows_which_one_it_was() -> None:
    # No batch ran without data, so that only the calls show that one reaches the operator.
    rows = api.leftovers(str(checkpoint_of("fmgws_nodata_off"))).primary.rows
    assert {row["certainty"] for row in rows} == {"proven"}
    assert all(row["clock_ms"] < row["threshold_ms"] for row in rows)
