"""Entries of lists and maps by key, and timers of keys without state."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np

from inspector.facts.variable_entries import (
    EntriesPerKey,
    GroupingKeys,
    KeyEntries,
    KeyPlace,
    TimersWithoutState,
    entries_of,
    fired_keys,
    timers_without_state,
)
from inspector.operators.rule import Clock, ExpiryField, RowPart
from inspector.sparktypes.ddl import parse_ddl
from tests import cases, encode
from tests.attributes import attributes
from tests.cases import Step, replay
from tests.encode import Record

KEY = parse_ddl("user string")
MAP = parse_ddl("key struct<user: string>, userKey struct<n: int>")
TIMER = parse_ddl("key struct<user: string>, expiryTimestampMs bigint")
VALUE = parse_ddl("n bigint")


def entry(user: str, at: int, value: int | None = 0) -> Record:
    row = None if value is None else encode.row(VALUE, (value,))
    return encode.row(MAP, ((user,), (at,))), row


def several(user: str, count: int) -> list[Record]:
    """Return puts of the first entries of a user."""
    return [entry(user, at) for at in range(count)]


ROW_BYTES = len(encode.row(MAP, (("new",), (0,)))) + len(encode.row(VALUE, (0,)))


def entries(steps: list[Step]) -> tuple[EntriesPerKey, list[KeyEntries]]:
    state, _, _ = replay(steps)
    keys = GroupingKeys()
    owners = keys.owners(state, KeyPlace.FIRST, MAP)
    result: list[Any] = sorted(entries_of(state, owners, keys), key=lambda item: item.kind)
    return result[0], result[1:]


def test_added_and_removed_entries_per_key() -> None:
    steps = [
        Step(several("old", 3), rebase=True),
        Step([*several("new", 5), entry("old", 3)]),
        Step([entry("new", 4, None), entry("old", 0, 7)]),
    ]
    sums, listed = entries(steps)
    assert sums == EntriesPerKey(2, 8, 4, Counter({2: 1}), 3)
    row_bytes = 4 * ROW_BYTES
    assert set(attributes(listed, "key", "entries", "added", "removed")) == {
        (encode.row(KEY, ("old",)), 4, 1, 0),
        (encode.row(KEY, ("new",)), 4, 4, 1),
    }
    assert attributes(listed, "row_bytes") == [row_bytes, row_bytes]


def test_keys_with_a_tenth_of_the_entries_are_listed() -> None:
    rows = [
        several("u0", 1),
        several("u1", 3),
        several("u2", 5),
        several("u3", 7),
        several("u4", 9),
    ]
    sums, listed = entries([Step(list(chain(*rows)))])
    assert (sums.keys, sums.entries, sums.most) == (5, 25, 9)
    assert attributes(listed, "entries") == [9, 7, 5, 3], "1 of 25 is less than a tenth"
    assert listed[0].held_bytes == len(listed[0].key) == 24


def test_growing_keys_by_a_power_of_two() -> None:
    sums, _ = entries([Step([*several("a", 9), entry("b", 0)])])
    assert sums.growing == Counter({3: 1, 0: 1})
    assert list(map(sums.growing_from, [0, 1, 2, 8, 9, 16])) == [2, 2, 1, 1, 0, 0]


def test_rewritten_list_does_not_grow() -> None:
    pages = several("a", 8)
    rewrite = [entry("a", at, None) for at in range(1, 8)] + pages  # as ListState.put does
    sums, _ = entries([Step(pages), *[Step(rewrite)] * 3])
    assert (sums.growing, sums.most) == (Counter(), 8)
    sums, _ = entries([Step(pages), *[Step(rewrite)] * 3, Step([entry("a", 8)])])
    assert sums.growing == Counter({3: 1})


def timer(user: str, at: int, value: bytes | None = bytes(16)) -> Record:
    return encode.row(TIMER, ((user,), at)), value


def test_fired_keys_had_due_timers_that_were_removed() -> None:
    expiry = ExpiryField(Clock.WATERMARK, RowPart.KEY, (1,), 1, True, "expiryTimestampMs")
    timers, _, _ = replay(
        [
            Step([timer("fired", 5), timer("again", 5), timer("deleted", 500), timer("due", 9)]),
            Step([timer("fired", 5, None), timer("again", 5, None), timer("deleted", 500, None)]),
            Step([timer("again", 90)]),
        ],
        cases.tracked(expiry, TIMER, VALUE),
    )
    keys = GroupingKeys()
    owners = keys.owners(timers, KeyPlace.FIRST, TIMER)
    fired = [encode.row(KEY, ("fired",))]
    assert keys.keys(fired_keys(timers, owners, 4)) == []
    assert keys.keys(fired_keys(timers, owners, 5)) == fired
    assert keys.keys(fired_keys(timers, owners, 100)) == fired


def test_entries_of_an_empty_store() -> None:
    sums, listed = entries([Step([])])
    assert (sums, listed) == (EntriesPerKey(versions=1), [])


def test_entries_per_key_and_timers_without_state_add() -> None:
    entries_per_key = EntriesPerKey(1, 5, 5, Counter({2: 1}), 4)
    assert entries_per_key + EntriesPerKey() == entries_per_key
    pair = entries_per_key + EntriesPerKey(2, 4, 3, Counter({2: 1, 1: 1}), 3)
    assert pair == EntriesPerKey(3, 9, 5, Counter({2: 2, 1: 1}), 3)
    assert TimersWithoutState(3, 1, 8, 1) + TimersWithoutState(1, 1, 8, 1) == TimersWithoutState(
        4, 2, 16, 2
    )


def test_timers_of_keys_without_a_value() -> None:
    keys = GroupingKeys()
    value = encode.row(VALUE, (1,))
    rows = [(encode.row(KEY, ("a",)), value), (encode.row(KEY, ("b",)), value)]
    values, _, _ = replay([Step([*rows, (encode.row(KEY, ("c",)), value)])])
    set_timers = [
        *[timer("a", 1), timer("a", 2), timer("b", 1)],
        *[timer("b", 2), timer("d", 1), timer("d", 2)],
    ]
    timers, _, _ = replay([Step(set_timers), Step([timer("a", 1, None)])])
    with_state = keys.owners(values, KeyPlace.WHOLE, KEY)[:1]  # of "a" alone
    owners = keys.owners(timers, KeyPlace.FIRST, TIMER)
    result = timers_without_state(timers, owners, with_state)
    row = len(encode.row(TIMER, (("a",), 1))) + 16
    assert result == TimersWithoutState(5, 4, 4 * row, 2, owners=3)
    nobody = np.full(len(owners), -1, np.int64)
    assert timers_without_state(timers, nobody, with_state) == TimersWithoutState(timers=5)
