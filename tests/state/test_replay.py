"""The map that a replay makes, compared with a map of row objects."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inspector.exceptions import LimitError
from inspector.facts.versions import VersionFacts
from inspector.kernel.record_layout import RecordCounts
from inspector.state.change import Change
from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap, Tracking
from tests import cases
from tests.attributes import attributes
from tests.cases import KERNELS, ObjectMap, Step, kernel_of, replay
from tests.encode import Record
from tests.facts.histories import puts

KEYS = (b"", b"a" * 8, b"b" * 8, b"c" * 16, b"d" * 24)
VALUES = (b"", b"v" * 8, b"w" * 8, b"v" * 16, b"v" * 32)
TIMED_VALUES = tuple(map(cases.group_state, [1, 1, 1, 2, 2, 2, None, None, None], [-1, 7, 8] * 3))
A, B, C = KEYS[1:4]
USERS = tuple(map(cases.user, "abcd"))
V, W = VALUES[1:3]
TIMERS = cases.tracked(cases.TIMER, cases.USER, cases.GROUP_STATE)


def histories(values: tuple[bytes, ...]) -> st.SearchStrategy[list[Step]]:
    """Return histories of any records in blocks of any size. Some versions are snapshots."""
    key, value = st.sampled_from(KEYS), st.sampled_from(values)
    changes = st.lists(st.tuples(key, value | st.none()), max_size=12)
    snapshot = st.dictionaries(key, value).map(lambda rows: list(rows.items()))
    cuts = st.lists(st.integers(1, 11), max_size=3)
    delta = st.builds(Step, changes, st.just(False), cuts)
    base = st.builds(Step, snapshot, st.just(True), cuts)
    return st.lists(st.one_of(delta, delta, delta, base), min_size=1, max_size=6)


def steps(*versions: list[Record]) -> list[Step]:
    return list(map(Step, versions))


def live_columns(state: StateMap) -> dict[bytes, tuple[int, ...]]:
    """Return the columns of every live key of a map."""
    ids = np.flatnonzero(state.live[: len(state)])
    names = ("key_size", "value_size", "value_hash", "put_step", "born_step", "puts")
    columns = [getattr(state, name)[ids].tolist() for name in names]
    return dict(zip(state.keys(ids), zip(*columns, strict=True), strict=True))


# --- every history ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
@given(history=histories(VALUES))
def test_version_facts_match_an_object_map(name: str, history: list[Step]) -> None:
    with kernel_of(name):
        _, _, result = replay(history)
    assert result == object_facts(history)


def object_facts(history: list[Step]) -> list[VersionFacts]:
    """Return the facts of each version, counted over row objects."""
    objects, result = ObjectMap(), []
    for step in history:
        objects.take(step)
        result.append(objects.facts())
        assert step.rebase or result[-1].two_versions_bytes == objects.held_bytes()
    return result


KEY_COUNT = 20_000


@pytest.mark.parametrize("name", KERNELS)
def test_state_map_tables_grow_with_many_keys(name: str) -> None:
    keys = [b"%08d" % number for number in range(KEY_COUNT)]
    first, second = cases.group_state(1, 7), cases.group_state(2, 9)
    history = [
        Step([*dict.fromkeys(keys, first).items()], cuts=range(0, KEY_COUNT, 500)),
        Step([*dict.fromkeys(keys[::2], second).items()]),
    ]
    with kernel_of(name):
        state, _, (_, newest) = replay(history, TIMERS)
    assert (newest.rows, newest.changed_rows) == (KEY_COUNT, KEY_COUNT // 2)
    half = KEY_COUNT // 2
    assert state.put_over_clock[:KEY_COUNT].tolist() == [7, NO_CLOCK] * half
    assert state.clock[:KEY_COUNT].tolist() == [9, 7] * half


@pytest.mark.parametrize("name", KERNELS)
def test_keys_count_for_the_memory_limit_with_their_table(name: str) -> None:
    step = Step([(b"%08d" % number, V) for number in range(KEY_COUNT)])
    limit = 48 * KEY_COUNT  # bytes of the table, without the keys
    with (
        kernel_of(name),
        pytest.raises(LimitError, match="raise --memory-limit or lower --workers"),
    ):
        replay([step], Tracking(most_bytes=limit))


@pytest.mark.parametrize("name", KERNELS)
@given(history=histories(TIMED_VALUES))
@example(history=steps([(A, TIMED_VALUES[1])], [(A, TIMED_VALUES[2])], [(A, TIMED_VALUES[2])]))
def test_tracked_timer_changes_no_version_fact(name: str, history: list[Step]) -> None:
    with kernel_of(name):
        _, _, result = replay(history, TIMERS)
    assert result == object_facts(history)


@pytest.mark.parametrize("name", KERNELS)
@given(
    history=st.lists(
        st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from([*TIMED_VALUES, None]))),
        min_size=1,
        max_size=6,
    )
)
def test_apply_ahead_reports_each_version(name: str, history: list[list[Record]]) -> None:
    def columns_of(state: StateMap, change: Change) -> list[Any]:
        """Return all columns of the keys that the last version touched."""
        touched = state.list_touched_keys()
        ids = touched.ids
        of_keys = state.clock[ids], state.record[ids], state.put_over_clock[ids], state.live[ids]
        columns = *vars(touched).values(), *of_keys, state.put_same_state[ids]
        return [state.versions[-1], change.first_descent, *(item.tolist() for item in columns)]

    with kernel_of(name):
        alone, together = StateMap(TIMERS), StateMap(TIMERS)
        expected, result = list[Any](), list[Any]()
        for version, records in enumerate(history, 1):
            alone.begin(version)
            alone.apply(cases.block(records))
            expected.append(columns_of(alone, alone.end()))
        ends = np.cumsum(list(map(len, history)), dtype=np.int64)
        block = cases.block(list(chain(*history)))
        versions = range(1, len(history) + 1)
        together.apply_ahead(
            block, ends, versions, lambda change: result.append(columns_of(together, change))
        )
    assert result == expected
    assert live_columns(together) == live_columns(alone)


@given(history=histories(VALUES), other_cuts=st.lists(st.integers(1, 11), max_size=4))
def test_replay_is_independent_of_block_boundaries(
    history: list[Step], other_cuts: list[int]
) -> None:
    cut = [Step(step.records, step.rebase, other_cuts) for step in history]
    (first, _, facts), (second, _, other_facts) = replay(history), replay(cut)
    assert facts == other_facts
    assert live_columns(first) == live_columns(second)


@given(history=histories(VALUES))
def test_replay_from_a_snapshot_equals_replay_of_all_deltas(history: list[Step]) -> None:
    objects = ObjectMap()
    for at, step in enumerate(history):
        objects.take(step)
        rows = [(key.data, value.data) for key, value in objects.now.items()]
        tail = [Step(rows, rebase=True), *history[at + 1 :]]
        complete, _, facts = replay(history)
        short, _, short_facts = replay(tail, first=at + 1)
        assert cases.live_keys(short) == cases.live_keys(complete)
        assert short_facts[1:] == facts[at + 1 :]
        assert short_facts[0].row_sizes == facts[at].row_sizes
        assert (short.rows, short.key_bytes) == (complete.rows, complete.key_bytes)


@given(history=histories(VALUES))
def test_put_and_insert_step_of_each_row(history: list[Step]) -> None:
    state, _, _ = replay(history)
    put: dict[bytes, int] = {}
    born: dict[bytes, int] = {}
    put_counts: Counter[bytes] = Counter()
    for number, step in enumerate(history):
        if step.rebase:
            put, born, put_counts = {}, {}, Counter()
        written = BEFORE_WINDOW if step.rebase else number
        for key, value in step.records:
            if value is None:
                put.pop(key, None)
                born.pop(key, None)
            else:
                born.setdefault(key, written)
                put[key] = written
                put_counts[key] += not step.rebase
    columns = live_columns(state)
    assert {key: row[3:] for key, row in columns.items()} == {
        key: (step, born[key], put_counts[key]) for key, step in put.items()
    }


# --- single cases ----------------------------------------------------------------------------


def test_state_map_without_versions_is_empty() -> None:
    state = StateMap()
    assert (len(state), state.rows, state.versions) == (0, 0, [])


def test_key_reinserted_in_one_version_has_a_new_key_object() -> None:
    state, _, facts = replay(steps([(A, V), (B, V)], [(A, None), (A, V), (B, V)]))
    assert state.list_touched_keys().reborn.tolist() == [True, False]
    assert (facts[1].shared_rows, facts[1].shared_keys, facts[1].same_value_rows) == (0, 1, 2)
    assert facts[1].two_versions_bytes == (8 + 8) * 2 + 8 + 8 + 8


def test_removal_of_absent_key_is_counted() -> None:
    _, changes, facts = replay(steps([(A, None)]))
    assert vars(changes[0].counts) == vars(RecordCounts(removals=1, absent_removals=1))
    assert (facts[0].removed_rows, facts[0].rows) == (0, 0)


def test_last_record_of_a_key_wins_across_blocks() -> None:
    step = Step([(A, V), (A, W), (A, None), (A, W)], cuts=(1, 2, 3))
    state, changes, _ = replay([step])
    assert vars(changes[0].counts) == vars(RecordCounts(puts=3, inserts=2, updates=1, removals=1))
    assert state.list_touched_keys().ids.tolist() == [0]
    assert state.rows == 1


def test_values_of_equal_size_and_other_bytes_are_changed() -> None:
    _, _, facts = replay(steps([(A, V), (B, V)], [(A, W), (B, V)]))
    assert (facts[1].changed_rows, facts[1].same_value_rows) == (1, 1)
    assert (facts[1].same_value_puts, facts[1].same_value_put_bytes) == (1, 16)


def test_empty_version_shares_all_rows_with_the_previous_version() -> None:
    _, _, facts = replay(steps([(A, V), (b"", b"")], []))
    assert (facts[1].rows, facts[1].shared_rows, facts[1].two_versions_bytes) == (2, 2, 16)


def test_replay_from_base_has_unknown_change() -> None:
    history = [*steps([(A, V)], [(B, V)]), Step([(C, V)], rebase=True), *steps([(C, W)])]
    state, changes, facts = replay(history)
    assert attributes(changes, "rebased") == [False, False, True, False]
    assert cases.live_keys(state) == {C}
    assert (facts[2].puts, facts[2].new_rows, facts[2].rebased) == (0, 0, 1)
    assert (facts[3].changed_rows, facts[3].shared_keys) == (1, 1)
    assert (state.base_step, state.versions) == (2, [1, 2, 3, 4])
    assert state.puts[: len(state)].tolist() == [1]


def test_many_keys_are_removed_correctly() -> None:
    keys = [number.to_bytes(8, "little") for number in range(5000)]
    puts = Step(list(zip(keys, keys, strict=True)), cuts=range(0, 5000, 700))
    state, _, facts = replay([puts, Step(list(dict.fromkeys(keys[::2]).items()))])
    assert facts[1].removed_rows == 2500
    assert cases.live_keys(state) == set(keys[1::2])


def test_comparing_a_block_leaves_the_map_unchanged() -> None:
    state, _, _ = replay(steps([(A, V), (B, V)]))
    _, ids, same = state.holds(cases.block([(B, V), (A, W), (C, V)]))
    assert state.keys(ids) == [B, A, C]
    assert same.tolist() == [True, False, False]
    assert cases.live_keys(state) == {A, B}


def test_portions_cover_all_ids_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspector.state.replay._PORTION", 2)
    assert list(StateMap().portions()) == []
    assert StateMap().where(lambda sample: StateMap().live[sample]).tolist() == []
    state, _, _ = replay(steps([(A, V), (B, V), (C, V)], [(B, None)]))
    assert list(state.portions()) == [slice(0, 2), slice(2, 3)]
    assert state.where(lambda sample: state.live[sample]).tolist() == [0, 2]


# --- what is tracked -------------------------------------------------------------------------


def timed(*versions: list[Record]) -> StateMap:
    return replay(steps(*versions), TIMERS)[0]


def test_put_reports_replaced_timer_and_unchanged_state() -> None:
    first, same, second, _ = USERS
    state = timed(
        [cases.put(first, 50), cases.put(same, 50), cases.put(second, 50)],
        [cases.put(same, -1), cases.put(second, -1, visits=2)],
    )
    assert state.clock[:3].tolist() == [50, -1, -1]
    assert state.put_over_clock[:3].tolist() == [NO_CLOCK, 50, 50]
    assert state.put_same_state[:3].tolist() == [False, True, False]
    assert state.record[:3].tolist() == [0, 0, 1]


def test_key_put_after_removal_replaces_no_timer() -> None:
    key = cases.user("a")
    state = timed([cases.put(key, 50)], [(key, None)], [cases.put(key, 9)])
    assert (state.clock[0], state.put_over_clock[0]) == (9, NO_CLOCK)
    assert not state.put_same_state[0]


def test_removal_has_its_record_position() -> None:
    first, second, *_ = USERS
    state = timed([cases.put(first, 50)], [(second, None), (first, None)])
    assert state.keys(np.arange(2)) == [first, second]
    assert state.record[:2].tolist() == [1, 0]


def test_timer_set_twice_in_a_version_replaces_the_first() -> None:
    key = cases.user("a")
    state = timed([cases.put(key, 50)], [cases.put(key, 60, visits=2), cases.put(key, 70)])
    assert (state.clock[0], state.put_over_clock[0]) == (70, 60)
    assert state.put_same_state[0]
    assert state.record[0] == 1


def test_first_key_descent_is_found_within_a_block() -> None:
    ascending = puts(-1, *USERS)
    descends = [*ascending[:3], ascending[0], ascending[1], ascending[0]]
    history = [
        Step(ascending),
        Step(descends),
        Step(descends, cuts=(3,)),
        Step(descends, cuts=(2,)),
    ]
    _, changes, _ = replay(history, TIMERS)
    # Keys of different blocks are not compared.
    assert attributes(changes, "first_descent") == [None, 3, 5, 3]


def test_null_and_unreadable_timers_are_no_clock() -> None:
    state = timed(
        [
            (cases.user("a"), cases.group_state(1, None)),
            (cases.user("b"), b"\x00" * 16),
            (cases.user("c"), cases.group_state(1, 0)),
        ]
    )
    assert state.clock[:3].tolist() == [NO_CLOCK, NO_CLOCK, 0]
