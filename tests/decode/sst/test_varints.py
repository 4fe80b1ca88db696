"""Integers of a table: what ends, what has too many bits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.sst.footer import Varints
from inspector.exceptions import RecordError
from tests.decode.sst.tables import varint


@given(st.lists(st.integers(0, (1 << 64) - 1)))
def test_varints_are_read_in_sequence(values: list[int]) -> None:
    varints = Varints(b"x" + b"".join(map(varint, values)), 0, 1)
    assert [varints.next("number") for _ in values] == values
    assert varints.remaining == 0


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff" * 9 + b"\x02", b"\x80" * 10 + b"\x00"])
def test_malformed_varints_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError, match=r"^byte 107: a size: no integer") as caught:
        Varints(b"1234567" + data, 100, 7).next("a size")
    assert caught.value.offset == 107


def test_missing_bytes_are_refused() -> None:
    varints = Varints(b"abcdef", 10)
    assert varints.bytes(4, "key") == b"abcd"
    with pytest.raises(RecordError, match=r"^byte 14: key of 3 bytes where 2 are left"):
        varints.bytes(3, "key")
