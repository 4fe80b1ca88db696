"""Number of key ranges by memory and cores, and ranges that do not fit into memory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from inspector import api
from inspector.analyses.shared import key_ranges
from inspector.analyses.shared.key_ranges import (
    AHEAD_BYTES,
    CLUSTER_BYTES,
    MOST_FOR_CORES,
    SPLIT_BYTES,
    ranges_for_cores,
    ranges_for_memory,
    with_idle_cores,
)
from inspector.discovery.checkpoint import open_checkpoint
from inspector.discovery.plan import plan
from inspector.discovery.tasks import Request, Task
from inspector.engines.choose import LOCAL, EngineOptions
from inspector.exceptions import EngineError
from inspector.passes.ahead import make_ahead
from inspector.passes.store_reader import open_stores
from inspector.render.report import Report
from tests.attributes import attributes
from tests.fixture_folder import NEWEST
from tests.reports import cell_values

AGG = str(NEWEST / "agg_update" / "checkpoint")
ROCKS = [
    str(NEWEST / "rocksdb_agg_update_snapshots" / "checkpoint"),
    str(NEWEST / "rocksdb_agg_update_zips_one" / "checkpoint"),
    str(NEWEST / "rocksdb_join_left_outer_v3" / "checkpoint"),
    str(NEWEST / "rocksdb_session_window" / "checkpoint"),
]
TIMERS = str(NEWEST / "fmgws_event_ignore" / "checkpoint")


def tasks(path: str = AGG) -> list[Task]:
    checkpoint = open_checkpoint(path)
    return plan(checkpoint, checkpoint.newest_version)


def task_of_bytes(size: int, path: str = AGG) -> Task:
    """Return a task with one file of this size."""
    task = tasks(path)[0]
    (store,) = task.stores
    return replace(task, stores=(replace(store, files=(replace(store.files[0], size=size),)),))


def test_small_partitions_are_not_split() -> None:
    assert ranges_for_cores(tasks(), 64) == [1] * len(tasks())
    assert ranges_for_cores([], 4) == []


def test_large_partition_is_split_for_idle_cores() -> None:
    large = task_of_bytes(4 * SPLIT_BYTES)
    assert ranges_for_cores([large], 1) == [1]
    assert ranges_for_cores([large], 4) == [4]
    assert ranges_for_cores([large], 100) == [MOST_FOR_CORES]
    assert ranges_for_cores([large] * 4, 4) == [1] * 4
    assert ranges_for_cores([large, task_of_bytes(1)], 2) == [2, 1]


def test_partition_slightly_above_its_share_is_not_split() -> None:
    first, second = task_of_bytes(4 * SPLIT_BYTES), task_of_bytes(4 * SPLIT_BYTES + 1000)
    assert ranges_for_cores([first, second], 2) == [1, 1]


def test_large_partition_is_decoded_ahead_on_an_idle_core() -> None:
    large = task_of_bytes(AHEAD_BYTES)

    def ahead(sample: list[Task], cores: int) -> list[bool]:
        return attributes(with_idle_cores(sample, cores), "decode_ahead")

    assert ahead([large], 2) == [True]
    assert ahead([large], 1) == [False]
    assert ahead([large] * 2, 2) == [False] * 2
    assert ahead([large] * 2, 4) == [True] * 2
    assert ahead([large, task_of_bytes(1)], 2) == [True, False]
    assert ahead(tasks(), 64) == [False] * len(tasks())


def test_ranges_on_a_cluster_follow_bytes() -> None:
    assert ranges_for_cores(
        [task_of_bytes(CLUSTER_BYTES), task_of_bytes(3 * CLUSTER_BYTES)], None
    ) == [1, 3]


def test_timers_are_not_split_for_cores() -> None:
    assert ranges_for_cores([task_of_bytes(4 * SPLIT_BYTES, TIMERS)], 4) == [1]


def test_ranges_for_memory_follow_sampled_records() -> None:
    task = replace(tasks()[0], request=Request())
    keys = key_ranges._most_keys(task, {})
    assert 20 < keys < 2000
    assert ranges_for_memory([task], keys * key_ranges.KEY_BYTES) == [1]
    assert ranges_for_memory([task], keys * key_ranges.KEY_BYTES // 4 + 1) == [4]


def report(path: str, messages: list[str], **options: Any) -> Mapping[str, Any]:
    engine = EngineOptions(LOCAL, notify=messages.append)
    result = api.audit(path, api.Options(engine=engine, **options))
    document: Mapping[str, Any] = result.to_dict()
    return document


@pytest.fixture
def decoded_ahead(monkeypatch: pytest.MonkeyPatch) -> mock.Mock:
    """Let every file be decoded by a second thread; the mock counts these files."""
    counted = mock.Mock(side_effect=make_ahead)
    monkeypatch.setattr(key_ranges, "SPLIT_BYTES", 1)
    monkeypatch.setattr(key_ranges, "AHEAD_BYTES", 1)
    monkeypatch.setattr("inspector.passes.ahead.LARGE", 1)
    monkeypatch.setattr("inspector.passes.ahead.make_ahead", counted)
    monkeypatch.setattr("inspector.passes.store_reader.make_ahead", counted)
    return counted


@pytest.mark.parametrize("cores", [4, 8])
def test_report_is_equal_on_any_number_of_cores(cores: int, decoded_ahead: mock.Mock) -> None:
    """With 4 cores a second thread decodes files; with 8 cores there are ranges too."""
    expected = report(AGG, [], workers=1)
    assert not decoded_ahead.called
    assert report(AGG, [], workers=cores) == expected
    assert decoded_ahead.called


@pytest.mark.parametrize(
    "name",
    [
        *("join_left_outer_v3", "join_left_outer_v4", "join_left_outer_snapshots_v4"),
        *("tws_event", "tws_undeclared", "tws_processing_avro", "tws_processing_snapshots"),
    ],
)
def test_column_families_are_decoded_ahead(name: str, decoded_ahead: mock.Mock) -> None:
    path = str(NEWEST / f"rocksdb_{name}" / "checkpoint")
    expected = report(path, [], workers=1)
    assert not decoded_ahead.called
    assert report(path, [], workers=4) == expected
    assert decoded_ahead.called


def test_unreadable_file_is_the_same_problem_on_many_cores(
    decoded_ahead: mock.Mock, tmp_path: Path
) -> None:
    """Each store that shares the file has the problem."""
    shutil.copytree(NEWEST / "rocksdb_join_left_outer_v3" / "checkpoint", tmp_path / "c")
    file = max((tmp_path / "c" / "state" / "0" / "0").glob("5*.changelog"))
    file.write_bytes(file.read_bytes()[:-30])
    expected = report(str(tmp_path / "c"), [], workers=1)
    assert expected["problems"]
    assert report(str(tmp_path / "c"), [], workers=4) == expected
    assert decoded_ahead.called


def rows_report(name: str, command: str, messages: list[str], **options: Any) -> Mapping[str, Any]:
    """Return the report of a command about rows; ``history`` is of rows with some value."""
    chosen = api.Options(engine=EngineOptions(LOCAL, notify=messages.append), **options)
    path = str(NEWEST / name / "checkpoint")
    result: Report
    if command == "diff":
        result = api.diff(path, options=chosen, from_batch=2)
    elif command == "history":
        result = api.history(path, replace(chosen, where=(SOME_VALUE[name],)))
    else:
        result = api.rows(path, chosen)
    document: Mapping[str, Any] = result.to_dict()
    return document


def has_passes(messages: list[str]) -> bool:
    """True if a message names the number of passes; other messages are about the kernel."""
    return "are read in up to" in "\n".join(messages)


SOME_VALUE = {
    "agg_update": "count>0",
    "rocksdb_agg_update_snapshots": "count>0",
    "rocksdb_session_window": "count>0",
    "rocksdb_join_left_outer_v3": "ad>=0",
    "rocksdb_join_left_outer_snapshots_v4": "ad>=0",
    "rocksdb_tws_event": "expiryTimestampMs>0",
}


@pytest.mark.parametrize("command", ["rows", "diff", "history"])
@pytest.mark.parametrize("name", SOME_VALUE)
def test_rows_are_equal_with_memory_limit_and_second_core(
    name: str, command: str, decoded_ahead: mock.Mock
) -> None:
    messages: list[str] = []
    with mock.patch.object(os, "cpu_count", return_value=1):
        expected = rows_report(name, command, messages)
    assert expected["rows"]
    assert not decoded_ahead.called
    with mock.patch.object(os, "cpu_count", return_value=2):
        assert rows_report(name, command, messages) == expected
    assert decoded_ahead.called
    assert not has_passes(messages)
    with mock.patch.object(key_ranges, "KEY_BYTES", 8_000_000):
        assert rows_report(name, command, messages, memory_limit=300 << 20) == expected
    assert has_passes(messages)


def test_rows_of_one_key_need_one_pass() -> None:
    messages: list[str] = []
    with mock.patch.object(key_ranges, "KEY_BYTES", 8_000_000):
        result = rows_report(
            "agg_update", "rows", messages, key="user=user-001", memory_limit=300 << 20
        )
    assert result == rows_report("agg_update", "rows", messages, key="user=user-001")
    assert not has_passes(messages)


def test_diff_of_other_partitions_in_passes(tmp_path: Path) -> None:
    """The partitions that are compared together are read in the passes of all of them."""
    old, new = NEWEST / "agg_update" / "checkpoint", tmp_path / "new"
    shutil.copytree(old, new)
    shutil.rmtree(new / "state" / "0" / "1")
    messages: list[str] = []
    options = api.Options(engine=EngineOptions(LOCAL, notify=messages.append))
    expected = api.diff(str(old), str(new), options).to_dict()
    with mock.patch.object(key_ranges, "KEY_BYTES", 8_000_000):
        result = api.diff(str(old), str(new), replace(options, memory_limit=300 << 20)).to_dict()
    assert result == expected
    assert has_passes(messages)


@pytest.mark.parametrize("path", [AGG, TIMERS, *ROCKS])
def test_report_is_equal_with_memory_limit(path: str) -> None:
    messages: list[str] = []
    with mock.patch.object(key_ranges, "KEY_BYTES", 8_000_000):
        result = report(path, messages, memory_limit=300 << 20, workers=1)
    assert result == report(path, [])
    assert has_passes(messages)
    messages.clear()
    report(path, messages, memory_limit=1 << 30)
    assert not has_passes(messages)


def test_indivisible_partitions_are_read_whole_with_a_message() -> None:
    messages: list[str] = []
    path = str(NEWEST / "rocksdb_tws_event" / "checkpoint")
    with mock.patch.object(key_ranges, "KEY_BYTES", 8_000_000):
        result = report(path, messages, memory_limit=300 << 20, workers=1)
    assert result == report(path, [])
    (line,) = (line for line in messages if line.startswith("memory: "))
    assert line.startswith("memory: 2 of 2 partitions are read whole, though ")


def test_snapshot_row_count_from_metadata_or_tables() -> None:
    (task,) = tasks(ROCKS[1])
    ((store, reader),) = open_stores(task)
    rows = api.audit(ROCKS[1]).summary["rows"]
    newest = max(store.files, key=lambda file: file.version or 0)
    assert reader.files.snapshot_rows(newest) == rows == key_ranges._snapshot_rows(task)
    facts = reader.storage.known
    facts[newest.path] = replace(facts[newest.path], keys=-1)
    snapshot_rows = reader.files.snapshot_rows(newest)
    assert snapshot_rows is not None
    assert snapshot_rows >= rows


@pytest.mark.parametrize(("path", "remaining"), [(AGG, False), (ROCKS[1], True), (ROCKS[3], True)])
def test_ranges_for_memory_count_bytes_of_kept_keys(path: str, remaining: bool) -> None:
    sample = [replace(task, request=Request()) for task in tasks(path)]
    for task in (task for task in sample if ranges_for_memory([task], 1) != [1]):
        lengths: list[int] = []
        for store, reader in open_stores(task):
            for block in reader.blocks(max(store.files, key=lambda file: file.size)):
                lengths += block.key_length.tolist()
        (pair,) = ranges_for_memory([task], 1)
        with mock.patch.object(key_ranges, "KEY_BYTES", 0):
            (of_keys,) = ranges_for_memory([task], 1)
        keys = (pair - of_keys) // key_ranges.KEY_BYTES
        assert keys
        assert of_keys == (keys * -(-sum(lengths) // len(lengths)) if remaining else 1)


def test_too_small_memory_limit_is_refused() -> None:
    with pytest.raises(EngineError, match="is too small, expected at least"):
        report(AGG, [], memory_limit=100 << 20)


def test_range_above_the_memory_limit_is_a_problem() -> None:
    with mock.patch.object(key_ranges, "_key_memory", return_value=100):
        result = report(AGG, [], memory_limit=1 << 30, partition_id=0, batch=0)
    assert set(cell_values(result["problems"], "problem")) == {"over-limit"}
    assert "raise --memory-limit" in result["problems"][0]["message"]
