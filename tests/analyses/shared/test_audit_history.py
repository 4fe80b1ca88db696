"""The history table of audits, its readers, and the proofs of verified parts."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from unittest import mock

import fsspec
import pandas as pd
import pyarrow.dataset as ds
import pytest

import inspector.api as api
from inspector.exceptions import CheckpointError
from inspector.model import Subset
from inspector.render.audit_history import (
    HistoryTable,
    Proofs,
    place_of,
    row_of_failure,
    rows_of,
    schema,
)
from tests.fixture_folder import NEWEST
from tests.reports import cell_values

NOW = datetime(2026, 5, 31, 12, tzinfo=timezone.utc)
JOIN = str(NEWEST / "join_left_outer" / "checkpoint")
LEAK = str(NEWEST / "fmgws_event_ignore" / "checkpoint")


def test_history_has_a_row_per_store() -> None:
    rows = rows_of(api.audit(JOIN), NOW)
    assert cell_values(rows, "store_name", "rows", "leftovers", "is_part", "checkpoint") == [
        ("left-keyToNumValues", 44, 0, False, place_of(JOIN)),
        ("left-keyWithIndexToValue", 61, 0, False, place_of(JOIN)),
        ("right-keyToNumValues", 12, 0, False, place_of(JOIN)),
        ("right-keyWithIndexToValue", 15, 0, False, place_of(JOIN)),
    ]


def test_history_rows_have_findings() -> None:
    report = api.audit(LEAK)
    (row,) = rows_of(report, NOW)
    assert row["leftovers"] == 68
    assert row["findings"] == ["SS201", "SS203"]
    finding = replace(report.findings[0], operator_id=0, store_name="left-keyToNumValues")
    rows = rows_of(replace(api.audit(JOIN), findings=(finding,)), NOW)
    assert cell_values(rows, "findings") == [[finding.kind.id], [], [], []]


@pytest.mark.parametrize("options", [{"partition_id": 0}, {"store_name": "left"}])
def test_audit_of_a_part_is_marked(options: dict[str, object]) -> None:
    (row, *_) = rows_of(api.audit(JOIN, api.Options(**options)), NOW)  # type: ignore[arg-type]
    assert row["is_part"]


def test_history_is_readable_by_pandas_and_arrow(tmp_path: Path) -> None:
    location = str(tmp_path / "history")
    rows = rows_of(api.audit(JOIN), NOW)
    HistoryTable(location, {}).append(rows)
    failed = row_of_failure("s3://x", "denied", "audit", NOW + timedelta(days=1))
    HistoryTable(location, {}).append([failed])
    frame = pd.read_parquet(location)
    assert len(frame) == len(rows) + 1
    assert sorted(map(str, frame["day"].unique())) == ["2026-05-31", "2026-06-01"]
    assert frame["rows"].sum() == 132
    table = ds.dataset(location, partitioning="hive").to_table()
    assert table.drop(["day"]).schema.equals(schema())
    assert HistoryTable(location, {}).read().num_rows == table.num_rows  # type: ignore[union-attr]
    assert not list(tmp_path.rglob("*.tmp"))


def test_failed_write_leaves_no_file(tmp_path: Path) -> None:
    rows = rows_of(api.audit(JOIN), NOW)
    with (
        mock.patch("os.replace", side_effect=OSError("disk is full")),
        pytest.raises(OSError, match="disk is full"),
    ):
        HistoryTable(str(tmp_path), {}).append(rows)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_history_in_memory_storage() -> None:
    HistoryTable("memory://history/a", {}).append(rows_of(api.audit(JOIN), NOW))
    result = HistoryTable("memory://history/a", {}).read()
    assert result is not None
    assert result.num_rows == 4
    assert HistoryTable("memory://history/none", {}).read() is None
    fsspec.filesystem("memory").rm("/history", recursive=True)


def test_foreign_parquet_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "day=2026-01-01"
    folder.mkdir()
    (folder / "x.parquet").write_bytes(b"something else")
    with pytest.raises(CheckpointError, match="got files that are not a history of audits"):
        HistoryTable(str(tmp_path), {}).read()


# --- proofs ----------------------------------------------------------------------------------


def verified(location: str, subset: str | None, audited: datetime, **columns: object) -> None:
    rows = rows_of(api.verify(JOIN, subset=subset), audited)
    HistoryTable(location, {}).append([{**row, **columns} for row in rows])


def test_next_part_has_the_oldest_proof(tmp_path: Path) -> None:
    location = str(tmp_path)
    assert Proofs.in_history(location, {}).next(JOIN, 3) == Subset(1, 3)
    for days, part in ((5, "1/3"), (4, "2/3"), (3, "3/3"), (2, "1/3"), (1, "1/4")):
        verified(location, part, NOW - timedelta(days=days))
    proofs = Proofs.in_history(location, {})
    assert proofs.next(JOIN, 3) == Subset(2, 3)
    assert proofs.next(JOIN, 4) == Subset(2, 4)
    assert "the oldest proof is of 2026-05-27 12:00 UTC" in proofs.sentence(
        JOIN, Subset(3, 3), proven=True
    )
    assert "3 of 4 parts have no proof" in proofs.sentence(JOIN, Subset(1, 4), proven=False)


def test_problems_and_partial_verifications_are_no_proof(tmp_path: Path) -> None:
    location = str(tmp_path)
    verified(location, "1/2", NOW, problems=1)
    verified(location, "2/2", NOW, is_part=True)
    assert "2 of 2 parts have no proof" in Proofs.in_history(location, {}).sentence(
        JOIN, Subset(1, 2), proven=False
    )


def test_whole_verification_proves_each_part(tmp_path: Path) -> None:
    verified(str(tmp_path), None, NOW)
    proofs = Proofs.in_history(str(tmp_path), {})
    assert proofs.sentence(JOIN, Subset(1, 9), proven=False).startswith("Each of 9 parts")


def test_proofs_without_a_history() -> None:
    assert Proofs().sentence(JOIN, Subset(1, 9), proven=True).startswith("Nothing is remembered")
