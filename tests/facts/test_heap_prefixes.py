"""Prefixes of session windows, compared with the sets and objects that Spark keeps."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from inspector.facts.heap_prefixes import LivePrefixes, PrefixFacts
from inspector.facts.size_distributions import SizeCounts
from inspector.facts.variable_entries import EntriesPerKey
from inspector.sparktypes import LONG, TIMESTAMP, StringType, StructField, StructType
from inspector.state.replay import StateMap
from tests import encode
from tests.attributes import attributes
from tests.cases import Row, Step, blocks
from tests.encode import Record
from tests.rocks import struct_of

SESSION = StructType((StructField("user", StringType()), StructField("start", TIMESTAMP)))
VALUE = b"\0" * 16


def session(user: str, start: int) -> bytes:
    return encode.row(SESSION, (user, start))


def prefix(user: str) -> bytes:
    return encode.row(StructType(SESSION.fields[:1]), (user,))


def prefixes(steps: list[Step], fields: int = 2) -> list[PrefixFacts]:
    return replayed(steps, fields)[0]


def replayed(
    steps: list[Step], fields: int = 2
) -> tuple[list[PrefixFacts], LivePrefixes, StateMap]:
    state, live, result = StateMap(), LivePrefixes(fields), []
    for version, step in enumerate(steps, 1):
        state.begin(version, rebase=step.rebase)
        for block in blocks(step.records):
            state.apply(block)
        result.append(live.update(state.end(), state))
    return result, live, state


def sizes(*of_sets: int) -> SizeCounts:
    return SizeCounts(Counter(of_sets))


def counts_of(result: list[PrefixFacts]) -> list[tuple[int, int]]:
    """Return the prefixes and the new prefixes of each version."""
    return attributes(result, "prefixes", "new_prefixes")


def test_sessions_of_one_user_share_a_prefix() -> None:
    keys = [session("ann", 0), session("ann", 1), session("bo", 2), session("a longer name", 3)]
    (facts,) = prefixes([Step(list(dict.fromkeys(keys, VALUE).items()))])
    assert facts == PrefixFacts(3, 24 + 24 + 32, 3, 24 + 24 + 32, 0, sizes(2, 1, 1))


def test_prefix_row_is_kept_while_one_of_its_keys_is_live() -> None:
    first = [(session("kept", 1), VALUE), (session("kept", 2), VALUE), (session("moved", 1), VALUE)]
    second: list[Record] = [
        (session("kept", 1), None),
        (session("kept", 3), VALUE),
        (session("moved", 1), None),  # the session starts earlier, so it has another key
        (session("moved", 0), VALUE),
    ]
    after = prefixes([Step(first), Step(second)])[1]
    assert (after.prefixes, after.new_prefixes) == (2, 1)
    assert after.new_prefix_bytes == len(prefix("moved"))
    assert after.set_sizes == sizes(2, 1)


def test_extended_session_keeps_its_prefix() -> None:
    put = [(session("ann", 1), VALUE)]
    assert prefixes([Step(put), Step(put)])[1].new_prefixes == 0


def test_prefix_without_sessions_is_removed_and_later_new() -> None:
    put, gone = [(session("ann", 1), VALUE)], [(session("ann", 1), None)]
    result = prefixes([Step(put), Step(gone), Step(put)])
    assert counts_of(result) == [(1, 1), (0, 0), (1, 1)]


def test_entries_per_key_count_the_sessions_of_a_prefix() -> None:
    first = [(session("ann", 0), VALUE), (session("ann", 1), VALUE), (session("ann", 2), VALUE)]
    last: list[Record] = [(session("ann", 0), None), (session("bo", 1), VALUE), (b"odd", VALUE)]
    _, live, state = replayed([Step(first), Step([(session("cy", 1), VALUE)]), Step(last)])
    entries: list[Any] = sorted(live.entries(state, SESSION), key=lambda item: item.kind)
    assert entries[0] == EntriesPerKey(3, 4, 2, Counter({0: 2}), 3)
    assert set(attributes(entries[1:], "key", "entries", "removed")) == {
        (prefix("ann"), 2, 1),
        (prefix("bo"), 1, 0),
        (prefix("cy"), 1, 0),
    }


def test_prefixes_of_a_snapshot_are_new() -> None:
    put = [(session("ann", 1), VALUE)]
    result = prefixes([Step(put), Step([(session("bo", 1), VALUE)], rebase=True)])
    assert (result[1].prefixes, result[1].new_prefixes) == (1, 1)


def test_prefix_row_may_need_fewer_null_bit_words() -> None:
    key = encode.row(struct_of(*[LONG] * 65), range(65))
    (facts,) = prefixes([Step([(key, VALUE)])], fields=65)
    assert facts.prefix_bytes == 8 + 64 * 8


def test_key_of_only_the_start_has_one_empty_prefix() -> None:
    start = struct_of(TIMESTAMP)
    keys = [encode.row(start, (0,)), encode.row(start, (1,)), encode.row(start, (2,))]
    (facts,) = prefixes([Step(list(dict.fromkeys(keys, VALUE).items()))], fields=1)
    assert (facts.prefixes, facts.prefix_bytes) == (1, 0)
    assert facts.set_sizes == sizes(3)


# In Spark's order, the old sessions of a group are removed before its new ones are put.
batches = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.sets(st.integers(0, 3), max_size=3)), max_size=5
)


@given(batches)
def test_prefixes_match_python_sets(history: list[dict[str, set[int]]]) -> None:
    live: dict[str, set[int]] = {}
    objects: dict[str, Row] = {}
    steps, expected = [], []
    for batch in history:
        before = dict(objects)
        records: list[Record] = []
        for user, starts in sorted(batch.items()):
            old = live.get(user, set())
            records += [(session(user, start), None) for start in sorted(old - starts)]
            records += [(session(user, start), VALUE) for start in sorted(starts)]
            live[user] = starts
            objects[user] = objects[user] if starts & old else Row(prefix(user))
        objects = {user: row for user, row in objects.items() if live[user]}
        steps.append(Step(records))
        new = [row for user, row in objects.items() if before.get(user) is not row]
        expected.append((len(objects), len(new), sum(map(len, attributes(new, "data")))))
    result = prefixes(steps)
    assert attributes(result, "prefixes", "new_prefixes", "new_prefix_bytes") == expected
    set_sizes = sizes(*filter(None, map(len, live.values())))
    assert attributes(result[-1:], "set_sizes") == [set_sizes] * bool(result)


counts = st.integers(0, 1 << 40)
any_facts = st.builds(PrefixFacts, counts, counts, counts, counts, counts, st.just(sizes(1, 1, 5)))


@given(any_facts, any_facts, any_facts)
def test_prefix_facts_add(a: PrefixFacts, b: PrefixFacts, c: PrefixFacts) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + PrefixFacts() == a


def test_key_too_short_for_its_schema_is_its_own_prefix() -> None:
    (result,) = prefixes([Step([(b"", VALUE), (b"k" * 8, VALUE)])])
    assert (result.prefixes, result.set_sizes.total) == (2, 2)
