"""UnsafeRows to Arrow: rows that Spark wrote, every type, and rows that do not fit."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspector.decode import _cells
from inspector.decode.rows import DecodedRows, RowDecoder
from inspector.exceptions import LimitError
from inspector.sparktypes import (
    LONG,
    ArrayType,
    AtomicType,
    DataType,
    DecimalType,
    MapType,
    StringType,
    StructField,
    StructType,
    atomic,
    parse_ddl,
)
from tests import encode


def decode(schema: StructType | str, rows: Sequence[bytes], before: bytes = b"") -> DecodedRows:
    """Decode rows that lie one after the other, behind some other bytes."""
    if isinstance(schema, str):
        schema = parse_ddl(schema)
    lengths = np.array([len(row) for row in rows], np.int64)
    offsets = np.cumsum(lengths) - lengths + len(before)
    decoded = RowDecoder(schema).decode(before + b"".join(rows), offsets, lengths)
    decoded.array.validate(full=True)
    assert decoded.array.type == RowDecoder(schema).arrow_type
    return decoded


def stored(array: Any, data_type: DataType) -> list[Any]:
    """Values of an Arrow array as tests.encode takes them."""
    values: list[Any]
    if isinstance(data_type, StructType):
        fields = [stored(array.field(i), f.data_type) for i, f in enumerate(data_type.fields)]
        values = list(zip(*fields, strict=True)) if fields else [()] * len(array)
    elif isinstance(data_type, ArrayType):
        values = [
            stored(each.values, data_type.element) if each.is_valid else None for each in array
        ]
    elif isinstance(data_type, MapType):
        values = [
            list(
                zip(
                    stored(each.values.field(0), data_type.key),
                    stored(each.values.field(1), data_type.value),
                    strict=True,
                )
            )
            if each.is_valid
            else None
            for each in array
        ]
    else:
        values = stored_atomic(array)
    valid = array.is_valid().to_pylist()
    return [value if there else None for value, there in zip(values, valid, strict=True)]


def stored_atomic(array: Any) -> list[Any]:
    kind = array.type
    values: list[Any]
    if pa.types.is_struct(kind):
        fields = [stored_atomic(array.field(i)) for i in range(kind.num_fields)]
        return list(zip(*fields, strict=True))
    if pa.types.is_date32(kind):
        values = array.cast(pa.int32()).to_pylist()
    elif pa.types.is_temporal(kind):
        values = array.cast(pa.int64()).to_pylist()
    else:
        values = array.to_pylist()
    return values


def values_of(decoded: DecodedRows, schema: StructType | str) -> list[Any]:
    return stored(decoded.array, parse_ddl(schema) if isinstance(schema, str) else schema)


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


def test_a_row_of_flat_map_groups_with_state() -> None:
    decoded = decode(WIDE, [WIDE_ROW])
    assert decoded.misfits == ()
    assert values_of(decoded, WIDE) == [WIDE_VALUE]


def test_the_encoder_of_these_tests_writes_what_spark_writes() -> None:
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
def test_rows_of_spark(ddl: str, row: str, value: tuple[Any, ...]) -> None:
    decoded = decode(ddl, [bytes.fromhex(row)])
    assert decoded.misfits == ()
    assert values_of(decoded, ddl) == [value]


def test_the_dummy_value_of_old_deduplication() -> None:
    """Up to 3.1 the schema is the whole input row, and the value one null field."""
    dummy = bytes.fromhex("01000000000000000000000000000000")
    good = encode.row(parse_ddl("user string, v bigint"), ("x", 1))
    decoded = decode("user string, v bigint", [dummy, good, dummy])
    assert decoded.misfits == ()
    assert decoded.array.null_count == 0
    assert values_of(decoded, "user string, v bigint") == [(None, None), ("x", 1), (None, None)]
    for other in ("0000000000000000" * 2, "03000000000000000000000000000000"):
        assert len(decode("user string, v bigint", [bytes.fromhex(other)]).misfits) == 1


# --- every type ------------------------------------------------------------------------------

MICROS = st.integers(-(1 << 63), (1 << 63) - 1)
WIDE_DECIMALS = st.integers(-(10**38) + 1, 10**38 - 1).map(
    lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -10))
)
atoms: list[tuple[DataType, st.SearchStrategy[Any]]] = [
    (atomic("boolean"), st.booleans()),
    (atomic("byte"), st.integers(-128, 127)),
    (atomic("short"), st.integers(-(1 << 15), (1 << 15) - 1)),
    (atomic("integer"), st.integers(-(1 << 31), (1 << 31) - 1)),
    (atomic("long"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("float"), st.floats(width=32, allow_nan=False)),
    (atomic("double"), st.floats(allow_nan=False)),
    (atomic("date"), st.integers(-(1 << 31), (1 << 31) - 1)),
    (atomic("timestamp"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("timestamp_ntz"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("time(6)"), st.integers(0, 86_399_999_999_999)),
    (atomic("interval year to month"), st.integers(-(1 << 31), (1 << 31) - 1)),
    (atomic("interval day to second"), st.integers(-(1 << 63), (1 << 63) - 1)),
    (atomic("interval"), st.tuples(*[st.integers(-(1 << 31), (1 << 31) - 1)] * 3)),
    (atomic("timestamp_ntz(9)"), st.tuples(MICROS, st.integers(0, 999))),
    (atomic("timestamp_ltz(9)"), st.tuples(MICROS, st.integers(0, 999))),
    (atomic("binary"), st.binary(max_size=20)),
    (atomic("geometry(SRID:0)"), st.binary(max_size=20)),
    (atomic("variant"), st.tuples(st.binary(max_size=9), st.binary(max_size=9))),
    (StringType(), st.text(max_size=12)),
    (StringType(declared="char(3)"), st.text(max_size=3)),
    (DecimalType(10, 2), st.decimals(-10**7, 10**7, places=2)),
    (DecimalType(18, 0), st.integers(-(10**18) + 1, 10**18 - 1).map(Decimal)),
    (DecimalType(38, 10), WIDE_DECIMALS),
    (DecimalType(19, 0), st.integers(-300, 300).map(Decimal)),
    (atomic("void"), st.none()),
]  # fmt: skip
Typed = tuple[DataType, st.SearchStrategy[Any]]


def struct_of(fields: list[Typed]) -> Typed:
    types = tuple(StructField(f"f{i % 3}", data_type) for i, (data_type, _) in enumerate(fields))
    return StructType(types), st.tuples(*[values | st.none() for _, values in fields])


def array_of(element: Typed) -> Typed:
    return ArrayType(element[0]), st.lists(element[1] | st.none(), max_size=4)


def map_of(key: Typed, value: Typed) -> Typed:
    return MapType(key[0], value[0]), st.lists(st.tuples(key[1], value[1] | st.none()), max_size=3)


typed: st.SearchStrategy[Typed] = st.recursive(
    st.sampled_from(atoms),
    lambda inner: (
        st.lists(inner, max_size=3).map(struct_of)
        | inner.map(array_of)
        | st.builds(map_of, st.sampled_from(atoms[:-1]), inner)
    ),
    max_leaves=5,
)
schemas = st.lists(typed, min_size=1, max_size=5).map(struct_of)


@settings(max_examples=250, deadline=None)
@given(schemas, st.data(), st.binary(max_size=9))
def test_decoding_undoes_encoding(whole: Typed, data: st.DataObject, before: bytes) -> None:
    schema, row_values = whole
    assert isinstance(schema, StructType)
    written = data.draw(st.lists(row_values, max_size=4))
    decoded = decode(schema, [encode.row(schema, values) for values in written], before)
    assert decoded.misfits == ()
    assert values_of(decoded, schema) == written


@pytest.mark.parametrize("at", range(len(atoms)))
def test_every_type_alone_in_an_array_and_in_a_map(at: int) -> None:
    atom = atoms[at]
    examples = [atom, array_of(atom), array_of(array_of(atom)), struct_of([atom])]

    @settings(max_examples=8, deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        schema, values = struct_of(examples)
        assert isinstance(schema, StructType)
        written = data.draw(st.lists(values, min_size=1, max_size=3))
        decoded = decode(schema, [encode.row(schema, each) for each in written])
        assert (decoded.misfits, values_of(decoded, schema)) == ((), written)

    check()


def test_more_than_64_fields() -> None:
    schema = StructType(tuple(StructField("f", LONG) for _ in range(130)))
    values = tuple(i if i % 3 else None for i in range(130))
    decoded = decode(schema, [encode.row(schema, values)] * 2)
    assert values_of(decoded, schema) == [values] * 2
    names = [RowDecoder(schema).arrow_type.field(i).name for i in range(3)]
    assert names == ["f", "f#2", "f#3"]


def test_no_rows() -> None:
    assert len(decode(WIDE, []).array) == 0


@pytest.mark.parametrize("raw", [b"\xff", b"a\x80b", b"\xed\xa0\x80", b"\xf0\x9f\x98"])
def test_text_that_is_not_utf8_is_repaired(raw: bytes) -> None:
    schema = parse_ddl("a string, b string")
    decoded = decode(
        schema, [encode.row(schema, (raw, "good")), encode.row(schema, (None, b"\xc3"))]
    )
    assert decoded.misfits == ()
    expected = raw.decode("utf-8", "replace")
    assert values_of(decoded, schema) == [(expected, "good"), (None, "�")]


def test_characters_split_over_two_strings_are_not_joined() -> None:
    schema = parse_ddl("a array<string>")
    decoded = decode(schema, [encode.row(schema, (["é".encode()[:1], "é".encode()[1:]],))])
    assert values_of(decoded, schema) == [(["�", "�"],)]


# --- misfits ---------------------------------------------------------------------------------


def slot(offset: int, size: int) -> bytes:
    return struct.pack("<Q", offset << 32 | size)


def one_field(value: bytes, rest: bytes = b"") -> bytes:
    return bytes(8) + value + rest


MISFITS = {
    "short": ("a bigint, b bigint", bytes(16), "too short for 2 fields"),
    "empty": ("a bigint", b"", "too short for 1 fields"),
    "no words": ("a bigint", bytes(20), "not of whole words"),
    "true": ("a boolean", one_field(b"\x02" + bytes(7)), "a: neither true nor false"),
    "boolean": ("a boolean", one_field(b"\x01\x01" + bytes(6)), "slot holds more than 1 bytes"),
    "byte": ("a tinyint", one_field(b"\x01\x00\x01" + bytes(5)), "slot holds more than 1 bytes"),
    "short int": ("a smallint", one_field(b"\x01\x00\x01" + bytes(5)), "more than 2 bytes"),
    "int": ("a int", one_field(bytes(7) + b"\x80"), "more than 4 bytes"),
    "date": ("a date", one_field(bytes(4) + b"\x01" + bytes(3)), "more than 4 bytes"),
    "time": ("a time", one_field(struct.pack("<q", 86_400_000_000_000)), "no time of the day"),
    "before": ("a string", one_field(slot(8, 8)), "outside of what contains it"),
    "behind": ("a string", one_field(slot(16, 9), bytes(8)), "outside of what contains it"),
    "far": ("a string", one_field(slot((1 << 32) - 1, 1), bytes(8)), "outside"),
    "huge": ("a string", one_field(slot(16, (1 << 32) - 1), bytes(8)), "outside"),
    "shared": ("a string, b string", bytes(8) + slot(24, 8) * 2 + bytes(8), "shares bytes"),
    "decimal": ("a decimal(38,0)", one_field(slot(16, 17), bytes(24)), "1 to 16 bytes"),
    "digits": ("a decimal(3,0)", one_field(struct.pack("<q", 1000)), "a: more than 3 digits"),
    "-digits": ("a decimal(18,0)", one_field(struct.pack("<q", -(10**18))), "than 18 digits"),
    "many": ("a decimal(19,0)", one_field(slot(16, 9), b"\x00\x8b" + bytes(14)), "than 19 digits"),
    "-many": ("a decimal(38,0)", one_field(slot(16, 16), b"\x80" + bytes(15)), "than 38 digits"),
    "no decimal": ("a decimal(38,0)", one_field(slot(16, 0), bytes(16)), "1 to 16 bytes"),
    "interval": ("a interval", one_field(slot(16, 8), bytes(16)), "not of 16 bytes"),
    "no variant": ("a variant", one_field(slot(16, 3), bytes(8)), "no variant"),
    "variant": ("a variant", one_field(slot(16, 8), b"\x05\0\0\0" + bytes(4)), "no variant"),
    "minus": ("a variant", one_field(slot(16, 8), b"\xff\xff\xff\xff" + bytes(4)), "no variant"),
    "struct": ("a struct<b: int>", one_field(slot(16, 8), bytes(8)), "too short for its fields"),
    "odd struct": ("a struct<b: int>", one_field(slot(16, 20), bytes(24)), "whole words"),
    "no array": ("a array<int>", one_field(slot(16, 4), bytes(8)), "no array"),
    "array": ("a array<int>", one_field(slot(16, 16), b"\x01" + bytes(15)), "more elements"),
    "array -1": ("a array<int>", one_field(slot(16, 16), b"\xff" * 8 + bytes(8)), "more elements"),
    "array max": ("a array<int>", one_field(slot(16, 8), b"\xff" * 7 + b"\x7f"), "more elements"),
    "no map": ("a map<int,int>", one_field(slot(16, 4), bytes(8)), "no map"),
    "map": ("a map<int,int>", one_field(slot(16, 8), b"\x09" + bytes(7)), "no map"),
    "map -1": ("a map<int,int>", one_field(slot(16, 8), b"\xff" * 8), "no map"),
    "half map": ("a map<int,int>", one_field(slot(16, 16), b"\x08" + bytes(15)), "a.value: no array"),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize("case", MISFITS)
def test_a_misfit_is_null_and_its_neighbours_are_decoded(case: str) -> None:
    ddl, bad, reason = MISFITS[case]
    schema = parse_ddl(ddl)
    good = encode.row(schema, (None,) * len(schema.fields))
    decoded = decode(schema, [good, bad, good])
    assert decoded.array.is_null().to_pylist() == [False, True, False]
    ((row, message),) = decoded.misfits
    assert row == 1
    assert reason in message


def test_maps_with_unequal_arrays_or_null_keys_are_misfits() -> None:
    one, two = encode.array(LONG, [1]), encode.array(LONG, [1, 2])
    null = encode.array(LONG, [None])
    rows = []
    for keys, values in ((one, two), (null, one), (one, null)):
        payload = struct.pack("<q", len(keys)) + keys + values
        rows.append(one_field(slot(16, len(payload)), payload))
    decoded = decode("m map<bigint, bigint>", rows)
    reasons = ["m: not as many keys as values", "m.key: is null"]
    assert decoded.misfits == tuple(enumerate(reasons))
    assert values_of(decoded, "m map<bigint, bigint>") == [None, None, ([(1, None)],)]


def test_repeated_keys_of_a_map_stay() -> None:
    schema = parse_ddl("m map<string, int>")
    decoded = decode(schema, [encode.row(schema, ([("a", 1), ("a", 2)],))])
    assert values_of(decoded, schema) == [([("a", 1), ("a", 2)],)]


def test_nulls_may_keep_what_spark_reserved() -> None:
    """Spark's own check refuses these; their bytes are fine."""
    schema = parse_ddl("a interval, b decimal(38,2), c timestamp_ntz(9)")
    row = encode.row(schema, (None, None, None))
    assert len(row) == 32 + 3 * 16
    assert decode(schema, [row]).misfits == ()


