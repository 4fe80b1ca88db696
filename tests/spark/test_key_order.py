"""The order of keys, judged by the comparators that Spark sorts by."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
from typing import Any

import pytest

from inspector.decode.row_programs import KeyOrder
from inspector.sparktypes import (
    BINARY_COLLATION,
    ArrayType,
    DataType,
    StringType,
    StructField,
    StructType,
    atomic,
)
from inspector.sparktypes.schema_json import parse_schema_json
from tests.cases import KERNELS, block, kernel_of
from tests.spark.support import spark_release
from tests.spark_support import WITH_SPARK

pytestmark = WITH_SPARK
ROWS = 40

LEAVES = {
    "boolean": ["true", "false"],
    "tinyint": ["-128Y", "-1Y", "0Y", "127Y"],
    "smallint": ["-32768S", "-1S", "0S", "256S", "32767S"],
    "int": ["-2147483648", "-1", "0", "65536", "2147483647"],
    "bigint": ["-9223372036854775808", "-1L", "0L", "4294967296L", "9223372036854775807"],
    "float": ["float('-Infinity')", "-1.5F", "float('-0.0')", "0F", "1E-40F", "float('NaN')"],
    "double": ["double('-Infinity')", "-1D", "double('-0.0')", "0D", "1E308D", "double('NaN')"],
    "decimal(9,2)": ["-9999999.99BD", "-0.01BD", "0BD", "0.1BD", "12BD"],
    "decimal(38,10)": [f"{'9' * 28}BD", f"-{'9' * 28}BD", "-1E-10BD", "0BD", "256BD", "-256BD"],
    "string": ["''", "'a'", "'a b'", "'aa'", "'Z'", "'é'", "'e'", "'日本'", "'😀'", "'\\uFFFD'"],
    "binary": ["x''", "x'00'", "x'0000'", "x'7F'", "x'80'", "x'FF00'"],
    "date": ["date'0001-01-01'", "date'1969-12-31'", "date'1970-01-01'", "date'9999-12-31'"],
    "timestamp": ["timestamp'1969-12-31 23:59:59.999999'", "timestamp'1970-01-01'", "now()"],
    "timestamp_ntz": ["timestamp_ntz'1900-01-01'", "timestamp_ntz'2024-01-01 00:00:00.5'"],
    "interval year to month": ["interval '-1' month", "interval '0' month", "interval '99' year"],
    "interval day to second": ["interval '-1' day", "interval '1' second", "interval '99' day"],
}
SINCE_4_1 = {"time(6)": ["time'00:00:00'", "time'12:00:00.5'", "time'23:59:59.999999'"]}
TEXTS = ["''", "'a'", "'A'", "'b'", "'B'", "'a '", "'é'", "'e'", "'z'"]
COLLATED = {
    "string collate UNICODE": TEXTS,
    "string collate UTF8_LCASE": TEXTS,
    "string collate UNICODE_CI": TEXTS,
    "string collate UTF8_BINARY_RTRIM": TEXTS,
    "string collate de_CI_AI": TEXTS,
}
KNOWN = LEAVES | (SINCE_4_1 if spark_release() >= (4, 1) else {})
EVERY = KNOWN | (COLLATED if spark_release() >= (4, 0) else {})

HOLDERS = (
    "{}",
    "struct<x: {}>",
    "array<{}>",
    "struct<x: struct<x: {}>, y: int>",
    "array<struct<x: {}, y: int>>",
    "array<array<{}>>",
    "struct<x: array<{}>, y: array<boolean>>",
)


class Writer:
    """Expressions of SQL that give random values of a type, any part of them null."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def types(self, *leaves: Sequence[str]) -> list[str]:
        """The types of two columns or more."""
        chosen = [self._random.choice(item) for item in (*leaves, leaves[-1])]
        return [self._random.choice(HOLDERS).format(leaf) for leaf in chosen]

    def value(self, data_type: str) -> str:
        """An expression of a type, null now and then."""
        complete = self._composite_value(data_type) if self._random.random() > 0.12 else "null"
        return f"cast({complete} as {data_type})"

    def _composite_value(self, data_type: str) -> str:
        if data_type.startswith("array<"):
            length = self._random.randint(0, 3)
            return f"array({', '.join(self.value(data_type[6:-1]) for _ in range(length))})"
        if data_type.startswith("struct<"):
            fields = [part.split(": ", 1) for part in split(data_type[7:-1])]
            parts = ", ".join(f"'{name}', {self.value(inner)}" for name, inner in fields)
            return f"named_struct({parts})"
        return self._random.choice(EVERY[data_type])


