"""Spark's types from JSON."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import DecodeError
from inspector.model import Limits
from inspector.sparktypes import (
    BINARY,
    BOOLEAN,
    BYTE,
    CALENDAR_INTERVAL,
    DATE,
    DAY_TIME_INTERVAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
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
    UserDefinedType,
    atomic,
    storage_type,
)
from inspector.sparktypes.ddl import to_ddl
from inspector.sparktypes.schema_json import parse_schema_json, to_json

# What Spark 4.3.0 wrote for window(ts, '20 seconds'), user (shortened).
WINDOW_KEY = (
    '{"type":"struct","fields":[{"name":"window","type":{"type":"struct","fields":['
    '{"name":"start","type":"timestamp","nullable":true,"metadata":{}},'
    '{"name":"end","type":"timestamp","nullable":true,"metadata":{}}]},"nullable":false,'
    '"metadata":{"spark.timeWindow":true,"spark.watermarkDelayMs":10000}},'
    '{"name":"user","type":"string","nullable":true,"metadata":{}}]}'
)


def schema(*fields: tuple[str, DataType]) -> StructType:
    return StructType(tuple(StructField(name, data_type) for name, data_type in fields))


def test_a_schema_of_spark() -> None:
    parsed = parse_schema_json(WINDOW_KEY)
    window, user = parsed.fields
    assert window.data_type == schema(("start", TIMESTAMP), ("end", TIMESTAMP))
    assert not window.nullable
    assert window.metadata["spark.watermarkDelayMs"] == 10000
    assert (user.name, user.data_type, user.nullable) == ("user", StringType(), True)
    assert json.loads(to_json(parsed)) == json.loads(WINDOW_KEY)


@pytest.mark.parametrize(
    ("name", "expected", "width"),
    [
        ("boolean", BOOLEAN, 1),
        ("byte", BYTE, 1),
        ("short", SHORT, 2),
        ("integer", INTEGER, 4),
        ("long", LONG, 8),
        ("float", FLOAT, 4),
        ("double", DOUBLE, 8),
        ("binary", BINARY, None),
        ("date", DATE, 4),
        ("timestamp", TIMESTAMP, 8),
        ("timestamp_ntz", TIMESTAMP_NTZ, 8),
        ("timestamp_ntz(6)", AtomicType("timestamp_ntz", "timestamp_ntz(6)"), 8),
        ("timestamp_ntz(9)", AtomicType("timestamp_ntz_nanos", "timestamp_ntz(9)"), None),
        ("timestamp_ltz(7)", AtomicType("timestamp_nanos", "timestamp_ltz(7)"), None),
        ("time(6)", AtomicType("time", "time(6)"), 8),
        ("void", VOID, 8),
        ("null", VOID, 8),
        ("interval", CALENDAR_INTERVAL, None),
        ("interval year to month", YEAR_MONTH_INTERVAL, 4),
        ("interval month", AtomicType("year_month", "interval month"), 4),
        ("interval day to second", DAY_TIME_INTERVAL, 8),
        ("interval hour", AtomicType("day_time", "interval hour"), 8),
        ("variant", VARIANT, None),
        ("geometry(SRID:0)", AtomicType("geometry", "geometry(SRID:0)"), None),
        (
            "geography(OGC:CRS84, SPHERICAL)",
            AtomicType("geography", "geography(OGC:CRS84, SPHERICAL)"),
            None,
        ),
        ("decimal", DecimalType(10, 0), 8),
        ("decimal(18,2)", DecimalType(18, 2), 8),
        ("decimal(19,2)", DecimalType(19, 2), None),
        ("decimal(5,-2)", DecimalType(5, -2), 8),
        ("string", StringType(), None),
        ("varchar(20)", StringType(declared="varchar(20)"), None),
        ("char(3)", StringType(declared="char(3)"), None),
        ("quaternion", AtomicType("unknown", "quaternion"), None),
        ("unknown", AtomicType("unknown", "unknown"), None),
        ("year_month", AtomicType("unknown", "year_month"), None),
    ],
)
def test_names_of_types(name: str, expected: DataType, width: int | None) -> None:
    assert atomic(name) == expected
    assert expected.slot_width == width


def test_collations_come_from_the_metadata_of_the_field() -> None:
    text = json.dumps(
        {
            "type": "struct",
            "fields": [
                {
                    "name": "c",
                    "type": {
                        "type": "map",
                        "keyType": "string",
                        "valueType": {
                            "type": "array",
                            "elementType": "string",
                            "containsNull": True,
                        },
                        "valueContainsNull": True,
                    },
                    "nullable": True,
                    "metadata": {
                        "__COLLATIONS": {
                            "c.key": "spark.UTF8_LCASE",
                            "c.value.element": "icu.UNICODE",
                        }
                    },
                }
            ],
        }
    )
    parsed = parse_schema_json(text)
    expected = MapType(StringType("UTF8_LCASE"), ArrayType(StringType("UNICODE")))
    assert parsed.fields[0].data_type == expected
    assert parsed.fields[0].metadata == {}
    assert json.loads(to_json(parsed)) == json.loads(text)


def test_user_defined_types_are_what_they_store() -> None:
    node = {
        "type": "udt",
        "class": "org.apache.spark.ml.linalg.VectorUDT",
        "pyClass": "pyspark.ml.linalg.VectorUDT",
        "sqlType": {"type": "array", "elementType": "double", "containsNull": False},
    }
    field = {"name": "v", "type": node, "nullable": True, "metadata": {}}
    parsed = parse_schema_json(json.dumps({"type": "struct", "fields": [field]}))
    data_type = parsed.fields[0].data_type
    assert isinstance(data_type, UserDefinedType)
    assert storage_type(data_type) == ArrayType(DOUBLE, contains_null=False)
    assert data_type.definition["class"] == "org.apache.spark.ml.linalg.VectorUDT"
    assert json.loads(to_json(parsed))["fields"][0]["type"] == node
    assert to_ddl(parsed) == "v array<double>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        ("[" * 100_000, "too deeply"),
        ('"long"', "is a AtomicType, expected a struct"),
        ("[]", "lacks 'type'"),
        ("null", "lacks 'type'"),
        ('{"type":"struct"}', "lacks 'fields'"),
        ('{"type":"struct","fields":[1]}', "lacks 'name'"),
        ('{"type":"struct","fields":[{"name":"a"}]}', "lacks 'type'"),
        ('{"type":"struct","fields":[{"name":"a","type":"long","metadata":1}]}', "'metadata'"),
        ('{"type":"tensor"}', "unknown complex type 'tensor'"),
        ('{"type":"array"}', "lacks 'type'"),
        ('{"type":"struct","fields":[{"name":"a","type":"decimal(39,0)"}]}', "decimal"),
        ('{"type":"struct","fields":[{"name":"a","type":"decimal(5,6)"}]}', "decimal"),
    ],
)
def test_invalid_schema_json_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        parse_schema_json(text)


def test_depth_is_limited() -> None:
    nested = '"long"'
    for _ in range(10):
        nested = f'{{"type":"array","elementType":{nested},"containsNull":true}}'
    text = f'{{"type":"struct","fields":[{{"name":"a","type":{nested}}}]}}'
    assert parse_schema_json(text, Limits(nesting=12))
    with pytest.raises(DecodeError, match="nested too deeply"):
        parse_schema_json(text, Limits(nesting=11))


def test_a_name_that_is_no_unicode_is_repaired() -> None:
    text = '{"type":"struct","fields":[{"name":"a\\ud800","type":"long"}]}'
    assert parse_schema_json(text).fields[0].name == "a?"


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_any_json_text_gives_a_schema_or_a_decode_error(text: str | bytes) -> None:
    if not isinstance(text, bytes) and "]" in text:
        text = f'{{"type":"struct","fields":[{text}}}'
    with contextlib.suppress(DecodeError):
        assert isinstance(parse_schema_json(text), StructType)


nodes: st.SearchStrategy[object] = st.recursive(
    st.sampled_from(["long", "string", "decimal(9,3)", "decimal(x)", "", 7, None, []]),
    lambda inner: st.fixed_dictionaries(
        {"type": st.sampled_from(["struct", "array", "map", "udt", "long", 3])},
        optional={
            "fields": st.lists(
                st.fixed_dictionaries({}, optional={"name": st.text(max_size=3), "type": inner}),
                max_size=3,
            ),
            "elementType": inner,
            "keyType": inner,
            "valueType": inner,
            "sqlType": inner,
        },
    ),
    max_leaves=6,
)


@given(nodes)
def test_any_json_document_gives_a_schema_or_a_decode_error(node: object) -> None:
    try:
        parsed = parse_schema_json(json.dumps(node))
    except DecodeError:
        return
    assert parse_schema_json(to_json(parsed)) == parsed


def test_schemas_can_be_hashed() -> None:
    assert len({parse_schema_json(WINDOW_KEY), parse_schema_json(WINDOW_KEY)}) == 1
