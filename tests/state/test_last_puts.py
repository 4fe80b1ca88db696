"""Positions of the live rows of a chain of files, compared with a dict."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.records import RecordBlock
from inspector.state.live_records import LastPuts, Positions
from tests import cases
from tests.cases import KERNELS, kernel_of
from tests.encode import Record
from tests.state.support import last_puts

KEYS = (b"", b"a" * 8, b"b" * 8, b"c" * 16)
records = st.lists(st.tuples(st.sampled_from(KEYS), st.binary(max_size=2) | st.none()), max_size=12)
cuts = st.lists(st.integers(1, 11), max_size=3)


def learnt(files: list[list[Record]], cut: list[int]) -> Positions:
    """Return the positions of the live rows of some files."""
    puts = LastPuts()
    for number, entries in enumerate(files):
        learn(puts, number, entries, cut)
    return puts.finish()


def learn(puts: LastPuts, number: int, entries: list[Record], cut: list[int]) -> None:
    for block in cases.blocks(entries, cut):
        puts.learn(number, block, block.ordinals)


def live_in(positions: Positions, number: int, block: RecordBlock) -> list[bool]:
    """Return whether each record of a block is a live row."""
    rows, _ = positions.find(number, block.ordinals)
    live: list[bool] = np.isin(np.arange(block.count), rows).tolist()
    return live


@pytest.mark.parametrize("name", KERNELS)
@given(files=st.lists(records, max_size=5), cut=cuts, other_cut=cuts)
def test_live_rows_are_the_last_puts_not_removed(
    name: str, files: list[list[Record]], cut: list[int], other_cut: list[int]
) -> None:
    with kernel_of(name):
        positions = learnt(files, cut)
    live = set(last_puts(files).values())
    for number, entries in enumerate(files):
        parts = [live_in(positions, number, b) for b in cases.blocks(entries, other_cut)]
        expected = [(number, record) in live for record in range(len(entries))]
        assert list(chain(*parts)) == expected
        assert positions.has_any_in(number) == any(expected)
    assert len(positions.sorted) == len(live)


def test_file_after_the_chain_has_no_live_row() -> None:
    positions = learnt([[(b"a", b"v")]], [])
    assert not positions.has_any_in(1)
    assert live_in(positions, 1, cases.block([(b"a", b"v")])) == [False]


def test_last_puts_grow_beyond_planned_keys() -> None:
    keys = [number.to_bytes(8, "little") for number in range(3000)]
    puts: list[Record] = [*dict.fromkeys(keys, b"").items()]
    removals: list[Record] = [*dict.fromkeys(keys[:1000]).items()]
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
        learn(puts, number, entries, cut)
        seen += entries
        assert puts.is_distinct == (
            len(dict(seen)) == len(seen) and None not in dict(seen).values()
        )
