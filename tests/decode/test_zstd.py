"""Zstandard as Spark writes it: streamed frames without a content size."""

from __future__ import annotations

import pytest

from inspector.decode._source import Source
from inspector.decode.frames import inflate
from inspector.decode.zstd import _Reader
from inspector.exceptions import FrameError, TruncatedError
from inspector.model import Limits
from tests import encode


def test_zstd_output_comes_in_bounded_blocks() -> None:
    raw = bytes(5 << 20)  # compresses to almost nothing
    data = encode.zstd(raw)
    assert len(data) < 2000
    sizes = [len(block) for block in inflate([data], "zstd")]
    assert sum(sizes) == len(raw)
    assert max(sizes) <= 1 << 20
    limits = Limits(frame_bytes=1000)
    assert max(len(block) for block in inflate([data], "zstd", limits)) <= 1000


def test_reads_concatenated_zstd_frames() -> None:
    data = encode.zstd(b"one") + encode.zstd(b"") + encode.zstd(b"two")
    assert b"".join(inflate([data], "zstd")) == b"onetwo"


def test_cut_zstd_frame_raises_truncated_error() -> None:
    data = encode.zstd(b"state " * 100)
    for size in range(1, len(data)):
        with pytest.raises(TruncatedError, match="cut short"):
            list(inflate([data[:size]], "zstd"))


def test_corrupt_zstd_frame_is_refused() -> None:
    with pytest.raises(FrameError, match="Zstandard frame: "):
        list(inflate([b"\x28\xb5\x2f\xfd" + b"\xff" * 40], "zstd"))
    with pytest.raises(FrameError, match="got b'no f', expected a Zstandard frame"):
        list(inflate([b"no frame at all"], "zstd"))


@pytest.mark.parametrize("cut", [1, 3, 100])
@pytest.mark.parametrize("first", [0x22, 0x23, 0x24, 0x25, 0x26, 0x27])
def test_zstd_formats_before_1_0_are_refused(first: int, cut: int) -> None:
    """A bit or two away; the library reads some of them, by where its input is cut. By Atheris."""
    data = bytes([first]) + b"\xb5\x2f\xfd\x00\xff\xffX"
    pieces = [data[at : at + cut] for at in range(0, len(data), cut)]
    with pytest.raises(FrameError, match="expected a Zstandard frame") as caught:
        list(inflate(pieces, "zstd"))
    assert caught.value.offset == 0


def test_read_without_a_size_reads_to_the_end() -> None:
    reader = _Reader(Source([b"abcdefgh", b"ijk"]), b"prefix")
    assert reader.read() == b"prefixabcdefghijk"
    assert reader.read() == b""
