"""A boolean field, counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.row_columns import count_flags
from inspector.sparktypes.ddl import parse_ddl
from tests import encode
from tests.decode.spans import spans_of

SCHEMA = parse_ddl("name string, matched boolean")


def counted(*rows: bytes) -> tuple[int, int]:
    """Return the number of rows whose second field is true, and the number with false."""
    return count_flags(SCHEMA, 1, *spans_of(rows))


@given(st.lists(st.none() | st.booleans(), max_size=12))
def test_counts_true_and_false_without_null(flags: list[bool | None]) -> None:
    rows = [encode.row(SCHEMA, ("x" * i, flag)) for i, flag in enumerate(flags)]
    assert counted(*rows) == (flags.count(True), flags.count(False))


def test_row_that_does_not_fit_is_not_counted() -> None:
    assert counted(b"\0" * 16, encode.row(SCHEMA, ("a", True))) == (1, 0)
