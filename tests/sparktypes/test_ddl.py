"""Spark's types from DDL, and both texts against each other."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import DecodeError
from inspector.model import Limits
from inspector.sparktypes import (
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    VOID,
    YEAR_MONTH_INTERVAL,
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
)
from inspector.sparktypes.ddl import parse_ddl, to_ddl
from inspector.sparktypes.schema_json import parse_schema_json, to_json


def schema(*fields: tuple[str, DataType]) -> StructType:
    return StructType(tuple(StructField(name, data_type) for name, data_type in fields))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", schema()),
        ("user string, cnt long", schema(("user", StringType()), ("cnt", LONG))),
        ("a: int, b: bigint", schema(("a", INTEGER), ("b", LONG))),
        ("a INT,", schema(("a", INTEGER))),
        ("`x y` int, `a``b` int", schema(("x y", INTEGER), ("a`b", INTEGER))),
        (
            "sub struct<a:int,b:string>",
            schema(("sub", schema(("a", INTEGER), ("b", StringType())))),
        ),
        ("struct<a: int>", schema(("a", INTEGER))),
        ("struct int", schema(("struct", INTEGER))),
        ("array array<map<string, double>>", schema(
            ("array", ArrayType(MapType(StringType(), DOUBLE))))),
        ("e struct<>", schema(("e", schema()))),
        ("d dec(5), e numeric(20, 3), f decimal", schema(
            ("d", DecimalType(5, 0)), ("e", DecimalType(20, 3)), ("f", DecimalType(10, 0)))),
        ("t time, u time(3)", schema(
            ("t", AtomicType("time", "time(6)")), ("u", AtomicType("time", "time(3)")))),
        ("a interval, b interval day, c interval Day To Second", schema(
            ("a", CALENDAR_INTERVAL), ("b", AtomicType("day_time", "interval day")),
            ("c", DAY_TIME_INTERVAL))),
        ("interval interval year to month", schema(("interval", YEAR_MONTH_INTERVAL))),
        ("a varchar(3), b character(4), c string collate `UTF8_LCASE`", schema(
            ("a", StringType(declared="varchar(3)")), ("b", StringType(declared="char(4)")),
            ("c", StringType("UTF8_LCASE")))),
        ("1a tinyint, b smallint, c real, d null", schema(
            ("1a", BYTE), ("b", SHORT), ("c", FLOAT), ("d", VOID))),
        ("a timestamp_ltz, b timestamp_ntz(9)", schema(
            ("a", TIMESTAMP), ("b", AtomicType("timestamp_ntz_nanos", "timestamp_ntz(9)")))),
        ("g geography(OGC:CRS84, SPHERICAL)", schema(
            ("g", AtomicType("geography", "geography(OGC:CRS84, SPHERICAL)")))),
    ],
)  # fmt: skip
def test_ddl(text: str, expected: StructType) -> None:
    assert parse_ddl(text) == expected
    assert parse_ddl(to_ddl(expected)) == expected


def test_ddl_nullability_and_comments() -> None:
    parsed = parse_ddl("""a int not null comment 'it\\'s "x"', b int COMMENT "y" """)
    assert [field.nullable for field in parsed.fields] == [False, True]
    assert [field.metadata["comment"] for field in parsed.fields] == ['it\'s "x"', "y"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "at character 1: got 'the end', expected a type"),
        ("a int b", "at character 6: got 'b', expected the end"),
        ("a int,, b int", "at character 6: got ',', expected a field name"),
        ("a array<int", "expected '>'"),
        ("a map<int>", "got '>', expected ','"),
        ("a widget", "unknown type 'widget'"),
        ("a decimal(50,2)", "decimal(50,2)"),
        ("a int comment x", "expected a quoted comment"),
        ("a string collate 'x'", "expected a collation"),
        ("a ; b", "not DDL at character 1"),
        ("`a int", "not DDL at character 0"),
        ("a decimal(5", "expected ')'"),
        ("struct<a int> b", "expected the end"),
        ("a " + "array<" * 70 + "int" + ">" * 70, "nested too deeply"),
    ],
)
def test_invalid_ddl_is_refused(text: str, message: str) -> None:
    with pytest.raises(DecodeError, match=re.escape(message)):
        parse_ddl(text)


words = st.sampled_from(
    [
        *("a", "b", "`c d`", "int", "string", "struct", "array", "map", "interval", "day", "to"),
        *("second", "decimal", "(", ")", "<", ">", ",", ":", "5", "10", "not", "null", "comment"),
        *("'x'", "collate", "\n"),
    ]
)


@given(st.text(max_size=40) | st.lists(words, max_size=12).map(" ".join))
def test_any_text_gives_a_schema_or_a_decode_error(text: str) -> None:
    try:
        parsed = parse_ddl(text)
    except DecodeError:
        return
    assert to_ddl(parse_ddl(to_ddl(parsed))) == to_ddl(parsed)


types = st.recursive(
    st.sampled_from([LONG, BOOLEAN, StringType(), StringType("UNICODE"), DecimalType(20, 5), VOID]),
    lambda inner: (
        st.builds(ArrayType, inner)
        | st.builds(MapType, inner, inner)
        | st.lists(
            st.builds(StructField, st.text("ab `", min_size=1, max_size=3), inner), max_size=3
        )
        .map(tuple)
        .map(StructType)
    ),
    max_leaves=8,
)


@given(st.lists(st.builds(StructField, st.text(min_size=1, max_size=4), types), max_size=4))
def test_ddl_and_json_round_trip(fields: list[StructField]) -> None:
    struct_type = StructType(tuple(fields))
    assert parse_schema_json(to_json(struct_type)) == struct_type
    assert parse_ddl(to_ddl(struct_type)) == struct_type


def test_ddl_and_json_allow_the_same_depth() -> None:
    schema = parse_ddl("a " + "array<" * 10 + "bigint" + ">" * 10, Limits(nesting=12))
    assert parse_schema_json(to_json(schema), Limits(nesting=12)) == schema
    with pytest.raises(DecodeError, match="nested too deeply"):
        parse_ddl("a " + "array<" * 10 + "bigint" + ">" * 10, Limits(nesting=11))
