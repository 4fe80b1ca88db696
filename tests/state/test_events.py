"""What records did, against a plain dict."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from inspector.state.events import WORDS, Event, Presence
from tests.cases import block, blocks
from tests.encode import Record

records = st.lists(
    st.tuples(st.sampled_from([b"", b"k1", b"k2"]), st.none() | st.sampled_from([b"v" * 8, b""])),
    max_size=12,
)


def expected(
    entries: Sequence[Record], state: dict[bytes, bytes | None], facts: bool
) -> list[tuple[Event, int]]:
    messages = []
    for key, value in entries:
        unknown = not facts and key not in state
        old = state.get(key)
        if value is None:
            event = Event.REMOVAL if unknown or old is not None else Event.ABSENT_REMOVAL
        elif unknown:
            event = Event.PUT
        elif old is None:
            event = Event.INSERT
        else:
            event = Event.SAME_VALUE if old == value else Event.UPDATE
        messages.append((event, -1 if old is None else len(old)))
        state[key] = value
    return messages


@given(st.lists(records, max_size=4), st.booleans(), st.lists(st.integers(1, 11), max_size=2))
def test_events_depend_on_previous_value_of_key(
    deltas: list[list[Record]], known: bool, cuts: list[int]
) -> None:
    presence, state = Presence(known=known), dict[bytes, "bytes | None"]()
    for entries in deltas:
        result = [presence.apply(item) for item in blocks(entries, cuts) if item.count]
        actual = [pair for t in result for pair in zip(t.events, t.old_sizes, strict=True)]
        assert actual == expected(entries, state, known)


@given(
    st.lists(records, max_size=4),
    records,
    st.booleans(),
    st.lists(st.integers(1, 11), max_size=2),
)
def test_old_values_match_a_dict(
    deltas: list[list[Record]], base: list[Record], anew: bool, cuts: list[int]
) -> None:
    snapshot = {key: value for key, value in base if value is not None}
    presence = Presence(known=False, values=True)
    now = dict[bytes, bytes]()
    for number, entries in enumerate(deltas):
        if number == 1:
            presence.forget(known=anew)
            now = dict(snapshot) if anew else {}
            for element in blocks(list(now.items()), cuts):
                presence.load(element)
        result = [presence.apply(item) for item in blocks(entries, cuts) if item.count]
        expected = []
        for key, value in entries:
            expected.append(now.pop(key, None))
            now.update({} if value is None else {key: value})
        assert [value for messages in result for value in messages.old_values] == expected
        sizes = [size for notes in result for size in notes.old_sizes.tolist()]
        assert sizes == [-1 if value is None else len(value) for value in expected]


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
