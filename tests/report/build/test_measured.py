"""``sizes`` and ``sharing``: rows of places and versions."""

import pytest

from inspector import api
from inspector.measure.versions import VersionFacts
from inspector.report.build.measured import size_row
from tests.cli.support import checkpoint_of

JOIN = str(checkpoint_of("join_left_outer"))


def test_nothing_has_no_quantiles() -> None:
    row = size_row(VersionFacts())
    assert row["rows"] == row["row_bytes"] == 0
    quantiles = {value for name, value in row.items() if name.split("_")[-1] in ("p50", "max")}
    assert quantiles == {None}


@pytest.mark.parametrize(
    ("by", "store", "partition"),
    [("operator", False, False), ("store", True, False), ("partition", True, True)],
)
def test_a_row_tells_no_more_of_its_place_than_it_stands_for(
    by: str, store: bool, partition: bool
) -> None:
    for row in api.sizes(JOIN, by=by).primary.rows:
        assert (row["store_name"] is not None) == store
        assert (row["partition_id"] is not None) == partition


def test_two_versions_weigh_at_least_as_much_as_one() -> None:
    rows = list(api.sharing(JOIN).primary.rows)
    assert len(rows) == 40
    for row in rows:
        assert row["two_versions_bytes"] >= row["row_bytes"]
        shared = row["shared_key_bytes"] + row["shared_value_bytes"]
        assert row["two_versions_unshared_bytes"] - row["two_versions_bytes"] == shared