def split(text: str) -> list[str]:
    """The fields of a struct: text cut at the commas that are in no brackets."""
    parts, depth = [""], 0
    for item in text:
        depth += (item in "<(") - (item in ">)")
        if item == "," and not depth:
            parts.append("")
        else:
            parts[-1] += item
    return [part.strip() for part in parts]


@pytest.fixture(scope="module", autouse=True)
def _with_time_type(spark: Any) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")  # a preview in 4.1


@dataclass(frozen=True)
class Frame:
    """A DataFrame of keys.

    Attributes:
        schema: as Spark tells it.
        rows, in_order: Spark's UnsafeRows, as they were given and as its sort returns them.
        types: those of the columns, in Java.
    """

    schema: StructType
    rows: list[Any]
    in_order: list[Any]
    types: list[Any]


def frame_of(spark: Any, types: Sequence[str], values: Iterable[Sequence[str]]) -> Frame:
    """A DataFrame of some columns, and what Spark writes and sorts."""
    names = ", ".join(f"c{i}" for i in range(len(types)))
    table = ", ".join(f"({', '.join(row)})" for row in values)
    frame = spark.sql(f"select * from values {table} as t({names})")
    schema = frame._jdf.schema()
    return Frame(
        parse_schema_json(schema.json()),
        unsafe_rows(frame),
        unsafe_rows(frame.sort(*frame.columns)),
        [schema.apply(i).dataType() for i in range(len(types))],
    )


def unsafe_rows(frame: Any) -> list[Any]:
    """The UnsafeRows of a DataFrame, still in Java."""
    return list(frame._jdf.queryExecution().executedPlan().executeCollect())


def row_bytes(rows: Iterable[Any]) -> list[bytes]:
    """Return the bytes of UnsafeRows."""
    return [bytes(row.getBytes()) for row in rows]


def orderings(spark: Any, types: Sequence[Any]) -> list[Any]:
    """Spark's two comparators of rows that begin with these types: compiled, and interpreted."""
    listed = spark._jvm.java.util.ArrayList()
    for item in types:
        listed.add(item)
    sequence = spark._jvm.org.apache.spark.api.python.PythonUtils.toSeq(listed)
    expressions = spark._jvm.org.apache.spark.sql.catalyst.expressions
    return [
        expressions.RowOrdering.createNaturalAscendingOrdering(sequence),
        expressions.InterpretedOrdering.forSchema(sequence),
    ]


def descents_by_spark(spark: Any, types: Sequence[Any], rows: Sequence[Any]) -> list[bool]:
    """Of each row but the first, whether it is below the one before; both comparators agree.

    They are not called themselves: all that are compiled have one name, by which Py4J remembers
    the methods of a class.
    """
    compare = spark._jvm.java.util.Objects.compare
    compiled, interpreted = (
        [compare(second, first, ordering) < 0 for first, second in pairwise(rows)]
        for ordering in orderings(spark, types)
    )
    assert compiled == interpreted
    return compiled


def descents(schema: StructType, rows: Sequence[bytes]) -> list[bool]:
    """The same by us, with every kernel."""
    item = block([(row, bytes(16)) for row in rows])
    result = []
    for name in KERNELS:
        with kernel_of(name):
            result.append(KeyOrder(schema).descends(item).tolist()[1:])
    assert result[0] == result[-1]
    return list(result[0])


def known(schema: StructType) -> int:
    """How many columns there are before the first with a text that bytes do not sort."""
    for i, field in enumerate(schema.fields):
        if collated(field.data_type):
            return i
    return len(schema.fields)


