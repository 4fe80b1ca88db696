"""Tasks and their JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from inspector.discovery.tasks import SMALL_FILE_BYTES, StoreTask, Task
from inspector.model import BatchClock, BatchId, FileKind, StoreFile, StoreId, Version
from inspector.operators.rule import ExpiryField

files = st.builds(
    StoreFile,
    path=st.text(),
    kind=st.sampled_from(FileKind),
    version=st.integers(0, 1 << 62).map(Version),
    size=st.integers(0, 1 << 40),
    modified_ms=st.none() | st.integers(0, 1 << 50),
)
expiries = st.from_type(ExpiryField)
stores = st.builds(
    StoreTask,
    store_name=st.text(),
    files=st.lists(files, max_size=3).map(tuple),
    expiry=st.none() | expiries,
)
clocks = st.builds(
    BatchClock,
    batch_id=st.integers(0, 1 << 40).map(BatchId),
    timestamp_ms=st.none() | st.integers(),
    watermark_ms=st.none() | st.integers(),
    committed=st.booleans(),
    has_new_data=st.none() | st.booleans(),
    next_watermark_ms=st.none() | st.integers(),
)
tasks = st.builds(
    Task,
    options=st.dictionaries(st.text(), st.text()),
    stores=st.lists(stores, max_size=2).map(tuple),
    clocks=st.lists(clocks, max_size=3).map(tuple),
    codecs=st.dictionaries(st.integers(0, 1 << 40), st.text()),
)


@given(tasks)
def test_task_json_round_trip(task: Task) -> None:
    text = task.to_json()
    assert Task.from_json(text) == task
    assert Task.from_json(text).to_json() == text


@given(tasks)
def test_task_json_has_no_special_constants(task: Task) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    assert isinstance(json.loads(task.to_json(), parse_constant=refuse), dict)


def test_store_id_of_a_task() -> None:
    store = StoreTask("left-keyToNumValues", ())
    task = Task("/c", "/c", {}, 3, 5, 9, (store,))
    assert task.store_id(store) == StoreId(3, "left-keyToNumValues", 5)


def test_small_local_files_of_a_task() -> None:
    """Tasks with small local files run in processes: threads would wait for each other."""

    def task(url: str, *sizes: int) -> Task:
        files = tuple(
            StoreFile(f"{url}/{version}.delta", FileKind.DELTA, Version(version), size)
            for version, size in enumerate(sizes, 1)
        )
        return Task(url, url, {}, 0, 0, len(sizes), (StoreTask("default", files),))

    assert task("/c", 100, SMALL_FILE_BYTES).has_small_files
    assert not task("/c", SMALL_FILE_BYTES, SMALL_FILE_BYTES).has_small_files
    assert not task("s3://bucket/c", 100, 100).has_small_files, "each is waited for"
    assert not task("/c").has_small_files
    shared = task("/c", 100)
    siblings = replace(shared.stores[0], counts_files=False)
    assert replace(shared, stores=(*shared.stores, siblings)).file_bytes == 100
