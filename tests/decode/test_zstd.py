"""Zstandard as Spark writes it: streamed frames without a content size."""

from __future__ import annotations

import pytest

from inspector.decode.frames import inflate
from inspector.exceptions import FrameError, TruncatedError
from inspector.model import Limits
from tests import encode


def test_output_comes_in_bounded_pieces() -> None:
    raw = bytes(5 << 20)  # compresses to almost nothing
    data = encode.zstd(raw)
    assert len(data) < 2000
    sizes = [len(block) for block in inflate([data], "zstd")]
    assert sum(sizes) == len(raw)
    assert max(sizes) <= 1 << 20
    limits = Limits(frame_bytes=1000)
    assert max(len(block) for block in inflate([data], "zstd", limits)) <= 1000


def test_frames_may_follow_one_another() -> None:
    data = encode.zstd(b"one") + encode.zstd(b"") + encode.zstd(b"two")
    assert b"".join(inflate([data], "zstd")) == b"onetwo"


def test_a_frame_that_is_cut() -> None:
    data = encode.zstd(b"state " * 100)
    for size in range(1, len(data)):
        with pytest.raises(TruncatedError, match="cut short"):
            list(inflate([data[:size]], "zstd"))


def test_a_corrupt_frame() -> None:
    with pytest.raises(FrameError, match="Zstandard frame: "):
        list(inflate([b"\x28\xb5\x2f\xfd" + b"\xff" * 40], "zstd"))
    with pytest.raises(FrameError, match="Zstandard frame: "):
        list(inflate([b"no frame at all"], "zstd"))
