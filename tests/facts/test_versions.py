"""Facts of versions. They add, so any split of the work gives the same totals."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.arrays import Int64s
from inspector.decode.records import RecordBlock
from inspector.facts.fact import FactColumns, Observed
from inspector.facts.registry import fact_batches, facts_in
from inspector.facts.size_distributions import LiveSizes, SizeCounts
from inspector.facts.versions import (
    COUNTS,
    HISTOGRAMS,
    VersionFacts,
    measure_version,
    measure_versions,
)
from inspector.light_dataclasses import replace
from inspector.model import StoreId
from inspector.state.replay import NO_CLOCK, StateMap, Tracking
from tests.cases import KERNELS, Step, block, kernel_of, replay
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
def test_version_facts_add(a: VersionFacts, b: VersionFacts, c: VersionFacts) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + VersionFacts() == a
    assert (a + b).previous_row_bytes == a.previous_row_bytes + b.previous_row_bytes
    assert (a + b).row_bytes == a.row_bytes + b.row_bytes
    assert (a + b).two_versions_bytes == a.two_versions_bytes + b.two_versions_bytes
    unshared = a.two_versions_unshared_bytes + b.two_versions_unshared_bytes
    assert (a + b).two_versions_unshared_bytes == unshared


KEYS = [number.to_bytes(8, "big") for number in range(6)]
deltas = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from([b"", b"v" * 8, b"w" * 8, None])), max_size=12
)


@given(
    history=st.lists(deltas, min_size=1, max_size=4),
    partition=st.lists(st.integers(0, 2), min_size=6, max_size=6),
)
def test_version_facts_are_the_sum_over_partitions(
    history: list[list[Record]], partition: list[int]
) -> None:
    of_key = dict(zip(KEYS, partition, strict=True))
    _, _, complete = replay(list(map(Step, history)))
    split = [[[r for r in delta if of_key[r[0]] == n] for delta in history] for n in range(3)]
    first, second, third = (replay(map(Step, deltas))[2] for deltas in split)
    for delta, facts, *of_partitions in zip(history, complete, first, second, third, strict=True):
        total = reduce(VersionFacts.__add__, of_partitions)
        # Every partition writes a delta.
        assert total == replace(facts, stores=3, empty_deltas=total.empty_deltas)
        assert facts.empty_deltas == (delta == [])


def test_two_versions_bytes_count_shared_rows_once() -> None:
    remaining, put_over, gone, fresh = KEYS[:4]
    _, _, facts = replay(
        [
            Step([(remaining, b"v" * 16), (put_over, b"v" * 16), (gone, b"v" * 16)]),
            Step([(put_over, b"w" * 24), (gone, None), (fresh, b"v" * 8)]),
        ]
    )
    now = facts[1]
    assert (now.row_bytes, now.previous_row_bytes) == (8 * 3 + 16 + 24 + 8, (8 + 16) * 3)
    assert now.two_versions_unshared_bytes == 72 + 72
    # Shared: the key and value of the first, the key of the second.
    assert (now.shared_rows, now.shared_keys) == (1, 2)
    assert now.two_versions_bytes == 144 - (8 + 16) - 8


def test_file_bytes_are_copied_to_version_facts() -> None:
    state, sizes = StateMap(), LiveSizes()
    state.begin(1)
    files = {"delta_bytes": 5, "snapshot_bytes": 6, "raw_bytes": 7}
    facts = measure_version(state.end(), state, sizes, files)
    assert facts == VersionFacts(
        stores=1, empty_deltas=1, delta_bytes=5, snapshot_bytes=6, raw_bytes=7
    )


def test_version_loaded_from_a_snapshot_has_no_changes() -> None:
    _, _, facts = replay([Step([(b"k", b"v")]), Step([(b"k", b"v"), (b"l", b"v")], rebase=True)])
    assert facts[1] == VersionFacts(
        stores=1,
        rebased=1,
        rows=2,
        key_bytes=2,
        value_bytes=2,
        key_sizes=SizeCounts(Counter({1: 2})),
        value_sizes=SizeCounts(Counter({1: 2})),
        row_sizes=SizeCounts(Counter({2: 2})),
    )


def sizes_as_clocks(block: RecordBlock) -> Int64s:
    return np.where(block.value_length < 0, NO_CLOCK, block.value_length)


@pytest.mark.parametrize("name", KERNELS)
@given(
    versions=st.lists(deltas, min_size=4, max_size=9),
    alone=st.integers(0, 3),
    clock=st.sampled_from([None, sizes_as_clocks]),
)
def test_versions_applied_together_equal_versions_applied_singly(
    name: str, versions: list[list[Record]], alone: int, clock: Any
) -> None:
    store = StoreId(0, "s", 0)
    with kernel_of(name):
        expected, changes, facts = replay(map(Step, versions), Tracking(clock))
        state, sizes = StateMap(Tracking(clock)), LiveSizes()
        for version, records in enumerate(versions[:alone], 1):
            state.begin(version)
            state.apply(block(records))
            measure_version(state.end(), state, sizes, {})
        remainder = versions[alone:]
        ends = np.cumsum(list(map(len, remainder)), dtype=np.int64)
        numbers = range(alone + 1, len(versions) + 1)
        together = state.apply_ahead(block(list(chain(*remainder))), ends, numbers)
    files = dict.fromkeys(("delta_bytes", "snapshot_bytes", "raw_bytes"), ends * 0)
    columns = measure_versions(together, sizes, files)
    batches = fact_batches([FactColumns(VersionFacts, store, together.versions, columns)])
    expected_facts = map(Observed, repeat(store), numbers, facts[alone:])
    assert list(chain(*map(facts_in, batches))) == list(expected_facts)
    for change, item in zip(together.iterate(), changes[alone:], strict=True):
        assert replace(change, sums=item.sums) == item
    assert (state.rows, state.versions, state.records) == (
        expected.rows,
        expected.versions,
        expected.records,
    )
    count = len(expected)
    assert (state._table[:count] == expected._table[:count]).all()
    assert state.list_touched_keys().ids.tolist() == expected.list_touched_keys().ids.tolist()
