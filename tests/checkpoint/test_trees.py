"""Trees by one listing: the same folders that a listing folder by folder gives."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry, tree_of
from tests.fixture_folder import NEWEST
from tests.object_store import serve


def found(*names: str, **types: str) -> dict[str, Any]:
    infos: list[dict[str, Any]] = [
        {"name": name, "type": "file", "size": len(name)} for name in names
    ]
    infos += [{"name": name, "type": kind, "size": 0} for name, kind in types.items()]
    return {info["name"]: info for info in infos}


def test_folders_are_the_parts_of_names() -> None:
    tree = tree_of(found("b/ck/state/0/1.delta", "b/ck/metadata", "b/ckx/other"), "b/ck")
    assert tree.folders == {
        "": (Entry("metadata", "metadata", False, 13), Entry("state", "state", True, 0)),
        "state": (Entry("0", "state/0", True, 0),),
        "state/0": (Entry("1.delta", "state/0/1.delta", False, 20),),
    }
    assert tree.entry("state/0/1.delta") == Entry("1.delta", "state/0/1.delta", False, 20)
    assert tree.entry("state/0") == Entry("0", "state/0", True, 0)
    assert tree.entry("state/1") is None


@pytest.mark.parametrize("base", ["b/ck", "/b/ck/", "b/ck/"])
def test_markers_of_empty_folders_are_folders(base: str) -> None:
    tree = tree_of(found("b/ck/", "b/ck/state/", **{"b/ck/empty": "directory"}), base)
    assert sorted(tree.folders) == ["", "empty", "state"]
    assert [entry.is_dir for entry in tree.folders[""]] == [True, True]


def test_a_name_of_a_thousand_parts_is_no_trouble() -> None:
    assert len(tree_of(found("b/" + "a/" * 3000 + "x"), "b").folders) == 3001


def test_nothing_is_an_empty_root_and_a_file_is_none() -> None:
    assert tree_of({}, "b/ck").folders == {"": ()}
    with pytest.raises(NotADirectoryError):
        tree_of(found("b/ck"), "b/ck")


@pytest.mark.parametrize("case", ["agg_update", "join_left_outer"])
def test_a_tree_has_what_listings_folder_by_folder_have(case: str) -> None:
    requests = serve(NEWEST / case)
    storage = Storage("objects://checkpoint")
    tree = storage.tree()
    assert tree is not None
    assert dict(requests.kinds) == {"LIST": 1}
    for path, entries in tree.folders.items():
        listed = [e._replace(modified_ms=None) if e.is_dir else e for e in storage.list(path)]
        assert list(entries) == listed
    assert Storage(str(NEWEST / case / "checkpoint")).tree() is None
