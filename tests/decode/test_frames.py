"""Behaviour of every codec. The layout of each codec has its own test file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.frames import CODECS, codec_of, inflate, sniff
from inspector.decode.records import read_records
from inspector.exceptions import DecodeError, TailError, TruncatedError
from inspector.model import Limits
from tests import encode
from tests.decode.spans import assert_prefixes_refused, damaged, pieces

codecs = st.sampled_from(CODECS)
SAMPLE = bytes(range(256)) * 20 + b"spark " * 3000 + b"end"


# Files that Spark 4.3.0 wrote for a version without changes: only the end mark of the records.
EMPTY_DELTAS = {
    "lz4": "4c5a34426c6f636b150400000004000000db804d08ffffffff"
    "4c5a34426c6f636b15000000000000000000000000",
    "lzf": "5a56000004ffffffff",
    "snappy": "82534e4150505900000000010000000100000006040cffffffff",
    "zstd": "28b52ffd0048200000ffffffff010000",
}


@pytest.mark.parametrize("codec", CODECS)
def test_reads_empty_deltas_of_spark_4_3_0(codec: str) -> None:
    data = bytes.fromhex(EMPTY_DELTAS[codec])
    assert sniff(data[:8]) == codec
    assert b"".join(inflate([data], codec)) == encode.END


@pytest.mark.parametrize(
    ("value", "codec"),
    [
        ("lz4", "lz4"),
        ("LZF", "lzf"),
        (" Snappy ", "snappy"),
        ("org.apache.spark.io.SnappyCompressionCodec", "snappy"),
        ("org.apache.spark.io.ZStdCompressionCodec", "zstd"),
        ("LZ4CompressionCodec", "lz4"),
    ],
)
def test_codec_of_configured_name(value: str, codec: str) -> None:
    assert codec_of(value) == codec


@pytest.mark.parametrize("value", ["", "none", "gzip", "com.example.SnappyCompressionCodec"])
def test_unknown_codec_is_named_in_the_error(value: str) -> None:
    with pytest.raises(DecodeError, match=f"unknown codec '{value}', expected lz4, lzf"):
        codec_of(value)


def test_inflate_refuses_an_unknown_codec() -> None:
    with pytest.raises(DecodeError, match="unknown codec 'gzip'"):
        list(inflate([b"x"], "gzip"))


@pytest.mark.parametrize("head", [b"", b"L", b"LZ4Bloc", b"PK\x03\x04", b"\x00" * 8])
def test_sniff_returns_none_for_unknown_bytes(head: bytes) -> None:
    assert sniff(head) is None


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("chunks", [[], [b""], [b"", b""]])
def test_empty_file_raises_truncated_error(codec: str, chunks: list[bytes]) -> None:
    with pytest.raises(TruncatedError, match="byte 0: the file is empty"):
        list(inflate(chunks, codec))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 7, 100, 1 << 20])
def test_inflates_chunks_of_any_size(codec: str, size: int) -> None:
    data = encode.compress(SAMPLE, codec)
    assert b"".join(inflate(pieces(data, size), codec)) == SAMPLE


@pytest.mark.parametrize("codec", CODECS)
def test_inflates_concatenated_streams(codec: str) -> None:
    data = encode.compress(SAMPLE, codec)
    assert b"".join(inflate([data + data], codec)) == SAMPLE * 2


@pytest.mark.parametrize("codec", CODECS)
def test_inflated_blocks_are_within_frame_bytes(codec: str) -> None:
    blocks = list(inflate([encode.compress(SAMPLE, codec)], codec, Limits(frame_bytes=1 << 16)))
    assert max(map(len, blocks)) <= 1 << 16


@pytest.mark.parametrize("codec", CODECS)
def test_every_prefix_of_a_state_file_raises_truncated_or_tail_error(codec: str) -> None:
    """Codecs without an end mark rely on the end mark of the records.

    If only the end mark of the codec is cut, the error is a ``TailError``.
    """

    def read(file: bytes) -> object:
        return list(read_records(inflate([file], codec), snapshot=False))

    data = encode.state_file([(b"k" * 8, bytes(range(16))), (b"l" * 8, None)] * 9, codec)
    assert_prefixes_refused(read, data, (TruncatedError, TailError))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("garbage", [b"\x00", b"garbage" * 5])
def test_bytes_after_the_stream_raise_decode_error(codec: str, garbage: bytes) -> None:
    data = encode.compress(encode.END, codec)
    with pytest.raises(DecodeError) as caught:
        list(inflate([data + garbage], codec))
    assert (caught.value.offset or 0) >= len(data)


@pytest.mark.parametrize("codec", CODECS)
def test_storage_errors_pass_through_inflate(codec: str) -> None:
    class GoneError(OSError):
        pass

    def chunks(data: bytes) -> Iterator[bytes]:
        yield data[: len(data) // 2]
        raise GoneError

    with pytest.raises(GoneError):
        list(inflate(chunks(encode.compress(SAMPLE, codec)), codec))


@given(st.binary(min_size=1, max_size=400).map(lambda data: data * 3), codecs)
def test_inflate_undoes_compress(raw: bytes, codec: str) -> None:
    assert b"".join(inflate([encode.compress(raw, codec)], codec)) == raw


def error_of(data: bytes, codec: str) -> DecodeError | None:
    """Return the decode error of inflating, or None. Any other error fails the test."""
    try:
        list(inflate([data], codec, Limits(frame_bytes=1 << 16)))
    except DecodeError as error:
        return error
    return None


@given(st.binary(max_size=200), codecs, st.sampled_from([0, 16]))
def test_inflating_any_bytes_raises_only_decode_errors(data: bytes, codec: str, head: int) -> None:
    data = bytes.fromhex(EMPTY_DELTAS[codec])[:head] + data
    error = error_of(data, codec)
    assert error is None or 0 <= (error.offset or 0) <= len(data)


@given(codecs, st.data())
def test_inflating_damaged_files_raises_only_decode_errors(codec: str, data: st.DataObject) -> None:
    error = error_of(damaged(encode.compress(SAMPLE[4000:6000], codec), data), codec)
    assert error is None or error.offset is not None
