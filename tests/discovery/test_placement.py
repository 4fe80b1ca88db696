"""Key fields whose hash decides the partition of a row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.placement import count_hashed, partition_count
from inspector.discovery.user_schemas import GIVEN
from tests.fixture_folder import FIXTURES, NEWEST


@pytest.mark.parametrize(
    ("case", "store", "fields"),
    [
        ("4.3.0/agg_update", "default", 2),
        ("4.3.0/session_window", "default", 1),
        ("4.3.0/dedup_no_watermark", "default", 2),
        ("4.3.0/join_time_key", "left-keyToNumValues", 1),
        ("4.3.0/join_time_key", "left-keyWithIndexToValue", 1),
        ("4.3.0/agg_global", "default", 0),
        ("3.1.3/agg_update", "default", 0),
        ("2.4.8/agg_update", "default", 0),
    ],
)
def test_count_of_hashed_key_fields(case: str, store: str, fields: int) -> None:
    checkpoint = open_checkpoint(str(FIXTURES / case / "checkpoint"))
    assert (
        count_hashed(checkpoint, checkpoint.operators[0], store, checkpoint.newest_version)
        == fields
    )


def test_no_hashed_fields_of_user_schemas_and_unknown_operators() -> None:
    checkpoint = open_checkpoint(str(NEWEST / "agg_update" / "checkpoint"))
    (operator,) = checkpoint.operators
    given = {"default": replace(operator.schemas["default"], version=GIVEN)}

    def count(**changed: Any) -> int:
        second = replace(operator, **changed)
        return count_hashed(checkpoint, second, "default", checkpoint.newest_version)

    assert count() == 2
    assert count(schemas=given) == 0
    assert count(schemas={}) == 0
    assert count(name="unknown") == 0
    assert count(name="globalLimit") == 0


def test_partition_count_from_the_log() -> None:
    checkpoint = open_checkpoint(str(NEWEST / "agg_update" / "checkpoint"))
    assert partition_count(checkpoint, checkpoint.newest_version) == 2
    silent = replace(checkpoint, logs=replace(checkpoint.logs, confs={}))
    assert partition_count(silent, checkpoint.newest_version) == 0
