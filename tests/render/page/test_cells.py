"""Values as a page shows them."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.render.page.document import Cell, cell, number_cell, summary_cell
from inspector.render.tabular import Column, Unit

AT = 1_704_067_220_500


@pytest.mark.parametrize(
    ("column", "value", "text", "number"),
    [
        (Column("rows", Unit.COUNT), 1_234_567, "1,234,567", 1_234_567),
        (Column("rows", Unit.COUNT, exact=False), 12, "~12", 12),
        (Column("row_bytes", Unit.BYTES), 1536, "1.5 KiB", 1536),
        (Column("heap", Unit.BYTES, exact=False), 1536, "~1.5 KiB", 1536),
        (Column("lag_ms", Unit.DURATION_MS), 90_000, "1 min 30 s", 90_000),
        (Column("clock_ms", Unit.TIME_MS), AT, "2024-01-01 00:00:20.500", AT),
        (Column("clock_ms", Unit.TIME_MS), AT - 500, "2024-01-01 00:00:20", AT - 500),
        (Column("rate", Unit.PER_HOUR, exact=False), 12.0, "~12/h", 12.0),
        (Column("batch_id", Unit.ID), 12_345, "12345", 12_345),
        (Column("partitions"), "2 of 3", "2 of 3", None),
        (Column("share", Unit.SHARE), 0.25, "25.0 %", 0.25),
        (Column("new_data", Unit.FLAG), True, "yes", None),
        (Column("rows", Unit.COUNT), None, "-", None),
    ],
)
def test_page_cell_has_text_with_unit_and_number(
    column: Column, value: Any, text: str, number: int | None
) -> None:
    assert cell(column, value) == Cell(text, number)


def test_page_cells_of_keys_and_schemas_are_code() -> None:
    assert cell(Column("key", Unit.VALUE), "sha256:00") == Cell("sha256:00", code=True)
    assert cell(Column("key", Unit.VALUE), {"user": "Ä"}) == Cell('{"user": "Ä"}', code=True)
    assert cell(Column("key_schema"), "user string").code


def test_unknown_number_cell_is_empty() -> None:
    assert number_cell(Unit.BYTES, None) == Cell("-")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("watermark_ms", None, Cell("unknown")),
        ("watermark_ms", AT, Cell("2024-01-01 00:00:20.500", AT)),
        ("row_bytes", 2048, Cell("2.0 KiB", 2048)),
        ("heap_estimate_bytes", 2048, Cell("~2.0 KiB", 2048)),
        ("committed", True, Cell("yes")),
        ("rows", 1000, Cell("1,000", 1000)),
        ("stores_read", "7 of 8", Cell("7 of 8")),
    ],
)
def test_page_summary_cells_follow_from_names(name: str, value: Any, expected: Cell) -> None:
    assert summary_cell(name, value, {}) == expected
