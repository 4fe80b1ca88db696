"""Root and selection of any path in a checkpoint, and errors of other paths."""

from pathlib import Path

import fsspec
import pytest

from inspector.checkpoint.roots import Selection, above, is_root, resolve_root
from inspector.checkpoint.storage import Storage
from inspector.exceptions import EngineError, NotACheckpointError
from inspector.providers.registry import classify

STORE = "left-keyToNumValues"


def make_checkpoint(root: Path) -> Path:
    for folder in ("offsets", "commits", "sources/0", f"state/0/1/{STORE}", "state/1/0/_metadata"):
        (root / folder).mkdir(parents=True)
    for file in (
        *("metadata", "offsets/3", "state/1/0/4.delta", "state/1/0/.4.delta.crc"),
        *("state/1/0/_metadata/schema", f"state/0/1/{STORE}/12.snapshot"),
    ):
        (root / file).write_bytes(b"")
    return root


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return make_checkpoint(tmp_path / "ck")


@pytest.mark.parametrize(
    ("below", "expected"),
    [
        ("", Selection()),
        ("/", Selection()),
        ("/state", Selection()),
        ("/offsets", Selection()),
        ("/offsets/3", Selection()),
        ("/metadata", Selection()),
        ("/sources/0", Selection()),
        ("/state/1", Selection(1)),
        ("/state/1/", Selection(1)),
        ("/state/1/0", Selection(1, 0)),
        ("/state/1/0/4.delta", Selection(1, 0, "default", 4)),  # type: ignore[arg-type]
        ("/state/1/0/.4.delta.crc", Selection(1, 0, "default", 4)),  # type: ignore[arg-type]
        ("/state/1/0/_metadata", Selection(1, 0, "default")),
        ("/state/1/0/_metadata/schema", Selection(1, 0, "default")),
        (f"/state/0/1/{STORE}", Selection(0, 1, STORE)),
        (f"/state/0/1/{STORE}/12.snapshot", Selection(0, 1, STORE, 12)),  # type: ignore[arg-type]
    ],
)
def test_path_resolves_to_root_and_selection(
    checkpoint: Path, below: str, expected: Selection
) -> None:
    root, selection = resolve_root(f"{checkpoint}{below}", None, classify)
    assert (root.rstrip("/"), selection) == (str(checkpoint), expected)


@pytest.mark.parametrize("prefix", ["file:", "file://"])
def test_url_resolves_to_root_and_selection(checkpoint: Path, prefix: str) -> None:
    url = f"{prefix}{checkpoint}"
    assert resolve_root(f"{url}/state/1", None, classify) == (url, Selection(1))


def test_relative_path_of_the_root_is_kept(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkpoint.parent)
    assert resolve_root("ck", None, classify) == ("ck", Selection())
    assert resolve_root("ck/state/1", None, classify) == ("ck", Selection(1))
    monkeypatch.chdir(checkpoint / "state")
    assert resolve_root(".", None, classify) == (str(checkpoint), Selection())
    assert resolve_root("1/0", None, classify) == (str(checkpoint), Selection(1, 0))
    assert resolve_root("../state/1", None, classify) == (str(checkpoint), Selection(1))


def test_checkpoint_named_state(tmp_path: Path) -> None:
    root = make_checkpoint(tmp_path / "state" / "0")
    assert resolve_root(str(root), None, classify) == (str(root), Selection())
    assert resolve_root(f"{root}/state/1", None, classify) == (str(root), Selection(1))


def test_copied_state_folder_is_a_root(tmp_path: Path) -> None:
    (tmp_path / "state" / "0" / "0").mkdir(parents=True)
    assert resolve_root(str(tmp_path), None, classify) == (str(tmp_path), Selection())
    assert resolve_root(f"{tmp_path}/state/0/0", None, classify) == (str(tmp_path), Selection(0, 0))


@pytest.mark.parametrize(
    ("folders", "expected"),
    [
        (["offsets", "commits"], True),
        (["offsets", "metadata"], True),
        (["state/0"], True),
        (["state/x"], False),
        (["state"], False),
        (["offsets"], False),
        (["metadata", "sources"], False),
        (["0/0"], False),
    ],
)
def test_folders_that_make_a_root(tmp_path: Path, folders: list[str], expected: bool) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir(parents=True)
    assert is_root(Storage.open(str(tmp_path))) is expected


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("/x/ck/", [("/x", ["ck"]), ("/", ["x", "ck"])]),
        ("s3://b/x/ck", [("s3://b/x", ["ck"]), ("s3://b", ["x", "ck"])]),
        ("s3://b", []),
    ],
)
def test_folders_above_a_url_end_at_its_bucket(
    url: str, expected: list[tuple[str, list[str]]]
) -> None:
    assert list(above(url)) == expected


def test_root_search_stays_in_the_bucket() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/box/ck/state/0/0/1.delta", b"")
    try:
        result = resolve_root("memory://box/ck/state/0/0/1.delta", None, classify)
        assert result == ("memory://box/ck", Selection(0, 0, "default", 1))  # type: ignore[arg-type]
        with pytest.raises(NotACheckpointError, match="memory://box: got a folder with ck/"):
            resolve_root("memory://box", None, classify)
    finally:
        memory.rm("/box", recursive=True)


@pytest.mark.parametrize(
    ("path", "result"),
    [
        ("gone", "got nothing at this path"),
        ("empty", "got an empty folder"),
        ("plain", r"got a folder with a/, b.txt \(audit --recursive looks further below\),"),
        ("begun", "got a folder with metadata .*until it plans its first batch"),
        ("plain/b.txt", "got a file that lies in no checkpoint"),
        ("many", r"got a folder with d0/, .*, d7/ and 3 more"),
        ("queries", r"checkpoints lie in it: one, two; name them"),
    ],
)
def test_error_of_a_path_without_checkpoint(tmp_path: Path, path: str, result: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "plain" / "a").mkdir(parents=True)
    (tmp_path / "plain" / "b.txt").write_bytes(b"")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "metadata").write_bytes(b"{}")
    for name in "0123456789a":
        (tmp_path / "many" / f"d{name}").mkdir(parents=True)
    make_checkpoint(tmp_path / "queries" / "one")
    make_checkpoint(tmp_path / "queries" / "two")
    with pytest.raises(NotACheckpointError, match=result) as caught:
        resolve_root(f"{tmp_path}/{path}", None, classify)
    assert caught.value.path == f"{tmp_path}/{path}"
    assert "expected a checkpoint folder with 'metadata', 'offsets'" in str(caught.value)


def test_error_of_a_folder_with_unlistable_children(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(0)
    try:
        with pytest.raises(NotACheckpointError, match="got a folder with locked/ "):
            resolve_root(str(tmp_path), None, classify)
    finally:
        (tmp_path / "locked").chmod(0o700)


def test_unknown_url_scheme_is_an_engine_error() -> None:
    with pytest.raises(EngineError):
        resolve_root("nosuch://x/state/0", None, classify)
