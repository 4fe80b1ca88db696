"""Conversion of rows from state format 1 to format 2, from any bytes."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.records import RecordBlock
from inspector.exceptions import DecodeError, RowError
from inspector.passes.binary_columns import records_of
from inspector.passes.state_formats import Converter, FormatOne
from inspector.sparktypes.ddl import parse_ddl

KEY = parse_ddl("user string, day int")
VALUE = parse_ddl("user string, day int, count long, newest string")
STATE = parse_ddl("visits long, name string, timeoutTimestamp int")


def row(*fields: int | str | None) -> bytes:
    """An UnsafeRow of numbers and texts."""
    slots, tail, nulls = [], b"", 0
    start = 8 + 8 * len(fields)
    for ordinal, value in enumerate(fields):
        if value is None:
            nulls |= 1 << ordinal
            slots.append(0)
        elif isinstance(value, str):
            data = value.encode()
            slots.append((start + len(tail)) << 32 | len(data))
            tail += data + b"\0" * (-len(data) % 8)
        else:
            slots.append(value & (1 << 64) - 1)
    return struct.pack(f"<Q{len(slots)}Q", nulls, *slots) + tail


def convert(converter: Converter, *rows: tuple[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """The rows in format 2."""
    block = RecordBlock.of_rows(rows)
    made = converter.convert(block, block.ordinals)
    return list(records_of(made, made.ordinals))


texts = st.text(max_size=12).filter(lambda text: "\ud800" not in text)
numbers = st.integers(-(2**31), 2**31 - 1)


@given(
    st.lists(
        st.tuples(texts | st.none(), numbers, numbers, texts | st.none()), min_size=1, max_size=5
    )
)
def test_aggregation_keeps_its_buffers_alone(
    rows: list[tuple[str | None, int, int, str | None]],
) -> None:
    old = [(row(user, day), row(user, day, n, newest)) for user, day, n, newest in rows]
    new = [(row(user, day), row(n, newest)) for user, day, n, newest in rows]
    assert convert(Converter(FormatOne.AGGREGATION, KEY, VALUE), *old) == new


@given(st.lists(st.tuples(texts, numbers, texts | st.none(), numbers), min_size=1, max_size=5))
def test_group_state_becomes_a_struct_and_its_timer(
    rows: list[tuple[str, int, str | None, int]],
) -> None:
    old = [(row(user), row(visits, name, timer)) for user, visits, name, timer in rows]
    made = convert(Converter(FormatOne.GROUP_STATE, parse_ddl("user string"), STATE), *old)
    for (user, visits, name, timer), (key, value) in zip(rows, made, strict=True):
        state = row(visits, name)
        head = struct.pack("<QQq", 0, 24 << 32 | len(state), timer)
        assert (key, value) == (row(user), head + state)


def test_value_without_its_key_is_no_row_of_format_1() -> None:
    converter = Converter(FormatOne.AGGREGATION, KEY, VALUE)
    with pytest.raises(RowError, match="does not begin with the grouping columns"):
        convert(converter, (row("a", 1), row("b", 1, 2, "x")))


def test_state_of_nulls_is_not_converted() -> None:
    converter = Converter(FormatOne.GROUP_STATE, parse_ddl("user string"), STATE)
    with pytest.raises(RowError, match="had removed the state"):
        convert(converter, (row("a"), row(None, None, 5)))


@given(st.sampled_from(FormatOne), st.binary(max_size=80), st.binary(max_size=80))
def test_any_bytes_give_rows_or_a_decode_error(kind: FormatOne, key: bytes, value: bytes) -> None:
    schema = VALUE if kind is FormatOne.AGGREGATION else STATE
    try:
        ((made_key, _),) = convert(Converter(kind, KEY, schema), (key, value))
    except DecodeError:
        return
    assert made_key == key
