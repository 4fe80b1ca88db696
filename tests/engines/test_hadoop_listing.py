"""Listings of Spark, written as folders. These tests need no Spark."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from uuid import uuid4

import pytest

from inspector.checkpoint.storage import Storage
from inspector.discovery.tasks import StoreTask, Task
from inspector.engines.staging import (
    ListedFile,
    Listing,
    Listings,
    TaskFile,
    files_of_task,
    open_listing,
    relative_path,
)
from inspector.exceptions import EngineError
from inspector.model import LIMITS, FileKind, StoreFile, Version
from inspector.passes.record_effects import ChangesTask
from inspector.passes.row_differences import DiffTask
from tests.attributes import attributes

ROOT = "hdfs://nn/queries/state/mine"


def listing_of(**files: int) -> Listing:
    time = 1_700_000_000_123
    listed = {path: ListedFile(f"uri:{path}", size, time) for path, size in files.items()}
    return Listing(uuid4().hex, ROOT, listed)


def test_opened_listing_has_sizes_times_and_small_files(tmp_path: Path) -> None:
    listing = listing_of(**{"metadata": 2, "state/0/1/5.delta": 5 << 30})
    small = tmp_path / listing.name / "metadata"
    small.parent.mkdir()
    small.write_bytes(b"{}")
    storage = open_listing(listing, ["commits"], str(tmp_path), {})
    assert attributes(storage.list(), "name") == ["commits", "metadata", "state"]
    assert storage.read("metadata") == b"{}"
    delta = storage.stat("state/0/1/5.delta")
    assert delta is not None
    assert (delta.size, delta.modified_ms) == (5 << 30, 1_700_000_000_123)
    with pytest.raises(EngineError):
        Storage(storage.url, storage.options, storage.root)


@pytest.mark.parametrize("ms", [0, 1, 999, 1_700_000_000_001, 1_795_262_473_923])
def test_listing_times_are_exact_to_the_millisecond(tmp_path: Path, ms: int) -> None:
    listing = Listing(uuid4().hex, ROOT, {"a": ListedFile("uri", 1, ms)})
    storage = open_listing(listing, [], str(tmp_path), {})
    result = storage.stat("a")
    assert result is not None
    assert result.modified_ms == ms


def test_listing_is_removed_with_its_storage(tmp_path: Path) -> None:
    folder = tmp_path / "listing"
    folder.mkdir()
    listing = listing_of(**{"state/0/0/1.delta": 1})
    listings: Listings = {}
    storage = open_listing(listing, [], str(folder), listings)
    spec = task(storage, "state/0/0/1.delta").to_json()
    assert files_of_task(spec, listings) == [TaskFile(listing, "state/0/0/1.delta")]
    del storage
    gc.collect()
    assert not folder.exists()
    with pytest.raises(EngineError, match=f"{ROOT} that Spark has not listed"):
        files_of_task(spec, listings)
    assert listings == {}


def task(storage: Storage, *paths: str, side: str | None = None) -> Task:
    files = tuple(
        StoreFile(storage.full_path(path), FileKind.DELTA, Version(1), 1) for path in paths
    )
    sides = (StoreFile(storage.full_path(side), FileKind.HADOOP_CHECKSUM, None, 1),) if side else ()
    store = StoreTask("default", files, side_files=sides)
    return Task(storage.url, storage.root, {}, 0, 0, 1, (store,), key=('{"a": "staged:/x"}',))


def test_files_of_every_kind_of_task(tmp_path: Path) -> None:
    old, new = listing_of(a=1, b=1, c=1), listing_of(a=1)
    listings: Listings = {}
    old_storage = open_listing(old, [], str(tmp_path / "old"), listings)
    new_storage = open_listing(new, [], str(tmp_path / "new"), listings)
    plain = task(old_storage, "a", "b", side="c")
    second = task(new_storage, "a")
    mine = [TaskFile(old, "a"), TaskFile(old, "b"), TaskFile(old, "c")]
    assert files_of_task(plain.to_json(), listings) == mine
    assert files_of_task(ChangesTask(plain).to_json(), listings) == mine
    pair = DiffTask((plain,), (second, plain)).to_json()
    assert files_of_task(pair, listings) == [*mine, TaskFile(new, "a")]
    assert files_of_task(json.dumps({"rows": ["staged:/x", "{staged:/x", 1, None]}), listings) == []


def test_small_files_are_those_read_by_discovery() -> None:
    listing = listing_of(
        **{
            "offsets/3": 1,
            "metadata": 1,
            "commits/9": LIMITS.small_file_bytes + 1,
            "state/0/0/1.delta": 1,
            "state/0/_metadata/metadata": 1,
            "state/0/0/left/_metadata/schema": 1,
        }
    )
    assert set(listing.small()) == {
        "offsets/3",
        "metadata",
        "state/0/_metadata/metadata",
        "state/0/0/left/_metadata/schema",
    }


@pytest.mark.parametrize(
    ("path", "root", "encoded"),
    [
        ("hdfs://nn:8020/x/mine/state/0/1/5.delta", "hdfs://nn/x/mine/", False),
        ("file:/home/me/mine/state/0/1/5.delta", "mine", False),
        ("dbfs:/Volumes/a/mine/state/0/1/5.delta", "/Volumes/a/mine", False),
        ("file:/home/state/mine/state/0/1/5.delta", "../state/mine", False),
        ("file:/home/state/state/0/1/5.delta", "/home/state", False),
        ("file:///a%20b/%C3%BC%2520/state/0/1/5.delta", "/a b/ü%20", True),
        ("file:/a/ü%20/state/0/1/5.delta", "/a/ü%20", False),
        ("file:/elsewhere/state/0/1/5.delta", "link", False),
    ],
)
def test_relative_path_for_every_spelling_of_the_root(path: str, root: str, encoded: bool) -> None:
    assert relative_path(path, root, "state", encoded=encoded) == "state/0/1/5.delta"


def test_relative_path_with_repeated_folder_name() -> None:
    assert relative_path("file:/q/state/0/state/x", "/q", "state") == "state/0/state/x"


def test_path_outside_of_the_root_is_refused() -> None:
    with pytest.raises(EngineError, match=r"lists '5.delta' outside of 'state'"):
        relative_path("file:/q/other/5.delta", "/q", "state")
