"""Single values as people read them."""

import pytest

from inspector.render.cells import cell_text, summary_name, summary_text
from inspector.render.tabular import Column, Unit


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        (Unit.COUNT, 1234, "1,234"),
        (Unit.BYTES, 12_704, "12.4 KiB"),
        (Unit.BYTES_PER_HOUR, 30.6 * 2**30, "30.6 GiB/h"),
        (Unit.PER_HOUR, 2430.0, "2,430/h"),
        (Unit.DURATION_MS, 628 * 86_400_000, "628 d"),
        (Unit.SHARE, 0.531, "53.1 %"),
        (Unit.TIME_MS, 0, "1970-01-01T00:00:00.000Z"),
        (Unit.ID, 1234, "1234"),
        (Unit.FLAG, True, "yes"),
        (Unit.VALUE, {"a": "\x1b"}, r'{"a": "\u001b"}'),
        (Unit.COUNT, None, "-"),
        (Unit.SHARE, "-", "-"),
    ],
)
def test_cell_has_unit_of_its_column(unit: Unit, value: object, expected: str) -> None:
    assert cell_text(Column("x", unit), value) == expected


def test_estimated_cell_is_marked() -> None:
    assert cell_text(Column("x", Unit.BYTES_PER_HOUR, exact=False), 2048) == "~2.0 KiB/h"
    assert cell_text(Column("x", Unit.TEXT, exact=False), "later") == "later"


def test_summary_units_follow_from_names() -> None:
    assert summary_text("row_bytes", 12_704) == "12.4 KiB (12,704 bytes)"
    assert summary_text("row_bytes", 12) == "12 B"
    assert summary_text("watermark_ms", 0) == "1970-01-01T00:00:00.000Z"
    assert summary_text("rows", 1234) == "1,234"
    assert (summary_text("x", None), summary_text("x", True)) == ("unknown", "yes")
    log = {"watermark_ms": None, "batch_timestamp_ms": 1}
    assert summary_text("watermark_ms", None, log) == "none yet"
    assert summary_text("to_watermark_ms", None, {"to_batch_timestamp_ms": 1}) == "none yet"
    assert summary_text("watermark_ms", None, log | {"watermark_in_doubt": True}) == "unknown"
    assert summary_text("watermark_ms", None, {"batch_timestamp_ms": None}) == "unknown"
    assert summary_text("x", "\x1b") == r"\x1b"
    assert summary_name("oldest_expired_ms") == "oldest expired"
    assert summary_name("two_versions_unshared_bytes") == "two versions without sharing"


def test_summary_names_of_diff_and_partitions() -> None:
    assert summary_name("from_batch_timestamp_ms") == "from batch time"
    assert summary_name("from_version") == "from version"
    assert summary_name("partitions", 2) == "partitions"
    assert summary_name("partitions", [0]) == "partition ids"
