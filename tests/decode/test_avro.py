"""Avro of the state store: rows of Spark, every type, older schemas, and any bytes."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode import avro
from inspector.decode.avro import AvroRows, range_fields
from inspector.exceptions import DecodeError, LimitError, RowError, TruncatedError
from inspector.model import Limits
from inspector.sparktypes import ArrayType, StructType
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.decode.avro_values import number, record, schemas, wider
from tests.decode.spans import assert_prefixes_refused
from tests.rocks import struct_of


@given(schemas.flatmap(lambda typed: st.tuples(st.just(typed[0]), typed[1])))
def test_avro_record_decodes_to_unsafe_row(drawn: tuple[StructType, Any]) -> None:
    schema, values = drawn
    data = record(schema, values)
    assert AvroRows(schema).unsafe_row(data) == encode.row(schema, values)
    assert_prefixes_refused(AvroRows(schema).unsafe_row, data, DecodeError)


@given(schemas, st.binary(max_size=60))
def test_any_bytes_give_a_row_or_decode_error(typed: tuple[StructType, Any], data: bytes) -> None:
    with contextlib.suppress(DecodeError):
        AvroRows(typed[0]).unsafe_row(data)


@given(schemas.flatmap(lambda typed: st.tuples(st.just(typed[0]), typed[1])))
def test_added_field_is_null_and_removed_field_is_skipped(
    drawn: tuple[StructType, Any],
) -> None:
    schema, values = drawn
    options = wider(schema)
    assert AvroRows(options, schema).unsafe_row(record(schema, values)) == encode.row(
        options, (None, *values)
    )
    assert AvroRows(schema, options).unsafe_row(record(options, ("gone", *values))) == encode.row(
        schema, values
    )


@pytest.mark.parametrize(
    ("before", "after", "value", "as_read"),
    [
        ("int", "bigint", -5, -5),
        ("int", "double", 7, 7.0),
        ("bigint", "float", 1 << 40, float(1 << 40)),
        ("float", "double", 0.5, 0.5),
        ("struct<a: int>", "struct<b: string, a: bigint>", (3,), (None, 3)),
    ],
)
def test_widened_type_is_converted(before: str, after: str, value: Any, as_read: Any) -> None:
    written, schema = parse_ddl(f"x {before}"), parse_ddl(f"x {after}")
    data = record(written, (value,))
    assert AvroRows(schema, written).unsafe_row(data) == encode.row(schema, (as_read,))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bigint", "int"),
        ("string", "binary"),
        ("decimal(10,2)", "decimal(12,2)"),
        ("interval", "interval"),
        ("map<string, int>", "array<int>"),
        ("array<interval>", "array<interval>"),
    ],
)
def test_incompatible_types_are_refused(before: str, after: str) -> None:
    with pytest.raises(DecodeError, match="expected a type that Spark stores as Avro"):
        AvroRows(parse_ddl(f"x {after}"), parse_ddl(f"x {before}"))


def test_duplicate_field_names_are_refused() -> None:
    with pytest.raises(DecodeError, match="two fields of one name"):
        AvroRows(parse_ddl("a int, a int"))


ONE = number(1)


@pytest.mark.parametrize(
    ("ddl", "data", "error", "message"),
    [
        ("x int", number(2), RowError, "branch 2"),
        ("x int", ONE + b"\xff" * 5, RowError, "more than 32 bits"),
        ("x int", ONE + b"\xff\xff\xff\xff\x7f", RowError, "more than 32 bits"),
        ("x bigint", ONE + b"\xff" * 10, RowError, "more than 64 bits"),
        ("x tinyint", ONE + number(128), RowError, "expected a number of its type"),
        ("x boolean", ONE + b"\2", RowError, "got 2 as an Avro boolean"),
        ("x string", ONE + number(-1), RowError, "-1 as the length"),
        ("x string", ONE + number(1 << 40), TruncatedError, "expected 1099511627776"),
        ("x array<int>", ONE + number(1 << 62), TruncatedError, "expected 4611686018427387904"),
        ("x map<string, int>", ONE + number(9), TruncatedError, "expected 9 Avro entries"),
        ("x array<void>", ONE + number(1 << 62), LimitError, "nulls"),
        ("x decimal(2,0)", ONE + b"\x64", RowError, "more than 2 digits"),
        ("x int", number(0) + b"\0", RowError, "1 more bytes"),
        ("x int", b"", TruncatedError, "got 0 bytes"),
    ],
)
def test_malformed_avro_records_are_refused(
    ddl: str, data: bytes, error: type[DecodeError], message: str
) -> None:
    with pytest.raises(error, match=message):
        AvroRows(parse_ddl(ddl)).unsafe_row(data)


def test_array_block_with_byte_count() -> None:
    schema = parse_ddl("x array<int>")
    data = ONE + number(-2) + number(2) + number(5) + number(6) + number(0)
    assert AvroRows(schema).unsafe_row(data) == encode.row(schema, ([5, 6],))


def test_added_fields_are_limited_by_record_bytes() -> None:
    rows = parse_ddl("a array<struct<old: int>>")
    wide = struct_of(ArrayType(struct_of(*[parse_ddl("a int")] * 9_000)))
    with pytest.raises(LimitError, match="more fields than its bytes allow"):
        AvroRows(wide, rows).unsafe_row(ONE + number(200) + b"\2\0" * 200 + number(0))


def test_record_bytes_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro, "LIMITS", Limits(record_bytes=3))
    with pytest.raises(LimitError, match="record_bytes"):
        AvroRows(parse_ddl("x binary")).values(bytes(4))


def test_range_key_fields_with_null_markers() -> None:
    rows = AvroRows(range_fields(parse_ddl("expirationMs bigint")))
    value = struct.pack(">q", 1_700_000_000_000)
    data = ONE + number(1) + b"\1" + ONE + number(8) + value
    assert rows.values(data) == [b"\1", value]
