"""Files that a task, a file system or an archive left next to the state."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from inspector import api
from inspector.checkpoint.names import is_marker
from inspector.discovery.listing import complete_copy
from inspector.discovery.source_logs import entry_name
from tests.fixture_folder import FIXTURES
from tests.reports import finding_ids, findings_with_id
from tests.rocks_damage import restart_in

UUID = "0f9b1c1e-1a55-4e0c-9d8a-2f1b7f0e7a11"
HDFS, ROCKS = "4.3.0/agg_update", "4.3.0/rocksdb_agg_update"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURES / HDFS / "checkpoint", tmp_path / "ck"))


def rename(path: Path) -> Path:
    """Give a delta its temporary name."""
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    return path.rename(path.with_name(f".{path.name}.{UUID}.TID61.tmp"))


def offered_copies(root: Path) -> list[str]:
    """Return the complete temporary file that each problem about a missing delta names, or ""."""
    problems = api.verify(str(root)).problems
    return [complete_copy(item.message) for item in problems if item.slug == "missing-delta"]


@pytest.mark.parametrize(("case", "newest"), [(HDFS, "10.delta"), (ROCKS, "8.changelog")])
def test_complete_temporary_delta_is_offered_as_repair(
    tmp_path: Path, case: str, newest: str
) -> None:
    root = Path(shutil.copytree(FIXTURES / case / "checkpoint", tmp_path / "ck"))
    delta = root / "state/0/0" / newest
    temporary = rename(delta)
    assert offered_copies(root) == [temporary.name]
    report = api.verify(str(root))
    (finding,) = findings_with_id(report, "SS101")
    assert finding.next_step.startswith(f"rename {temporary.name} to the name of the missing file")
    assert not restart_in(report).possible
    temporary.rename(delta)
    assert restart_in(api.verify(str(root))).possible


@pytest.mark.parametrize("remaining", [0, 1, -1])
def test_truncated_temporary_delta_is_not_offered(root: Path, remaining: int) -> None:
    temporary = rename(root / "state/0/0/10.delta")
    temporary.write_bytes(temporary.read_bytes()[:remaining])
    assert offered_copies(root) == [""]


def test_temporary_delta_of_another_version_is_not_offered(root: Path) -> None:
    folder = root / "state/0/0"
    (folder / f".1.delta.{UUID}.tmp").write_bytes((folder / "1.delta").read_bytes())
    (folder / "10.delta").unlink()
    assert offered_copies(root) == [""]


def test_orphaned_temporary_checksum_files_are_counted(root: Path) -> None:
    folder = root / "state/0/0"
    for number in range(30):
        (folder / f"..3.delta.{UUID[:-2]}{number:02}.TID{number}.tmp.crc").write_bytes(b"crc\0")
    (finding,) = findings_with_id(api.audit(str(root)), "SS311")
    assert "30 temporary files" in finding.evidence
    # The checksum file of a temporary file that is there is counted with that file.
    for path in [*folder.glob("..3.delta.*.crc")]:
        path.with_name(path.name[1:].removesuffix(".crc")).write_bytes(b"")
    (finding,) = findings_with_id(api.audit(str(root)), "SS311")
    assert "30 temporary files" in finding.evidence


@pytest.mark.parametrize("case", [HDFS, ROCKS])
@pytest.mark.parametrize(
    "name", ["0_$folder$", "._1.delta", "._6.zip", "._.1.delta.crc", ".DS_Store", ".keep"]
)
def test_markers_of_file_systems_are_no_finding(tmp_path: Path, case: str, name: str) -> None:
    root = Path(shutil.copytree(FIXTURES / case / "checkpoint", tmp_path / "ck"))
    before = api.audit(str(root))
    assert is_marker(name)
    for folder in ("", "offsets", "commits", "state", "state/0", "state/0/0", "state/0/_metadata"):
        (root / folder / name).write_bytes(b"")
    after = api.audit(str(root))
    assert finding_ids(after) == finding_ids(before)
    assert after.problems == before.problems


def test_a_file_with_a_foreign_name_is_not_called_a_folder(root: Path) -> None:
    (root / "state/0/0/3.delta.bak").write_bytes(b"")
    (finding,) = findings_with_id(api.verify(str(root)), "SS114")
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
