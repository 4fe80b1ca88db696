"""The heap of one and of several versions, by formulas and by real objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.estimates.heap import (
    READ_AND_WRITE,
    Heap,
    HeapFacts,
    Layout,
    Part,
    StoreHeap,
    of_rows,
    table_slots,
)
from inspector.facts.heap_prefixes import PrefixFacts
from inspector.facts.size_distributions import SizeCounts
from inspector.facts.versions import VersionFacts
from tests.attributes import attributes
from tests.cases import ObjectMap, Row, Step, replay
from tests.encode import Record

LAYOUT = Layout.of()
OLD_SPARK = Layout.of(spark="4.1.4")

# 100,000 rows with keys of 16 and values of 24 bytes; 10,000 of them put again in the last batch.
FIRST = VersionFacts(
    rows=100_000, key_bytes=1_600_000, value_bytes=2_400_000, new_rows=100_000, inserts=100_000
)
LAST = VersionFacts(
    rows=100_000,
    key_bytes=1_600_000,
    value_bytes=2_400_000,
    changed_rows=10_000,
    puts=10_000,
    updates=10_000,
    shared_rows=90_000,
    shared_keys=100_000,
    shared_key_bytes=1_600_000,
    shared_value_bytes=2_160_000,
)
TWO = {7: FIRST, 8: LAST}


# --- formulas ----------------------------------------------------------------------------------


def test_heap_of_one_version() -> None:
    rows = 100_000 * (40 + (16 + 16) + 40 + (16 + 24) + 16 + 32)
    assert StoreHeap(TWO, LAYOUT, 1).held.total == rows + (16 + 4 * 524_288) + 64 + 24
    assert (
        StoreHeap(TWO, OLD_SPARK, 1).held.total
        == rows - 100_000 * 16 + (16 + 4 * 524_288) + 64 + 24
    )


def test_heap_of_two_versions_adds_nodes_table_and_replaced_rows() -> None:
    item, two = StoreHeap(TWO, LAYOUT, 1).held, StoreHeap(TWO, LAYOUT, 2).held
    before = 32 * 100_000 + 16 + 4 * table_slots(0, built_by_put=False, peak=100_000) + 88
    put_over = 10_000 * (40 + 40 + 16)
    assert two.total == item.total + before + put_over


def test_heap_objects_match_a_class_histogram() -> None:
    """A class histogram of Spark 4.3.0 had 210,000 UnsafeRow and 110,000 StateStoreRow objects."""
    two = StoreHeap(TWO, LAYOUT, 2).held
    assert two.unsafe_rows == Part(210_000, 210_000 * 40)
    assert two.byte_arrays.objects == 210_000
    assert two.wrappers == Part(110_000, 110_000 * 16)
    assert two.nodes == Part(200_000, 200_000 * 32)
    assert (two.tables.objects, two.maps) == (2, Part(4, 176))
    assert two.objects == 210_000 * 2 + 110_000 + 200_000 + 2 + 4


def test_removed_rows_are_held_by_the_previous_version() -> None:
    gone = replace(
        LAST,
        rows=99_000,
        key_bytes=1_584_000,
        value_bytes=2_376_000,
        removed_rows=1_000,
        shared_rows=89_000,
        shared_keys=99_000,
        shared_key_bytes=1_584_000,
        shared_value_bytes=2_136_000,
    )
    objects = StoreHeap({7: FIRST, 8: gone}, LAYOUT, 2).distinct
    assert objects == HeapFacts(100_000, 1_600_000, 110_000, 2_640_000)


def test_table_of_the_first_version_is_built_by_puts() -> None:
    assert StoreHeap({1: FIRST}, LAYOUT, 1).held.tables == Part(1, 16 + 4 * 262_144)
    assert StoreHeap({1: VersionFacts()}, LAYOUT, 1).held.tables == Part(0, 0)
    assert StoreHeap({2: VersionFacts()}, LAYOUT, 1).held.tables == Part(1, 24)


def test_no_retained_versions_take_no_heap() -> None:
    assert StoreHeap(TWO, LAYOUT, 0).held == StoreHeap({}, LAYOUT, 2).held == Heap()
    assert StoreHeap({}, LAYOUT, 2).unshared == StoreHeap({}, LAYOUT, 2).peak == Heap()


# --- which versions ----------------------------------------------------------------------------


def test_retained_versions_are_the_newest() -> None:
    facts = dict.fromkeys(range(3, 9), LAST)
    assert StoreHeap(facts, LAYOUT, 2).known == [7, 8]
    assert StoreHeap(facts, LAYOUT, 100).known == [3, 4, 5, 6, 7, 8]
    assert StoreHeap(facts, LAYOUT, 0).known == []


def test_gap_or_snapshot_ends_the_known_versions() -> None:
    assert StoreHeap({3: LAST, 5: LAST, 6: LAST}, LAYOUT, 5).known == [5, 6]
    assert StoreHeap({4: LAST, 5: replace(LAST, rebased=1), 6: LAST}, LAYOUT, 5).known == [5, 6]


def test_table_of_a_version_loaded_from_a_snapshot() -> None:
    rebased = VersionFacts(rebased=1, rows=1000, key_bytes=8000, value_bytes=8000)
    assert StoreHeap({9: rebased}, LAYOUT, 2).held.tables == Part(1, 16 + 4 * 4096)


# --- during a batch ----------------------------------------------------------------------------


def test_peak_heap_adds_the_working_copy() -> None:
    three = {6: FIRST, 7: LAST, 8: LAST}
    copy = 32 * 100_000 + 16 + 4 * 524_288 + 88
    assert StoreHeap(three, LAYOUT, 2).peak == StoreHeap(three, LAYOUT, 3).held
    assert (
        StoreHeap(three, LAYOUT, 2, operator_name=READ_AND_WRITE[0]).peak.total
        == StoreHeap(three, LAYOUT, 2).peak.total + copy
    )


def test_peak_heap_includes_rows_to_be_removed() -> None:
    gone = replace(LAST, rows=99_000, removed_rows=1_500, new_rows=500, inserts=500)
    two = {7: FIRST, 8: gone}
    options = (
        StoreHeap(two, LAYOUT, 1).peak.nodes.objects - StoreHeap(two, LAYOUT, 2).held.nodes.objects
    )
    assert options == 1_500


def test_peak_heap_without_retained_versions() -> None:
    assert StoreHeap(TWO, LAYOUT, 0).peak == StoreHeap(TWO, LAYOUT, 1).peak


def test_peak_heap_of_the_first_batch() -> None:
    assert (
        StoreHeap({1: FIRST}, LAYOUT, 2, operator_name=READ_AND_WRITE[0]).peak
        == StoreHeap({1: FIRST}, LAYOUT, 1).held
    )


def test_peak_heap_after_a_snapshot_assumes_an_equal_previous_version() -> None:
    rebased = {9: VersionFacts(rebased=1, rows=1000, key_bytes=8000, value_bytes=8000)}
    copy = 32 * 1000 + 16 + 4 * 4096 + 88
    assert (
        StoreHeap(rebased, LAYOUT, 2).peak.total == StoreHeap(rebased, LAYOUT, 1).held.total + copy
    )


# --- session windows ---------------------------------------------------------------------------


def test_session_window_heap_has_a_set_for_each_prefix() -> None:
    facts = VersionFacts(rows=14, key_bytes=14 * 24, value_bytes=14 * 40, new_rows=14, inserts=14)
    sets = SizeCounts(Counter({1: 2, 12: 1}))  # two prefixes with one key, one with twelve
    prefixes = {1: PrefixFacts(3, 3 * 16, 3, 3 * 16, 0, sets)}
    plain, heap = (
        StoreHeap({1: facts}, LAYOUT, 1).held,
        StoreHeap({1: facts}, LAYOUT, 1, prefixes).held,
    )
    assert heap.unsafe_rows == Part(28 + 3, 31 * 40)
    assert heap.byte_arrays.bytes == plain.byte_arrays.bytes + 3 * (16 + 16)
    assert heap.nodes.objects == 14 + 3
    assert heap.tables == Part(2, plain.tables.bytes + 16 + 4 * 16)
    assert heap.prefixes == Part(3 + 3 + 14, 3 * 32 + 14 * 24 + 2 * (16 + 4 * 16) + (16 + 4 * 32))
    assert heap.maps == Part(3, 64 + 64 + 32)


def test_prefix_rows_are_shared_between_versions_but_sets_are_not() -> None:
    facts = {7: FIRST, 8: LAST}
    sets = SizeCounts(Counter({1: 100_000}))
    prefixes = {
        7: PrefixFacts(100_000, 800_000, 100_000, 800_000, 0, sets),
        8: PrefixFacts(100_000, 800_000, 0, 0, 0, sets),
    }
    two = StoreHeap(facts, LAYOUT, 2, prefixes).held
    assert two.unsafe_rows.objects == 210_000 + 100_000
    assert two.prefixes.objects == 2 * 300_000


# --- what if, and executors --------------------------------------------------------------------


def test_shorter_keys_save_whole_words() -> None:
    objects = HeapFacts(keys=10, key_bytes=320, values=30, prefixes=2)
    assert objects.shorter_keys_saving(17) == 12 * 16
    assert objects.shorter_keys_saving(7) == 0


def test_format_2_saves_the_key_in_each_value() -> None:
    objects = HeapFacts(keys=10, key_bytes=10 * (8 + 24), values=30)
    assert objects.format_2_saving(key_fields=3) == 30 * 24
    assert HeapFacts().format_2_saving(3) == 0


# --- properties --------------------------------------------------------------------------------

KEYS = [bytes([n]) * 8 for n in range(6)]
deltas = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from([b"v" * 8, b"w" * 16, None])), max_size=12
)
histories = st.lists(deltas, min_size=1, max_size=6)


def _versions(history: list[list[Record]]) -> dict[int, VersionFacts]:
    _, _, facts = replay([Step(records) for records in history])
    return dict(enumerate(facts, 1))


@given(histories)
def test_heap_objects_of_n_versions_match_object_maps(history: list[list[Record]]) -> None:
    spark, maps = ObjectMap(), []
    for records in history:
        spark.take(Step(records))
        maps.append(spark.now)
    versions = _versions(history)
    for n in range(len(history) + 1):
        newest = maps[len(maps) - n :]
        keys, key_bytes = _objects(chain(*newest))
        values, value_bytes = _objects(chain(*(rows.values() for rows in newest)))
        objects = StoreHeap(versions, LAYOUT, n).distinct
        assert objects == HeapFacts(keys, key_bytes, values, value_bytes)
        heap = StoreHeap(versions, LAYOUT, n).held
        assert heap.nodes.objects == sum(map(len, newest))
        n_bytes = LAYOUT.arrays(keys + values, key_bytes + value_bytes)
        assert heap.byte_arrays == Part(keys + values, n_bytes)


def _objects(rows: Iterable[Row]) -> tuple[int, int]:
    """Return the number of distinct objects and their bytes."""
    sizes = {id(row): len(row.data) for row in rows}
    return len(sizes), sum(sizes.values())


@given(histories, st.sampled_from([LAYOUT, OLD_SPARK, Layout.of(1 << 40), Layout.of(1 << 40, 8)]))
def test_heap_grows_with_versions_and_shrinks_with_sharing(
    history: list[list[Record]], layout: Layout
) -> None:
    versions = _versions(history)
    heaps = [StoreHeap(versions, layout, n) for n in range(len(history) + 2)]
    totals = attributes(heaps, "held.total")
    assert totals == sorted(totals)
    assert all(heap.held.total <= heap.unshared.total for heap in heaps)
    assert all(heap.held.total <= heap.peak.total for heap in heaps[:2])
    assert heaps[1].unshared == heaps[1].held


parts = st.builds(Part, st.integers(0, 1 << 40), st.integers(0, 1 << 40))
heaps = st.builds(Heap, *[parts] * 7)
counts = st.integers(0, 1 << 40)
all_facts = st.builds(HeapFacts, *[counts] * 6)


@given(heaps, heaps, heaps)
def test_heaps_add(a: Heap, b: Heap, c: Heap) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Heap() == a
    assert (a + b).total == a.total + b.total
    assert (a + b).objects == a.objects + b.objects


@given(all_facts, all_facts)
def test_heap_facts_and_their_heaps_add(a: HeapFacts, b: HeapFacts) -> None:
    assert a + b == b + a
    assert a + HeapFacts() == a
    assert (a + b).heap(LAYOUT) == a.heap(LAYOUT) + b.heap(LAYOUT)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_heap_of_two_partitions_is_the_sum_of_both(n: int) -> None:
    """Two small tables differ from one large table, so the heap of summed facts differs."""
    single = StoreHeap(TWO, LAYOUT, n).held
    together = StoreHeap({7: FIRST + FIRST, 8: LAST + LAST}, LAYOUT, n).held
    assert (single + single).unsafe_rows == together.unsafe_rows
    assert (single + single).tables.objects == 2 * single.tables.objects


@pytest.mark.parametrize("n", [1, 2])
def test_equal_partitions_have_separate_tables(n: int) -> None:
    together = {7: FIRST + FIRST + FIRST, 8: LAST + LAST + LAST}
    single = StoreHeap(TWO, LAYOUT, n).held
    assert StoreHeap(together, LAYOUT, n).of_alike(3) == single + single + single
    assert StoreHeap(TWO, LAYOUT, n).of_alike(1) == single


def test_unchanged_rows_take_objects_once_and_nodes_per_version() -> None:
    layout = Layout.of(spark="4.3.0")
    item, two = of_rows(10, 240, 720, layout, 1), of_rows(10, 240, 720, layout, 2)
    # Two UnsafeRows of 40, two arrays of 16 and their bytes, a wrapper of 16, a node of 32.
    assert item.total == 10 * (40 + 40 + 16 + 16 + 16 + 32) + 240 + 720
    assert two.total - item.total == 10 * 32
    assert (item.nodes.objects, two.nodes.objects) == (10, 20)
