"""UnsafeRows made anew: what Spark wrote, taken apart, is written as it was."""

from __future__ import annotations

import struct

import pytest

from inspector.decode.unsafe_rows import write_row
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.decode.test_row_columns import WIDE, WIDE_ROW


def test_writes_values_of_every_form() -> None:
    schema = parse_ddl(
        "a int, b string, c decimal(20,2), d decimal(20,2), e array<string>, "
        "f struct<x: bigint, y: array<smallint>>, g map<string, int>, h interval, i interval"
    )
    values = [
        struct.pack("<i", -1),
        b"text of more than a word",
        None,
        b"\x0c",
        [b"p", None],
        [struct.pack("<q", 7), [b"\1\0", b"\2\0", None]],
        ([b"k"], [struct.pack("<i", 5)]),
        None,
        struct.pack("<iiq", 1, 2, 3),
    ]
    from decimal import Decimal

    assert write_row(schema, values) == encode.row(
        schema,
        (
            *(-1, "text of more than a word", None, Decimal("0.12"), ["p", None]),
            *((7, [1, 2, None]), [("k", 5)], None, (1, 2, 3)),
        ),
    )


def test_binary_field_holds_a_row_of_spark() -> None:
    schema = parse_ddl(f"s struct<{WIDE}>")
    assert len(write_row(parse_ddl("r binary"), [WIDE_ROW])) == len(WIDE_ROW) + 16
    assert schema.fields[0].name == "s"


def test_number_of_values_must_match_number_of_fields() -> None:
    with pytest.raises(ValueError, match="shorter"):
        write_row(parse_ddl("a int, b int"), [None])