def test_shared_bytes_cannot_multiply_the_output() -> None:
    """An array of arrays whose slots all point to the same large array."""
    inner = encode.array(atomic("byte"), [0] * 1000)
    count = 1000
    header = 8 + (count + 63) // 64 * 8
    start = header + 8 * count
    outer = struct.pack("<q", count) + bytes(header - 8) + slot(start, len(inner)) * count + inner
    row = one_field(slot(16, len(outer)), outer)
    decoded = decode("a array<array<tinyint>>", [row + bytes(-len(row) % 8)])
    assert "shares bytes" in decoded.misfits[0][1]


def test_the_number_of_values_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_cells, "MOST_CELLS", 1000)
    schema = parse_ddl("a array<tinyint>")
    row = encode.row(schema, ([0] * 300,))
    assert decode(schema, [row]).misfits == ()
    with pytest.raises(LimitError, match="more than 1000 values, decode fewer"):
        decode(schema, [row] * 4)


@pytest.mark.parametrize(("offset", "length"), [(-8, 8), (0, 24), (16, 8), (8, -8), (1 << 62, 8)])
def test_rows_outside_of_the_buffer_are_a_mistake_of_the_caller(offset: int, length: int) -> None:
    decoder = RowDecoder(parse_ddl("a bigint"))
    with pytest.raises(ValueError, match="outside of the buffer"):
        decoder.decode(bytes(16), np.array([offset], np.int64), np.array([length], np.int64))
    with pytest.raises(ValueError, match="differ in length"):
        decoder.decode(bytes(16), np.array([0], np.int64), np.array([16, 0], np.int64))


