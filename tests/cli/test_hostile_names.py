"""Names are anybody's input: whatever a command prints of them has no control character in it."""

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
from tests.cli.support import COMMANDS, OUTPUTS, change, run
from tests.fixture_folder import NEWEST

HOSTILE = "a\x1b[31m\nb|`*_[x](y)<script>alert(1)<\\script>\r\u202ec\u200f"
CALLS = [
    *((name,) for name in COMMANDS),
    ("history", "--key", "user=u1"),
    ("diff", "--from-batch", "1", "--to-batch", "2"),
    ("watch", "--until", "1", "--interval", "0.1", "--last", "99"),
]


def damaged(folder: Path, case: str) -> Path:
    """A checkpoint of hostile names, with a problem of each kind that names one."""
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


def hostile_operator(data: bytes) -> bytes:
    version, _, text = data.partition(b"\n")
    metadata = json.loads(text)
    metadata["operatorInfo"]["operatorName"] = HOSTILE
    return version + b"\n" + json.dumps(metadata).encode()


def rename_tables(snapshot: Path, name: str) -> None:
    """Let a snapshot name its tables by another name."""
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


def controls(text: str) -> set[str]:
    """The control and format characters of a text, but for the ends of its lines."""
    return {c for c in text if c != "\n" and unicodedata.category(c)[0] == "C"}


def check(text: str, output: str) -> None:
    assert controls(text) == set()
    if output == "html":
        assert "<script>alert(1)" not in text
    if output == "markdown":
        unmarked = re.sub(r"(`+).*?\1", "", text)  # a command is code
        assert re.search(r"(?<!\\)<script", unmarked) is None
        assert re.search(r"(?<!\\)\[x\]", unmarked) is None
    if output not in ("json", "ndjson", "html"):
        assert not any(line.startswith(("b|", "b\\|")) for line in text.splitlines())


@pytest.fixture(scope="module", params=["agg_update", "rocksdb_agg_update_snapshots"])
def root(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return damaged(tmp_path_factory.mktemp("hostile"), request.param)


@pytest.mark.parametrize("arguments", CALLS, ids=[call[0] for call in CALLS])
def test_commands_escape_hostile_names(root: Path, arguments: tuple[str, ...]) -> None:
    outputs = ("table", "ndjson") if arguments[0] == "watch" else OUTPUTS
    for output in (*outputs, *(("junit", "prometheus") if arguments[0] == "audit" else ())):
        outcome = run(arguments[0], root, *arguments[1:], "-o", output)
        assert outcome.code in (0, 1, 4), outcome.err
        check(outcome.out, output)
        check(outcome.err, "table")


def test_diff_and_fleet_escape_hostile_names(root: Path) -> None:
    second = str(NEWEST / "agg_update/checkpoint")
    for output in OUTPUTS:
        for outcome in (
            run("diff", second, root, "-o", output),
            run("audit", second, root, "-o", output),
        ):
            check(outcome.out, output)
            check(outcome.err, "table")


@pytest.mark.parametrize("arguments", [(), ("--batch", "999"), ("--operator", "77")])
def test_errors_escape_hostile_names(root: Path, arguments: tuple[str, ...]) -> None:
    for path in (root, root / "nothing", root / "state"):
        outcome = run("rows", path, *arguments, "-o", "csv")
        assert controls(outcome.err) == set()
        assert not any(line.startswith("b|") for line in outcome.err.splitlines())


def test_export_escapes_hostile_names(root: Path, tmp_path: Path) -> None:
    outcome = run("export", "rows", root, "-O", f"{tmp_path}/{HOSTILE.replace('/', '')}/")
    check(outcome.out + outcome.err, "table")


def test_notebook_escapes_hostile_names(root: Path) -> None:
    result = open_checkpoint(str(root)).audit()._repr_html_()
    assert controls(result) == set()
    assert "<script>" not in html.unescape(re.sub(r"&lt;.*?&gt;", "", result))
