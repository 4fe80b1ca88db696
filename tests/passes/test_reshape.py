"""Parcels of rows, which move from the tasks that read to the tasks that write."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.records import RecordBlock
from inspector.passes import reshape
from inspector.passes.binary_columns import records_of
from inspector.passes.reshape import Parcel, SentRows, unpack
from tests.attributes import attributes

entries = st.lists(st.tuples(st.binary(max_size=9), st.binary(max_size=9)), max_size=30)


def parcels_of(rows: list[tuple[bytes, bytes]], targets: list[int]) -> list[Parcel]:
    """The parcels of rows with these new partitions, of five."""
    packer = reshape._Packer("default", 5)
    block = RecordBlock.of_rows(rows)
    added = packer.add(block, block.ordinals, np.array(targets, np.int64))
    return [*added, *packer.flush()]


def rows_of(parcel: Parcel) -> list[tuple[bytes, bytes]]:
    block = unpack(parcel.data)
    return list(records_of(block, block.ordinals))


@given(entries, st.data())
def test_parcels_have_every_row_once_in_its_partition(
    rows: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    of_rows = st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows))
    targets = data.draw(of_rows)
    parcels = parcels_of(rows, targets)
    actual = dict(zip(attributes(parcels, "target"), map(rows_of, parcels), strict=True))
    assert len(actual) == len(parcels)
    expected: dict[int, list[tuple[bytes, bytes]]] = {}
    for target, row in zip(targets, rows, strict=True):
        expected.setdefault(target, []).append(row)
    assert actual == expected


@given(st.binary(max_size=80))
def test_bytes_that_are_no_parcel_are_an_error(data: bytes) -> None:
    with suppress(OSError):
        unpack(data)


def test_cut_parcel_is_an_error() -> None:
    (parcel,) = parcels_of([(b"key", b"value")], [3])
    for size in range(len(parcel.data)):
        with pytest.raises(OSError, match="cannot be unpacked"):
            unpack(parcel.data[:size])


def test_rows_that_arrive_are_those_of_the_store() -> None:
    (first,), (second,) = parcels_of([(b"a", b"v")], [0]), parcels_of([(b"b", b"v")], [0])
    sent = SentRows(["left", "empty", "right"], [(0, first.data), (2, second.data)])
    assert attributes(sent.blocks("left"), "count") == [1]
    assert attributes(sent.blocks("empty"), "count") == []
    assert attributes(sent.blocks("right"), "count") == [1]
