"""Ranges of a file: what is there, what is not."""

from __future__ import annotations

import pytest

from inspector.decode.sst.footer import read_exactly
from inspector.exceptions import TruncatedError
from tests.decode.sst.tables import BytesSource


class Shrunk(BytesSource):
    """A file that has become shorter since its size was asked."""

    def read(self, offset: int, length: int, /) -> bytes:
        return super().read(offset, length)[:-1]


def test_ranges_within_the_file_are_read() -> None:
    source = BytesSource(b"0123456789")
    assert read_exactly(source, 3, 4, "block") == b"3456"
    assert read_exactly(source, 10, 0, "block") == b""


@pytest.mark.parametrize(("offset", "length"), [(-1, 1), (0, 11), (10, 1), (11, 0), (3, -1)])
def test_ranges_outside_of_the_file_are_refused(offset: int, length: int) -> None:
    with pytest.raises(TruncatedError, match=f"block of {length} bytes, the file has 10"):
        read_exactly(BytesSource(b"0123456789"), offset, length, "block")


def test_file_that_became_shorter_is_refused() -> None:
    with pytest.raises(TruncatedError, match=r"^byte 3: block: got 3 bytes, expected 4"):
        read_exactly(Shrunk(b"0123456789"), 3, 4, "block")
