"""Spark's hash of rows. Keys that Spark placed itself are in tests/facts/test_misplaced.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from inspector.decode.row_programs import RowHash
from inspector.engines.bin_packing import partition_of
from inspector.kernel._rows import MOST_BYTES
from inspector.sparktypes import (
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    StringType,
    StructField,
    StructType,
)
from tests import encode
from tests.decode.spans import spans_of
from tests.rocks import struct_of

WINDOW = StructType(
    (
        StructField("start", AtomicType("timestamp", "timestamp")),
        StructField("end", AtomicType("timestamp", "timestamp")),
    )
)


def atomic(kind: str) -> AtomicType:
    return AtomicType(kind, kind)


def hashes(types: list[DataType], *rows: tuple[Any, ...], fields: int | None = None) -> list[int]:
    """Return the hash of each row, read from its number among 2**32 partitions."""
    schema = struct_of(*types)
    row_hash = RowHash.of(schema, len(types) if fields is None else fields)
    assert row_hash is not None
    encoded = encode.rows(schema, rows)
    result, known = row_hash.partitions(*spans_of(encoded, b"before"), 1 << 32)
    assert known.all()
    signed: list[int] = result.astype(np.uint32).view(np.int32).tolist()
    return signed


def test_int_hash_agrees_with_bin_packing() -> None:
    result = hashes([atomic("integer")], *zip(range(-50, 50), strict=True))
    assert (np.array(result) % 7).tolist() == [partition_of(n, 7) for n in range(-50, 50)]


# Spark: SELECT hash(...), in documentation and tests of the function.
@pytest.mark.parametrize(
    ("types", "row", "expected"),
    [
        ([atomic("integer")], (1,), -559580957),
        ([atomic("integer")], (2,), 1765031574),
        ([atomic("integer")], (0,), 933211791),
        ([atomic("long")], (1,), -1712319331),
        ([StringType()], ("Spark",), 228093765),
        ([StringType()], ("",), 142593372),
        ([atomic("integer")], (None,), 42),
    ],
)
def test_hash_equals_sparks_hash_function(
    types: list[DataType], row: tuple[Any, ...], expected: int
) -> None:
    assert hashes(types, row) == [expected]


def test_null_does_not_change_the_hash() -> None:
    types: list[DataType] = [atomic("integer"), atomic("long"), atomic("void")]
    assert hashes(types, (None, 1, None)) == hashes([atomic("long")], (1,))
    assert hashes(types, (None, None, None)) == [42]


def test_struct_hashes_as_its_fields() -> None:
    flat: list[DataType] = [atomic("long"), atomic("long"), StringType()]
    assert hashes([WINDOW, StringType()], ((7, 9), "x")) == hashes(flat, (7, 9, "x"))


def test_only_the_first_fields_are_hashed() -> None:
    types: list[DataType] = [StringType(), atomic("long")]
    assert hashes(types, ("a", 7), fields=1) == hashes([StringType()], ("a",))


@pytest.mark.parametrize("kind", ["float", "double"])
def test_positive_and_negative_zero_hash_alike(kind: str) -> None:
    plus, minus, nan = hashes([atomic(kind)], (0.0,), (-0.0,), (math.nan,))
    assert plus == minus != nan


@pytest.mark.parametrize(
    ("kind", "value", "same_as"),
    [("byte", -3, -3), ("short", -3, -3), ("date", -3, -3), ("boolean", True, 1)],
)
def test_narrow_numbers_and_booleans_hash_as_ints(kind: str, value: Any, same_as: int) -> None:
    assert hashes([atomic(kind)], (value,)) == hashes([atomic("integer")], (same_as,))


@pytest.mark.parametrize(
    "kind",
    [
        ArrayType(atomic("integer")),
        StringType("UTF8_LCASE"),
        atomic("interval"),
        atomic("variant"),
        StructType((StructField("a", ArrayType(atomic("integer"))),)),
    ],
)
def test_types_with_another_hash_in_spark_have_no_row_hash(kind: DataType) -> None:
    schema = StructType((StructField("a", DecimalType(38)), StructField("b", kind)))
    assert RowHash.of(schema, 2) is None
    assert RowHash.of(schema, 1) is not None
    assert RowHash.of(schema, 0) is None
    assert RowHash.of(schema, 3) is None


def test_row_that_does_not_fit_has_no_hash() -> None:
    schema = StructType((StructField("a", StringType()),))
    row_hash = RowHash.of(schema, 1)
    assert row_hash is not None
    good = encode.row(schema, ("abc",))
    far = good[:8] + (3).to_bytes(4, "little") + (1 << 20).to_bytes(4, "little") + good[16:]
    long = encode.row(schema, ("x" * (MOST_BYTES + 1),))
    rows = [good, b"", good[:8], far, long, b"\xff" * 16]
    _, result = row_hash.partitions(*spans_of(rows), 5)
    assert result.tolist() == [True, False, False, False, False, True]  # the last one is null


def test_nested_part_of_a_key_hashes_as_its_fields() -> None:
    """Keys of timers and of the TTL index begin with a time. Keys of maps end with a user key."""
    key = StructType((StructField("user", StringType()), StructField("n", atomic("long"))))
    nested = StructType((StructField("key", key), StructField("userKey", WINDOW)))
    by_time = StructType((StructField("ms", atomic("long")), StructField("element", nested)))
    rows = [(1, (("a", 5), (1, 2))), (9, (("b", None), (3, 4))), (2, (None, None))]
    expected = hashes([StringType(), atomic("long")], ("a", 5), ("b", None), (None, None))
    encoded = encode.rows(by_time, rows)
    row_hash = RowHash.of_part(by_time, (1, 0), 2)
    assert row_hash is not None
    partitions, is_known = row_hash.partitions(*spans_of(encoded), 7)
    assert is_known.all()
    assert partitions.tolist() == (np.array(expected) % 7).tolist()
    assert RowHash.of_part(by_time, (), 1) == RowHash.of(by_time, 1)
    wrong_paths = [(0,), (2,), (1, 2), (1, 0, 0)]
    assert [RowHash.of_part(by_time, path, 1) for path in wrong_paths] == [None] * 4
