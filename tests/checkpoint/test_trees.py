"""Trees of folders made from one recursive listing."""

from __future__ import annotations

from typing import Any

import pytest

from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry, entry_of, tree_of
from tests.fixture_folder import NEWEST
from tests.object_store import serve


def recursive_listing(*names: str) -> dict[str, Any]:
    """Return the answer of a driver to a recursive listing of files."""
    return {name: {"name": name, "type": "file", "size": len(name)} for name in names}


def test_tree_folders_from_object_names() -> None:
    tree = tree_of(
        recursive_listing("b/ck/state/0/1.delta", "b/ck/metadata", "b/ckx/other"), "b/ck"
    )
    assert tree.folders == {
        "": (Entry("metadata", "metadata", False, 13), Entry("state", "state", True, 0)),
        "state": (Entry("0", "state/0", True, 0),),
        "state/0": (Entry("1.delta", "state/0/1.delta", False, 20),),
    }
    assert tree.entry("state/0/1.delta") == Entry("1.delta", "state/0/1.delta", False, 20)
    assert tree.entry("state/0") == Entry("0", "state/0", True, 0)
    assert tree.entry("state/1") is None


def test_entry_that_is_neither_file_nor_folder_is_special() -> None:
    entry = entry_of({"name": "ck/state/pipe", "type": "other", "size": 7}, "state/pipe")
    assert entry == Entry("pipe", "state/pipe", False, 0, is_special=True)


@pytest.mark.parametrize("base", ["b/ck", "/b/ck/", "b/ck/"])
def test_folder_markers_are_folders(base: str) -> None:
    folder = {"name": "b/ck/empty", "type": "directory", "size": 0}
    tree = tree_of(recursive_listing("b/ck/", "b/ck/state/") | {"b/ck/empty": folder}, base)
    assert tree.folders == {
        "": (Entry("empty", "empty", True, 0), Entry("state", "state", True, 0)),
        "empty": (),
        "state": (),
    }


def test_tree_of_a_very_deep_name() -> None:
    assert len(tree_of(recursive_listing("b/" + "a/" * 3000 + "x"), "b").folders) == 3001


def test_tree_of_an_empty_listing_and_of_a_file() -> None:
    assert tree_of({}, "b/ck").folders == {"": ()}
    with pytest.raises(NotADirectoryError):
        tree_of(recursive_listing("b/ck"), "b/ck")


@pytest.mark.parametrize("case", ["agg_update", "join_left_outer"])
def test_tree_equals_listings_by_folder(case: str) -> None:
    requests = serve(NEWEST / case)
    storage = Storage("objects://checkpoint")
    tree = storage.tree()
    assert tree is not None
    assert dict(requests.kinds) == {"LIST": 1}
    for path, entries in tree.folders.items():
        listed = [e._replace(modified_ms=None) if e.is_dir else e for e in storage.list(path)]
        assert list(entries) == listed
    assert Storage(str(NEWEST / case / "checkpoint")).tree() is None
