"""Differences between a snapshot and the deltas of its version."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from inspector.state.compare import (
    SnapshotDifference,
    apply_snapshot,
    compare_delta,
    compare_snapshot,
)
from inspector.state.replay import StateMap
from tests import cases
from tests.cases import Step, replay

KEYS = [number.to_bytes(8, "big") for number in range(8)]
VALUES = [b"", b"v" * 8, b"w" * 8]
rows = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))


def state_of(live: dict[bytes, bytes], gone: set[bytes]) -> StateMap:
    """Return a map with some live rows and some removed keys."""
    puts, removals = dict.fromkeys(gone, b"old"), dict.fromkeys(gone)
    return replay([Step([*puts.items()]), Step([*removals.items(), *live.items()])])[0]


@given(rows, rows, st.sets(st.sampled_from(KEYS)), st.randoms(), st.lists(st.integers(1, 7)))
def test_snapshot_differences_are_counted_once(
    live: dict[bytes, bytes],
    written: dict[bytes, bytes],
    gone: set[bytes],
    order: Random,
    cuts: list[int],
) -> None:
    state = state_of(live, gone)
    entries = list(written.items())
    order.shuffle(entries)
    result = compare_snapshot(state, cases.blocks(entries, cuts))
    assert result == SnapshotDifference(
        missing=len(live.keys() - written.keys()),
        extra=len(written.keys() - live.keys()),
        different=len(live.keys() & written.keys()) - len(live.items() & written.items()),
    )
    assert bool(result) == (live != written)
    assert cases.live_keys(state) == set(live)


@given(
    rows,
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from([None, *VALUES]))),
    st.lists(st.integers(1, 7)),
)
def test_last_record_of_each_key_is_compared_with_map(
    live: dict[bytes, bytes], written: list[tuple[bytes, bytes | None]], cuts: list[int]
) -> None:
    last = dict(written)
    state = state_of(live, set())
    removed = {key for key, value in last.items() if value is None}
    put = last.keys() - removed
    assert compare_delta(state, cases.blocks(written, cuts)) == SnapshotDifference(
        missing=len(put - live.keys()),
        extra=len(removed & live.keys()),
        different=len(put & live.keys()) - len(live.items() & last.items()),
    )
    assert cases.live_keys(state) == set(live)


def test_snapshot_with_another_timer_is_different() -> None:
    track = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)
    key = cases.user("a")
    state, _, _ = replay([Step([(key, cases.group_state(1, 5))])], track)
    equal = cases.blocks([(key, cases.group_state(1, 5))])
    assert compare_snapshot(state, equal) == SnapshotDifference(0, 0, 0)
    different = cases.blocks([(key, cases.group_state(1, 6))])
    assert compare_snapshot(state, different) == SnapshotDifference(0, 0, 1)


def test_empty_snapshot_misses_all_keys() -> None:
    state = state_of({KEYS[0]: b"", KEYS[1]: b""}, set())
    assert compare_snapshot(state, []) == SnapshotDifference(2, 0, 0)


def test_comparison_does_not_change_the_replay() -> None:
    state = state_of({KEYS[0]: b"v" * 8}, set())
    compare_snapshot(state, cases.blocks([(KEYS[1], b"v" * 8), (KEYS[0], b"w" * 8)]))
    state.begin(3)
    state.apply(cases.block([(KEYS[1], b"v" * 8), (KEYS[0], b"v" * 8)]))
    change = state.end()
    assert (change.counts.inserts, change.counts.same_value_puts) == (1, 1)
    assert (state.rows, state.key_bytes, state.value_bytes) == (2, 16, 16)


@given(rows, rows)
def test_applied_snapshot_equals_equivalent_deltas(
    before: dict[bytes, bytes], after: dict[bytes, bytes]
) -> None:
    state = state_of(before, set())
    state.begin(9)
    apply_snapshot(state, cases.blocks(list(after.items())))
    change = state.end()
    assert not compare_snapshot(state, cases.blocks(list(after.items())))
    assert change.counts.inserts == len(after.keys() - before.keys())
    assert change.counts.removals == len(before.keys() - after.keys())
    equal = before.items() & after.items()
    assert change.counts.updates == len(before.keys() & after.keys()) - len(equal)
    assert change.counts.same_value_puts == 0
    assert not change.rebased
