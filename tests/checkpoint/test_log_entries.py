"""Entries of the offset log and the commit log, of several Spark releases."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.checkpoint.log_entries import OffsetEntry, parse_commit, parse_offsets
from inspector.exceptions import DecodeError

V1 = (  # Spark 3.5.9, a left outer join whose second source had no data yet
    b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1795244270502,"conf":{'
    b'"spark.sql.shuffle.partitions":"2",'
    b'"spark.sql.streaming.join.stateFormatVersion":"2"}}\n0\n-'
)
V2 = (  # Spark 4.3.0 with named sources
    b'v2\n{"batchWatermarkMs":1704067194750,"batchTimestampMs":1795241560913,'
    b'"conf":{"spark.sql.shuffle.partitions":"2"},"sourceMetadataInfo":{}}\n'
    b'src_one:{"logOffset":0}\nsrc_two:-'
)
CONTROL = (
    b'v2\n{"batchWatermarkMs":0,"batchTimestampMs":5,"conf":{},'
    b'"controlBatchInfo":{"operationType":"REPARTITION","operationInfo":{}}}\n0:1'
)


def test_offset_entry_of_format_1() -> None:
    assert parse_offsets(V1) == OffsetEntry(
        watermark_ms=0,
        timestamp_ms=1795244270502,
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.join.stateFormatVersion": "2",
        },
        sources={"0": "0", "1": None},
    )


def test_offset_entry_of_format_2_names_its_sources() -> None:
    offsets = parse_offsets(V2)
    assert (offsets.watermark_ms, offsets.timestamp_ms) == (1704067194750, 1795241560913)
    assert offsets.sources == {"src_one": '{"logOffset":0}', "src_two": None}
    assert offsets.control is None


def test_control_batch_of_an_offset_entry() -> None:
    assert parse_offsets(CONTROL).control == "REPARTITION"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"v1", OffsetEntry()),
        (b"v1\n", OffsetEntry()),
        (b"v1\n\n{}", OffsetEntry(sources={"0": "{}"})),
        (b"v1\n{}\n0", OffsetEntry(sources={"0": "0"})),
        (b'v1\n{"conf":{"a":1,"b":"x\\ud800"}}', OffsetEntry(conf={"a": "1", "b": "x?"})),
    ],
)
def test_missing_fields_of_an_offset_entry(data: bytes, expected: OffsetEntry) -> None:
    assert parse_offsets(data) == expected


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"v1\n{}", None),  # Spark 2.3
        (b"v1", None),
        (b"v1\n", None),
        (b'v1\n{"nextBatchWatermarkMs":1704067197250}', 1704067197250),
        (b'v2\n{"nextBatchWatermarkMs":7,"stateUniqueIds":{"0":[["x"]]}}', 7),
        (b'v3\n{"nextBatchWatermarkMs":7,"sinkMetadataMap":{}}', 7),
    ],
)
def test_commit_watermark_of_every_format(data: bytes, expected: int | None) -> None:
    assert parse_commit(data).next_watermark_ms == expected


def test_commit_of_checkpoint_format_2_has_unique_ids() -> None:
    # Operator 0 has two partitions with one store each; operator 1 has one partition with two.
    data = b'v2\n{"nextBatchWatermarkMs":7,"stateUniqueIds":{"0":[["a"],["b"]],"1":[["c","d"]]}}'
    item, two = parse_commit(data).unique_ids.values()
    assert (item, two) == ((frozenset("a"), frozenset("b")), (frozenset("cd"),))


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"v4\n{}", b"v1\nx", b'v1\n{"nextBatchWatermarkMs":"7"}'),
        b'v2\n{"stateUniqueIds":{"0":[["a"]]}}',
        b'v2\n{"nextBatchWatermarkMs":7,"stateUniqueIds":5}',
        b'v2\n{"nextBatchWatermarkMs":7,"stateUniqueIds":{"0":[5]}}',
    ],
)
def test_invalid_commit_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_commit(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"v3\n{}", b"v1\n[]", b'v1\n{"batchWatermarkMs":"0"}', b'v1\n{"conf":[]}', V1[:50]],
)
def test_invalid_offset_entry_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        parse_offsets(data)


@pytest.mark.parametrize("character", ["\0", "\x1b", "\x7f", "\r\r"])
def test_offset_with_control_characters_is_refused(character: str) -> None:
    with pytest.raises(
        DecodeError, match=rf"got character U\+00{ord(character[0]):02X} in the .* 0"
    ):
        parse_offsets(f"v1\n{{}}\n4{character}\n5".encode())


@given(st.binary(), st.sampled_from([b"", b"v1\n", b"v2\n", b"v3\n", b'v1\n{"conf":']))
def test_any_bytes_are_a_log_entry_or_a_decode_error(data: bytes, start: bytes) -> None:
    with suppress(DecodeError):
        parse_offsets(start + data)
    with suppress(DecodeError):
        parse_commit(start + data)


@given(st.integers(0, len(V2) - 1))
def test_truncated_offset_entry_is_an_entry_or_a_decode_error(size: int) -> None:
    try:
        assert parse_offsets(V2[:size]).conf.keys() <= {"spark.sql.shuffle.partitions"}
    except DecodeError:
        assert size < V2.rindex(b"\n")
