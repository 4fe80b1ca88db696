"""Zstandard as Spark writes it: streamed frames without a content size."""

from __future__ import annotations

import pytest

from inspector.decode._source import Source
from inspector.decode.frames import inflate
from inspector.decode.zstd import _Reader
from inspector.exceptions import FrameError, TruncatedError
from inspector.model import Limits
from tests import encode
from tests.decode.spans import assert_prefixes_refused, pieces


def test_zstd_output_comes_in_bounded_blocks() -> None:
    raw = bytes(5 << 20)  # compresses to almost nothing
    data = encode.zstd(raw)
    assert len(data) < 2000
    sizes = list(map(len, inflate([data], "zstd")))
    assert sum(sizes) == len(raw)
    assert max(sizes) <= 1 << 20
    assert max(map(len, inflate([data], "zstd", Limits(frame_bytes=1000)))) <= 1000


def test_reads_concatenated_zstd_frames() -> None:
    data = encode.zstd(b"one") + encode.zstd(b"") + encode.zstd(b"two")
    assert b"".join(inflate([data], "zstd")) == b"onetwo"


def test_cut_zstd_frame_raises_truncated_error() -> None:
    data = encode.zstd(b"state " * 100)
    assert_prefixes_refused(lambda file: list(inflate([file], "zstd")), data, TruncatedError, 1)


def test_corrupt_zstd_frame_is_refused() -> None:
    with pytest.raises(FrameError, match="Zstandard frame: "):
        list(inflate([b"\x28\xb5\x2f\xfd" + b"\xff" * 40], "zstd"))
    with pytest.raises(FrameError, match="got b'no f', expected a Zstandard frame"):
        list(inflate([b"no frame at all"], "zstd"))


@pytest.mark.parametrize("cut", [1, 3, 100])
@pytest.mark.parametrize("first", [0x22, 0x23, 0x24, 0x25, 0x26, 0x27])
def test_zstd_formats_before_1_0_are_refused(first: int, cut: int) -> None:
    """The magic number differs in one or two bits. The library reads some of these formats.

    Whether it does depends on where its input is cut. Found by Atheris.
    """
    data = bytes([first]) + b"\xb5\x2f\xfd\x00\xff\xffX"
    with pytest.raises(FrameError, match="expected a Zstandard frame") as caught:
        list(inflate(pieces(data, cut), "zstd"))
    assert caught.value.offset == 0


def test_read_without_a_size_reads_to_the_end() -> None:
    reader = _Reader(Source([b"abcdefgh", b"ijk"]), b"prefix")
    assert reader.read() == b"prefixabcdefghijk"
    assert reader.read() == b""
