"""``sizes --by field``, on what Spark wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from inspector import api
from scripts.compare_with_spark import truth

FIXTURES = Path(__file__).parents[3] / "fixtures" / "4.3.0"


@pytest.mark.parametrize("case", ["agg_update", "wide_value", "wide_key", "join_left_outer"])
def test_all_fields_together_are_sparks_rows_to_the_byte(case: str) -> None:
    recorded = truth(FIXTURES / case)
    newest = recorded[max(recorded)]
    report = api.fields(str(FIXTURES / case / "checkpoint"))
    rows = list(report.primary.rows)
    for side, hexes in (("key", "kx"), ("value", "vx")):
        told = sum(row["bytes"] for row in rows if row["row"] == side)
        assert told == sum(len(row[hexes]) // 2 for row in newest)
    assert report.summary["row_bytes"] == sum(row["bytes"] for row in rows)


def test_strings_are_measured_and_padded() -> None:
    recorded = truth(FIXTURES / "agg_update")
    users = [dict(row["k"])["user"] for row in recorded[max(recorded)]]
    report = api.fields(str(FIXTURES / "agg_update" / "checkpoint"))
    (user,) = (row for row in report.primary.rows if row["field"] == "user")
    assert user["variable_bytes"] == sum(len(name.encode()) for name in users)
    assert user["padding_bytes"] == sum(-len(name.encode()) % 8 for name in users)
    assert user["word_bytes"] == 8 * len(users)


def test_fields_of_the_same_name_stay_apart() -> None:
    report = api.fields(str(FIXTURES / "wide_value" / "checkpoint"))
    names = [row["field"] for row in report.primary.rows if row["row"] == "value"]
    assert len(names) == len(set(names))
    assert {"first", "first#2"} <= set(names)
