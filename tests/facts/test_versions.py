"""Facts add, so that any split of the work gives the same totals."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.sizes import LiveSizes, SizeCounts
from inspector.facts.versions import COUNTS, HISTOGRAMS, VersionFacts, measure_version
from inspector.state.replay import StateMap
from tests.cases import Step, replay
from tests.encode import Record

histograms = st.dictionaries(st.integers(0, 9), st.integers(1, 9)).map(
    lambda counts: SizeCounts(Counter(counts))
)


@st.composite
def any_facts(draw: st.DrawFn) -> VersionFacts:
    facts: dict[str, Any] = {name: draw(st.integers(0, 1 << 40)) for name in COUNTS}
    facts |= {name: draw(histograms) for name in HISTOGRAMS}
    return VersionFacts(**facts)


@given(any_facts(), any_facts(), any_facts())
def test_facts_add(a: VersionFacts, b: VersionFacts, c: VersionFacts) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + VersionFacts() == a
    assert (a + b).previous_row_bytes == a.previous_row_bytes + b.previous_row_bytes
    for derived in ("row_bytes", "two_versions_bytes", "two_versions_unshared_bytes"):
        assert getattr(a + b, derived) == getattr(a, derived) + getattr(b, derived)


KEYS = [number.to_bytes(8, "big") for number in range(6)]
deltas = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from([b"", b"v" * 8, b"w" * 8, None])), max_size=12
)


@given(
    history=st.lists(deltas, min_size=1, max_size=4),
    partition=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_the_whole_is_the_sum_of_its_partitions(
    history: list[list[Record]], partition: list[int]
) -> None:
    of_key = dict(zip(KEYS, partition, strict=True))
    _, _, whole = replay([Step(records) for records in history])
    parts = [
        replay([Step([r for r in records if of_key[r[0]] == number]) for records in history])[2]
        for number in range(3)
    ]
    for version, facts in enumerate(whole):
        total = reduce(VersionFacts.__add__, [part[version] for part in parts], VersionFacts())
        # Every partition writes a delta, be it empty.
        empty = sum(part[version].empty_deltas for part in parts)
        assert vars(total) == vars(facts) | {"stores": 3, "empty_deltas": empty}
        assert facts.empty_deltas == (not history[version])


def test_the_bytes_of_two_versions_count_what_both_hold_once() -> None:
    kept, put_over, gone, fresh = (bytes([n]) * 8 for n in range(4))
    _, _, facts = replay(
        [
            Step([(kept, b"v" * 16), (put_over, b"v" * 16), (gone, b"v" * 16)]),
            Step([(put_over, b"w" * 24), (gone, None), (fresh, b"v" * 8)]),
        ]
    )
    now = facts[1]
    assert (now.row_bytes, now.previous_row_bytes) == (8 * 3 + 16 + 24 + 8, (8 + 16) * 3)
    assert now.two_versions_unshared_bytes == 72 + 72
    # Shared: the key and value of the first, the key of the second.
    assert (now.shared_rows, now.shared_keys) == (1, 2)
    assert now.two_versions_bytes == 144 - (8 + 16) - 8


def test_the_bytes_of_the_files_are_told_as_they_are_given() -> None:
    state, sizes = StateMap(), LiveSizes()
    state.begin(1)
    files = {"delta_bytes": 5, "snapshot_bytes": 6, "raw_bytes": 7}
    facts = measure_version(state.end(), state, sizes, files)
    assert facts == VersionFacts(
        stores=1, empty_deltas=1, delta_bytes=5, snapshot_bytes=6, raw_bytes=7
    )


def test_a_version_loaded_from_a_snapshot_tells_no_change() -> None:
    _, _, facts = replay([Step([(b"k", b"v")]), Step([(b"k", b"v"), (b"l", b"v")], rebase=True)])
    assert (facts[1].rebased, facts[1].rows, facts[1].row_bytes) == (1, 2, 4)
    change = (
        "puts",
        "empty_deltas",
        "new_rows",
        "shared_rows",
        "shared_key_bytes",
        "previous_row_bytes",
    )
    assert [getattr(facts[1], name) for name in change] == [0] * 6
