"""Hadoop's and Spark's side files; row checksums are tested with the records."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.checksums import (
    SparkChecksum,
    crc32c,
    parse_spark_checksum,
)
from inspector.exceptions import DecodeError, TruncatedError
from tests.decode.hadoop import verify_hadoop_crc

# An empty lz4 delta of Spark 4.3.0 and the .1.delta.crc that Hadoop put beside it.
DELTA = bytes.fromhex(
    "4c5a34426c6f636b150400000004000000db804d08ffffffff4c5a34426c6f636b15000000000000000000000000"
)
DELTA_CRC = bytes.fromhex("63726300000002004525ee35")


def hadoop(data: bytes, size: int) -> bytes:
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    sums = b"".join(struct.pack(">I", zlib.crc32(part)) for part in parts)
    return b"crc\x00" + struct.pack(">i", size) + sums


def test_what_hadoop_wrote() -> None:
    assert verify_hadoop_crc(DELTA_CRC, [DELTA]) == []
    assert verify_hadoop_crc(DELTA_CRC, [DELTA[:10], b"", DELTA[10:]]) == []
    assert verify_hadoop_crc(DELTA_CRC, [DELTA[:-1]]) == [0]


def test_offsets_of_what_does_not_match() -> None:
    data = bytes(range(250)) * 4
    crc = hadoop(data, 100)
    assert verify_hadoop_crc(crc, [data[:420] + b"?" + data[421:]]) == [400]
    assert verify_hadoop_crc(crc, [data[:750]]) == [700, 800, 900]
    assert verify_hadoop_crc(crc, [data + b"more"]) == [1000]
    assert verify_hadoop_crc(crc, []) == list(range(0, 1000, 100))
    assert verify_hadoop_crc(hadoop(b"", 512), []) == []


@pytest.mark.parametrize("crc", [b"", b"crc\x00", b"crc\x00\x00\x00\x02"])
def test_a_side_file_that_is_cut(crc: bytes) -> None:
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
def test_what_is_no_side_file(crc: bytes) -> None:
    with pytest.raises(DecodeError, match="not a Hadoop checksum file"):
        verify_hadoop_crc(crc, [])


def test_a_forged_part_size_costs_nothing() -> None:
    crc = b"crc\x00" + struct.pack(">i", (1 << 31) - 1) + struct.pack(">I", zlib.crc32(DELTA))
    assert verify_hadoop_crc(crc, [DELTA]) == []


@given(st.binary(max_size=300), st.integers(1, 40), st.integers(1, 50))
def test_chunks_may_be_cut_anywhere(data: bytes, size: int, chunk: int) -> None:
    chunks = [data[at : at + chunk] for at in range(0, len(data), chunk)]
    assert verify_hadoop_crc(hadoop(data, size), chunks) == []


def test_spark_writes_signed_numbers() -> None:
    text = (
        b'{"algorithm":"CRC32C","value":-1430122738,"mainFileSize":150,'
        b'"timestampMs":1795241461751,"creator":{"executorId":"driver","taskInfo":""}}'
    )
    assert parse_spark_checksum(text) == SparkChecksum("CRC32C", 2864844558, 150)
    assert parse_spark_checksum(b'{"algorithm":"X","value":1}') == SparkChecksum("X", 1)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"[" * 100_000, b"\xff", b"{}", b'{"algorithm":"CRC32C","value":"1"}'],
)
def test_what_is_no_spark_checksum(text: bytes) -> None:
    with pytest.raises(DecodeError, match="not a Spark checksum file"):
        parse_spark_checksum(text)


def test_crc32c_of_a_stream() -> None:
    assert crc32c([]) == (0, 0)
    assert crc32c([b"1234", b"", b"56789"]) == (0xE3069283, 9)  # the check value of CRC-32C
