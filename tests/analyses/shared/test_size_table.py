"""``sizes`` and ``sharing``: rows of places and versions."""

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.analyses.sizes import size_columns
from inspector.discovery.checkpoint import open_checkpoint
from inspector.facts.versions import VersionFacts
from tests.cli.support import checkpoint_of

JOIN = str(checkpoint_of("join_left_outer"))


def test_empty_store_has_no_quantiles() -> None:
    row = size_columns(open_checkpoint(JOIN), (0, "", -1), 1, VersionFacts())
    assert row["rows"] == row["row_bytes"] == 0
    quantiles = {value for name, value in row.items() if name.split("_")[-1] in ("p50", "max")}
    assert quantiles == {None}


@pytest.mark.parametrize(
    ("by", "store", "partition"),
    [("operator", False, False), ("store", True, False), ("partition", True, True)],
)
def test_sizes_by_operator_store_and_partition(by: str, store: bool, partition: bool) -> None:
    for row in api.sizes(JOIN, by=by).primary.rows:
        assert (row["store_name"] is not None) == store
        assert (row["partition_id"] is not None) == partition


def test_two_versions_bytes_of_sharing() -> None:
    rows = list(api.sharing(JOIN).primary.rows)
    assert len(rows) == 40
    for row in rows:
        assert row["two_versions_bytes"] >= row["row_bytes"]
        shared = row["shared_key_bytes"] + row["shared_value_bytes"]
        assert row["two_versions_unshared_bytes"] - row["two_versions_bytes"] == shared


def test_sharing_history_of_unrestorable_versions() -> None:
    path = str(checkpoint_of("snapshots_cleaned"))
    result = {row["version"]: row["history"] for row in api.sharing(path).primary.rows}
    assert (result[6], result[8], result[14]) == (
        "some partitions",
        "some changes",
        "complete",
    )


def test_summary_counts_unread_partition_stores(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("agg_update"), root)
    assert "partition_stores_read" not in api.sizes(str(root)).summary
    (root / "state" / "0" / "1" / "4.delta").unlink()
    for report in (api.sizes(str(root)), api.audit(str(root)), api.memory(str(root))):
        assert report.summary["partition_stores_read"] == 1
        assert report.summary["partition_stores"] == 2
