"""What several reports have: the bytes of files, the names of operators."""

from pathlib import Path

from inspector.analyses.shared.judged import file_bytes, operator_names
from inspector.discovery.checkpoint import open_checkpoint, state_file_bytes
from inspector.model import FileKind
from tests.cli.support import checkpoint_of, copy_of


def test_file_bytes_by_kind_equal_those_on_disk(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    (path / "state/0/0/.7.delta.123.tmp").write_bytes(b"12345")
    checkpoint = open_checkpoint(str(path))
    by_kind = {
        kind: sum(file.stat().st_size for file in path.glob(f"state/0/[0-9]/[0-9]*.{kind.value}"))
        for kind in (FileKind.DELTA, FileKind.SNAPSHOT)
    }
    result = file_bytes(checkpoint)
    assert {kind: result[kind] for kind in by_kind} == by_kind
    assert sum(result.values()) == sum(by_kind.values()) + 5
    assert state_file_bytes(checkpoint) == sum(by_kind.values())


def test_operator_names() -> None:
    checkpoint = open_checkpoint(str(checkpoint_of("agg_two_levels")))
    assert operator_names(checkpoint) == {0: "stateStoreSave", 1: "stateStoreSave"}
