"""Positions of the live rows of a chain of files, against a dict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.records import RecordBlock
from inspector.state.live_records import LastPuts, Positions, positions_of
from tests import cases
from tests.cases import KERNELS, kernel_of
from tests.encode import Record

KEYS = (b"", b"a" * 8, b"b" * 8, b"c" * 16)
records = st.lists(st.tuples(st.sampled_from(KEYS), st.binary(max_size=2) | st.none()), max_size=12)
cuts = st.lists(st.integers(1, 11), max_size=3)


def learnt(files: list[list[Record]], cut: list[int]) -> Positions:
    puts = LastPuts()
    for number, entries in enumerate(files):
        for block in cases.blocks(entries, cut):
            puts.learn(number, block, block.ordinals)
    return puts.finish()


def live_in(positions: Positions, number: int, block: RecordBlock) -> list[bool]:
    rows, _ = positions.find(number, block.ordinals)
    return [i in rows for i in range(block.count)]


@pytest.mark.parametrize("name", KERNELS)
@given(files=st.lists(records, max_size=5), cut=cuts, other_cut=cuts)
def test_live_rows_are_the_last_puts_not_removed(
    name: str, files: list[list[Record]], cut: list[int], other_cut: list[int]
) -> None:
    with kernel_of(name):
        positions = learnt(files, cut)
    live: dict[bytes, tuple[int, int]] = {}
    for number, entries in enumerate(files):
        for record, (key, value) in enumerate(entries):
            live.pop(key, None)
            if value is not None:
                live[key] = (number, record)
    result: list[tuple[int, int]] = []
    for number, entries in enumerate(files):
        mask = [m for b in cases.blocks(entries, other_cut) for m in live_in(positions, number, b)]
        assert len(mask) == len(entries)
        result += [(number, record) for record, is_live in enumerate(mask) if is_live]
        assert positions.has_any_in(number) == any(mask)
    assert result == sorted(live.values())
    assert len(positions.sorted) == len(live)


def test_file_after_the_chain_has_no_live_row() -> None:
    positions = learnt([[(b"a", b"v")]], [])
    assert not positions.has_any_in(1)
    assert live_in(positions, 1, cases.block([(b"a", b"v")])) == [False]


def test_last_puts_grow_beyond_planned_keys() -> None:
    keys = [number.to_bytes(8, "little") for number in range(3000)]
    puts: list[Record] = [(key, b"") for key in keys]
    removals: list[Record] = [(key, None) for key in keys[:1000]]
    positions = learnt([puts, removals], [900, 1800, 2700])
    assert len(positions.sorted) == 2000
    assert live_in(positions, 0, cases.block(puts)) == [False] * 1000 + [True] * 2000


@pytest.mark.parametrize("record", [0, 1, (1 << 32) + 5])
def test_positions_use_record_ordinals_of_the_file(record: int) -> None:
    puts = LastPuts()
    block = cases.block([(b"a", b"v")], record)
    puts.learn(7, block, block.ordinals)
    positions = puts.finish()
    assert live_in(positions, 7, cases.block([(b"a", b"v")], record)) == [True]
    assert live_in(positions, 7, cases.block([(b"a", b"v")], record + 1)) == [False]
    assert live_in(positions, 8, cases.block([(b"a", b"v")], record)) == [False]


@given(files=st.lists(records, max_size=3), cut=cuts)
def test_puts_of_different_keys_are_distinct(files: list[list[Record]], cut: list[int]) -> None:
    puts = LastPuts()
    seen: list[Record] = []
    assert puts.is_distinct
    for number, entries in enumerate(files):
        for block in cases.blocks(entries, cut):
            puts.learn(number, block, block.ordinals)
        seen += entries
        keys = [key for key, _ in seen]
        is_all_puts = all(value is not None for _, value in seen)
        assert puts.is_distinct == (is_all_puts and len(set(keys)) == len(keys))


@given(
    held=st.sets(st.tuples(st.integers(0, 2), st.integers(0, 20))),
    ordinals=st.sets(st.integers(0, 20)),
    number=st.integers(0, 3),
)
def test_records_are_found_at_positions_with_gaps(
    held: set[tuple[int, int]], ordinals: set[int], number: int
) -> None:
    pairs, sought = sorted(held), sorted(ordinals)
    places = [positions_of(file, np.array([record])) for file, record in pairs]
    positions = Positions(np.concatenate([np.empty(0, np.int64), *places]))
    rows, indexes = positions.find(number, np.array(sought, np.int64))
    assert rows.tolist() == [i for i, n in enumerate(sought) if (number, n) in held]
    assert [pairs[i] for i in indexes] == [(number, n) for n in sought if (number, n) in held]
