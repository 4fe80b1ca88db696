"""Rows that are read once, unless they are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from inspector.exceptions import InspectorError
from inspector.render.tabular import StreamedRows, Table

ROWS = [{"n": number} for number in range(5)]


class Source(Iterator[dict[str, Any]]):
    """An iterator that counts what was taken of it."""

    def __init__(self) -> None:
        self.taken = 0

    def __next__(self) -> dict[str, Any]:
        if self.taken == len(ROWS):
            raise StopIteration
        self.taken += 1
        return ROWS[self.taken - 1]


def test_streamed_rows_are_read_once_while_written() -> None:
    source = Source()
    rows = StreamedRows(source, "rows")
    assert source.taken == 0
    assert next(iter(rows)) == ROWS[0]
    assert source.taken == 1
    assert rows.gone
    for again in (list, StreamedRows.keep, lambda it: it.head(2)):
        with pytest.raises(InspectorError, match="rows of table 'rows' have been read"):
            again(rows)


@pytest.mark.parametrize("number", [0, 2, 5, 9])
def test_peek_consumes_no_row(number: int) -> None:
    source = Source()
    rows = StreamedRows(source, "rows")
    for _ in range(2):
        assert rows.head(number) == ROWS[:number]
    assert source.taken == min(number, len(ROWS))
    assert rows.head(1) == ROWS[:1]
    assert list(rows) == ROWS


def test_kept_rows_are_read_repeatedly() -> None:
    rows = StreamedRows(iter(ROWS), "rows")
    assert rows.count is None  # nobody knows yet
    assert "read when they are needed" in repr(rows)
    rows.head(2)
    rows.keep()
    rows.keep()
    assert list(rows) == list(rows) == ROWS
    assert (rows.head(2), rows.gone) == (ROWS[:2], False)
    assert repr(rows).endswith("5 kept>")


def test_table_of_iterator_has_streamed_rows() -> None:
    streamed = Table("t", "Things", (), iter(ROWS))
    assert isinstance(streamed.rows, StreamedRows)
    assert repr(streamed) == "<Table t: 0 columns>"
    assert Table("t", "Things", (), ROWS).rows is ROWS
    assert repr(Table("t", "Things", (), ROWS[:1])) == "<Table t: 0 columns, 1 row>"
