"""Exit codes of errors, damaged files and interruptions."""

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from inspector.analyses.shared.opening import Opened
from inspector.cli.exits import Exit, exit_of
from inspector.exceptions import (
    CheckpointError,
    EngineError,
    InspectorError,
    MissingVersionError,
    NotACheckpointError,
    TruncatedError,
    UnsupportedProviderError,
)
from tests.cli.support import COMMANDS, OF_STATE, change, checkpoint_of, copy_of, flip, run
from tests.fixture_folder import REPOSITORY
from tests.profiles import crossed
from tests.reports import cell_values, rows_where


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotACheckpointError(), 3),
        (MissingVersionError(), 2),
        (CheckpointError(), 2),
        (UnsupportedProviderError(), 5),
        (EngineError(), 2),
        (TruncatedError(), 4),
        (InspectorError(), 4),
        (FileNotFoundError(), 3),
        (PermissionError(), 6),
        (OSError(), 6),
        (ZeroDivisionError(), 70),
    ],
)
def test_exit_code_of_each_error(error: Exception, code: int) -> None:
    assert exit_of(error) == code


@pytest.mark.parametrize(
    ("command", "below"), crossed(COMMANDS, ("", "missing", "notes.txt", "other"))
)
def test_missing_checkpoint_is_exit_code_3(command: str, below: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no checkpoint")
    (tmp_path / "other").mkdir()
    outcome = run(command, tmp_path / below)
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(f"error: {tmp_path / below}: got ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_provider_is_exit_code_5(command: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    for file in (path / "offsets").iterdir():
        change(file, lambda data: data.replace(b"HDFSBackedStateStore", b"LsmStateStore"))
    for file in [*path.rglob("*.delta"), *path.rglob("*.snapshot")]:
        file.rename(file.with_suffix(".lsm"))
    outcome = run(command, path)
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err.startswith(f"error: {path}: got state of ")
    assert "LsmStateStoreProvider" in outcome.err


USAGE: list[tuple[str, ...]] = [
    ("--no-such-option",),
    ("--batch", "1", "--state-version", "2"),
    ("--batch", "-1"),
    ("--output", "yaml"),
    ("--storage-option", "secret-without-a-name"),
    ("--batch", "99"),
    ("--state-version", "99"),
    ("--operator", "7"),
    ("--partition", "7"),
    ("--store", "no-such-store"),
]


@pytest.mark.parametrize(("command", "options"), crossed(COMMANDS, USAGE))
def test_invalid_options_are_exit_code_2(command: str, options: tuple[str, ...]) -> None:
    outcome = run(command, checkpoint_of("agg_append"), *options)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1].lower().startswith("error: ")
    assert "secret" not in outcome.err


@pytest.mark.parametrize("args", [(), ("nope",), ("audit",), ("rows",), ("rows", "a", "b")])
def test_invalid_command_line_is_exit_code_2(args: tuple[str, ...]) -> None:
    outcome = run(*args)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Usage: inspector" in outcome.err


@pytest.mark.parametrize("command", COMMANDS)
def test_storage_without_driver_is_exit_code_2(command: str) -> None:
    outcome = run(command, "nosuchstorage://bucket/checkpoint")
    assert outcome.code == 2
    assert outcome.err.startswith("error: nosuchstorage://bucket/checkpoint: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_internal_error_is_exit_code_70_and_one_line(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: Any, **_options: Any) -> None:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(Opened, "start", fail)
    outcome = run(command, checkpoint_of("agg_append"))
    assert (outcome.code, outcome.out) == (70, "")
    assert outcome.err.startswith("internal error: ZeroDivisionError: by zero\n")
    assert "Traceback" not in outcome.err


def test_debug_variable_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INSPECTOR_DEBUG", "1")
    with mock.patch.object(Opened, "start", side_effect=ZeroDivisionError):
        outcome = run("info", checkpoint_of("agg_append"))
    assert outcome.code == 70
    assert "Traceback (most recent call last)" in outcome.err
    assert "\nZeroDivisionError\n" in outcome.err


@pytest.mark.parametrize("command", COMMANDS)
def test_keyboard_interrupt_is_exit_code_130(command: str) -> None:
    with mock.patch.object(Opened, "start", side_effect=KeyboardInterrupt):
        assert run(command, checkpoint_of("agg_append")).code == 130


# --- part of it cannot be read ---------------------------------------------------------------

Spoil = Callable[[Path], None]


def _lose_delta(path: Path) -> None:
    (path / "state/0/1/5.delta").unlink()


def _truncate(path: Path) -> None:
    change(path / "state/0/1/5.delta", lambda data: data[: len(data) // 2])


def _flip(path: Path) -> None:
    flip(path / "state/0/1/5.delta", 40)


def _garbage(path: Path) -> None:
    (path / "state/0/1/5.delta").write_bytes(b"\x00" * 100)


def _empty_file(path: Path) -> None:
    (path / "state/0/1/5.delta").write_bytes(b"")


def _folder_in_place_of_a_delta(path: Path) -> None:
    (path / "state/0/1/5.delta").unlink()
    (path / "state/0/1/5.delta").mkdir()


def _lose_partition(path: Path) -> None:
    shutil.rmtree(path / "state/0/1")


SPOILS: list[Spoil] = [
    _lose_delta,
    _truncate,
    _flip,
    _garbage,
    _empty_file,
    _folder_in_place_of_a_delta,
    _lose_partition,
]
READS_STATE = tuple(sorted({*OF_STATE} - {"info", "files"}))


@pytest.mark.parametrize(("command", "spoil"), crossed(READS_STATE, SPOILS))
def test_damaged_delta_is_a_problem_and_the_rest_is_reported(
    command: str, spoil: Spoil, tmp_path: Path
) -> None:
    path = copy_of("agg_append", tmp_path)
    spoil(path)
    outcome = run(command, path, "-o", "json")
    assert (outcome.code, outcome.err) == (4, "")
    assert outcome.json["complete"] is False
    assert outcome.json["problems"] != []
    undamaged = run(command, path / "state/0/0", "-o", "json")
    assert undamaged.json["complete"] is True


@pytest.mark.parametrize("spoil", [_truncate, _flip, _garbage, _empty_file])
def test_problem_of_a_damaged_delta_has_its_partition_version_and_offset(
    spoil: Spoil, tmp_path: Path
) -> None:
    path = copy_of("agg_append", tmp_path)
    spoil(path)
    (problem,) = run("rows", path, "-o", "json").json["problems"]
    assert problem["path"] == str(path / "state/0/1/5.delta")
    assert (problem["partition_id"], problem["version"]) == (1, 5)
    assert problem["offset"] is not None


@pytest.mark.parametrize("spoil", SPOILS)
def test_rows_of_an_undamaged_partition_are_complete(spoil: Spoil, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    part = run("rows", path / "state/0/0", "-o", "json").rows
    assert len(part) > 40
    spoil(path)
    assert run("rows", path, "-o", "json").rows == part


@pytest.mark.parametrize(("spoil", "output"), crossed(SPOILS, ("table", "markdown", "json")))
def test_damaged_delta_is_reported_in_the_report(spoil: Spoil, output: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    spoil(path)
    outcome = run("sizes", path, "-o", output, "--quiet")
    assert outcome.code == 4
    assert "problem" in outcome.out.lower()
    assert "problem" not in outcome.err


@pytest.mark.parametrize(("spoil", "output"), crossed(SPOILS, ("ndjson", "csv")))
def test_damaged_delta_is_reported_on_stderr(spoil: Spoil, output: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    spoil(path)
    outcome = run("sizes", path, "-o", output, "--quiet")
    assert outcome.code == 4
    assert "problem" in outcome.err
    assert "problem" not in outcome.out


@pytest.mark.parametrize("command", ["info", "files"])
def test_info_and_files_report_a_missing_delta(command: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    _lose_delta(path)
    outcome = run(command, path, "-o", "json")
    assert outcome.code == 4
    problems = outcome.json["problems"]
    assert cell_values(problems, "problem") == ["missing-version", "missing-delta"]
    assert cell_values(problems, "path") == [str(path / "state/0/1")] * 2
    assert "5" in problems[1]["message"]


LOGS = ("offsets/3", "commits/3", "state/0/_metadata/metadata")


@pytest.mark.parametrize(
    ("command", "log"), [*crossed(OF_STATE, LOGS), ("offsets", LOGS[0]), ("offsets", LOGS[1])]
)
def test_damaged_log_entry_is_a_problem_and_the_rest_is_reported(
    command: str, log: str, tmp_path: Path
) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / log).write_bytes(b"v1\n{\xff")
    outcome = run(command, path, "-o", "json")
    assert outcome.code == 4
    expected = [(str(path / log), "undecodable")]
    assert cell_values(outcome.json["problems"], "path", "problem") == expected


@pytest.mark.parametrize("log", LOGS)
def test_rows_are_read_despite_a_damaged_log_entry(log: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    expected = cell_values(run("rows", path, "-o", "json").rows, "key")
    (path / log).write_bytes(b"v1\n{\xff")
    assert cell_values(run("rows", path, "-o", "json").rows, "key") == expected


@pytest.mark.parametrize("command", OF_STATE)
def test_damaged_schema_file_is_a_problem(command: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/0/_metadata/schema").write_bytes(b"\x00\x02v2\x00\x00")
    outcome = run(command, path, "-o", "json")
    assert outcome.code == 4
    (problem,) = outcome.json["problems"]
    assert problem["path"].endswith("_metadata/schema")
    assert problem["offset"] is not None


def test_damaged_schema_file_leaves_the_bytes_of_rows(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    expected = cell_values(run("rows", path, "--raw", "-o", "json").rows, "key_hex")
    (path / "state/0/0/_metadata/schema").write_bytes(b"\x00\x02v2\x00\x00")
    rows = run("rows", path, "--raw", "-o", "json").rows
    assert cell_values(rows, "key_hex") == expected
    assert cell_values(rows, "key") == [None] * len(expected)


def query_without_state(folder: Path) -> Path:
    """Return a checkpoint without state, up to batch 4."""
    path = copy_of("agg_update", folder)
    shutil.rmtree(path / "state")
    for batch in range(5, 10):  # a batch without new data, as 5 is, shows that there was state
        (path / "offsets" / str(batch)).unlink()
        (path / "commits" / str(batch)).unlink()
    return path


@pytest.mark.parametrize("command", OF_STATE)
def test_query_without_state_is_exit_code_0(command: str, tmp_path: Path) -> None:
    """The size ladder of ``memory`` has its rungs, all of them empty."""
    outcome = run(command, query_without_state(tmp_path), "-o", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json["complete"] is True
    assert outcome.rows == rows_where(outcome.rows, bytes=0)


@pytest.mark.parametrize("command", sorted({*OF_STATE} - {"verify"}))
def test_table_of_a_query_without_state_is_empty(command: str, tmp_path: Path) -> None:
    outcome = run(command, query_without_state(tmp_path))
    assert outcome.code == 0
    assert re.search(r"\((none|no |the query keeps no state|this version has no )", outcome.out)


def test_closed_pipe_is_exit_code_0() -> None:
    command = [sys.executable, "-m", "inspector", "rows", str(checkpoint_of("agg_complete"))]
    with subprocess.Popen(
        [*command, "-o", "ndjson", "--raw"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == Exit.OK
