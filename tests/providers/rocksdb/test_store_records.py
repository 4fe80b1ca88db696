"""Entries of a changelog are decoded to the records of one store."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.changelog import read_changelog
from inspector.decode.encoded_rows import KeyDecoder
from inspector.decode.records import RecordBlock
from inspector.exceptions import DecodeError, RecordError
from inspector.providers.rocksdb.store_records import Encoding, ListLengths, decode_block
from inspector.sparktypes import LONG, StructType
from inspector.sparktypes.key_encoders import KeyEncoder, KeyEncoding
from tests import encode
from tests.attributes import attributes
from tests.decode.spans import pieces
from tests.rocks import (
    MERGE,
    PUT,
    REMOVAL,
    TEXT,
    Entry,
    changelog,
    encoded,
    family,
    listed,
    prefixed,
    removed,
    sized,
    struct_of,
    summed,
    time_bytes,
)

KEY, VALUE = struct_of(TEXT), struct_of(LONG)
PLAIN = Encoding(KeyDecoder(KEY, KeyEncoder()))
Record = tuple[bytes, bytes | None]


def blocks(entries: list[Entry], encoding: Encoding, version: int = 2) -> list[RecordBlock]:
    """Return the record blocks of a changelog that is read in pieces of 50 bytes."""
    data = changelog(entries, version)
    _, actual = read_changelog(iter(pieces(data, 50)))
    lists = ListLengths()
    lists.begin("f", 1, snapshot=False)
    first, result = 0, []
    for item in actual:
        block = decode_block(item, first, encoding, lists)
        if block is not None:
            assert block.first_record == first
            first += block.count
            result.append(block)
    return result


def records(entries: list[Entry], encoding: Encoding, version: int = 2) -> list[Record]:
    return [
        (
            block.buffer[key : key + key_size],
            None if size < 0 else block.buffer[value : value + size],
        )
        for block in blocks(entries, encoding, version)
        for key, key_size, value, size in zip(
            block.key_offset, block.key_length, block.value_offset, block.value_length, strict=True
        )
    ]


def checksum_mismatches(result: list[RecordBlock]) -> list[int]:
    """Return the numbers of the records whose checksum is wrong."""
    return [block.first_record + i for block in result for i in block.checksum_mismatches]


def key(name: str) -> bytes:
    return encode.row(KEY, [name])


def value(number: int) -> bytes:
    return encode.row(VALUE, [number])


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_rows_follow_their_encoding_version_byte(version: int) -> None:
    entries: list[Entry] = [
        (PUT, encoded(key("a")), encoded(value(1))),
        (REMOVAL, encoded(key("b")), None),
    ]
    assert records(entries, PLAIN, version) == [(key("a"), value(1)), (key("b"), None)]


def test_column_family_has_only_its_own_entries() -> None:
    entries: list[Entry] = [
        (PUT, family(1) + encoded(key("0")), encoded(value(0))),
        (PUT, family(2) + encoded(key("1")), encoded(value(1))),
        (PUT, family(2) + encoded(key("2")), encoded(value(2))),
        (PUT, family(0x0101) + encoded(key("3")), encoded(value(3))),
        (PUT, family(1) + encoded(key("4")), encoded(value(4))),
    ]
    two = Encoding(KeyDecoder(KEY, KeyEncoder()), family=2)
    assert records(entries, two) == [(key("1"), value(1)), (key("2"), value(2))]
    assert records(entries, Encoding(KeyDecoder(KEY, KeyEncoder()), family=9)) == []


def test_prefix_encoded_keys_are_joined_and_keep_file_offset() -> None:
    schema = struct_of(TEXT, LONG)
    encoding = Encoding(KeyDecoder(schema, KeyEncoder(KeyEncoding.PREFIX, 1)))
    entries: list[Entry] = [
        (PUT, prefixed(schema, ("user", 5), 1), encoded(value(1))),
        (REMOVAL, prefixed(schema, ("user", 6), 1), None),
    ]
    assert records(entries, encoding, 1) == [
        (encode.row(schema, ("user", 5)), value(1)),
        (encode.row(schema, ("user", 6)), None),
    ]
    first, *_ = blocks(entries, encoding, 1)
    assert first.raw_place(0) == 4  # offset in the file, after the length of the key


@pytest.mark.parametrize("delimiter", [0, 1])
def test_every_row_of_list_value_is_a_record(delimiter: int) -> None:
    schema = struct_of(TEXT, LONG)
    encoding = Encoding(
        KeyDecoder(schema, KeyEncoder(KeyEncoding.TIMESTAMP_LAST)),
        family=2,
        several_values=True,
        delimiter_bytes=delimiter,
    )
    at = family(2) + encoded(key("k")) + time_bytes(7)
    comma = b"," * delimiter
    entries: list[Entry] = [
        (PUT, at, listed(value(1), value(2), delimiter=comma)),
        (MERGE, at, listed(value(3))),
        (PUT, at, listed(value(4))),
        (REMOVAL, at, None),
    ]
    struct = struct_of(TEXT, LONG, LONG)
    row_0, row_1 = encode.row(struct, ("k", 7, 0)), encode.row(struct, ("k", 7, 1))
    row_2 = encode.row(struct, ("k", 7, 2))
    assert records(entries, encoding) == [
        *((row_0, value(1)), (row_1, value(2)), (row_2, value(3))),
        *((row_0, value(4)), (row_1, None), (row_2, None)),
        (row_0, None),
    ]


def test_row_checksums_are_removed_and_checked() -> None:
    encoding = Encoding(KeyDecoder(KEY, KeyEncoder()), family=3, row_checksum=True)
    at = family(3) + encoded(key("k"))
    entries: list[Entry] = [
        (PUT, at, summed(at, encoded(value(1)))),
        (REMOVAL, removed(at), None),
        (PUT, at, summed(at + b"!", encoded(value(2)))),
        (REMOVAL, b"\0\0\0\0" + at, None),
        (PUT, family(4) + encoded(key("x")), summed(b"", b"")),
    ]
    assert records(entries, encoding) == [
        (key("k"), value(1)),
        (key("k"), None),
        (key("k"), value(2)),
        (key("k"), None),
    ]
    assert checksum_mismatches(blocks(entries, encoding)) == [2, 3]


def test_row_checksum_written_by_spark_4_3_0() -> None:
    # The first record of an aggregation with spark.sql.streaming.stateStore.rowChecksum.enabled.
    stored = bytes.fromhex(
        "597c2387 19000000 00 0000000000000000 0000000000000000 0100000000000000"
    )
    at = bytes.fromhex("00 0000000000000000 0200000010000000 6b30000000000000")
    encoding = Encoding(KeyDecoder(KEY, KeyEncoder()), row_checksum=True)
    pair = encode.row(struct_of(LONG, LONG), (0, 1))
    assert records([(PUT, at, stored)], encoding, 1) == [(key("k0"), pair)]
    assert blocks([(PUT, at, stored)], encoding, 1)[0].checksum_mismatches == ()


def test_list_values_have_one_checksum_per_row() -> None:
    encoding = Encoding(
        KeyDecoder(KEY, KeyEncoder()), row_checksum=True, several_values=True, delimiter_bytes=1
    )
    at = encoded(key("k"))
    good, bad = summed(at, listed(value(1))), summed(at + b"?", listed(value(1)))
    result = blocks([(PUT, at, good + b"," + good), (MERGE, at, bad)], encoding)
    assert sum(attributes(result, "count")) == 3
    assert checksum_mismatches(result) == [2]


@pytest.mark.parametrize(
    ("entry", "encoding", "error"),
    [
        ((MERGE, encoded(key("k")), encoded(value(1))), PLAIN, "merge in a store of single"),
        ((PUT, b"", encoded(value(1))), PLAIN, "without a version"),
        ((PUT, encoded(key("k")), b""), PLAIN, "without a version"),
        ((PUT, b"\7" + key("k"), encoded(value(1))), PLAIN, "unknown encoding"),
        ((PUT, b"\0", b"\0"), Encoding(PLAIN.keys, family=1), "without a column family"),
        ((PUT, b"\0", b"\0"), Encoding(PLAIN.keys, row_checksum=True), "row checksum"),
        ((PUT, b"\0", sized(b"\7")), Encoding(PLAIN.keys, several_values=True), "unknown encoding"),
    ],
)
def test_malformed_entry_error_has_file_offset(
    entry: Entry, encoding: Encoding, error: str
) -> None:
    good = (PUT, encoded(key("k")), encoded(value(1)))
    entries = [good, entry] if encoding is PLAIN else [entry]
    with pytest.raises(RecordError, match=error) as result:
        blocks(entries, encoding)
    assert result.value.offset is not None
    assert result.value.offset >= 4
    assert "block" not in result.value.message


encodings = st.builds(
    Encoding,
    st.sampled_from(
        [
            KeyDecoder(StructType((*KEY.fields, *VALUE.fields)), KeyEncoder(kind, 1, (1,)))
            for kind in KeyEncoding
        ]
    ),
    st.sampled_from([None, 0]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([0, 1]),
)
some_bytes = st.binary(max_size=40).map(lambda data: data.replace(b"\x01", b"\0"))


@given(st.sampled_from([PUT, MERGE]), some_bytes, some_bytes, encodings)
def test_any_entry_decodes_or_raises_typed_error(
    kind: int, at: bytes, data: bytes, encoding: Encoding
) -> None:
    with suppress(DecodeError):
        records([(kind, at, data), (REMOVAL, at, None)], encoding)
