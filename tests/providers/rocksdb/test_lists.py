"""Positions of rows in their lists, over the versions of a store."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.encoded_rows import Spans
from inspector.providers.rocksdb.store_records import ListLengths
from tests.rocks import MERGE, PUT, REMOVAL

Entry = tuple[int, str, int]
"""Kind, key and rows of an entry."""
Record = tuple[str, int, bool]
"""Key, position in the list, and True if the row is put or False if it is removed."""


def applied(lists: ListLengths, path: str, version: int, entries: list[Entry]) -> list[Record]:
    """Return the records of one file, which is read in blocks of two entries."""
    lists.begin(path, version, snapshot=path.endswith("zip"))
    result: list[Record] = []
    for at in range(0, len(entries), 2):
        sample = entries[at : at + 2]
        kinds, names, rows = zip(*sample, strict=True)
        sizes = np.array(list(map(len, names)), np.int64)
        keys = Spans(np.cumsum(sizes) - sizes, sizes)
        merged, counts = np.array(kinds) == MERGE, np.array(rows, np.int64)
        places = lists.apply("".join(names).encode(), keys, merged, counts)
        puts = places.elements[places.elements >= 0]
        assert puts.tolist() == list(range(int(counts.sum())))
        result += [
            (names[entry], index, element >= 0)
            for entry, index, element in np.transpose(places).tolist()
        ]
    lists.end(path, version)
    return result


def test_list_rows_are_put_appended_and_removed() -> None:
    lists = ListLengths()
    first: list[Entry] = [(PUT, "a", 2), (MERGE, "a", 1), (MERGE, "b", 1)]
    assert applied(lists, "1", 1, first) == [
        *(("a", 0, True), ("a", 1, True), ("a", 2, True)),
        ("b", 0, True),
    ]
    second: list[Entry] = [(PUT, "a", 1), (REMOVAL, "b", 0), (REMOVAL, "c", 0)]
    assert applied(lists, "2", 2, second) == [
        *(("a", 0, True), ("a", 1, False), ("a", 2, False)),
        ("b", 0, False),
    ]
    assert applied(lists, "3", 3, [(MERGE, "b", 1)]) == [("b", 0, True)]
    # A second read of a file gives the same records.
    assert applied(lists, "2", 2, second)[1:3] == [("a", 1, False), ("a", 2, False)]
    assert applied(lists, "4", 4, [(REMOVAL, "b", 0)]) == [("b", 0, False)]


@pytest.mark.parametrize("path", ["2.zip", "3.changelog"])
def test_lists_restart_at_snapshot_or_gap(path: str) -> None:
    lists = ListLengths()
    applied(lists, "1", 1, [(PUT, "a", 3)])
    assert applied(lists, path, int(path[0]), [(PUT, "a", 1)]) == [("a", 0, True)]


def test_truncated_list_file_does_not_affect_next() -> None:
    lists = ListLengths()
    applied(lists, "1", 1, [(PUT, "a", 3)])
    lists.begin("2", 2, snapshot=False)
    assert applied(lists, "3", 3, [(MERGE, "a", 1)]) == [("a", 0, True)]


keys = st.sampled_from("abc")
puts = st.tuples(st.sampled_from([PUT, MERGE]), keys, st.integers(1, 3))
entries = st.lists(puts | st.tuples(st.just(REMOVAL), keys, st.just(0)), max_size=12)


@given(st.lists(entries, max_size=4))
def test_list_records_reproduce_lists_of_spark(versions: list[list[Entry]]) -> None:
    lists = ListLengths()
    lengths: dict[str, int] = {}
    live: dict[tuple[str, int], bool] = {}
    for version, of_version in enumerate(versions, 1):
        for kind, key, rows in of_version:
            lengths[key] = rows + lengths.get(key, 0) * (kind == MERGE)
        for key, index, put in applied(lists, str(version), version, of_version):
            live[key, index] = put
        expected = {(key, i) for key, length in lengths.items() for i in range(length)}
        assert {row for row, is_live in live.items() if is_live} == expected
