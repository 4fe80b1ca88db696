"""Events of records, compared with a dict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.state.events import WORDS, Event, Presence
from tests.attributes import attributes
from tests.cases import block, blocks
from tests.encode import Record

keys, values = st.sampled_from([b"", b"k1", b"k2"]), st.sampled_from([b"v" * 8, b""])
records = st.lists(st.tuples(keys, st.none() | values), max_size=12)


V = b"v" * 8
UNKNOWN = b"unknown"
"""Previous value of a key that no record has named and no snapshot has listed."""

EVENTS = {  # by the previous and the new value, where None is an absent key
    (UNKNOWN, V): Event.PUT,
    (UNKNOWN, b""): Event.PUT,
    (UNKNOWN, None): Event.REMOVAL,
    (None, V): Event.INSERT,
    (None, b""): Event.INSERT,
    (None, None): Event.ABSENT_REMOVAL,
    (V, V): Event.SAME_VALUE,
    (V, b""): Event.UPDATE,
    (V, None): Event.REMOVAL,
    (b"", V): Event.UPDATE,
    (b"", b""): Event.SAME_VALUE,
    (b"", None): Event.REMOVAL,
}
SIZES = {UNKNOWN: -1, None: -1, V: 8, b"": 0}
cuts_of_blocks = st.lists(st.integers(1, 11), max_size=2)


def previous_values(
    entries: Sequence[Record], state: dict[bytes, bytes | None], absent: bytes | None
) -> list[bytes | None]:
    """Return the previous value of each record's key, and apply the records to the state."""
    result = []
    for key, value in entries:
        result.append(state.get(key, absent))
        state[key] = value
    return result


@pytest.mark.parametrize("absent", [None, UNKNOWN])
@given(deltas=st.lists(records, max_size=4), cuts=cuts_of_blocks)
def test_events_depend_on_previous_value_of_key(
    absent: bytes | None, deltas: list[list[Record]], cuts: list[int]
) -> None:
    presence, state = Presence(known=absent is None), dict[bytes, "bytes | None"]()
    for entries in filter(None, deltas):
        old = previous_values(entries, state, absent)
        result = apply_blocks(presence, entries, cuts)
        assert joined(result, "events") == [
            EVENTS[before, value] for before, (_, value) in zip(old, entries, strict=True)
        ]
        assert joined(result, "old_sizes") == sizes_of(old)


def apply_blocks(presence: Presence, entries: list[Record], cuts: list[int]) -> list[Any]:
    """Apply the blocks of some records, and return the events of each block."""
    return [presence.apply(item) for item in blocks(entries, cuts)]


def sizes_of(values: list[bytes | None]) -> list[int]:
    return [SIZES[value] for value in values]


def joined(result: Sequence[object], name: str) -> list[object]:
    """Return one attribute of the events of several blocks."""
    return list(chain(*attributes(result, name)))


@pytest.mark.parametrize("known", [False, True])
@given(
    first=records.filter(bool),
    base=st.dictionaries(keys, values),
    others=records.filter(bool),
    cuts=cuts_of_blocks,
)
def test_old_values_match_a_dict(
    known: bool,
    first: list[Record],
    base: dict[bytes, bytes],
    others: list[Record],
    cuts: list[int],
) -> None:
    presence = Presence(known=False, values=True)
    result = apply_blocks(presence, first, cuts)
    assert joined(result, "old_values") == previous_values(first, {}, None)
    presence.forget(known=known)
    for item in blocks(list(base.items()), cuts):
        presence.load(item)
    result = apply_blocks(presence, others, cuts)
    old = previous_values(others, dict(base), None)
    assert joined(result, "old_values") == old
    assert joined(result, "old_sizes") == sizes_of(old)


def test_values_are_kept_only_on_request() -> None:
    presence = Presence()
    presence.load(block([(b"k1", b"v" * 8)]))
    assert presence.apply(block([(b"k1", b"w" * 8), (b"k1", None)])).old_values == ()
    assert presence._values == {}


def test_only_values_of_live_keys_are_kept() -> None:
    presence = Presence(values=True)
    presence.load(block([(b"k1", b"v" * 8), (b"k2", b"")]))
    presence.apply(block([(b"k1", None), (b"k3", None), (b"k2", b"new")]))
    assert list(presence._values.values()) == [b"new"]
    presence.forget(known=True)
    assert presence._values == {}


def test_loaded_snapshot_makes_every_key_known() -> None:
    presence = Presence(known=False)
    presence.forget(known=True)
    presence.load(block([(b"k1", b"v" * 8)]))
    result = presence.apply(block([(b"k1", b"v" * 8), (b"k2", b""), (b"k3", None)]))
    assert result.events.tolist() == [Event.SAME_VALUE, Event.INSERT, Event.ABSENT_REMOVAL]
    assert result.old_sizes.tolist() == [8, -1, -1]


def test_forgotten_value_is_unknown() -> None:
    presence = Presence()
    presence.apply(block([(b"k1", b"v" * 8)]))
    presence.forget(known=False)
    result = presence.apply(block([(b"k1", b""), (b"k2", None), (b"k2", None)]))
    assert result.events.tolist() == [Event.PUT, Event.REMOVAL, Event.ABSENT_REMOVAL]


def test_event_words_are_indexed_by_number() -> None:
    assert len(WORDS) == len(Event)
    assert WORDS[Event.ABSENT_REMOVAL] == "absent_removal"
