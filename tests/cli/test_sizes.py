"""``inspector sizes``."""

from tests.cli.support import checkpoint_of, run
from tests.reports import cell_values, rows_where

JOIN = checkpoint_of("join_left_outer")


def test_sizes_by_partition_store_and_operator_add_up() -> None:
    partitions = run("sizes", JOIN, "--by", "partition", "-o", "json").rows
    assert cell_values(partitions, "operator_id", "store_name", "partition_id", *SUMS) == [
        (0, "left-keyToNumValues", 0, 21, 336, 336, 672, 32),
        (0, "left-keyToNumValues", 1, 23, 368, 368, 736, 32),
        (0, "left-keyWithIndexToValue", 0, 30, 720, 1440, 2160, 72),
        (0, "left-keyWithIndexToValue", 1, 31, 744, 1488, 2232, 72),
        (0, "right-keyToNumValues", 0, 6, 96, 96, 192, 32),
        (0, "right-keyToNumValues", 1, 6, 96, 96, 192, 32),
        (0, "right-keyWithIndexToValue", 0, 8, 192, 320, 512, 64),
        (0, "right-keyWithIndexToValue", 1, 7, 168, 280, 448, 64),
    ]
    stores = run("sizes", JOIN, "--by", "store", "-o", "json").rows
    assert cell_values(stores, "operator_id", "store_name", *SUMS) == [
        (0, "left-keyToNumValues", 44, 704, 704, 1408, 32),
        (0, "left-keyWithIndexToValue", 61, 1464, 2928, 4392, 72),
        (0, "right-keyToNumValues", 12, 192, 192, 384, 32),
        (0, "right-keyWithIndexToValue", 15, 360, 600, 960, 64),
    ]
    assert "partition_id" not in stores[0]
    (operator,) = run("sizes", JOIN, "--by", "operator", "-o", "json").rows
    assert cell_values([operator], "operator_id", *SUMS) == [(0, 132, 2720, 4424, 7144, 72)]
    assert "store_name" not in operator


def test_store_option_of_sizes() -> None:
    store = "right-keyWithIndexToValue"
    rows = run("sizes", JOIN, "--store", store, "-o", "ndjson").ndjson
    assert cell_values(rows, "store_name", "rows") == [(store, 15)]


def test_sizes_by_field_add_up_to_those_by_store() -> None:
    fields = run("sizes", JOIN, "--by", "field", "-o", "json").rows
    left = rows_where(fields, store_name="left-keyWithIndexToValue")
    assert cell_values(left, "row", "field", "bytes") == [
        ("key", "field0", 488),
        ("key", "index", 488),
        ("key", "(null bits)", 488),
        ("value", "ad", 488),
        ("value", "shownAt", 488),
        ("value", "site", 976),
        ("value", "matched", 488),
        ("value", "(null bits)", 488),
    ]
    assert sum(cell_values(rows_where(left, row="key"), "bytes")) == 1464
    assert sum(cell_values(rows_where(left, row="value"), "bytes")) == 2928


SUMS = ("rows", "key_bytes", "value_bytes", "row_bytes", "row_bytes_max")
