"""Bytes of files and names of operators, as several reports have them."""

from pathlib import Path

from inspector.analyses.shared.judged import file_bytes, operator_names
from inspector.discovery.checkpoint import open_checkpoint, state_file_bytes
from inspector.model import FileKind
from tests.cli.support import checkpoint_of, copy_of


def test_file_bytes_by_kind_equal_those_on_disk(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    (path / "state/0/0/.7.delta.123.tmp").write_bytes(b"12345")
    checkpoint = open_checkpoint(str(path))
    result = file_bytes(checkpoint)
    assert result[FileKind.DELTA] == 5299
    assert result[FileKind.SNAPSHOT] == 6843
    assert sum(result.values()) == 5299 + 6843 + 5
    assert state_file_bytes(checkpoint) == 5299 + 6843


def test_operator_names() -> None:
    checkpoint = open_checkpoint(str(checkpoint_of("agg_two_levels")))
    assert operator_names(checkpoint) == {0: "stateStoreSave", 1: "stateStoreSave"}
