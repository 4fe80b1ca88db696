"""The tables of ``sizes`` and ``sharing``."""

from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.sizes import size_columns
from inspector.discovery.checkpoint import open_checkpoint
from inspector.facts.versions import VersionFacts
from tests.cli.support import checkpoint_of, copy_of
from tests.reports import cell_values, rows_where

JOIN = str(checkpoint_of("join_left_outer"))


def test_empty_store_has_no_quantiles() -> None:
    row = size_columns(open_checkpoint(JOIN), (0, "", -1), 1, VersionFacts())
    assert row["rows"] == row["row_bytes"] == 0
    assert row["value_bytes_p50"] is row["value_bytes_max"] is None


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("operator", [(None, None)]),
        (
            "store",
            [
                ("left-keyToNumValues", None),
                ("left-keyWithIndexToValue", None),
                ("right-keyToNumValues", None),
                ("right-keyWithIndexToValue", None),
            ],
        ),
        (
            "partition",
            [
                ("left-keyToNumValues", 0),
                ("left-keyToNumValues", 1),
                ("left-keyWithIndexToValue", 0),
                ("left-keyWithIndexToValue", 1),
                ("right-keyToNumValues", 0),
                ("right-keyToNumValues", 1),
                ("right-keyWithIndexToValue", 0),
                ("right-keyWithIndexToValue", 1),
            ],
        ),
    ],
)
def test_sizes_by_operator_store_and_partition(by: str, expected: list[tuple[object, ...]]) -> None:
    rows = api.sizes(JOIN, by=by).primary.rows
    assert cell_values(rows, "store_name", "partition_id") == expected


def test_two_versions_bytes_of_sharing() -> None:
    """Without sharing, two versions have the shared bytes twice."""
    rows = list(api.sharing(JOIN).primary.rows)
    assert len(rows) == 40
    left = rows_where(rows, store_name="left-keyToNumValues")
    names = ("row_bytes", "two_versions_bytes", "two_versions_unshared_bytes")
    assert cell_values(left, *names)[:6] == [
        (640, 640, 640),
        (1024, 1152, 1664),
        (1408, 1536, 2432),
        (1792, 1920, 3200),
        (1792, 2416, 3584),
        (1408, 1904, 3200),
    ]
    assert cell_values(left, "shared_key_bytes", "shared_value_bytes")[:6] == [
        *((0, 0), (320, 192), (512, 384), (704, 576), (704, 464), (704, 592)),
    ]


def test_sharing_history_of_unrestorable_versions() -> None:
    path = str(checkpoint_of("snapshots_cleaned"))
    assert cell_values(api.sharing(path).primary.rows, "version", "history")[:5] == [
        (6, "some partitions"),
        (7, "some partitions"),
        (8, "some changes"),
        (9, "complete"),
        (10, "complete"),
    ]


def test_summary_counts_unread_partition_stores(tmp_path: Path) -> None:
    root = copy_of("agg_update", tmp_path)
    assert "partition_stores_read" not in api.sizes(str(root)).summary
    (root / "state" / "0" / "1" / "4.delta").unlink()
    for report in (api.sizes(str(root)), api.audit(str(root)), api.memory(str(root))):
        assert report.summary["partition_stores_read"] == 1
        assert report.summary["partition_stores"] == 2
