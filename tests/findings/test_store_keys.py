"""Keys of a store: columns of a key, and rows per input record."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.checkpoint.log_entries import SourceOffset
from inspector.facts.versions import VersionFacts
from inspector.findings.views.store_keys import columns_of, without_column
from inspector.operators.rule import StoreRule
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from tests.encode import row
from tests.store_views import store_view


@pytest.mark.parametrize(
    ("key", "counted"),
    [
        ("id string", (120, 10)),
        # Without a watermark on it the rule says nothing of how many windows a record is in.
        ("window struct<start: timestamp, end: timestamp>, id string", (0, 0)),
    ],
)
def test_rows_per_record_are_not_counted_for_windowed_keys(
    key: str, counted: tuple[int, int]
) -> None:
    store = store_view(
        StoreRule(),
        history=[VersionFacts(puts=120)],
        key=parse_ddl(key),
        sources={0: (SourceOffset("0", "{}", True, 10),)},
    )
    assert store.keys.rows_and_records == counted


def test_columns_of_key_have_encoded_bytes() -> None:
    schema = parse_ddl("w struct<start: timestamp, end: timestamp>, n int, user string, id string")
    key = row(schema, [(1, 2), 7, "Ab ", None])
    columns = columns_of([key, key[:20]], schema.fields)
    (window, _), (number, _), (user, cut), (nothing, _) = columns
    assert (window[8:], number) == (b"\1" + bytes(7) + b"\2" + bytes(7), b"\7" + bytes(7))
    assert (user, nothing, cut) == (b"Ab ", b"", b"")


@pytest.mark.parametrize("dropped", [0, 1, 2, 3])
@pytest.mark.parametrize("values", [("abcdefghi", (1, 2), 7, "x"), (None, (1, 2), None, "")])
def test_key_without_column_equals_encoded_row_of_other_columns(
    values: tuple[Any, ...], dropped: int
) -> None:
    schema = parse_ddl("a string, w struct<start: timestamp, end: timestamp>, n int, b string")
    others = StructType(schema.fields[:dropped] + schema.fields[dropped + 1 :])
    expected = row(others, values[:dropped] + values[dropped + 1 :])
    assert without_column(row(schema, values), schema.fields, dropped) == expected
