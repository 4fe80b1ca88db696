"""Notes of reports about files without a checksum."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from inspector import api
from inspector.render.report import Report
from tests.attributes import attributes
from tests.byte_damage import with_sums
from tests.cli.support import flip
from tests.fixture_folder import NEWEST
from tests.reports import findings_with_id, rows_of_table

Command = Callable[[str], Report]
COMMANDS: tuple[Command, ...] = (api.audit, api.verify, api.leftovers, api.rows, api.info)


def checksum_notes(report: Report) -> list[str]:
    """Return the notes about files without a checksum and about missing state."""
    return [note for note in report.notes if "No checksum" in note or "no state in" in note]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_notes_files_without_checksum(command: Command) -> None:
    (note,) = checksum_notes(command(str(NEWEST / "codec_zstd/checkpoint")))
    assert "11 of 11 state files" in note


def test_snapshot_confirms_deltas_before_it() -> None:
    report = api.verify(str(NEWEST / "codec_zstd/checkpoint"))
    summary = report.summary
    assert summary["files_without_checksum"] == summary["files_that_passed"] == 11
    (row,) = rows_of_table(report, "checks")
    assert row["files_confirmed_by_snapshot"] == summary["files_confirmed_by_snapshot"]
    assert 0 < summary["files_confirmed_by_snapshot"] < 11
    (note,) = checksum_notes(report)
    assert f"snapshots confirm {summary['files_confirmed_by_snapshot']} of them" in note
    assert summary["small_files_without_checksum"] == summary["small_files"] == 13
    audited = api.audit(str(NEWEST / "codec_zstd/checkpoint")).summary
    assert audited["small_files_without_checksum"] == 13


def test_lz4_block_checksums_need_no_note() -> None:
    assert checksum_notes(api.audit(str(NEWEST / "agg_append/checkpoint"))) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_no_note_if_all_files_have_checksums(command: Command, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "codec_zstd/checkpoint", root)
    with_sums(root)
    assert checksum_notes(command(str(root))) == []


@pytest.mark.parametrize("command", [api.rows, api.leftovers])
def test_checksum_file_reveals_damage_of_a_snappy_delta(command: Command, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "codec_snappy/checkpoint", root)
    with_sums(root)
    delta = root / "state/0/0/5.delta"
    flip(delta, -12)
    report = command(str(root))
    list(report.primary.rows)  # problems are found while rows are read
    assert str(delta) in attributes(report.problems, "path")


def test_missing_state_folder_has_a_note(tmp_path: Path) -> None:
    root = Path(shutil.copytree(NEWEST / "agg_global/checkpoint", tmp_path / "c"))
    assert checksum_notes(api.audit(str(root))) == []
    shutil.rmtree(root / "state")
    (note,) = checksum_notes(api.audit(str(root)))
    assert "its query keeps none, or state/ is lost" in note
    assert checksum_notes(api.info(str(root))) == checksum_notes(api.verify(str(root))) == [note]


def test_file_with_an_impossible_name_is_a_finding(tmp_path: Path) -> None:
    root = Path(shutil.copytree(NEWEST / "agg_global/checkpoint", tmp_path / "c"))
    folder = root / "state/0/0"
    (folder / "1.delta").rename(folder / "9223372036854775807.delta")
    (folder / "notes.txt").touch()
    (finding,) = findings_with_id(api.verify(str(root)), "SS114")
    assert "whose name no state store gives, the first of 2; it is not counted" in finding.evidence
