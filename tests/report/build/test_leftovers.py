"""The tables of leftovers agree with one another."""

from collections import Counter

import pytest

from inspector import api
from tests.cli.support import checkpoint_of

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


def test_a_batch_is_one_less_than_its_version() -> None:
    for row in api.leftovers(str(checkpoint_of("fmgws_event_ignore"))).primary.rows:
        assert row["expired_batch"] == row["expired_version"] - 1
        assert row["last_put_batch"] == row["last_put_version"] - 1
