"""The codec of a state file: recorded, seen, or both and not the same."""

from __future__ import annotations

import pytest

from inspector.exceptions import DecodeError
from inspector.providers.file_reader import inflate_file
from inspector.providers.reader_options import ReadOptions
from tests import encode
from tests.cases import state_file

RAW = b"raw bytes" * 9


def read(data: bytes, recorded: str | None) -> tuple[bytes, list[str]]:
    problems: list[str] = []
    options = ReadOptions({} if recorded is None else {1: recorded})
    summed: set[str] = set()
    result = inflate_file(
        state_file(1), iter([data]), options, lambda slug, *_: problems.append(slug), summed
    )
    assert summed <= {state_file(1).path}
    return b"".join(result), problems


@pytest.mark.parametrize(("codec", "recorded"), [("lz4", None), ("lz4", "lz4"), ("zstd", "zstd")])
def test_recorded_codec_is_read_without_problem(codec: str, recorded: str | None) -> None:
    assert read(encode.compress(RAW, codec), recorded) == (RAW, [])


@pytest.mark.parametrize(
    ("codec", "recorded"),
    [
        ("lzf", None),
        ("snappy", None),
        ("zstd", None),
        ("lzf", "lz4"),
        ("snappy", "lz4"),
        ("zstd", "lz4"),
        ("lz4", "zstd"),
        ("lzf", "zstd"),
        ("snappy", "zstd"),
    ],
)
def test_codec_is_detected_from_bytes_and_mismatch_is_reported(
    codec: str, recorded: str | None
) -> None:
    result, problems = read(encode.compress(RAW, codec), recorded)
    assert result == RAW
    assert problems == ["codec-mismatch"]


def test_custom_codec_class_with_bytes_of_spark_codec_is_read() -> None:
    assert read(encode.compress(RAW, "zstd"), "com.example.Codec") == (RAW, [])
    with pytest.raises(DecodeError, match=r"com\.example\.Codec"):
        read(b"who knows", "com.example.Codec")


@pytest.mark.parametrize(
    ("codec", "has_checksums"),
    [("lz4", True), ("lzf", False), ("snappy", False), ("zstd", False)],
)
def test_only_lz4_blocks_have_checksums(codec: str, *, has_checksums: bool) -> None:
    file, summed = state_file(1), set[str]()
    chunks = iter([encode.compress(RAW, codec)])
    b"".join(inflate_file(file, chunks, ReadOptions({1: codec}), lambda *_: None, summed))
    assert bool(summed) is has_checksums
