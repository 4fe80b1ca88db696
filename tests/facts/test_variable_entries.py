"""Entries of lists and maps by key, and timers of keys without state."""

from __future__ import annotations

from collections import Counter

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
from tests.cases import Step, replay
from tests.encode import Record

KEY = parse_ddl("user string")
MAP = parse_ddl("key struct<user: string>, userKey struct<n: int>")
TIMER = parse_ddl("key struct<user: string>, expiryTimestampMs bigint")
VALUE = parse_ddl("n bigint")


def entry(user: str, at: int, value: int | None = 0) -> Record:
    row = None if value is None else encode.row(VALUE, (value,))
    return encode.row(MAP, ((user,), (at,))), row


def entries(steps: list[Step]) -> tuple[EntriesPerKey, list[KeyEntries]]:
    state, _, _ = replay(steps)
    keys = GroupingKeys()
    result = list(entries_of(state, keys.owners(state, KeyPlace.FIRST, MAP), keys))
    (sums,) = (element for element in result if isinstance(element, EntriesPerKey))
    return sums, [item for item in result if isinstance(item, KeyEntries)]


def test_added_and_removed_entries_per_key() -> None:
    steps = [
        Step([entry("old", at) for at in range(3)], rebase=True),
        Step([entry("new", at) for at in range(5)] + [entry("old", 3)]),
        Step([entry("new", 4, None), entry("old", 0, 7)]),
    ]
    sums, listed = entries(steps)
    assert sums == EntriesPerKey(2, 8, 4, Counter({2: 1}), 3)
    by_key = {element.key: (element.entries, element.added, element.removed) for element in listed}
    assert by_key == {
        encode.row(KEY, ("old",)): (4, 1, 0),
        encode.row(KEY, ("new",)): (4, 4, 1),
    }
    assert {item.row_bytes for item in listed} == {sum(map(len, map(bytes, entry("new", 0)))) * 4}  # type: ignore[arg-type]


def test_keys_with_a_tenth_of_the_entries_are_listed() -> None:
    steps = [Step([entry(f"u{n:02}", at) for n in range(5) for at in range(2 * n + 1)])]
    sums, listed = entries(steps)
    assert (sums.keys, sums.entries, sums.most) == (5, 25, 9)
    assert [item.entries for item in listed] == [9, 7, 5, 3], "1 of 25 is less than one of ten"
    assert listed[0].held_bytes == len(listed[0].key) == 24


def test_growing_keys_by_a_power_of_two() -> None:
    sums, _ = entries([Step([entry("a", at) for at in range(9)] + [entry("b", 0)])])
    assert sums.growing == Counter({3: 1, 0: 1})
    assert [sums.growing_from(minimum) for minimum in (0, 1, 2, 8, 9, 16)] == [2, 2, 1, 1, 0, 0]


def test_rewritten_list_does_not_grow() -> None:
    pages = [entry("a", at) for at in range(8)]
    rewrite = [entry("a", at, None) for at in range(1, 8)] + pages  # as ListState.put does
    sums, _ = entries([Step(pages), *[Step(rewrite)] * 3])
    assert (sums.growing, sums.most) == (Counter(), 8)
    sums, _ = entries([Step(pages), *[Step(rewrite)] * 3, Step([entry("a", 8)])])
    assert sums.growing == Counter({3: 1})


def test_fired_keys_had_due_timers_that_were_removed() -> None:
    def timer(user: str, at: int, value: bytes | None = bytes(16)) -> Record:
        return encode.row(TIMER, ((user,), at)), value

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
    assert [keys.keys(fired_keys(timers, owners, now)) for now in (4, 5, 100)] == [
        [],
        *[[encode.row(KEY, ("fired",))]] * 2,
    ]


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
    values, _, _ = replay(
        [Step([(encode.row(KEY, (user,)), encode.row(VALUE, (1,))) for user in ("a", "b", "c")])]
    )
    timers, _, _ = replay(
        [
            Step(
                [
                    (encode.row(TIMER, ((user,), at)), bytes(16))
                    for user in ("a", "b", "d")
                    for at in (1, 2)
                ]
            ),
            Step([(encode.row(TIMER, (("a",), 1)), None)]),
        ]
    )
    with_state = keys.owners(values, KeyPlace.WHOLE, KEY)[:1]  # of "a" alone
    owners = keys.owners(timers, KeyPlace.FIRST, TIMER)
    result = timers_without_state(timers, owners, with_state)
    row = len(encode.row(TIMER, (("a",), 1))) + 16
    assert result == TimersWithoutState(5, 4, 4 * row, 2, owners=3)
    nobody = np.full(len(owners), -1, np.int64)
    assert timers_without_state(timers, nobody, with_state) == TimersWithoutState(timers=5)
