"""What several tables hold together, against a model and in bounded pieces."""

from __future__ import annotations

from collections.abc import Sequence

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
    """What lives, entry by entry from the oldest on."""
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
KINDS = st.sampled_from([VALUE, VALUE, VALUE, MERGE, MERGE, DELETION, SINGLE_DELETION])
OPERATIONS = st.lists(st.tuples(KEYS, KINDS, st.binary(max_size=20)), max_size=40)
RANGES = st.lists(st.tuples(KEYS, KEYS), max_size=4)


@given(OPERATIONS, RANGES, st.data())
def test_live_rows_match_a_model(
    operations: list[tuple[bytes, int, bytes]],
    deleted: list[tuple[bytes, bytes]],
    data: st.DataObject,
) -> None:
    """Entries in any tables: which of them is older is told by sequence numbers alone."""
    numbers = st.permutations(range(1, len(operations) + len(deleted) + 1))
    sequences = data.draw(numbers)
    entries: list[Entry] = [
        (key, sequence, kind, b"" if kind in (DELETION, SINGLE_DELETION) else value)
        for (key, kind, value), sequence in zip(operations, sequences, strict=False)
    ]
    ranges: list[Range] = [
        (start, end, sequence)
        for (start, end), sequence in zip(deleted, sequences[len(operations) :], strict=True)
        if start < end
    ]
    count = data.draw(st.integers(1, 5))
    places = st.lists(st.integers(0, count - 1), min_size=100, max_size=100)
    location, range_place = data.draw(places), data.draw(places)
    tables = []
    for number in range(count):
        own = [entry for entry, where in zip(entries, location, strict=False) if where == number]
        sample = [r for r, where in zip(ranges, range_place, strict=False) if where == number]
        sample.sort(key=lambda item: (item[0], -item[2]))
        tables.append(table_of(sorted_entries(own), sample))
    expected = model(entries, ranges)
    assert live(tables) == expected
    assert live(tables, TINY) == expected
    start, end = sorted(data.draw(st.tuples(KEYS, KEYS)))
    for limits in (LIMITS, TINY):
        assert live(tables, limits, start, end) == within(expected, start, end)


def test_tables_with_disjoint_keys_are_concatenated() -> None:
    tables = [
        table_of([(b"%d%03d" % (number, i), 1, VALUE, b"v") for i in range(50)])
        for number in range(5)
    ]
    expected = [(b"%d%03d" % (number, i), b"v") for number in range(5) for i in range(50)]
    assert live(reversed(tables)) == expected
    assert live(tables, TINY) == expected
    assert live([]) == []


def test_key_with_versions_in_many_blocks() -> None:
    several_values = [(b"k", sequence, MERGE, b"%03d" % sequence) for sequence in range(300, 0, -1)]
    table = table_of([(b"a", 1, VALUE, b"first"), *several_values, (b"z", 1, VALUE, b"last")])
    value = b",".join(b"%03d" % number for number in range(1, 301))
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
    first, second = (table_of([(b"k", 7, VALUE, value)]) for value in (b"1", b"2"))
    with pytest.raises(RecordError, match="twice with one sequence number"):
        live([first, second])
