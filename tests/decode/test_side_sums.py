"""Checksum files against the bytes of their main file, however these are cut."""

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

from inspector.decode.side_sums import HadoopSum, SideSum, SparkSum
from inspector.exceptions import DecodeError
from tests.decode.hadoop import verify_hadoop_crc


def hadoop(data: bytes, part: int = 512) -> bytes:
    sums = [zlib.crc32(data[at : at + part]) for at in range(0, len(data), part)]
    return b"crc\x00" + struct.pack(f">i{len(sums)}I", part, *sums)


def spark(data: bytes, **more: object) -> bytes:
    value = google_crc32c.value(data)
    signed = value - (1 << 32) if value >> 31 else value
    record = {"algorithm": "CRC32C", "value": signed, "mainFileSize": len(data)} | more
    return json.dumps(record).encode()


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    ends = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


def feed(side: SideSum, chunks: list[bytes]) -> SideSum:
    for chunk in chunks:
        side.update(chunk)
    return side


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)), st.integers(1, 70))
def test_a_file_that_was_not_changed_matches(data: bytes, cuts: list[int], part: int) -> None:
    chunks = pieces(data, cuts)
    assert feed(HadoopSum(hadoop(data, part)), chunks).finish() is None
    assert feed(SparkSum(spark(data)), chunks).finish() is None


@given(st.binary(min_size=1, max_size=60), st.binary(max_size=60), st.integers(1, 9))
def test_any_other_file_is_noticed_where_it_differs(data: bytes, other: bytes, part: int) -> None:
    bad = verify_hadoop_crc(hadoop(data, part), [other])
    found = feed(HadoopSum(hadoop(data, part)), [other]).finish()
    assert (found.offset if found else None) == (bad[0] if bad else None)
    assert (found is None) == (data == other)
    assert (feed(SparkSum(spark(data)), [other]).finish() is None) == (data == other)


def test_words_name_the_numbers_and_when_they_prove_nothing() -> None:
    found = feed(SparkSum(spark(b"one")), [b"other"]).finish()
    assert found is not None
    assert found.offset is None
    assert "over 5 bytes" in found.message
    assert "over 3 bytes" in found.message
    assert "proves nothing" in found.message
    parts = feed(HadoopSum(hadoop(b"0123456789", 4)), [b"0123x56y89"]).finish()
    assert parts is not None
    assert parts.offset == 4
    assert "1 of 3 parts of 4 bytes" in parts.message


def test_another_algorithm_is_passed_over() -> None:
    assert feed(SparkSum(spark(b"one", algorithm="MD5")), [b"other"]).finish() is None


@pytest.mark.parametrize("kind", [HadoopSum, SparkSum])
def test_what_is_no_checksum_file_is_an_error(kind: Callable[[bytes], SideSum]) -> None:
    with pytest.raises(DecodeError):
        kind(b"nonsense")
