"""Live rows of several tables, compared with a model, for small and large blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.exceptions import LimitError, RecordError
from inspector.model import LIMITS, Limits
from tests.decode.sst.tables import (
    DELETION,
    MERGE,
    SINGLE_DELETION,
    VALUE,
    Entry,
    live,
    sorted_entries,
    table_of,
    within,
)

TINY = Limits(block_bytes=64)
Range = tuple[bytes, bytes, int]


def model(entries: Sequence[Entry], ranges: Sequence[Range]) -> list[tuple[bytes, bytes]]:
    """Return the live rows by applying all entries from the oldest to the newest."""
    result: dict[bytes, bytes] = {}
    done: list[Entry | Range] = [*entries, *ranges]
    for item in sorted(done, key=lambda single: single[1] if len(single) == 4 else single[2]):
        if len(item) == 3:
            start, end, _ = item
            result = {key: value for key, value in result.items() if not start <= key < end}
            continue
        key, _, kind, value = item
        if kind == VALUE:
            result[key] = value
        elif kind == MERGE:
            result[key] = result[key] + b"," + value if key in result else value
        else:
            result.pop(key, None)
    return sorted(result.items())


KEYS = st.sampled_from([b"", b"a", b"aa", b"ab", b"b", b"b\0", b"c" * 40, b"d", b"\xff"])
KINDS = st.sampled_from([VALUE, VALUE, MERGE])
DELETIONS = st.sampled_from([DELETION, SINGLE_DELETION])
OPERATION = st.tuples(KEYS, KINDS, st.binary(max_size=20)) | st.tuples(
    KEYS, DELETIONS, st.just(b"")
)
OPERATIONS = st.lists(OPERATION, max_size=40)
RANGES = st.lists(st.tuples(KEYS, KEYS).filter(lambda keys: keys[0] < keys[1]), max_size=4)


@given(OPERATIONS, RANGES, st.data())
def test_live_rows_match_a_model(
    operations: list[tuple[bytes, int, bytes]],
    deleted: list[tuple[bytes, bytes]],
    data: st.DataObject,
) -> None:
    """Entries may be in any table. Their order in time is that of their sequence numbers."""
    numbers = st.permutations(range(1, len(operations) + len(deleted) + 1))
    sequences = data.draw(numbers)
    entries: list[Entry] = [
        (key, sequence, kind, value)
        for (key, kind, value), sequence in zip(operations, sequences, strict=False)
    ]
    ranges: list[Range] = [
        (start, end, sequence)
        for (start, end), sequence in zip(deleted, sequences[len(operations) :], strict=True)
    ]
    count = data.draw(st.integers(0, 4))
    cuts = st.lists(st.integers(0, 40), min_size=count, max_size=count).map(sorted)
    entry_cuts, range_cuts = [0, *data.draw(cuts), 40], [0, *data.draw(cuts), 40]
    tables = []
    for (a, b), (c, d) in zip(pairwise(entry_cuts), pairwise(range_cuts), strict=True):
        own = sorted(ranges[c // 10 : d // 10], key=lambda item: (item[0], -item[2]))
        tables.append(table_of(sorted_entries(entries[a:b]), own))
    expected = model(entries, ranges)
    assert live(tables) == expected
    assert live(tables, TINY) == expected
    start, end = sorted(data.draw(st.tuples(KEYS, KEYS)))
    assert live(tables, LIMITS, start, end) == within(expected, start, end)
    assert live(tables, TINY, start, end) == within(expected, start, end)


def test_tables_with_disjoint_keys_are_concatenated() -> None:
    keys = [b"%03d" % number for number in range(250)]
    entries: list[Entry] = [(key, 1, VALUE, b"v") for key in keys]
    tables = [table_of(entries[:50]), table_of(entries[50:200]), table_of(entries[200:])]
    expected = list(dict.fromkeys(keys, b"v").items())
    assert live(reversed(tables)) == expected
    assert live(tables, TINY) == expected
    assert live([]) == []


def test_key_with_versions_in_many_blocks() -> None:
    several_values = [(b"k", sequence, MERGE, b"%03d" % sequence) for sequence in range(300, 0, -1)]
    table = table_of([(b"a", 1, VALUE, b"first"), *several_values, (b"z", 1, VALUE, b"last")])
    value = b",".join(value for *_, value in reversed(several_values))
    assert live([table], TINY) == [(b"a", b"first"), (b"k", value), (b"z", b"last")]


def test_merged_value_limit() -> None:
    several_values = [(b"k", sequence, MERGE, b"12345") for sequence in range(300, 0, -1)]
    with pytest.raises(LimitError, match=r"merged value of 1,799 bytes.*record_bytes"):
        live([table_of(several_values)], Limits(record_bytes=1798))
    assert len(live([table_of(several_values)], Limits(record_bytes=1799))[0][1]) == 1799


def test_unknown_merge_operator_is_refused() -> None:
    entry = (b"k", 1, MERGE, b"v")
    second = {b"rocksdb.merge.operator": b"UInt64AddOperator"}
    with pytest.raises(RecordError, match="UInt64AddOperator"):
        live([table_of([entry], extra=second)])
    assert live([table_of([(b"k", 1, VALUE, b"v")], extra=second)]) == [(b"k", b"v")]


def test_sequence_number_of_a_key_twice_is_refused() -> None:
    first, second = table_of([(b"k", 7, VALUE, b"1")]), table_of([(b"k", 7, VALUE, b"2")])
    with pytest.raises(RecordError, match="twice with one sequence number"):
        live([first, second])
