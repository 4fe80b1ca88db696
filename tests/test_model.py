"""The field's nouns are plain values: they sort, hash, and cannot be changed."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from inspector import docs
from inspector.model import (
    LIMITS,
    BatchClock,
    BatchId,
    FileKind,
    Limits,
    Problem,
    StoreFile,
    StoreId,
    Version,
    above_limit,
)

VALUES = [
    StoreId(0, "default", 1),
    StoreFile("/c/state/0/1/3.delta", FileKind.DELTA, Version(3), 46, 1700000000000),
    Limits(),
    BatchClock(BatchId(2), 1000, 500, True, False, 600),
    Problem("truncated", "got 1", "/c", 5, StoreId(0, "default", 1), 3),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_model_values_are_equal_and_immutable(value: StoreId) -> None:
    again = pickle.loads(pickle.dumps(value))  # noqa: S301 - our own bytes
    assert again == value
    assert len({again, value}) == 1
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, None)


def test_store_ids_sort_by_operator_name_partition() -> None:
    stores = [StoreId(1, "a", 0), StoreId(0, "b", 0), StoreId(0, "a", 10), StoreId(0, "a", 9)]
    assert sorted(stores) == [stores[3], stores[2], stores[1], stores[0]]


def test_batch_without_log_entry_has_no_clock() -> None:
    clock = BatchClock(BatchId(0))
    assert (clock.timestamp_ms, clock.watermark_ms, clock.next_watermark_ms) == (None, None, None)
    assert (clock.has_new_data, clock.committed) == (None, False)


def test_default_limits_allow_files_of_spark() -> None:
    # The largest lz4-java block, and values far above what any executor's heap would bear by row.
    assert LIMITS.frame_bytes >= 32 << 20
    assert LIMITS.record_bytes >= 128 << 20


def test_limits_are_set_by_environment_variable() -> None:
    assert Limits.parse("") == Limits()
    assert Limits.parse(" ratio=5, fields = 7,") == Limits(ratio=5, fields=7)


@pytest.mark.parametrize("text", ["ratio", "ratio=", "ratio=-1", "ratio=0", "rato=5", "ratio=1e3"])
def test_unknown_limit_error_names_all_limits(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected NAME=NUMBER of frame_bytes, .*sum_part_bytes"):
        Limits.parse(text)


def test_limit_error_names_limit_and_variable() -> None:
    error = above_limit("ratio", "5 raw bytes from 1", Limits(ratio=4), 7)
    assert str(error) == (
        "byte 7: 5 raw bytes from 1, the limit ratio is 4 (INSPECTOR_LIMITS=ratio=N sets another)"
    )


def test_configuration_page_lists_every_limit() -> None:
    page = docs.lookup("configuration") or ""
    for field in dataclasses.fields(Limits):
        assert f"- `{field.name}` ({field.default}): " in page
