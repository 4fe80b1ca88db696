"""What several reports have: the head, the bytes of files."""

import shutil
from pathlib import Path

from inspector.analyses.shared.common import file_bytes, identity, operator_names
from inspector.discovery.checkpoint import open_checkpoint, state_file_bytes
from inspector.model import FileKind
from tests.cli.support import checkpoint_of, copy_of, run


def test_the_head_names_version_and_clocks() -> None:
    path = str(checkpoint_of("agg_update"))
    head = identity(open_checkpoint(path), 4)
    assert head == {
        "checkpoint": path,
        "query_id": "7ac53066-25d1-4fae-84b1-22a421d5a95d",
        "version": 4,
        "batch_id": 3,
        "committed": True,
        "watermark_ms": 1_704_067_217_350,
        "batch_timestamp_ms": 1_704_067_230_000,
    }


def test_a_watermark_of_zero_is_none_yet() -> None:
    assert identity(open_checkpoint(str(checkpoint_of("agg_update"))), 1)["watermark_ms"] is None


def test_the_empty_version_has_no_batch() -> None:
    head = identity(open_checkpoint(str(checkpoint_of("agg_update"))), 0)
    assert (head["batch_id"], head["committed"]) == (None, False)


def test_where_no_log_of_commits_says_it_it_is_unknown(tmp_path: Path) -> None:
    path = copy_of("agg_update", tmp_path)
    shutil.rmtree(path / "commits")
    checkpoint = open_checkpoint(str(path))
    assert checkpoint.newest_version == 10
    head = identity(checkpoint, 10)
    assert (head["version"], head["committed"]) == (10, None)
    assert "batch committed       unknown" in run("info", path).out


def test_bytes_are_those_on_disk_by_kind(tmp_path: Path) -> None:
    path = copy_of("fmgws_snapshots_cleaned", tmp_path)
    (path / "state/0/0/.7.delta.123.tmp").write_bytes(b"12345")
    checkpoint = open_checkpoint(str(path))
    by_kind = {
        kind: sum(file.stat().st_size for file in path.glob(f"state/0/[0-9]/[0-9]*.{kind.value}"))
        for kind in (FileKind.DELTA, FileKind.SNAPSHOT)
    }
    found = file_bytes(checkpoint)
    assert {kind: found[kind] for kind in by_kind} == by_kind
    assert sum(found.values()) == sum(by_kind.values()) + 5
    assert state_file_bytes(checkpoint) == sum(by_kind.values())


def test_operators_have_names() -> None:
    checkpoint = open_checkpoint(str(checkpoint_of("agg_two_levels")))
    assert operator_names(checkpoint) == {0: "stateStoreSave", 1: "stateStoreSave"}
