"""``inspector sizes``."""

import pytest

from tests.cli.support import checkpoint_of, run

JOIN = checkpoint_of("join_left_outer")


def test_sizes_by_partition_store_and_operator_add_up() -> None:
    by = {
        word: run("sizes", JOIN, "--by", word, "-o", "json").rows
        for word in ("partition", "store", "operator")
    }
    assert [len(rows) for rows in by.values()] == [8, 4, 1]
    for name in ("rows", "key_bytes", "value_bytes", "row_bytes"):
        totals = {sum(row[name] for row in rows) for rows in by.values()}
        assert len(totals) == 1
        assert totals != {0}
    for row in by["partition"]:
        assert row["row_bytes"] == row["key_bytes"] + row["value_bytes"]
    for name in ("key_bytes_max", "value_bytes_max", "row_bytes_max"):
        assert max(row[name] for row in by["partition"]) == by["operator"][0][name]


@pytest.mark.parametrize(
    ("by", "names"),
    [
        ("operator", {"operator_id", "operator_name"}),
        ("store", {"operator_id", "operator_name", "store_name"}),
        ("partition", {"operator_id", "operator_name", "store_name", "partition_id"}),
    ],
)
def test_sizes_row_has_the_columns_of_its_group(by: str, names: set[str]) -> None:
    row = run("sizes", JOIN, "--by", by, "-o", "ndjson").ndjson[0]
    location = {"operator_id", "operator_name", "store_name", "partition_id"}
    assert location & set(row) == names


def test_store_option_of_sizes() -> None:
    store = "right-keyWithIndexToValue"
    (row,) = run("sizes", JOIN, "--store", store, "-o", "ndjson").ndjson
    assert row["store_name"] == store
    assert row["rows"] == len(run("rows", JOIN, "--store", store, "-o", "ndjson").ndjson)


def test_sizes_by_field_add_up_to_those_by_store() -> None:
    fields = run("sizes", JOIN, "--by", "field", "-o", "json").rows
    stores = run("sizes", JOIN, "-o", "json").rows
    for store in stores:
        mine = [row for row in fields if row["store_name"] == store["store_name"]]
        for side in ("key", "value"):
            result = sum(row["bytes"] for row in mine if row["row"] == side)
            assert result == store[f"{side}_bytes"]
