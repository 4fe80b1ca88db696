"""Checksum files compared with the bytes of their main file, read in chunks of any size."""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from collections.abc import Callable

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.side_sums import (
    HadoopSum,
    SideSum,
    SparkSum,
    parse_spark_checksum,
)
from inspector.exceptions import DecodeError, LimitError, TruncatedError
from tests.decode.hadoop import ANY_PART, verify_hadoop_crc
from tests.decode.spans import pieces

# An empty lz4 delta of Spark 4.3.0 and its .1.delta.crc, written by Hadoop.
DELTA = bytes.fromhex(
    "4c5a34426c6f636b150400000004000000db804d08ffffffff4c5a34426c6f636b15000000000000000000000000"
)
DELTA_CRC = bytes.fromhex("63726300000002004525ee35")


def hadoop(data: bytes, part: int = 512) -> bytes:
    sums = list(map(zlib.crc32, pieces(data, part)))
    return b"crc\x00" + struct.pack(f">i{len(sums)}I", part, *sums)


def spark(data: bytes, **options: object) -> bytes:
    (signed,) = struct.unpack("<i", struct.pack("<I", google_crc32c.value(data)))
    record = {"algorithm": "CRC32C", "value": signed, "mainFileSize": len(data)} | options
    return json.dumps(record).encode()


def cut_at(data: bytes, cuts: list[int]) -> list[bytes]:
    """Cut data at some positions."""
    ends = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


def feed(side: SideSum, chunks: list[bytes]) -> SideSum:
    for chunk in chunks:
        side.update(chunk)
    return side


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)), st.integers(1, 70))
def test_unchanged_file_matches_its_checksums(data: bytes, cuts: list[int], part: int) -> None:
    chunks = cut_at(data, cuts)
    assert feed(HadoopSum(hadoop(data, part), ANY_PART), chunks).finish() is None
    assert feed(SparkSum(spark(data)), chunks).finish() is None


@given(st.binary(min_size=1, max_size=60), st.binary(max_size=60), st.integers(1, 9))
def test_changed_file_mismatches_at_its_first_changed_part(
    data: bytes, other: bytes, part: int
) -> None:
    bad = verify_hadoop_crc(hadoop(data, part), [other])
    result = feed(HadoopSum(hadoop(data, part), ANY_PART), [other]).finish()
    assert ([] if result is None else [result.offset]) == bad[:1]
    assert (result is None) == (data == other)
    assert (feed(SparkSum(spark(data)), [other]).finish() is None) == (data == other)


def test_mismatch_message_has_sizes_and_part_counts() -> None:
    result = feed(SparkSum(spark(b"one")), [b"other"]).finish()
    assert result is not None
    assert result.offset is None
    assert "over 5 bytes" in result.message
    assert "over 3 bytes" in result.message
    assert "proves nothing" in result.message
    parts = feed(HadoopSum(hadoop(b"0123456789", 4), ANY_PART), [b"0123x56y89"]).finish()
    assert parts is not None
    assert parts.offset == 4
    assert "1 of 3 parts of 4 bytes" in parts.message


def test_unknown_checksum_algorithm_is_skipped() -> None:
    assert feed(SparkSum(spark(b"one", algorithm="MD5")), [b"other"]).finish() is None


@pytest.mark.parametrize("kind", [HadoopSum, SparkSum])
def test_malformed_checksum_file_raises_decode_error(kind: Callable[[bytes], SideSum]) -> None:
    with pytest.raises(DecodeError):
        kind(b"nonsense")


def test_crc_file_written_by_hadoop() -> None:
    assert verify_hadoop_crc(DELTA_CRC, [DELTA]) == []
    assert verify_hadoop_crc(DELTA_CRC, [DELTA[:10], b"", DELTA[10:]]) == []
    assert verify_hadoop_crc(DELTA_CRC, [DELTA[:-1]]) == [0]


def test_offsets_of_mismatching_parts() -> None:
    data = bytes(range(250)) * 4
    crc = hadoop(data, 100)
    assert verify_hadoop_crc(crc, [data[:420] + b"?" + data[421:]]) == [400]
    assert verify_hadoop_crc(crc, [data[:750]]) == [700, 800, 900]
    assert verify_hadoop_crc(crc, [data + b"more"]) == [1000]
    assert verify_hadoop_crc(crc, []) == list(range(0, 1000, 100))
    assert verify_hadoop_crc(hadoop(b"", 512), []) == []


@pytest.mark.parametrize("crc", [b"", b"crc\x00", b"crc\x00\x00\x00\x02"])
def test_cut_crc_file_raises_truncated_error(crc: bytes) -> None:
    with pytest.raises(TruncatedError, match="without a header"):
        verify_hadoop_crc(crc, [])


@pytest.mark.parametrize(
    "crc",
    [
        b"CRC\x00\x00\x00\x02\x00",
        b"crc\x00\x00\x00\x00\x00",
        b"crc\x00\xff\xff\xff\xff",
        DELTA_CRC[:-1],
    ],
)
def test_malformed_crc_file_is_refused(crc: bytes) -> None:
    with pytest.raises(DecodeError, match="not a Hadoop checksum file"):
        verify_hadoop_crc(crc, [])


def test_huge_part_size_allocates_no_memory() -> None:
    crc = b"crc\x00" + struct.pack(">i", (1 << 31) - 1) + struct.pack(">I", zlib.crc32(DELTA))
    assert verify_hadoop_crc(crc, [DELTA]) == []


def test_sum_part_bytes_limit() -> None:
    with pytest.raises(LimitError, match="the limit sum_part_bytes is 64"):
        HadoopSum(hadoop(DELTA, 1))


@given(st.binary(max_size=300), st.integers(1, 40), st.integers(1, 50))
def test_crc_matches_chunks_of_any_size(data: bytes, size: int, chunk: int) -> None:
    assert verify_hadoop_crc(hadoop(data, size), pieces(data, chunk)) == []


def test_signed_checksum_value_of_spark() -> None:
    text = (
        b'{"algorithm":"CRC32C","value":-1430122738,"mainFileSize":150,'
        b'"timestampMs":1795241461751,"creator":{"executorId":"driver","taskInfo":""}}'
    )
    assert parse_spark_checksum(text) == ("CRC32C", 2864844558, 150)
    assert parse_spark_checksum(b'{"algorithm":"X","value":1}') == ("X", 1, None)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"[" * 100_000, b"\xff", b"{}", b'{"algorithm":"CRC32C","value":"1"}'],
)
def test_malformed_spark_checksum_is_refused(text: bytes) -> None:
    with pytest.raises(DecodeError, match="not a Spark checksum file"):
        parse_spark_checksum(text)
