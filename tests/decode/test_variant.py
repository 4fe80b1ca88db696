"""Spark's variant, byte by byte, and any bytes."""

from __future__ import annotations

import contextlib
import struct
import uuid
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.variant import (
    Date,
    LocalTimestamp,
    Timestamp,
    json_value,
    variant_value,
)
from inspector.exceptions import RowError

EMPTY = bytes([1, 0, 0])


def metadata(*names: str) -> bytes:
    """Return a dictionary of names with offsets of one byte."""
    ends = accumulate(map(len, names), initial=0)
    return bytes([1, len(names), *ends]) + "".join(names).encode()


def primitive(type_id: int, payload: bytes = b"") -> bytes:
    """Return a value of a primitive type."""
    return bytes([type_id << 2]) + payload


def container(head: int, ids: list[int], parts: list[bytes]) -> bytes:
    """Return an object or array of few small members, with sizes of one byte."""
    ends = accumulate(map(len, parts), initial=0)
    return bytes([head, len(parts), *ids, *ends]) + b"".join(parts)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (primitive(0), None),
        (primitive(1), True),
        (primitive(2), False),
        (primitive(3, b"\xff"), -1),
        (primitive(4, b"\x00\x80"), -32768),
        (primitive(5, struct.pack("<i", -70000)), -70000),
        (primitive(6, struct.pack("<q", 1 << 60)), 1 << 60),
        (primitive(7, struct.pack("<d", 1.5)), 1.5),
        (primitive(8, b"\x02" + struct.pack("<i", -150)), Decimal("-1.50")),
        (primitive(9, b"\x01" + struct.pack("<q", 15)), Decimal("1.5")),
        (primitive(10, b"\x00" + (10**30).to_bytes(16, "little")), Decimal(10**30)),
        (primitive(11, struct.pack("<i", 19723)), Date(19723)),
        (primitive(12, struct.pack("<q", 5)), Timestamp(5)),
        (primitive(13, struct.pack("<q", 6)), LocalTimestamp(6)),
        (primitive(14, struct.pack("<f", 0.25)), 0.25),
        (primitive(15, struct.pack("<i", 2) + b"\x00\xff"), b"\x00\xff"),
        (primitive(20, bytes(range(16))), uuid.UUID(bytes=bytes(range(16)))),
        (bytes([5 << 2 | 1]) + b"hello", "hello"),
    ],
)
def test_variant_primitives(value: bytes, expected: Any) -> None:
    result = variant_value(EMPTY, value)
    assert (result, type(result)) == (expected, type(expected))


def test_variant_objects_and_arrays() -> None:
    """``{"a": 5, "b": [1, null, "x"]}``, as ``parse_json`` makes it."""
    item = container(3, [], [primitive(3, b"\x01"), primitive(0), bytes([1 << 2 | 1]) + b"x"])
    complete = container(2, [0, 1], [primitive(3, b"\x05"), item])
    assert variant_value(metadata("a", "b"), complete) == {"a": 5, "b": [1, None, "x"]}


def test_long_variant_string_has_a_length_of_four_bytes() -> None:
    text = "ключ" * 30
    data = text.encode()
    assert variant_value(EMPTY, primitive(16, struct.pack("<i", len(data)) + data)) == text


@pytest.mark.parametrize(
    ("names", "value", "message"),
    [
        (b"", primitive(0), "ends too early"),
        (bytes([2, 0, 0]), primitive(0), "variant version 2"),
        (EMPTY, b"", "ends too early"),
        (EMPTY, primitive(9, b"\x27" + bytes(8)), "scale 39"),
        (EMPTY, primitive(33), "type 33"),
        (EMPTY, container(2, [0], [primitive(0)]), "name 0"),
        (EMPTY, bytes([3 | 1 << 4, 255, 255, 255, 127]), "members"),
        (EMPTY, primitive(15, struct.pack("<i", -1)), "bytes at"),
        (EMPTY, primitive(16, struct.pack("<i", 3) + "ключ".encode()[:3] + b"x"), "not UTF-8"),
    ],
)
def test_malformed_variants_are_refused(names: bytes, value: bytes, message: str) -> None:
    with pytest.raises(RowError, match=message):
        variant_value(names, value)


def test_overlapping_variant_parts_are_refused() -> None:
    """Thirty nested arrays of three equal members would have more than a billion values."""
    array = bytes([0b00000011, 3, 0, 0, 0, 0]) * 30  # offsets 0, 0, 0, 0
    with pytest.raises(RowError, match="parts overlap"):
        variant_value(metadata(), array + primitive(0))
    several_values = bytes([0b00000011, 100]) + bytes(101) + bytes([50 << 2 | 1]) + b"x" * 50
    with pytest.raises(RowError, match="parts overlap"):
        variant_value(metadata(), several_values)
    names = bytes([0b00000001, 3, 0, 9, 0, 9]) + b"x" * 9  # 0 to 9, 9 to 0, 0 to 9
    with pytest.raises(RowError, match="parts overlap"):
        variant_value(names, container(0b00000010, [0, 2], [primitive(0), primitive(0)]))


def test_variant_depth_is_limited() -> None:
    value = primitive(0)
    for _ in range(40):
        value = container(3, [], [value])
    assert variant_value(EMPTY, value) is not None
    with pytest.raises(RowError, match="deeper"):
        variant_value(EMPTY, value, depth=20)


@given(st.binary(max_size=12) | st.just(metadata("a", "b")), st.binary(max_size=40))
def test_any_bytes_give_a_variant_or_row_error(names: bytes, value: bytes) -> None:
    with contextlib.suppress(RowError):
        variant_value(names, value)


def test_json_value_formats_by_type() -> None:
    words: dict[type, Any] = {Date: lambda days: f"day {days}", Decimal: str}
    result = json_value({"a": [Date(3), Decimal("1.5")], "b": b"\x00"}, words)
    assert result == {"a": ["day 3", "1.5"], "b": "AA=="}
    assert json_value(uuid.UUID(int=1), {}) == "00000000-0000-0000-0000-000000000001"
