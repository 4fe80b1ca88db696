"""UnsafeRows to Arrow: rows that Spark wrote, every type, and rows of any bytes."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode import _cells
from inspector.decode.row_columns import RowDecoder
from inspector.exceptions import LimitError
from inspector.sparktypes import LONG, AtomicType, StructField, StructType
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.attributes import attributes
from tests.decode.arrow_values import (
    Typed,
    array_of,
    atoms,
    decode,
    schemas,
    stored,
    struct_of,
)
from tests.decode.spans import damaged
from tests.profiles import costly

# --- rows of Spark 4.3.0 ---------------------------------------------------------------------

WIDE = (
    "groupState struct<bo: boolean, by: tinyint, sh: smallint, in: int, lo: bigint, fl: float, "
    "dou: double, dec: decimal(38,18), sdec: decimal(38,18), s: string, bin: binary, d: date, "
    "t: timestamp, oi: int, n: struct<a: int, b: string, c: double>, "
    "on: struct<a: int, b: string, c: double>, sq: array<struct<a: int, b: string, c: double>>, "
    "m: map<string, int>, mm: map<int, array<string>>, nul: string>"
)
WIDE_ROW = bytes.fromhex(
    "0000000000000000600200001000000000000800000000000000000000000000e300000000000000347f0000"
    "0000000030faf20100000000b8feffffffffff7f0000da4200000000b76ddbb66d5b47c010000000a8000000"
    "09000000b800000015000000c800000003000000e0000000ffffffff00000000a802fbffffffffff47010000"
    "0000000028000000e80000002000000010010000700000003001000050000000a001000070000000f0010000"
    "0000000000000000ff123b1a8199614ad18e08216089fa00046e8257deb42f000000000000000000d0bad0bb"
    "d18ed1872d3332372de29c932df09f988000000000ff47000000000000000000000000004701000000000000"
    "040000002000000000000000007064406e333237000000000600000000000000ffffffff0000000000000000"
    "0000000000000000000000000300000000000000020000000000000028000000280000000000000000000000"
    "2000000050000000040000000000000001000000000000000100000020000000000000000000000078000000"
    "00000000000000000000000002000000000000000000000020000000000000000000e03f3000000000000000"
    "02000000000000000000000000000000010000002000000008000000280000006100000000000000d0bad0bb"
    "d18ed18702000000000000000000000000000000010000004701000018000000000000000100000000000000"
    "0000000000000000470100000000000001000000000000000000000000000000380000001800000003000000"
    "0000000002000000000000000100000028000000000000000000000001000000300000007000000000000000"
    "7100000000000000"
)
WIDE_VALUE = (
    (
        *(False, -29, 32564, 32700976, 9223372036854775480, 109.0, -46.714285714285715),
        Decimal("-1234567890123456789.100000327000000000"),
        Decimal("81.750000000000000000"),
        *("ключ-327-✓-😀", b"\x00\xffG", -1, -327000, 327),
        (327, "n327", 163.5),
        (-1, None, None),
        [(1, "x", None), None, (2, "", 0.5)],
        [("a", 1), ("ключ", 327)],
        [(327, ["p", None, "q"])],
        None,
    ),
)


def test_row_of_flat_map_groups_with_state() -> None:
    decoded = decode(WIDE, [WIDE_ROW])
    assert decoded.misfits == ()
    assert stored(decoded.array) == [WIDE_VALUE]


def test_encoder_writes_the_bytes_of_spark() -> None:
    assert encode.row(parse_ddl(WIDE), WIDE_VALUE) == WIDE_ROW


@pytest.mark.parametrize(
    ("ddl", "row", "value"),
    [
        ("key bigint", "00000000000000000400000000000000", (4,)),
        ("value string", "00000000000000000800000010000000757365722d303336", ("user-036",)),
        ("key void", "01000000000000000000000000000000", (None,)),
        ("", "", ()),
        (
            "a interval, s boolean",
            "000000000000000010000000180000000100000000000000040000000500000000093d0000000000",
            ((4, 5, 4_000_000), True),
        ),
        (
            "first timestamp_ntz(9), s boolean",
            "00000000000000001000000018000000010000000000000040022310d70d06001503000000000000",
            ((1704067200123456, 789), True),
        ),
        ("t time", "00000000000000000080b8ea26290000", (45247123456000,)),
        (
            "a interval year to month, b interval day to second",
            "00000000000000001000000000000000e0994d5551000000",
            (16, 349323500000),
        ),
        (
            "g geometry(SRID:0)",
            "00000000000000001900000010000000"
            "000000000101000000000000000000f03f0000000000000040"
            "00000000000000",
            (bytes.fromhex("000000000101000000000000000000f03f0000000000000040"),),
        ),
    ],
)
def test_decodes_rows_of_spark_4_3_0(ddl: str, row: str, value: tuple[Any, ...]) -> None:
    decoded = decode(ddl, [bytes.fromhex(row)])
    assert decoded.misfits == ()
    assert stored(decoded.array) == [value]


def test_dummy_value_of_deduplication_before_spark_3_2() -> None:
    """Up to Spark 3.1 the schema is the whole input row, and the value is one null field."""
    dummy = bytes.fromhex("01000000000000000000000000000000")
    good = encode.row(parse_ddl("user string, v bigint"), ("x", 1))
    decoded = decode("user string, v bigint", [dummy, good, dummy])
    assert decoded.misfits == ()
    assert decoded.array.null_count == 0
    assert stored(decoded.array) == [(None, None), ("x", 1), (None, None)]
    other = [bytes(16), b"\3" + bytes(15)]
    assert decode("user string, v bigint", other).array.null_count == 2


# --- every type ------------------------------------------------------------------------------


@given(schemas, st.data(), st.binary(max_size=9))
def test_decoding_inverts_encoding(whole: Typed, data: st.DataObject, before: bytes) -> None:
    schema, row_values = whole
    assert isinstance(schema, StructType)
    written = data.draw(st.lists(row_values, max_size=4))
    decoded = decode(schema, encode.rows(schema, written), before)
    assert decoded.misfits == ()
    assert stored(decoded.array) == written


@pytest.mark.parametrize("at", range(len(atoms)))
def test_every_type_in_a_field_array_and_struct(at: int) -> None:
    atom = atoms[at]
    examples = [atom, array_of(atom), array_of(array_of(atom)), struct_of([atom])]

    @costly
    @given(st.data())
    def check(data: st.DataObject) -> None:
        schema, values = struct_of(examples)
        assert isinstance(schema, StructType)
        written = data.draw(st.lists(values, min_size=1, max_size=3))
        decoded = decode(schema, encode.rows(schema, written))
        assert (decoded.misfits, stored(decoded.array)) == ((), written)

    check()


def test_decodes_more_than_64_fields() -> None:
    schema = StructType((StructField("f", LONG),) * 129)
    values = (None, 1, 2) * 43
    decoded = decode(schema, [encode.row(schema, values)] * 2)
    assert stored(decoded.array) == [values] * 2
    arrow_type: Any = RowDecoder(schema).arrow_type
    assert attributes(arrow_type, "name")[:3] == ["f", "f#2", "f#3"]


def test_decodes_no_rows() -> None:
    assert len(decode(WIDE, []).array) == 0


@pytest.mark.parametrize("raw", [b"\xff", b"a\x80b", b"\xed\xa0\x80", b"\xf0\x9f\x98"])
def test_invalid_utf8_is_replaced(raw: bytes) -> None:
    schema = parse_ddl("a string, b string")
    decoded = decode(
        schema, [encode.row(schema, (raw, "good")), encode.row(schema, (None, b"\xc3"))]
    )
    assert decoded.misfits == ()
    expected = raw.decode("utf-8", "replace")
    assert stored(decoded.array) == [(expected, "good"), (None, "�")]


def test_characters_split_over_two_strings_stay_separate() -> None:
    schema = parse_ddl("a array<string>")
    decoded = decode(schema, [encode.row(schema, (["é".encode()[:1], "é".encode()[1:]],))])
    assert stored(decoded.array) == [(["�", "�"],)]


# --- any bytes -------------------------------------------------------------------------------


def test_number_of_decoded_values_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cells, "MOST_CELLS", 1000)
    schema = parse_ddl("a array<tinyint>")
    row = encode.row(schema, ([0] * 300,))
    assert decode(schema, [row]).misfits == ()
    with pytest.raises(LimitError, match="more than 1000 values, decode fewer"):
        decode(schema, [row] * 4)


@pytest.mark.parametrize(("offset", "length"), [(-8, 8), (0, 24), (16, 8), (8, -8), (1 << 62, 8)])
def test_decoded_rows_outside_of_the_buffer_raise_value_error(offset: int, length: int) -> None:
    decoder = RowDecoder(parse_ddl("a bigint"))
    with pytest.raises(ValueError, match="outside of the buffer"):
        decoder.decode(bytes(16), np.array([offset], np.int64), np.array([length], np.int64))
    with pytest.raises(ValueError, match="differ in length"):
        decoder.decode(bytes(16), np.array([0], np.int64), np.array([16, 0], np.int64))


@given(schemas, st.lists(st.binary(max_size=20).map(lambda part: part * 8), max_size=4))
def test_any_bytes_give_rows_or_misfits(whole: Typed, rows: list[bytes]) -> None:
    schema, _ = whole
    assert isinstance(schema, StructType)
    decoded = decode(schema, rows)
    assert len(decoded.array) == len(rows)
    is_null = np.array(decoded.array.is_null())
    assert np.flatnonzero(is_null).tolist() == [row for row, _ in decoded.misfits]


@given(schemas, st.data())
def test_damaged_row_leaves_other_rows_intact(whole: Typed, data: st.DataObject) -> None:
    schema, values = whole
    assert isinstance(schema, StructType)
    written = data.draw(st.lists(values, min_size=3, max_size=3))
    first, second, third = (encode.row(schema, item) for item in written)
    decoded = decode(schema, [first, damaged(second, data, 4), third])
    result = stored(decoded.array)
    assert [result[0], result[2]] == [written[0], written[2]]
    assert decoded.array.is_null().to_pylist() == [False, len(decoded.misfits) == 1, False]


def test_row_decoder_refuses_unknown_type() -> None:
    schema = StructType((StructField("a", AtomicType("unknown", "tensor")),))
    with pytest.raises(ValueError, match="type 'tensor' is unknown"):
        RowDecoder(schema)
