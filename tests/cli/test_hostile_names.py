"""Names of files, operators and tables are escaped in every output."""

from __future__ import annotations

import html
import json
import re
import shutil
import unicodedata
import zipfile
from pathlib import Path
from typing import Any

import pytest

from inspector import open_checkpoint
from tests.cli.support import COMMANDS, change, run
from tests.fixture_folder import NEWEST

HOSTILE = "a\x1b[31m\nb|`*_[x](y)<script>alert(1)<\\script>\r\u202ec\u200f"
COMMAND_LINES = [
    *((name,) for name in COMMANDS),
    ("history", "--key", "user=u1"),
    ("diff", "--from-batch", "1", "--to-batch", "2"),
]


def hostile_operator(data: bytes) -> bytes:
    version, _, text = data.partition(b"\n")
    metadata = json.loads(text)
    metadata["operatorInfo"]["operatorName"] = HOSTILE
    return version + b"\n" + json.dumps(metadata).encode()


def rename_tables(snapshot: Path, name: str) -> None:
    """Replace the names of the table files in a snapshot."""
    with zipfile.ZipFile(snapshot) as archive:
        parts = {item: archive.read(item) for item in archive.namelist()}
    version, _, text = parts["metadata"].partition(b"\n")
    metadata: dict[str, Any] = json.loads(text)
    for element in metadata["sstFiles"]:
        element["dfsSstFileName"] = name
    parts["metadata"] = version + b"\n" + json.dumps(metadata).encode()
    with zipfile.ZipFile(snapshot, "w") as archive:
        for element, content in parts.items():
            archive.writestr(element, content)


def damaged(folder: Path, case: str) -> Path:
    """Write a checkpoint with hostile names and with problems that mention them."""
    root = folder / HOSTILE
    shutil.copytree(NEWEST / case / "checkpoint", root)
    change(next(root.glob("state/*/_metadata/metadata")), hostile_operator)
    (root / "state/0/0" / HOSTILE).mkdir()
    (root / "state/0/0" / HOSTILE / "1.delta").write_bytes(b"x")
    files = sorted(path for path in root.glob("state/0/1/*") if path.is_file())
    files[0].write_bytes(b"broken")
    for snapshot in root.glob("state/0/1/*.zip"):
        rename_tables(snapshot, HOSTILE)
    return root


@pytest.fixture(scope="module", params=["agg_update", "rocksdb_agg_update_snapshots"])
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damaged(tmp_path_factory.mktemp("hostile"), request.param)


def assert_is_escaped(text: str) -> None:
    """Check that no hostile name is in a text as it is."""
    assert control_characters(text) == set()
    assert re.search(r"^b\\?\|", text, re.MULTILINE) is None


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
@pytest.mark.parametrize("output", ["table", "csv"])
def test_commands_escape_hostile_names(root: Path, arguments: tuple[str, ...], output: str) -> None:
    outcome = run(arguments[0], root, *arguments[1:], "-o", output)
    assert outcome.code in (0, 1, 4), outcome.err
    assert_is_escaped(outcome.out)
    assert_is_escaped(outcome.err)


def control_characters(text: str) -> set[str]:
    """Return the control and format characters of a text, except the ends of its lines."""
    return {c for c in text if c != "\n" and unicodedata.category(c)[0] == "C"}


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
@pytest.mark.parametrize("output", ["json", "ndjson"])
def test_json_escapes_control_characters(
    root: Path, arguments: tuple[str, ...], output: str
) -> None:
    outcome = run(arguments[0], root, *arguments[1:], "-o", output)
    assert outcome.code in (0, 1, 4), outcome.err
    assert control_characters(outcome.out) == set()


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_html_escapes_hostile_names(root: Path, arguments: tuple[str, ...]) -> None:
    text = run(arguments[0], root, *arguments[1:], "-o", "html").out
    assert control_characters(text) == set()
    assert "<script>alert(1)" not in text


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_markdown_escapes_hostile_names(root: Path, arguments: tuple[str, ...]) -> None:
    text = run(arguments[0], root, *arguments[1:], "-o", "markdown").out
    assert_is_escaped(text)
    unmarked = re.sub(r"(`+).*?\1", "", text)  # a command is code
    assert re.search(r"(?<!\\)<script", unmarked) is None
    assert re.search(r"(?<!\\)\[x\]", unmarked) is None


@pytest.mark.parametrize("output", ["junit", "prometheus"])
def test_junit_and_prometheus_escape_hostile_names(root: Path, output: str) -> None:
    assert_is_escaped(run("audit", root, "-o", output).out)


@pytest.mark.parametrize("output", ["table", "ndjson"])
def test_watch_escapes_hostile_names(root: Path, output: str) -> None:
    options = ("--until", "1", "--interval", "0.1", "--last", "99")
    outcome = run("watch", root, *options, "-o", output)
    assert control_characters(outcome.out) == set()
    assert_is_escaped(outcome.err)


@pytest.mark.parametrize("command", ["diff", "audit"])
@pytest.mark.parametrize("output", ["table", "csv", "markdown"])
def test_diff_and_fleet_escape_hostile_names(root: Path, command: str, output: str) -> None:
    outcome = run(command, NEWEST / "agg_update/checkpoint", root, "-o", output)
    assert_is_escaped(outcome.out)
    assert_is_escaped(outcome.err)


@pytest.mark.parametrize("arguments", [(), ("--batch", "999"), ("--operator", "77")])
@pytest.mark.parametrize("below", ["", "nothing", "state"])
def test_errors_escape_hostile_names(root: Path, below: str, arguments: tuple[str, ...]) -> None:
    assert_is_escaped(run("rows", root / below, *arguments, "-o", "csv").err)


def test_export_escapes_hostile_names(root: Path, tmp_path: Path) -> None:
    outcome = run("export", "rows", root, "-O", f"{tmp_path}/{HOSTILE.replace('/', '')}/")
    assert_is_escaped(outcome.out)
    assert_is_escaped(outcome.err)


def test_notebook_escapes_hostile_names(root: Path) -> None:
    result = open_checkpoint(str(root)).audit()._repr_html_()
    assert control_characters(result) == set()
    assert "<script>" not in html.unescape(re.sub(r"&lt;.*?&gt;", "", result))
