"""Deleted ranges as disjoint ones."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.sst.live import Tombstones
from inspector.decode.sst.table import RangeDeletion
from tests.decode.spans import parts_of

KEYS = [b"", b"a", b"ab", b"b", b"c", b"d"]
RANGES = st.lists(
    st.builds(RangeDeletion, st.sampled_from(KEYS), st.sampled_from(KEYS), st.integers(1, 50)),
    max_size=8,
)


def ranges_of(result: Tombstones) -> list[tuple[bytes, bytes, int]]:
    bounds = parts_of(result.buffer, result.offset, result.length)
    return list(zip(bounds[::2], bounds[1::2], result.sequence.tolist(), strict=True))


def test_newest_deletion_of_overlapping_ranges() -> None:
    first, second = RangeDeletion(b"a", b"d", 5), RangeDeletion(b"b", b"c", 9)
    expected = [(b"a", b"b", 5), (b"b", b"c", 9), (b"c", b"d", 5)]
    assert ranges_of(Tombstones.of([first, second])) == expected
    assert ranges_of(Tombstones.of([second, first, first])) == expected
    assert len(Tombstones.of([])) == 0


@given(RANGES)
def test_tombstones_are_disjoint_with_equal_coverage(deletions: list[RangeDeletion]) -> None:
    ranges = ranges_of(Tombstones.of(deletions))
    assert all(start < end for start, end, _ in ranges)
    assert all(first[1] <= second[0] for first, second in pairwise(ranges))
    for key in KEYS:
        covering = [item.sequence for item in deletions if item.start <= key < item.end]
        newest = [sequence for start, end, sequence in ranges if start <= key < end]
        assert newest == sorted(covering)[-1:]
