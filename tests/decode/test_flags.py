"""A boolean field, counted."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inspector.decode.row_columns import count_flags
from inspector.sparktypes.ddl import parse_ddl
from tests import encode

SCHEMA = parse_ddl("name string, matched boolean")


def counted(*rows: bytes) -> tuple[int, int]:
    """True and false in the second field of some rows."""
    lengths = np.array([len(row) for row in rows], np.int64)
    return count_flags(SCHEMA, 1, b"".join(rows), np.cumsum(lengths) - lengths, lengths)


@given(st.lists(st.none() | st.booleans(), max_size=12))
def test_counts_true_and_false_without_null(flags: list[bool | None]) -> None:
    rows = [encode.row(SCHEMA, ("x" * i, flag)) for i, flag in enumerate(flags)]
    assert counted(*rows) == (flags.count(True), flags.count(False))


def test_row_that_does_not_fit_is_not_counted() -> None:
    assert counted(b"\0" * 16, encode.row(SCHEMA, ("a", True))) == (1, 0)
