"""A file that went, or may not be read, is called neither damaged nor missing, whatever it is."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from tests.attributes import attributes
from tests.checkpoint_files import files_below
from tests.cli.support import run
from tests.faults import refusing
from tests.fixture_folder import NEWEST
from tests.profiles import sampled
from tests.reports import cell_values

DAMAGE = {"undecodable", "truncated", "bad-frame", "bad-record", "bad-row", "bad-checksum"}
CASES = [
    "agg_update",
    "rocksdb_agg_update_snapshots",
    "rocksdb_tws_processing_snapshots",
]


def kinds_of_files(root: Path) -> list[str]:
    """The name of one file of each suffix and folder below a checkpoint, the newest."""
    result: dict[tuple[str, str], str] = {}
    for path in sorted({*files_below(root)} - {*root.rglob("*.crc")}):
        result[path.parent.name.rstrip("0123456789"), path.suffix] = path.name
    return list(result.values())


FILES = [(case, name) for case in CASES for name in kinds_of_files(NEWEST / case / "checkpoint")]
ERRORS = FileNotFoundError("no such file"), PermissionError("refused")
COMMANDS = "audit", "rows", "diff", "top"


@pytest.mark.parametrize(
    ("file", "command", "error"),
    # Each file has eight, to which seven is prime: a plain run has all files, commands and errors.
    sampled(list(product(FILES, COMMANDS, ERRORS)), 7),
)
def test_unread_file_is_not_reported_as_damaged(
    file: tuple[str, str], command: str, error: OSError
) -> None:
    case, name = file
    with refusing(name, error):
        outcome = run(command, NEWEST / case / "checkpoint", "-o", "json")
    if outcome.out:
        slugs = set(cell_values(outcome.json["problems"], "problem"))
        assert DAMAGE.isdisjoint(slugs)
        assert (outcome.code == 0) == slugs.isdisjoint(("vanished", "denied", "missing-metadata"))
    else:
        assert (outcome.code, str(error) in outcome.err) == (6, True)


@pytest.mark.parametrize(("subject", "form"), [("rows", "parquet"), ("changes", "csv")])
@pytest.mark.parametrize(
    ("case", "name"),
    [
        ("agg_update", "10.delta"),
        ("rocksdb_agg_update_snapshots", "8.changelog"),
        ("rocksdb_tws_processing_snapshots", "8.changelog"),
    ],
)
def test_exports_and_copies_report_unread_files(
    case: str, name: str, subject: str, form: str, tmp_path: Path
) -> None:
    """The files are whole, and hold what could be read."""
    root = NEWEST / case / "checkpoint"
    with refusing(name, PermissionError("refused")):
        outcome = run("export", subject, root, "-O", f"{tmp_path}/out/", "--format", form)
        copied = run("copy", root, tmp_path / "copy")
        differences = run("diff", root, "-o", "json").json
    assert set(cell_values(differences["problems"], "problem")) == {"denied"}
    assert outcome.code == 4
    assert set(re.findall("^problem: .*: (.*)$", outcome.err, re.M)) == {"refused"}
    assert set(attributes((tmp_path / "out").iterdir(), "suffix")) == {f".{form}"}
    assert copied.code in (4, 6)
    assert ": refused" in copied.err
    assert copied.err.endswith("; nothing was written\n")
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize("suffix", [".zip", ".sst"])
def test_unread_file_of_snapshot_is_denied(suffix: str) -> None:
    root = NEWEST / "rocksdb_agg_update_snapshots/checkpoint"
    name = min(root.rglob(f"*{suffix}")).name
    with refusing(name, PermissionError("refused")):
        outcome = run("files", root, "-o", "json")
    assert set(cell_values(outcome.json["problems"], "problem")) == {"denied"}
    assert outcome.code == 4


@pytest.mark.parametrize("name", ["5.delta", "10.delta"])
def test_row_count_of_partly_unread_state_is_marked(name: str) -> None:
    with refusing(name, PermissionError("refused")):
        outcome = run("audit", NEWEST / "agg_update/checkpoint", "-o", "json")
        text = " ".join(run("audit", NEWEST / "agg_update/checkpoint").out.split())
    assert (outcome.code, outcome.json["verdict"]["level"]) == (4, "unreadable")
    assert "rows, " not in text or "as far as it could be read" in text
