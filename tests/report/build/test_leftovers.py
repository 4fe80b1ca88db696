"""The tables of leftovers agree with one another."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from inspector import api
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
    assert "every key that has expired is gone" in api.leftovers(str(root)).primary.empty
    planted = plant_old_rows(root, 1)
    report = api.leftovers(str(root))
    rules = next(list(table.rows) for table in report.tables if table.name == "rules")
    stated = {rule["store_name"]: rule["expires"] for rule in rules}
    assert {stated[store] for store, _ in planted} == {"field1.end <= watermark"}
    keys = list(report.primary.rows)
    assert {(row["store_name"], bytes.fromhex(row["key_hex"])) for row in keys} == planted
    told = [finding for finding in report.findings if finding.kind.id == "SS202"]
    assert [(one.certainty.value, one.rows) for one in told] == [("inferred", 1)] * 2
    assert {one.next_step for one in told} == {"see inspector leftovers for the keys"}
    story = list(api.explain(str(root), keys[0]["key_hex"]).primary.rows)
    assert story[-1]["what"].startswith("past_watermark, inferred: the join key carries")


def test_a_batch_is_one_less_than_its_version() -> None:
    for row in api.leftovers(str(checkpoint_of("fmgws_event_ignore"))).primary.rows:
        assert row["expired_batch"] == row["expired_version"] - 1
        assert row["last_put_batch"] == row["last_put_version"] - 1
