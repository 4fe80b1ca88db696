"""Decoded values as JSON values; every word of the module's table."""

import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from inspector.render.values import to_json_values

AT = 1_704_067_200_123_456


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (pa.timestamp("us", "UTC"), AT, "2024-01-01T00:00:00.123456Z"),
        (pa.timestamp("us"), AT, "2024-01-01T00:00:00.123456"),
        (pa.timestamp("ns"), AT * 1000 + 7, "2024-01-01T00:00:00.123456007"),
        (pa.date32(), 19_723, "2024-01-01"),
        (pa.time64("ns"), 45_296_123_456_000, "12:34:56.123456"),
        (pa.binary(), b"\x00\xff", "AP8="),
        (pa.binary(), b"", ""),
        (pa.decimal128(38, 2), Decimal("-12345678901234567890.50"), "-12345678901234567890.50"),
        (pa.decimal128(10, 0), Decimal(7), "7"),
        (pa.int64(), 2**63 - 1, 2**63 - 1),
        (pa.int8(), -128, -128),
        (pa.bool_(), True, True),
        (pa.string(), "Ä", "Ä"),
        (pa.float64(), 0.1, 0.1),
        (pa.float32(), 0.1, 0.1),
        (pa.float64(), float("nan"), "NaN"),
        (pa.float32(), float("inf"), "Infinity"),
        (pa.float64(), float("-inf"), "-Infinity"),
        (pa.list_(pa.binary()), [b"\x00", None], ["AA==", None]),
        (pa.map_(pa.string(), pa.int64()), [("a", 1), ("b", None)], {"a": 1, "b": None}),
        (pa.map_(pa.int32(), pa.string()), [(1, "x")], {"1": "x"}),
        (
            pa.map_(pa.struct([("k", pa.int8())]), pa.bool_()),
            [({"k": 1}, True)],
            [{"key": {"k": 1}, "value": True}],
        ),
        (pa.struct([]), {}, {}),
    ],
    ids=str,
)
def test_plain_form_of_values(kind: Any, value: Any, expected: Any) -> None:
    array = pa.array([value, None, value], kind)
    assert to_json_values(array) == [expected, None, expected]
    assert to_json_values(array.slice(1)) == [None, expected]
    json.dumps(to_json_values(array), allow_nan=False)


def test_structs_keep_field_names_and_order() -> None:
    kind = pa.struct([("count", pa.int64()), ("a", pa.date32()), ("count#2", pa.int64())])
    array = pa.array([{"count": 1, "a": None, "count#2": 2}, None], kind)
    (row, nothing) = to_json_values(array)
    assert list(row.items()) == [("count", 1), ("a", None), ("count#2", 2)]
    assert nothing is None
