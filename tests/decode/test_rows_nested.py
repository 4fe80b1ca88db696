"""Rows that do not fit their schema, such as structs, arrays and maps with wrong sizes."""

from __future__ import annotations

import struct

import pytest

from inspector.sparktypes import LONG, atomic
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.decode.arrow_values import decode, one_field, slot, stored

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
def test_row_that_does_not_fit_is_null(case: str) -> None:
    ddl, bad, reason = MISFITS[case]
    schema = parse_ddl(ddl)
    good = encode.row(schema, (None,) * len(schema.fields))
    decoded = decode(schema, [good, bad, good])
    assert decoded.array.is_null().to_pylist() == [False, True, False]
    ((row, message),) = decoded.misfits
    assert row == 1
    assert reason in message


def map_row(keys: list[int | None], values: list[int | None]) -> bytes:
    """Return a row with one map of any keys and values."""
    arrays = encode.array(LONG, keys), encode.array(LONG, values)
    payload = struct.pack("<q", len(arrays[0])) + b"".join(arrays)
    return one_field(slot(16, len(payload)), payload)


def test_maps_with_unequal_arrays_or_null_keys_do_not_fit() -> None:
    rows = [map_row([1], [1, 2]), map_row([None], [1]), map_row([1], [None])]
    decoded = decode("m map<bigint, bigint>", rows)
    assert decoded.misfits == ((0, "m: not as many keys as values"), (1, "m.key: is null"))
    assert stored(decoded.array) == [None, None, ([(1, None)],)]


def test_duplicate_map_keys_are_kept() -> None:
    schema = parse_ddl("m map<string, int>")
    decoded = decode(schema, [encode.row(schema, ([("a", 1), ("a", 2)],))])
    assert stored(decoded.array) == [([("a", 1), ("a", 2)],)]


def test_null_values_may_have_reserved_bytes() -> None:
    """Spark's own check refuses these rows, although their bytes are valid."""
    schema = parse_ddl("a interval, b decimal(38,2), c timestamp_ntz(9)")
    row = encode.row(schema, (None, None, None))
    assert len(row) == 32 + 3 * 16
    assert decode(schema, [row]).misfits == ()


def test_nested_arrays_that_share_bytes_do_not_fit() -> None:
    """An array of arrays whose slots all point to the same large array."""
    inner = encode.array(atomic("byte"), [0] * 1000)
    count = 1000
    header = 8 + (count + 63) // 64 * 8
    start = header + 8 * count
    outer = struct.pack("<q", count) + bytes(header - 8) + slot(start, len(inner)) * count + inner
    row = one_field(slot(16, len(outer)), outer)
    decoded = decode("a array<array<tinyint>>", [row + bytes(-len(row) % 8)])
    assert "shares bytes" in decoded.misfits[0][1]
