"""Output files: written completely or not at all, and overwritten only with ``--force``."""

import io
import json
import shutil
from pathlib import Path

import click
import pytest

from inspector.cli.output_files import destination, write
from tests.cli.support import OUTPUTS, checkpoint_of, copy_of, replace_state, run, schema_json
from tests.encode import row

PATH = checkpoint_of("agg_update")


@pytest.mark.parametrize("output", OUTPUTS)
def test_output_file_equals_stdout(output: str, tmp_path: Path) -> None:
    file = tmp_path / "report"
    outcome = run("rows", PATH, "-o", output, "-O", file)
    assert (outcome.code, outcome.out) == (0, "")
    assert file.read_text(encoding="utf-8") == run("rows", PATH, "-o", output).out
    assert list(tmp_path.iterdir()) == [file]


def test_existing_report_is_kept_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_text("mine")
    outcome = run("info", PATH, "-O", file)
    assert (outcome.code, file.read_text()) == (2, "mine")
    assert f"{file} exists; --force overwrites it" in outcome.err
    assert run("info", PATH, "-O", file, "--force").code == 0
    assert file.read_text(encoding="utf-8") == run("info", PATH).out
    assert list(tmp_path.iterdir()) == [file]


def test_failed_report_keeps_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "report"
    file.write_text("mine")

    def fail_half_way() -> None:
        with destination(str(file), force=True) as text:
            text.write("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert file.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [file]


def test_missing_output_folder_is_a_usage_error(tmp_path: Path) -> None:
    with (
        pytest.raises(click.UsageError, match="cannot be made: No such file"),
        destination(str(tmp_path / "missing" / "report"), force=False),
    ):
        pass
    assert run("info", PATH, "-O", tmp_path / "missing" / "report").code == 2
    assert run("info", PATH, "-O", tmp_path).code == 2


def test_report_with_problems_is_written(tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    (path / "state/0/1/5.delta").unlink()
    file = tmp_path / "report"
    assert run("verify", path, "-o", "json", "-O", file).code == 4
    assert json.loads(file.read_text(encoding="utf-8"))["complete"] is False


def test_characters_missing_in_the_encoding_are_escaped() -> None:
    file = io.TextIOWrapper(io.BytesIO(), "ascii")
    write(["é€", "\U0001f600", "\ud800"], file)
    file.flush()
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    assert buffer.getvalue() == rb"\u00e9\u20ac\ud83d\ude00\ud800"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_json_is_valid_in_every_encoding(encoding: str, tmp_path: Path) -> None:
    path = copy_of("agg_append", tmp_path)
    key, value = (("user", "string"),), (("count", "long"),)
    schemas = schema_json(*key), schema_json(*value)
    text = "é€\U0001f600"
    from tests.cli.support import schema_of

    records = [(row(schema_of(*key), [text]), row(schema_of(*value), [1]))]
    replace_state(path, schemas, {(0, 10): records})
    for output in ("json", "ndjson"):
        outcome = run("rows", path, "-o", output, encoding=encoding)
        (result,) = outcome.rows if output == "json" else outcome.ndjson
        assert result["key"] == {"user": text}


@pytest.mark.parametrize("command", ["info", "sizes", "leftovers", "rows"])
def test_report_inside_the_checkpoint_is_refused(command: str, tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(checkpoint_of("agg_update"), root)
    before = sorted(root.rglob("*"))
    for path in (root, root / "state" / "0"):
        outcome = run(command, path, "-O", root / "report.txt")
        assert (outcome.code, sorted(root.rglob("*"))) == (2, before)
        assert "is inside the checkpoint, which is never written to" in outcome.err
    assert run(command, root, "-O", tmp_path / "report.txt").code == 0
