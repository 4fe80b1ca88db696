"""Matched rows of joins, against Spark's own rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from inspector import api
from inspector.api.flags import matched_rows
from inspector.api.run import Run
from scripts.compare_with_spark import truth

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.mark.parametrize(
    "case", ["4.3.0/join_left_outer", "3.5.9/join_left_outer", "4.3.0/join_one_sided"]
)
def test_they_are_those_that_spark_says_have_a_partner(case: str) -> None:
    recorded = truth(FIXTURES / case)
    newest = max(recorded)
    flags = Counter(
        (row["store"], dict(row["v"])["matched"])
        for row in recorded[newest]
        if row["store"].endswith("IndexToValue")
    )
    run = Run.start(str(FIXTURES / case / "checkpoint"), api.Options(state_version=newest))
    found = matched_rows(run)
    assert set(found) == {(0, "left-keyWithIndexToValue"), (0, "right-keyWithIndexToValue")}
    for (_, store), counts in found.items():
        assert counts == (flags[store, True], flags[store, False])
    report = api.leftovers(str(FIXTURES / case / "checkpoint"))
    (retention,) = (table for table in report.tables if table.name == "retention")
    for row in retention.rows:
        assert (row["matched_rows"], row["unmatched_rows"]) == found[0, row["store_name"]]


def test_other_operators_and_format_1_have_no_flag() -> None:
    for case in ("4.3.0/agg_update", "4.0.5/join_inner_v1"):
        assert matched_rows(Run.start(str(FIXTURES / case / "checkpoint"), None)) == {}
