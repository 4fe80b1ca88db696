"""Keys that differ between two versions, against plain dicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.state.key_range import RangeFilter, passes_of, select_range
from inspector.state.live_records import Compared, Differences, TwoVersions
from tests.cases import blocks
from tests.encode import Record

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


def state(contents: Sequence[Sequence[Record]]) -> dict[bytes, tuple[bytes, tuple[int, int]]]:
    """Key -> value and place."""
    result: dict[bytes, tuple[bytes, tuple[int, int]]] = {}
    for number, entries in enumerate(contents):
        for i, (key, value) in enumerate(entries):
            if value is None:
                result.pop(key, None)
            else:
                result[key] = (value, (number, i))
    return result


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
    was, now = state(old), state(new)
    differ = Differences.join(parts)
    places = {
        "added": (
            Compared.NEW,
            differ.ids["added"],
            {k: v for k, v in now.items() if k not in was},
        ),
        "removed": (
            Compared.OLD,
            differ.ids["removed"],
            {k: v for k, v in was.items() if k not in now},
        ),
        "changed": (
            Compared.NEW,
            differ.ids["changed"],
            {k: v for k, v in now.items() if k in was and was[k][0] != v[0]},
        ),
    }
    for side, ids, expected in places.values():
        assert sorted(differ.value_sizes(side, ids)) == sorted(len(v) for v, _ in expected.values())
        assert differ.key_sizes[ids].sum() == sum(map(len, expected))
        positions, _ = differ.places(side, ids)
        where = {
            (number, int(i))
            for number in range(len(new) + len(old))
            for i in positions.find(number, np.arange(20))[0]
        }
        assert where == {location for _, location in expected.values()}
        assert all(positions.has_any_in(number) for number, _ in where)


def test_forgotten_version_has_no_keys() -> None:
    keys = TwoVersions()
    learn(keys, Compared.OLD, [[(b"k", b"v")]])
    learn(keys, Compared.NEW, [[(b"k", b"v")]])
    assert not len(keys.differences().ids["added"])
    keys.forget(Compared.OLD)
    assert len(keys.differences().ids["added"]) == 1