@settings(max_examples=300, deadline=None)
@given(schemas, st.lists(st.binary(max_size=20).map(lambda part: part * 8), max_size=4))
def test_any_bytes_give_rows_or_misfits(whole: Typed, rows: list[bytes]) -> None:
    schema, _ = whole
    assert isinstance(schema, StructType)
    decoded = decode(schema, rows)
    assert len(decoded.array) == len(rows)
    bad = [row for row, _ in decoded.misfits]
    assert decoded.array.is_null().to_pylist() == [i in bad for i in range(len(rows))]


@settings(max_examples=400, deadline=None)
@given(schemas, st.data())
def test_damaged_rows_never_touch_their_neighbours(whole: Typed, data: st.DataObject) -> None:
    schema, values = whole
    assert isinstance(schema, StructType)
    written = data.draw(st.lists(values, min_size=3, max_size=3))
    rows = [bytearray(encode.row(schema, each)) for each in written]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(rows[1]) - 1))
        rows[1][at] = data.draw(st.integers(0, 255))
    decoded = decode(schema, [bytes(row) for row in rows])
    found = values_of(decoded, schema)
    assert [found[0], found[2]] == [written[0], written[2]]
    assert decoded.array.is_null().to_pylist() == [False, len(decoded.misfits) == 1, False]


def test_an_unknown_type_cannot_be_decoded() -> None:
    schema = StructType((StructField("a", AtomicType("unknown", "tensor")),))
    with pytest.raises(ValueError, match="type 'tensor' is unknown"):
        RowDecoder(schema)
