"""Row checksums within records; damaged ones in whole files are tested with the records."""

from __future__ import annotations

import struct

import google_crc32c
import numpy as np
import pytest

from inspector.decode.records import strip_and_verify
from inspector.exceptions import RecordError


def summed(data: bytes) -> bytes:
    return struct.pack("<I", google_crc32c.value(data))


PUT = b"key1" + summed(b"key1value") + b"value"
REMOVAL = summed(b"key2") + b"key2"


def spans() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    removal = len(PUT)
    return np.array([[0, removal], [4, 8], [4, 0], [9, -1]], np.int64)


def test_matching_checksums_are_stripped_from_spans() -> None:
    result = spans()
    assert strip_and_verify(PUT + REMOVAL, result, 0) == ()
    assert result.tolist() == [[0, len(PUT) + 4], [4, 4], [8, 0], [5, -1]]


@pytest.mark.parametrize(("at", "record"), [(0, 0), (8, 0), (len(PUT) + 4, 1), (len(PUT), 1)])
def test_changed_byte_is_a_mismatch_of_its_record(at: int, record: int) -> None:
    damaged = bytearray(PUT + REMOVAL)
    damaged[at] ^= 1
    assert strip_and_verify(bytes(damaged), spans(), 0) == (record,)


def test_value_too_short_for_a_checksum_raises_at_its_key() -> None:
    short = spans()
    short[3, 0] = 3
    with pytest.raises(RecordError, match="no room for a row checksum") as caught:
        strip_and_verify(PUT + REMOVAL, short, 100)
    assert caught.value.offset == 100
