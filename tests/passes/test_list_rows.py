"""Lists from rows in any order: values by position, in memory or through a temporary file."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inspector.passes.list_rows import ListRow, lists_of

keys = st.binary(max_size=3)
rows_of_lists = st.dictionaries(
    st.tuples(keys, st.integers(0, 2**40)), st.binary(max_size=20), max_size=60
)


@given(rows_of_lists, st.integers(0, 3_000), st.randoms())
def test_lists_have_their_values_by_position_whatever_the_limit(
    entries: dict[tuple[bytes, int], bytes], limit: int, random: object
) -> None:
    rows = [ListRow(key, position, value) for (key, position), value in entries.items()]
    random.shuffle(rows)  # type: ignore[attr-defined]
    expected: dict[bytes, list[bytes]] = {}
    for row in sorted(rows):
        expected.setdefault(row.key, []).append(row.value)
    result = list(lists_of(rows, limit))
    assert dict(result) == expected
    assert len(result) == len(expected)


def test_lists_in_memory_are_in_the_order_of_their_first_rows() -> None:
    rows = [ListRow(b"b", 1, b"2"), ListRow(b"a", 0, b"1"), ListRow(b"b", 0, b"0")]
    assert list(lists_of(rows)) == [(b"b", [b"0", b"2"]), (b"a", [b"1"])]
