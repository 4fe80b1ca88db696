"""SS129: state schemas of another checkpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

from inspector import api
from tests.fixture_folder import FIXTURES
from tests.ill import ILL
from tests.reports import damage_ids, findings_with_id


def kinds(root: Path) -> set[str]:
    """Return the ids of the findings about files and restarts."""
    return damage_ids(api.audit(str(root)))


def ill(tmp_path: Path) -> Path:
    """Return a copy that was made by hand, next to its original."""
    root = ILL["SS129"].copy(tmp_path)
    ILL["SS129"].damage(root)
    return root


def test_manual_copy_is_reported_while_original_exists(tmp_path: Path) -> None:
    root = ill(tmp_path)
    report = api.audit(str(root))
    assert report.verdict is not None
    assert report.verdict.restart is not None
    assert report.verdict.restart.possible is True
    (finding,) = findings_with_id(report, "SS129")
    assert finding.severity.word == "info"
    assert finding.cause == (
        f"Spark reads the state schemas of operator 0 from file:{tmp_path}/original, the "
        "checkpoint that this one was copied from. Without it the query fails with "
        "FileNotFoundException."
    )
    assert "inspector copy PATH NEW" in finding.next_step
    shutil.rmtree(tmp_path / "original")
    assert "SS129" not in kinds(root)
    assert "SS120" in kinds(root)


def test_copy_command_writes_own_schema_files(tmp_path: Path) -> None:
    for partitions in (None, 3):
        dest = tmp_path / f"copy-{partitions}"
        api.copy(str(ill(tmp_path / str(partitions))), str(dest), partitions=partitions)
        assert kinds(dest) & {"SS120", "SS129"} == set()
        (metadata,) = (dest / "state/0/_metadata/v2").glob("[0-9]*")
        assert f"{dest}/state/0/_stateSchema/" in metadata.read_text("utf-8")


def test_symlink_to_checkpoint_is_not_a_foreign_checkpoint(tmp_path: Path) -> None:
    root = ill(tmp_path)
    shutil.rmtree(tmp_path / "original")
    (tmp_path / "original").symlink_to(root)
    assert kinds(root) & {"SS120", "SS129"} == set()


def test_join_restarts_without_its_schema_files() -> None:
    root = FIXTURES / "4.3.0/rocksdb_join_left_outer_v3/checkpoint"
    assert "SS129" not in kinds(root)
