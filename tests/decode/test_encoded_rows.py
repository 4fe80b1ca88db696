"""Keys and values in the encodings of RocksDB state stores, decoded to rows."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.encoded_rows import (
    KeyDecoder,
    Spans,
    of_family,
    pieces_of,
    plain_rows,
    sizes_at,
)
from inspector.exceptions import DecodeError, RecordError
from inspector.sparktypes import DOUBLE, FLOAT, INTEGER, LONG, SHORT, StructType
from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding
from tests import encode
from tests.decode.spans import parts_of, spans_of
from tests.rocks import (
    TEXT,
    encoded,
    family,
    listed,
    prefixed,
    ranged,
    sized,
    struct_of,
    time_bytes,
)


def spans(*parts: bytes) -> tuple[bytes, Spans]:
    buffer, offsets, lengths = spans_of(parts, b"?")
    return buffer, Spans(offsets, lengths)


def cut(buffer: bytes, result: Spans) -> list[bytes]:
    return parts_of(buffer, result.offsets, result.lengths)


def decoded(schema: StructType, encoder: KeyEncoder, *keys: bytes) -> list[bytes]:
    rows = KeyDecoder(schema, encoder).rows(*spans(*keys))
    return parts_of(rows.data, rows.offsets, rows.lengths)


def test_encoding_version_byte_is_removed() -> None:
    buffer, result = spans(encoded(b"row"), encoded(b""))
    assert cut(buffer, plain_rows(buffer, result)) == [b"row", b""]


@pytest.mark.parametrize("bad", [b"", b"\1row"])
def test_wrong_encoding_version_is_refused(bad: bytes) -> None:
    with pytest.raises(RecordError) as error:
        plain_rows(*spans(b"\0", bad))
    assert error.value.offset == 2


def test_column_family_id_is_two_bytes_little_endian() -> None:
    buffer, result = spans(family(3) + b"k", family(0x0300) + b"k", family(3))
    assert of_family(buffer, result, 3).tolist() == [True, False, True]
    assert of_family(buffer, result, 0x0300).tolist() == [False, True, False]
    with pytest.raises(RecordError, match="column family"):
        of_family(*spans(b"\3"), 3)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_prefix_key_is_decoded_to_one_row(columns: int) -> None:
    schema = struct_of(TEXT, LONG, TEXT)
    rows = [("a", 1, "rest"), (None, None, None), ("longer than eight", -1, "")]
    keys = [prefixed(schema, row, columns) for row in rows]
    result = decoded(schema, KeyEncoder(KeyEncoding.PREFIX, columns), *keys)
    assert result == encode.rows(schema, rows)


@pytest.mark.parametrize(
    ("data_type", "value", "ordered"),
    [
        (LONG, 7, b"\1" + struct.pack(">q", 7)),
        (LONG, -7, b"\0" + struct.pack(">q", -7)),
        (LONG, None, b"\2" + b"\0" * 8),
        (INTEGER, -2, b"\0" + struct.pack(">i", -2)),
        (SHORT, 300, b"\1" + struct.pack(">h", 300)),
        (DOUBLE, 1.5, b"\1" + struct.pack(">d", 1.5)),
        # Every bit of a negative number is flipped.
        (DOUBLE, -1.5, bytes.fromhex("00 4007ffffffffffff")),
        (FLOAT, -0.25, bytes.fromhex("00 417fffff")),
    ],
)
def test_range_key_column_is_restored_at_its_ordinal(
    data_type: Any, value: object, ordered: bytes
) -> None:
    schema = struct_of(TEXT, data_type)
    key = ranged(schema, ("name", value), [1], [ordered])
    result = decoded(schema, KeyEncoder(KeyEncoding.RANGE, ordinals=(1,)), key)
    assert result == [encode.row(schema, ("name", value))]


def test_range_key_of_only_ordered_columns() -> None:
    schema = struct_of(LONG, LONG)
    key = ranged(schema, (1, 2), [1, 0], [struct.pack(">bq", 1, 2), struct.pack(">bq", 1, 1)])
    result = decoded(schema, KeyEncoder(KeyEncoding.RANGE, ordinals=(1, 0)), key)
    assert result == [encode.row(schema, (1, 2))]


@pytest.mark.parametrize("micros", [0, 1767225600000000, -5])
def test_timestamp_first_and_last_keys(micros: int) -> None:
    schema = struct_of(TEXT, LONG)
    row, time = encoded(encode.row(struct_of(TEXT), ["k"])), time_bytes(micros)
    expected = [encode.row(schema, ("k", micros))]
    assert decoded(schema, KeyEncoder(KeyEncoding.TIMESTAMP_FIRST), time + row) == expected
    assert decoded(schema, KeyEncoder(KeyEncoding.TIMESTAMP_LAST), row + time) == expected


def test_join_key_bytes_of_spark_4_3_0() -> None:
    # left-keyWithTsToValues: key k0, event time 2026-01-01T00:00:00Z.
    row = "00 0000000000000000 0200000010000000 6b30000000000000"
    key = bytes.fromhex(f"{row} 8006474846204000")
    schema = struct_of(TEXT, LONG)
    result = decoded(schema, KeyEncoder(KeyEncoding.TIMESTAMP_LAST), key)
    assert result == [encode.row(schema, ("k0", 1767225600000000))]


@pytest.mark.parametrize(
    ("encoder", "key", "error"),
    [
        (KeyEncoder(KeyEncoding.UNKNOWN, name="OfTomorrow"), b"", "OfTomorrow"),
        (KeyEncoder(KeyEncoding.PREFIX, 3), b"", "names column 2"),
        (KeyEncoder(KeyEncoding.PREFIX, 1), b"\1", "without a size"),
        (KeyEncoder(KeyEncoding.PREFIX, 1), b"\xff\xff\xff\x7f", "longer than"),
        (KeyEncoder(KeyEncoding.PREFIX, 1), sized(b"\1"), "unknown encoding"),
        (KeyEncoder(KeyEncoding.RANGE, ordinals=(0,)), b"", "variable size|without a size"),
        (KeyEncoder(KeyEncoding.TIMESTAMP_LAST), b"\0" * 7, "without its time"),
    ],
)
def test_malformed_keys_raise_decode_error(encoder: KeyEncoder, key: bytes, error: str) -> None:
    with pytest.raises(DecodeError, match=error):
        decoded(struct_of(TEXT, LONG), encoder, key)


def test_key_decoder_needs_a_schema() -> None:
    with pytest.raises(DecodeError, match="state schema is missing"):
        KeyDecoder(None, KeyEncoder(KeyEncoding.PREFIX, 1)).rows(*spans(b""))


@pytest.mark.parametrize("delimiter", [b"", b","])
def test_list_value_is_split_into_elements(delimiter: bytes) -> None:
    lists = [listed(b"one", delimiter=delimiter), listed(b"", b"two", b"3", delimiter=delimiter)]
    buffer, result = spans(*lists)
    pieces = pieces_of(buffer, result, len(delimiter))
    assert pieces.owners.tolist() == [0, 1, 1, 1]
    rows = plain_rows(buffer, pieces.pieces)
    assert cut(buffer, rows) == [b"one", b"", b"two", b"3"]


def test_size_prefix_is_checked_against_remaining_bytes() -> None:
    assert sizes_at(*spans(sized(b"abc") + b"more")).tolist() == [3]


@pytest.mark.parametrize("bad", [b"\0\0\0", b"\4\0\0\0abc", b"\xff\xff\xff\xff"])
def test_wrong_size_prefix_is_refused(bad: bytes) -> None:
    with pytest.raises(RecordError):
        sizes_at(*spans(bad))


encoders = st.sampled_from(
    [
        KeyEncoder(KeyEncoding.PREFIX, 1),
        KeyEncoder(KeyEncoding.RANGE, ordinals=(1,)),
        KeyEncoder(KeyEncoding.TIMESTAMP_FIRST),
        KeyEncoder(KeyEncoding.TIMESTAMP_LAST),
    ]
)


@given(encoders, st.binary(max_size=60) | st.binary(max_size=50).map(sized))
def test_any_bytes_give_a_key_or_decode_error(encoder: KeyEncoder, key: bytes) -> None:
    with suppress(DecodeError):
        decoded(struct_of(TEXT, LONG), encoder, key)


@given(st.binary(max_size=40), st.sampled_from([0, 1]), st.sampled_from([0, 4]))
def test_any_bytes_give_list_elements_or_decode_error(
    data: bytes, delimiter: int, before: int
) -> None:
    with suppress(DecodeError):
        buffer, result = spans(b"\0\0\0\0" + data)
        pieces_of(buffer, result, delimiter, before)
