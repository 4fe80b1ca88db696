"""Search for checkpoints below a folder or by a pattern."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from inspector.checkpoint import search as searching
from inspector.checkpoint.search import is_pattern, search
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.exceptions import LimitError, NotACheckpointError
from tests.attributes import attributes


def make_checkpoint(root: Path) -> Path:
    (root / "offsets").mkdir(parents=True)
    (root / "commits").mkdir()
    (root / "state/0/0").mkdir(parents=True)
    (root / "metadata").write_bytes(b"{}")
    return root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    make_checkpoint(tmp_path / "a/ck1")
    make_checkpoint(tmp_path / "a/ck2")
    make_checkpoint(tmp_path / "b/deep/er/ck3")
    make_checkpoint(tmp_path / "table/_checkpoints/q")
    make_checkpoint(tmp_path / "b/_delta_log/ck")
    make_checkpoint(tmp_path / "a/ck1/state/0/0/inner")
    (tmp_path / "only_state/state/0").mkdir(parents=True)
    (tmp_path / "state/notes").mkdir(parents=True)
    (tmp_path / "a/file").write_bytes(b"")
    return tmp_path


def found_paths(url: str | Path, *, recursive: bool = False) -> list[str]:
    answer = list(search(str(url), recursive=recursive))
    assert attributes(answer, "error") == [None] * len(answer)
    return attributes(answer, "path")


def test_recursive_search_finds_checkpoints_and_none_inside_another(tree: Path) -> None:
    assert found_paths(tree, recursive=True) == [
        f"{tree}/only_state",
        f"{tree}/a/ck1",
        f"{tree}/a/ck2",
        f"{tree}/table/_checkpoints/q",
        f"{tree}/b/deep/er/ck3",
    ]


def test_known_roots_are_not_listed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = found_paths(tree, recursive=True)
    listed, real = list[str](), Storage.list

    def counted(self: Storage, path: str = "", *, missing_ok: bool = False) -> tuple[Entry, ...]:
        listed.append(path)
        return real(self, path, missing_ok=missing_ok)

    monkeypatch.setattr(Storage, "list", counted)
    roots = {str(tree / "a/ck1"), str(tree / "b/deep")}
    paths = attributes(search(str(tree), recursive=True, was_root=roots.__contains__), "path")
    assert set(paths) == {*expected, str(tree / "b/deep")} - {str(tree / "b/deep/er/ck3")}
    assert not {"a/ck1", "b/deep", "b/deep/er"} & set(listed)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a/*", ["a/ck1", "a/ck2"]),
        ("a/ck?", ["a/ck1", "a/ck2"]),
        ("a/ck[2]", ["a/ck2"]),
        ("*/ck*", ["a/ck1", "a/ck2"]),
        ("**/ck*", ["a/ck1", "a/ck2", "b/deep/er/ck3"]),
        ("b/**", ["b/deep/er/ck3"]),
        ("only*", ["only_state"]),
    ],
)
def test_search_by_pattern(tree: Path, pattern: str, expected: list[str]) -> None:
    assert found_paths(f"{tree}/{pattern}") == [f"{tree}/{name}" for name in expected]


def test_search_by_pattern_in_a_url(tree: Path) -> None:
    assert found_paths(f"file://{tree}/a/*") == [f"file://{tree}/a/ck1", f"file://{tree}/a/ck2"]


def test_search_by_relative_pattern(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert found_paths("a/*1") == ["a/ck1"]
    assert found_paths("*/ck1") == ["./a/ck1"]


def test_recursive_search_by_pattern(tree: Path) -> None:
    assert found_paths(f"{tree}/[b]", recursive=True) == [f"{tree}/b/deep/er/ck3"]


def test_existing_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    location = make_checkpoint(tmp_path / "ck[1]")
    assert not is_pattern(str(location))
    assert is_pattern(str(tmp_path / "ck[2]"))
    assert found_paths(location, recursive=True) == [str(location)]


def test_search_in_memory_storage() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe({"/search/ck1/metadata": b"{}", "/search/ck1/offsets/0": b"v1"})
    memory.pipe({"/search/x/ck2/metadata": b"{}", "/search/x/ck2/offsets/0": b"v1"})
    try:
        assert found_paths("memory://search", recursive=True) == [
            "memory://search/ck1",
            "memory://search/x/ck2",
        ]
        assert found_paths("memory://search/*/ck?") == ["memory://search/x/ck2"]
    finally:
        memory.rm("/search", recursive=True)


def test_search_enters_circular_links_once(tree: Path) -> None:
    expected = found_paths(tree, recursive=True)
    (tree / "b/loop").symlink_to(tree)
    (tree / "a/zz").symlink_to(tree / "a/ck1")
    (tree / "b/nowhere").symlink_to(tree / "missing")
    assert found_paths(tree, recursive=True) == expected


def test_search_ends_at_the_folder_limit(tree: Path) -> None:
    *sample, last = search(str(tree), recursive=True, most_folders=8)
    assert attributes(sample, "path", "error") == [(f"{tree}/only_state", None)]
    assert isinstance(last.error, LimitError)
    assert "more than 8 folders" in str(last.error)


def test_search_skips_very_deep_folders(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "DEEPEST", 2)
    assert f"{tree}/b/deep/er/ck3" not in found_paths(tree, recursive=True)


def test_search_continues_after_an_unlistable_folder(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = Storage._listing

    def refused(self: Storage, relative: str) -> object:
        if relative == "b":
            raise PermissionError("not yours")
        return listed(self, relative)

    monkeypatch.setattr(Storage, "_listing", refused)
    answer = list(search(str(tree), recursive=True))
    errors = dict(attributes(answer, "path", "error"))
    assert isinstance(errors.pop(f"{tree}/b"), PermissionError)
    assert list(errors.values()) == [None] * 4
    assert len(answer) == 5


@pytest.mark.parametrize("recursive", [False, True])
def test_search_without_match_is_an_error(tmp_path: Path, recursive: bool) -> None:
    path = str(tmp_path / "missing" / "*")
    (only,) = search(path, recursive=recursive)
    assert isinstance(only.error, NotACheckpointError)
    assert str(only.error).startswith(f"{path}: got nothing")


def test_pattern_in_a_bucket_name_is_refused() -> None:
    with pytest.raises(NotACheckpointError, match="name of a bucket"):
        list(search("s3://buck*/x"))
