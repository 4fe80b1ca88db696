"""Entries of listings, made from the info of each driver."""

from datetime import datetime, timedelta, timezone

import pytest

from inspector.checkpoint.trees import Entry, entry_of, modified_ms

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=timezone.utc)
MOMENT_MS = 1767323045678


@pytest.mark.parametrize(
    "info",
    [
        {"mtime": 1767323045.6789},
        {"LastModified": MOMENT},
        {"last_modified": MOMENT.astimezone(timezone(timedelta(hours=5)))},
        {"updated": "2026-01-02T03:04:05.678000Z"},
        {"created": MOMENT.replace(tzinfo=None)},
        {"mtime": None, "modified": MOMENT},
    ],
)
def test_modified_time_of_every_driver(info: dict[str, object]) -> None:
    assert modified_ms(info) == MOMENT_MS


@pytest.mark.parametrize("info", [{}, {"mtime": "yesterday"}, {"mtime": None}])
def test_entry_without_modified_time(info: dict[str, object]) -> None:
    assert modified_ms(info) is None


def test_entry_name_and_size() -> None:
    assert entry_of({"type": "file", "size": 7}, "a/b.c") == Entry("b.c", "a/b.c", False, 7)
    assert entry_of({"type": "file", "size": None}, "b.c") == Entry("b.c", "b.c", False, 0)
    assert entry_of({"type": "directory", "size": 4096}, "a") == Entry("a", "a", True, 0)
