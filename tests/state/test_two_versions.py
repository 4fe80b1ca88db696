"""Keys that differ between two versions, compared with dicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.state.key_range import RangeFilter, passes_of, select_range
from inspector.state.live_records import Compared, Differences, TwoVersions
from tests.cases import blocks
from tests.encode import Record
from tests.state.support import last_puts

records = st.lists(
    st.tuples(
        st.sampled_from([b"", b"k1", b"k2", b"k3"]), st.none() | st.sampled_from([b"a", b""])
    ),
    max_size=8,
)
files = st.lists(records, max_size=3)


def learn(
    keys: TwoVersions,
    side: Compared,
    contents: Sequence[Sequence[Record]],
    first: int = 0,
    key_range: RangeFilter | None = None,
) -> None:
    for number, entries in enumerate(contents, first):
        complete = ((item, item.ordinals) for item in blocks(entries, (3,)))
        for block, ordinals in select_range(complete, key_range):
            keys.learn(side, number, block, ordinals)


@given(files, files, st.booleans(), st.integers(1, 3))
def test_differences_of_two_versions_match_dicts(
    old: list[list[Record]], more: list[list[Record]], shared: bool, passes: int
) -> None:
    parts = []
    for key_range in passes_of(passes):
        keys = TwoVersions()
        learn(keys, Compared.OLD, old, key_range=key_range)
        if shared:
            keys.start_from_old()
            learn(keys, Compared.NEW, more, len(old), key_range)
        else:
            learn(keys, Compared.NEW, more, key_range=key_range)
        parts.append(keys.differences())
    new = [*old, *more] if shared else more
    was, now = last_puts(old), last_puts(new)
    differ = Differences.join(parts)
    old_values, new_values = dict(was.keys()), dict(now.keys())
    added, removed = new_values.keys() - old_values, old_values.keys() - new_values
    changed = dict(now.keys() - was).keys() - added
    assert rows_of(differ, Compared.NEW, "added") == expected_rows(now, added)
    assert rows_of(differ, Compared.OLD, "removed") == expected_rows(was, removed)
    assert rows_of(differ, Compared.NEW, "changed") == expected_rows(now, changed)


Rows = tuple[list[int], list[int], list[tuple[int, int]]]
"""Sizes of keys, sizes of values, and positions of some rows, each sorted."""


def rows_of(differ: Differences, side: Compared, kind: str) -> Rows:
    """Return the rows of one kind of difference."""
    ids = differ.ids[kind]
    positions, _ = differ.places(side, ids)
    places = [(n, i) for n in range(6) for i in positions.find(n, np.arange(20))[0].tolist()]
    return sorted(differ.key_sizes[ids]), sorted(differ.value_sizes(side, ids)), places


def expected_rows(puts: dict[tuple[bytes, bytes], tuple[int, int]], keys: Iterable[bytes]) -> Rows:
    """Return the rows of some keys of a version."""
    rows = [(len(key), len(value), at) for (key, value), at in puts.items() if key in keys]
    key_sizes, value_sizes, places = zip(*rows, strict=True) if rows else ((), (), ())
    return sorted(key_sizes), sorted(value_sizes), sorted(places)


def test_forgotten_version_has_no_keys() -> None:
    keys = TwoVersions()
    learn(keys, Compared.OLD, [[(b"k", b"v")]])
    learn(keys, Compared.NEW, [[(b"k", b"v")]])
    assert not len(keys.differences().ids["added"])
    keys.forget(Compared.OLD)
    assert len(keys.differences().ids["added"]) == 1
