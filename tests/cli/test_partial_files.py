"""Partial files that are renamed at the end or removed."""

import os
import stat
import threading
from pathlib import Path

import click
import pytest

from inspector.cli import partial_files
from inspector.cli.partial_files import (
    is_written_through,
    partial_file,
    real_target,
    remove_all,
)
from tests.cli.support import checkpoint_of, run

PATH = checkpoint_of("agg_update")


def test_partial_file_is_renamed_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "report"
    with partial_file(target) as partial:
        partial.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [target]


def test_failure_leaves_no_partial_file_or_folder(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), partial_file(tmp_path / "new" / "report"):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_partial_files_are_removed_at_the_end_of_the_process(tmp_path: Path) -> None:
    def ends_half_way() -> None:
        with partial_file(tmp_path / "new" / "report") as partial:
            partial.write_text("half")
            remove_all()
            partial_files._CREATING.release()
            assert list(tmp_path.iterdir()) == []

    with pytest.raises(FileNotFoundError):
        ends_half_way()


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_new_file_has_the_mode_of_the_umask(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        assert run("info", PATH, "-O", tmp_path / "report.json").code == 0
        assert run("export", "rows", PATH, "-O", tmp_path / "rows.parquet").code == 0
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {mode}


def test_device_and_pipe_are_written_directly(tmp_path: Path) -> None:
    null = Path("/dev/null")
    assert run("info", PATH, "-O", null).code == 0
    assert run("info", PATH, "-O", null, "--force").code == 0
    assert stat.S_ISCHR(null.stat().st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text("utf-8")))
    reader.start()
    assert run("info", PATH, "-O", pipe).code == 0
    reader.join()
    assert read == [run("info", PATH).out]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_export_to_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    outcome = run("export", "rows", PATH, "-O", pipe, "--format", "parquet", "--force")
    assert outcome.code == 2
    assert "is not a regular file" in outcome.err
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_symbolic_link_is_kept(tmp_path: Path) -> None:
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to(file)
    assert real_target(str(link)) == file
    assert run("info", PATH, "-O", link).code == 0
    assert link.is_symlink()
    assert file.read_text("utf-8") == run("info", PATH).out


def test_folder_as_output_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="is a folder, expected a file"):
        is_written_through(tmp_path)
    assert not is_written_through(tmp_path / "missing")