def collated(data_type: DataType) -> bool:
    if isinstance(data_type, StructType):
        return any(collated(field.data_type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return collated(data_type.element)
    return isinstance(data_type, StringType) and data_type.collation != BINARY_COLLATION


def assert_as_spark(spark: Any, frame: Frame) -> None:
    """What we call a descent is one, and where only bytes and numbers decide, none is missed."""
    rows = row_bytes(frame.rows)
    ours = descents(frame.schema, rows)
    sure = known(frame.schema)
    complete = descents_by_spark(spark, frame.types, frame.rows)
    decided = complete
    if sure < len(frame.types):
        decided = descents_by_spark(spark, frame.types[:sure], frame.rows)
    for i, pair in enumerate(pairwise(rows)):
        hexes = [row.hex() for row in pair]
        assert decided[i] <= ours[i] <= complete[i], (frame.schema, hexes)
    assert not any(descents(frame.schema, row_bytes(frame.in_order)))


@pytest.mark.parametrize("leaf", EVERY)
def test_keys_of_every_type_descend_where_they_do_for_spark(spark: Any, leaf: str) -> None:
    writer = Writer(leaf)
    for types in ([leaf, "int"], writer.types([leaf], list(KNOWN)), writer.types(list(EVERY))):
        values = [[writer.value(item) for item in types] for _ in range(ROWS)]
        assert_as_spark(spark, frame_of(spark, types, values))


REALS = {
    "float": ["0000c07f", "0100c07f", "010080ff", "ffffffff", "00000080", "00000000", "0000807f"],
    "double": [
        "000000000000f87f",
        "010000000000f87f",
        "010000000000f0ff",
        "0000000000000080",
        "0000000000000000",
        "000000000000f07f",
        "000000000000f0ff",
    ],
}


@pytest.mark.parametrize("name", REALS)
def test_every_nan_is_one_and_both_zeros_are(spark: Any, name: str) -> None:
    """Bits that no expression of SQL makes, but a user's function can return."""
    rows = [bytes(8) + bytes.fromhex(item).ljust(8, b"\0") for item in REALS[name]]
    assert_same_bytes(spark, name, rows)


@pytest.mark.skipif(spark_release() < (4, 3), reason="since Spark 4.3")
@pytest.mark.parametrize("name", ["timestamp_ntz(9)", "timestamp_ltz(7)"])
def test_nanoseconds_decide_where_microseconds_are_equal(spark: Any, name: str) -> None:
    values = product((-(1 << 63), -1, 0, 1), (0, 1, 999))
    rows = [struct.pack("<QQqh6x", 0, 16 << 32 | 16, *entry) for entry in values]
    assert_same_bytes(spark, name, rows)


def assert_same_bytes(spark: Any, name: str, distinct_rows: list[bytes]) -> None:
    """All pairs of some rows of one column, made by us, descend where they do for Spark."""
    java = spark._jvm.org.apache.spark.sql
    rows = list(chain.from_iterable(product(distinct_rows, repeat=2)))
    there = []
    for row in rows:
        unsafe = java.catalyst.expressions.UnsafeRow(1)
        unsafe.pointTo(row, len(row))
        there.append(unsafe)
    data_type = java.types.DataType.fromJson(f'"{name}"')
    expected = descents_by_spark(spark, [data_type], there)
    assert descents(StructType((StructField("a", atomic(name)),)), rows) == expected
    assert any(expected)


def orderable(spark: Any, data_type: Any) -> bool:
    """Whether Spark sorts by a type.

    It is asked of an array of it, which is as sortable: a StructType is also a sequence in Scala,
    and Py4J may take it for one of expressions, which the method accepts as well.
    """
    sql = spark._jvm.org.apache.spark.sql
    ordering = sql.catalyst.expressions.RowOrdering
    return bool(ordering.isOrderable(sql.types.ArrayType(data_type, True)))


@pytest.mark.parametrize(
    ("high", "low"),
    [
        ("map(2, 2)", "map(1, 1)"),
        ("make_interval(1)", "make_interval(0)"),
        ("array(map(2, 2), null)", "array(map(1, 1))"),
        (
            "named_struct('x', 2, 'y', make_interval(0))",
            "named_struct('x', 1, 'y', make_interval(0))",
        ),
        pytest.param(
            "parse_json('2')",
            "parse_json('1')",
            marks=pytest.mark.skipif(spark_release() < (4, 0), reason="variant came with 4.0"),
        ),
    ],
)
def test_types_that_spark_does_not_sort_never_descend(spark: Any, high: str, low: str) -> None:
    values = f"(3, {high}, 3), (3, {low}, 2), (3, null, 1), (2, {high}, 3)"
    frame = spark.sql(f"select * from values {values} as t(a, b, c)")
    assert not orderable(spark, frame._jdf.schema().apply(1).dataType())
    schema = parse_schema_json(frame._jdf.schema().json())
    assert descents(schema, row_bytes(unsafe_rows(frame))) == [False, False, True]
