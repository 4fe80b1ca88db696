"""Entries of Avro: written anew they are the entries that hold UnsafeRows."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.encoded_rows import KeyDecoder, Spans
from inspector.exceptions import DecodeError, RecordError
from inspector.providers.rocksdb.avro_entries import AvroEntries, Parts
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding
from tests import encode
from tests.decode.avro_values import number, record, schemas

KEY = parse_ddl("key struct<user: string, n: int>, userKey struct<word: string>")
TTL = parse_ddl("expirationMs bigint, elementKey struct<user: string>")
VALUE = parse_ddl("n bigint, s string")
PREFIX = KeyEncoder(KeyEncoding.PREFIX, prefix_columns=1)
RANGE = KeyEncoder(KeyEncoding.RANGE, ordinals=(0,))
ROW = KeyEncoder()


def avro(schema: StructType, values: Any, behind: bytes = b"\0\0") -> bytes:
    """Return a row in Spark's Avro encoding, whose version byte is before a schema id."""
    return b"\0" + behind + record(schema, values)


def sized(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def transcoded(entries: AvroEntries, key: bytes, value: bytes | None) -> Parts:
    data = b"before" + key + (value or b"")
    size = -1 if value is None else len(value)
    return entries.with_unsafe_rows(
        data,
        Spans(np.array([6]), np.array([len(key)])),
        Spans(np.array([6 + len(key)]), np.array([size])),
    )


def key_row(schema: StructType, encoder: KeyEncoder, key: bytes) -> bytes:
    parts = transcoded(AvroEntries(schema, VALUE, encoder, {0: VALUE}), key, None)
    if encoder.kind is KeyEncoding.ROW:
        return parts.buffer[1:]
    rows = KeyDecoder(schema, encoder).rows(parts.buffer, parts.keys)
    return rows.data


@given(schemas.flatmap(lambda typed: st.tuples(st.just(typed[0]), typed[1])))
def test_avro_key_and_value_become_unsafe_rows(found: tuple[StructType, Any]) -> None:
    schema, values = found
    entries = AvroEntries(schema, schema, ROW, {3: schema})
    parts = transcoded(entries, avro(schema, values), avro(schema, values, b"\3\0"))
    row = b"\0" + encode.row(schema, values)
    assert parts.buffer == row * 2
    assert (parts.keys.lengths.tolist(), parts.values.offsets.tolist()) == ([len(row)], [len(row)])


@pytest.mark.parametrize(
    "values", [(("a", 1), ("w",)), ((None, None), None), (("long" * 9, 2), (None,))]
)
def test_avro_key_with_prefix_columns(values: Any) -> None:
    first, remainder = StructType(KEY.fields[:1]), StructType(KEY.fields[1:])
    data = sized(avro(first, values[:1], b"")) + avro(remainder, values[1:])
    assert key_row(KEY, PREFIX, data) == encode.row(KEY, values)


@pytest.mark.parametrize("at", [1_700_000_000_000, 0, -5, (1 << 63) - 1])
def test_avro_key_with_range_encoded_timestamp(at: int) -> None:
    mark, remainder = bytes([at >= 0]), StructType(TTL.fields[1:])
    ordered = number(1) + number(1) + mark + number(1) + number(8) + struct.pack(">q", at)
    data = sized(b"\0" + ordered) + avro(remainder, (("a",),))
    assert key_row(TTL, RANGE, data) == encode.row(TTL, (at, ("a",)))


@pytest.mark.parametrize(("delimiter", "checksum"), [(1, 0), (0, 0), (1, 4)])
def test_avro_list_of_values(delimiter: int, checksum: int) -> None:
    rows = [(1, "a"), (2, None), (3, "long" * 5)]
    entries = AvroEntries(KEY, VALUE, ROW, {0: VALUE}, delimiter, checksum)
    comma = b"," * delimiter

    def piece(row: bytes) -> bytes:
        return b"CRC." + sized(sized(row)) if checksum else sized(row)

    value = comma.join(piece(avro(VALUE, row)) for row in rows)
    parts = transcoded(entries, avro(KEY, (("a", 1), None)), value)
    at = int(parts.values.offsets[0])
    expected = [b"\0" + encode.row(VALUE, row) for row in rows]
    head = bytes(checksum)
    result = bytes(delimiter).join(
        head + sized(sized(row)) if checksum else sized(row) for row in expected
    )
    assert parts.buffer[at:] == result


def test_avro_value_of_older_schema() -> None:
    older = parse_ddl("n int")
    entries = AvroEntries(KEY, VALUE, ROW, {0: older, 1: VALUE})
    parts = transcoded(entries, avro(KEY, (None, None)), avro(older, (7,)))
    at = int(parts.values.offsets[0])
    assert parts.buffer[at:] == b"\0" + encode.row(VALUE, (7, None))
    with pytest.raises(RecordError, match=r"by the schema 2, expected one of 0, 1"):
        transcoded(entries, avro(KEY, (None, None)), avro(VALUE, (7, None), b"\2\0"))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (b"", "a part longer"),
        (struct.pack("<I", 99) + b"\0", "a part longer"),
        (sized(b""), "without a version"),
        (sized(b"\1"), "unknown encoding"),
        (sized(avro(StructType(KEY.fields[:1]), (None,), b"")) + b"\0\0", "without a version"),
    ],
)
def test_malformed_avro_key_is_refused(key: bytes, message: str) -> None:
    with pytest.raises(RecordError, match=message) as caught:
        key_row(KEY, PREFIX, key)
    assert caught.value.offset == 6


def test_unsupported_avro_key_encoding_is_refused() -> None:
    timed = KeyEncoder(KeyEncoding.TIMESTAMP_FIRST, name="TimestampAsPrefix")
    with pytest.raises(RecordError, match="TimestampAsPrefix"):
        key_row(KEY, timed, sized(b"\0"))
    with pytest.raises(RecordError, match="without a mark"):
        key_row(TTL, RANGE, sized(b"\0" + number(0) * 2))


@given(
    st.binary(max_size=40),
    st.binary(max_size=40),
    st.sampled_from([(KEY, ROW), (KEY, PREFIX), (TTL, RANGE)]),
    st.sampled_from([None, 0, 1]),
    st.sampled_from([0, 4]),
)
def test_any_bytes_decode_or_raise_typed_error(
    key: bytes,
    value: bytes,
    how: tuple[StructType, KeyEncoder],
    delimiter: int | None,
    checksum: int,
) -> None:
    entries = AvroEntries(how[0], VALUE, how[1], {0: VALUE}, delimiter, checksum)
    with contextlib.suppress(DecodeError):
        transcoded(entries, key, value)


def test_error_names_unsupported_avro_key_encoder() -> None:
    encoder = KeyEncoder(KeyEncoding.TIMESTAMP_FIRST, name="TimestampAsPrefix")
    with pytest.raises(RecordError, match="keys of Avro are arranged by 'TimestampAsPrefix'"):
        key_row(KEY, encoder, sized(avro(KEY, (None, None), b"")))


def test_key_encoder_with_too_many_columns_is_refused() -> None:
    encoder = KeyEncoder(KeyEncoding.RANGE, ordinals=(0, len(TTL.fields)))
    with pytest.raises(RecordError, match=f"names column {len(TTL.fields)}, the schema has"):
        key_row(TTL, encoder, sized(b"\0" + number(0) * 2))
