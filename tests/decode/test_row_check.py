"""The check of rows without decoding them. It finds the same misfits as the decoder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.row_programs import RowCheck
from inspector.exceptions import DecodeError
from inspector.sparktypes import AtomicType, StructField, StructType
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.cases import KERNELS, kernel_of
from tests.decode.arrow_values import Typed, decode, one_field, schemas, slot
from tests.decode.spans import damaged, spans_of


def misfits(schema: StructType | str, rows: list[bytes]) -> tuple[tuple[int, str], ...]:
    """Return the rows that do not fit, and check that all kernels agree."""
    schema = parse_ddl(schema) if isinstance(schema, str) else schema
    result = []
    for name in KERNELS:
        with kernel_of(name):
            result.append(RowCheck(schema).misfits(*spans_of(rows)))
    assert result[0] == result[-1]
    return result[0]


@given(schemas, st.data())
def test_encoded_rows_fit(whole: Typed, data: st.DataObject) -> None:
    schema, values = whole
    assert isinstance(schema, StructType)
    written = data.draw(st.lists(values, max_size=4))
    assert misfits(schema, encode.rows(schema, written)) == ()


@given(schemas, st.data())
def test_row_check_finds_the_misfits_of_the_decoder(whole: Typed, data: st.DataObject) -> None:
    schema, values = whole
    assert isinstance(schema, StructType)
    written = data.draw(st.lists(values, min_size=1, max_size=3))
    rows = [damaged(encode.row(schema, item), data, least=0) for item in written]
    assert misfits(schema, rows) == decode(schema, rows).misfits


@given(schemas, st.lists(st.binary(max_size=20).map(lambda part: part * 8), max_size=4))
def test_row_check_of_any_bytes_equals_the_decoder(whole: Typed, rows: list[bytes]) -> None:
    schema, _ = whole
    assert isinstance(schema, StructType)
    assert misfits(schema, rows) == decode(schema, rows).misfits


NULL = (1).to_bytes(8, "little")


@pytest.mark.parametrize(
    ("ddl", "row", "fits"),
    [
        ("a boolean", one_field(b"\x01" + bytes(7)), True),
        ("a boolean", one_field(b"\x02" + bytes(7)), False),
        ("a tinyint", one_field(b"\xff" + bytes(7)), True),
        ("a int", one_field(b"\xff" * 4 + bytes(4)), True),
        ("a int", one_field(b"\xff" * 5 + bytes(3)), False),
        ("a bigint", one_field(b"\xff" * 8), True),
        ("a bigint", one_field(bytes(7)), False),
        ("a decimal(3,0)", one_field((999).to_bytes(8, "little")), True),
        ("a decimal(3,0)", one_field((-1000).to_bytes(8, "little", signed=True)), False),
        ("a decimal(38,0)", one_field(slot(16, 16), (10**38 - 1).to_bytes(16, "big")), True),
        ("a decimal(38,0)", one_field(slot(16, 16), (10**38).to_bytes(16, "big")), False),
        ("a string", one_field(slot(16, 3), b"abc" + bytes(5)), True),
        ("a string", one_field(slot(16, 9), b"abc" + bytes(5)), False),
        ("a string", one_field(slot(15, 1), bytes(8)), False),
        ("a string", NULL + slot(99, 99), True),
        ("a string, b string", bytes(8) + slot(24, 5) + slot(24, 4) + bytes(8), False),
        ("a struct<b: boolean>", one_field(slot(16, 16), one_field(b"\x01" + bytes(7))), True),
        ("a struct<b: boolean>", one_field(slot(16, 16), one_field(b"\x03" + bytes(7))), False),
        ("a struct<b: boolean>, c boolean", b"\x01" + bytes(15) + b"\x02" + bytes(7), False),
        ("a time", one_field((86_400_000_000_000).to_bytes(8, "little")), False),
    ],
)
def test_row_check_of_single_fields(ddl: str, row: bytes, fits: bool) -> None:
    assert (misfits(ddl, [row]) == ()) is fits
    assert misfits(ddl, [row]) == decode(ddl, [row]).misfits


def test_rows_that_fit_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("sound rows need no decoding")

    monkeypatch.setattr("inspector.decode.row_programs.RowDecoder.decode", never)
    schema = parse_ddl("w struct<s: timestamp, e: timestamp>, u string, n bigint, d decimal(9,2)")
    assert misfits(schema, [encode.row(schema, ((1, 2), "x", None, None))] * 3) == ()


def test_row_check_refuses_unknown_type() -> None:
    schema = StructType((StructField("a", AtomicType("unknown", "tensor")),))
    with pytest.raises(DecodeError, match="'tensor' is unknown"):
        RowCheck(schema)
