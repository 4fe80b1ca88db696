"""Files that a task, a file system or an archive left beside the state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.checkpoint.names import is_marker
from inspector.discovery.listing import complete_copy
from inspector.discovery.source_logs import entry_name
from tests.fixture_folder import FIXTURES
from tests.rocks_damage import restart_in

UUID = "0f9b1c1e-1a55-4e0c-9d8a-2f1b7f0e7a11"
HDFS, ROCKS = "4.3.0/agg_update", "4.3.0/rocksdb_agg_update"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / HDFS / "checkpoint", tmp_path / "ck"))


def newest_delta(folder: Path) -> Path:
    files = [path for path in folder.glob("[0-9]*.*") if path.suffix in (".delta", ".changelog")]
    return max(files, key=lambda path: int(path.name.partition(".")[0]))


def rename(path: Path, content: bytes | None = None) -> str:
    """Give a delta a temporary name, with other content if there is some."""
    name = f".{path.name}.{UUID}.TID61.tmp"
    path.with_name(name).write_bytes(path.read_bytes() if content is None else content)
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return name


@pytest.mark.parametrize("case", [HDFS, ROCKS])
def test_complete_temporary_delta_is_offered_as_repair(tmp_path: Path, case: str) -> None:
    root = Path(shutil.copytree(FIXTURES / case / "checkpoint", tmp_path / "ck"))
    delta = newest_delta(root / "state/0/0")
    name = rename(delta)
    report = api.verify(str(root))
    (problem,) = [problem for problem in report.problems if problem.slug == "missing-delta"]
    assert complete_copy(problem.message) == name
    (finding,) = [finding for finding in report.findings if finding.kind.id == "SS101"]
    assert finding.next_step.startswith(f"rename {name} to the name of the missing file")
    assert not restart_in(report).possible
    (delta.parent / name).rename(delta)
    assert restart_in(api.verify(str(root))).possible


@pytest.mark.parametrize("remaining", [0, 1, -1])
def test_truncated_temporary_delta_is_not_offered(root: Path, remaining: int) -> None:
    delta = newest_delta(root / "state/0/0")
    rename(delta, delta.read_bytes()[:remaining])
    problems = [p for p in api.verify(str(root)).problems if p.slug == "missing-delta"]
    assert [complete_copy(problem.message) for problem in problems] == [""]


def test_temporary_delta_of_another_version_is_not_offered(root: Path) -> None:
    delta = newest_delta(root / "state/0/0")
    data = delta.with_name("1.delta").read_bytes()
    delta.with_name(f".1.delta.{UUID}.tmp").write_bytes(data)
    delta.unlink()
    problems = [p for p in api.verify(str(root)).problems if p.slug == "missing-delta"]
    assert [complete_copy(problem.message) for problem in problems] == [""]


def test_orphaned_temporary_checksum_files_are_counted(root: Path) -> None:
    folder = root / "state/0/0"
    for number in range(30):
        (folder / f"..3.delta.{UUID[:-2]}{number:02}.TID{number}.tmp.crc").write_bytes(b"crc\0")
    (finding,) = [f for f in api.audit(str(root)).findings if f.kind.id == "SS311"]
    assert "30 temporary files" in finding.evidence
    # One of a temporary file that is there is counted with it.
    for path in [*folder.glob("..3.delta.*.crc")]:
        path.with_name(path.name[1:].removesuffix(".crc")).write_bytes(b"")
    (finding,) = [f for f in api.audit(str(root)).findings if f.kind.id == "SS311"]
    assert "30 temporary files" in finding.evidence


MARKERS = "0_$folder$", "._1.delta", "._6.zip", "._.1.delta.crc", ".DS_Store", ".keep"


@pytest.mark.parametrize("case", [HDFS, ROCKS])
def test_markers_of_file_systems_are_no_finding(tmp_path: Path, case: str) -> None:
    root = Path(shutil.copytree(FIXTURES / case / "checkpoint", tmp_path / "ck"))
    before = api.audit(str(root))
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        for name in MARKERS:
            assert is_marker(name)
            (folder / name).write_bytes(b"")
    after = api.audit(str(root))
    assert [f.kind.id for f in after.findings] == [f.kind.id for f in before.findings]
    assert after.problems == before.problems


def test_a_file_with_a_foreign_name_is_not_called_a_folder(root: Path) -> None:
    (root / "state/0/0/3.delta.bak").write_bytes(b"")
    report = api.verify(str(root))
    (finding,) = [finding for finding in report.findings if finding.kind.id == "SS114"]
    assert "A file in the state" in finding.cause


@pytest.mark.parametrize(
    ("number", "names", "expected"),
    [
        (9, {"0", "8", "10"}, "9.compact"),
        (8, {"0", "9"}, "8"),
        (19, {"9.compact", "20"}, "19.compact"),
        (2, {".2.compact.crc", "3"}, "2.compact"),
        (5, {"2.compact", "6"}, "5.compact"),  # an interval of 3
        (23, {"11.compact"}, "23.compact"),  # one of 12
        (9, {f"{10**17}.compact"}, "9"),
    ],
)
def test_entry_name_of_compact_entries(number: int, names: set[str], expected: str) -> None:
    assert entry_name(number, names) == expected
