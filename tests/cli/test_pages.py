"""``--html`` and ``-o html``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.support import COMMANDS, checkpoint_of, copy_of, run, tree
from tests.faults import before_each_read

PATH = checkpoint_of("fmgws_event_ignore")
HEALTHY = checkpoint_of("agg_append")
MOST_BYTES = 1_000_000


def test_html_option_writes_a_page_and_prints_the_report(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    outcome = run("audit", PATH, "--html", file)
    assert (outcome.code, outcome.out) == (1, run("audit", PATH).out)
    text = file.read_text("ascii")
    assert text.startswith("<!DOCTYPE html>")
    assert "Size ladder" in text
    assert file.stat().st_size < MOST_BYTES
    assert list(tmp_path.iterdir()) == [file]


def test_html_is_an_output_format(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    run("audit", PATH, "--html", file)
    outcome = run("audit", PATH, "-o", "html")
    assert (outcome.code, outcome.out) == (1, file.read_text("ascii"))
    assert run("audit", PATH, "-o", "html", "-O", tmp_path / "other.html").out == ""
    assert (tmp_path / "other.html").read_text("ascii") == outcome.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_html_page(command: str) -> None:
    outcome = run(command, PATH, "-o", "html")
    assert outcome.out.startswith("<!DOCTYPE html>")
    assert outcome.out.endswith("</html>\n")


def test_page_describes_its_columns() -> None:
    assert "<dd>Live rows.</dd>" in run("sharing", HEALTHY, "-o", "html").out


def test_fleet_is_one_page(tmp_path: Path) -> None:
    file = tmp_path / "fleet.html"
    gone = tmp_path / "gone"
    outcome = run("audit", HEALTHY, gone, PATH, "-o", "html", "--html", file)
    assert outcome.code == 3
    assert outcome.out == file.read_text("ascii")
    assert outcome.out.count("<!DOCTYPE html>") == 1
    text = outcome.out.replace("<wbr>", "")
    rows = re.findall(r'<th scope="row">.*?<bdi>(.*?)</bdi>', text)
    for row, path in zip(rows[:3], (gone, PATH, HEALTHY), strict=True):
        complete = row == str(path)  # where they have only the root in common
        assert complete or f"{path}/".endswith((f"/{row}/", f"/{row}/checkpoint/"))


def test_page_of_one_partition(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    run("audit", checkpoint_of("join_left_outer"), "--partition", "1", "--html", file)
    assert "partition 1" in file.read_text("ascii")
    assert "partition 0" not in file.read_text("ascii")


# --- what is refused, before a long audit ----------------------------------------------------


def refused(*args: str | Path) -> str:
    read: list[str] = []
    with before_each_read(lambda _storage, path: read.append(path)):
        outcome = run("audit", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert [path for path in read if path.endswith((".delta", ".snapshot"))] == []
    return outcome.err


def test_existing_page_is_kept_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text("mine")
    assert f"{file} exists; --force overwrites it" in refused(PATH, "--html", file)
    assert file.read_text() == "mine"
    assert run("audit", PATH, "--html", file, "--force").code == 1
    assert file.read_text("ascii").startswith("<!DOCTYPE html>")


def test_page_inside_the_checkpoint_is_refused(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    before = tree(path)
    result = refused(HEALTHY, path, "--html", path / "report.html")
    assert "is inside the checkpoint, which is never written to" in result
    assert tree(path) == before


def test_page_and_report_in_one_file_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    result = refused(PATH, "-o", "html", "-O", file, "--html", file)
    assert "--html and --output-file name the same file" in result


def test_html_option_is_of_audit_only(tmp_path: Path) -> None:
    assert run("sizes", PATH, "--html", tmp_path / "report.html").code == 2
