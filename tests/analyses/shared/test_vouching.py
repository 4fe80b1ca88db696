"""What the report says of files that no checksum vouches for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.render.report import Report
from tests.byte_damage import with_sums
from tests.fixture_folder import NEWEST

COMMANDS = (api.audit, api.verify, api.leftovers, api.rows, api.info)


def vouching(report: Report) -> list[str]:
    return [note for note in report.notes if "No checksum" in note or "no state in" in note]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_notes_files_without_checksum(command: object) -> None:
    assert callable(command)
    (note,) = vouching(command(str(NEWEST / "codec_zstd/checkpoint")))
    assert "11 of 11 state files" in note


def test_snapshot_confirms_deltas_before_it() -> None:
    report = api.verify(str(NEWEST / "codec_zstd/checkpoint"))
    summary = report.summary
    assert summary["files_without_checksum"] == summary["files_that_passed"] == 11
    (checks,) = (table for table in report.tables if table.name == "checks")
    (row,) = checks.rows
    assert row["files_confirmed_by_snapshot"] == summary["files_confirmed_by_snapshot"]
    assert 0 < summary["files_confirmed_by_snapshot"] < 11
    (note,) = vouching(report)
    assert f"snapshots confirm {summary['files_confirmed_by_snapshot']} of them" in note
    assert summary["small_files_without_checksum"] == summary["small_files"] == 13
    audited = api.audit(str(NEWEST / "codec_zstd/checkpoint")).summary
    assert audited["small_files_without_checksum"] == 13


def test_lz4_block_checksums_need_no_note() -> None:
    assert vouching(api.audit(str(NEWEST / "agg_append/checkpoint"))) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_note_if_all_files_have_checksums(command: object, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "codec_zstd/checkpoint", root)
    with_sums(root)
    assert callable(command)
    assert vouching(command(str(root))) == []


@pytest.mark.parametrize("command", [api.rows, api.leftovers])
def test_checksum_file_reveals_damage_of_a_snappy_delta(command: object, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "codec_snappy/checkpoint", root)
    with_sums(root)
    data = bytearray((root / "state/0/0/5.delta").read_bytes())
    sound = bytes(data)
    data[-12] ^= 1
    (root / "state/0/0/5.delta").write_bytes(bytes(data))
    assert bytes(data) != sound
    assert callable(command)
    report = command(str(root))
    for table in report.tables:
        list(table.rows)
    assert any("5.delta" in (problem.path or "") for problem in report.problems)


def test_missing_state_folder_has_a_note(tmp_path: Path) -> None:
    root = Path(shutil.copytree(NEWEST / "agg_global/checkpoint", tmp_path / "c"))
    assert vouching(api.audit(str(root))) == []
    shutil.rmtree(root / "state")
    for report in (api.audit(str(root)), api.info(str(root)), api.verify(str(root))):
        (note,) = vouching(report)
        assert "its query keeps none, or state/ is lost" in note


def test_file_with_an_impossible_name_is_a_finding(tmp_path: Path) -> None:
    root = Path(shutil.copytree(NEWEST / "agg_global/checkpoint", tmp_path / "c"))
    folder = root / "state/0/0"
    (folder / "1.delta").rename(folder / "9223372036854775807.delta")
    (folder / "notes.txt").touch()
    (finding,) = (item for item in api.verify(str(root)).findings if item.kind.id == "SS114")
    assert "whose name no state store gives, the first of 2; it is not counted" in finding.evidence
