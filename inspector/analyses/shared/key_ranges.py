"""Key ranges: partitions whose keys are read in several parts, for memory or for idle cores.

A range reads all records of its partition and keeps its own keys, so that more ranges need less
memory at a time and more work altogether. A partition is split if its keys do not fit into the
memory that the user allows, or if some cores would idle while one reads it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa

from inspector import exceptions
from inspector.analyses.shared.options import Options
from inspector.checkpoint.patience import THREADS, in_parallel
from inspector.checkpoint.urls import is_local
from inspector.discovery.tasks import (
    MOST_RANGES,
    StoreTask,
    Task,
    files_to_replay,
    needs_bounds,
    split_task,
    with_bounds,
)
from inspector.engines.engine import BatchFunction, Engine
from inspector.facts.fact import Observed
from inspector.facts.registry import facts_in
from inspector.facts.timers import CallBounds
from inspector.light_dataclasses import replace
from inspector.merge.ranges import Listed, fold_ranges
from inspector.model import FileKind, StoreFile, StoreId
from inspector.passes.shown_keys import shows_few
from inspector.passes.store_reader import open_stores
from inspector.passes.worker import run_bounds
from inspector.providers.registry import provider_by_name

# bytes of memory before any state is read: Python, numpy, pyarrow, the package
START_BYTES = 120_000_000
# bytes of memory of a task without its keys: blocks of records, packed and raw
READING_BYTES = 30_000_000
# bytes of memory of one key at the most, without the key's own bytes
KEY_BYTES = 110
SPLIT_BYTES = 64 << 20  # file bytes from which a task is split for cores that would idle
AHEAD_BYTES = 8 << 20  # file bytes from which a task may decode in a second thread
# A task's share of all file bytes, in cores. A task with a larger share decodes in a second thread,
# because another core would idle while it is read.
LONELY = 1.5
CLUSTER_BYTES = 1 << 30  # file bytes of one range on a cluster whose cores are not known
# number of ranges into which a partition is split for idle cores, at most: each reads all its files
MOST_FOR_CORES = 8
# size that a file should have whose records are counted as a sample: the nearest file is taken
SAMPLE_BYTES = 4 << 20
# factor by which the number of keys is raised that a sample of the files shows
ESTIMATE_SLACK = 1.25


def split(tasks: Iterable[Task], engine: Engine, options: Options) -> list[Task]:
    """Return the tasks, with those of large partitions split into ranges of keys.

    A task is split so that no core of ``engine`` idles, and so that its keys fit into the memory
    limit of ``options``. If the engine is in this process, some tasks decode in a second thread.
    With a limit, the user is notified of splits, and EngineError is raised if it is too small.
    """
    tasks = list(tasks)
    cores = engine.cores
    if engine.in_process and cores is not None:
        tasks = with_idle_cores(tasks, cores)
        cores = -(-cores // 2)  # a task that is alone takes two
    counts = ranges_for_cores(tasks, cores)
    if options.memory_limit is None:
        return [part for task, n in zip(tasks, counts, strict=True) for part in split_task(task, n)]
    at_once = (engine.in_process and engine.cores) or 1
    memory = _key_memory(options.memory_limit, at_once)
    counts = [max(n, m) for n, m in zip(counts, ranges_for_memory(tasks, memory), strict=True)]
    parts = [split_task(task, n) for task, n in zip(tasks, counts, strict=True)]
    unsplit = sum(n > 1 and len(ranges) == 1 for n, ranges in zip(counts, parts, strict=True))
    _tell([len(part) for part in parts], unsplit, options.engine.notify)
    return [replace(task, key_memory=memory) for part in parts for task in part]


def run_in_turns(tasks: Iterable[Task], options: Options) -> list[Task]:
    """Return tasks of rows for this process, which reads one after the other.

    Each decodes in a second thread if there are several cores. A task whose keys do not fit into
    the memory limit reads its files in several passes, each for a part of the keys, unless single
    keys are requested. Raises EngineError if the limit is too small.
    """
    tasks = [replace(task, decode_ahead=(os.cpu_count() or 1) > 1) for task in tasks]
    if options.memory_limit is None or options.key:
        return tasks
    memory = _key_memory(options.memory_limit, 1)
    counts = [min(n, MOST_RANGES) for n in ranges_for_memory(tasks, memory)]
    _tell(counts, 0, options.engine.notify)
    return [replace(task, passes=n) for task, n in zip(tasks, counts, strict=True)]


def _key_memory(limit: int, at_once: int) -> int:
    """Return the bytes of memory that the keys of one task may take.

    ``limit`` is the limit of the process, in bytes, and ``at_once`` the number of tasks that run
    together. Raises EngineError if the limit is too small.
    """
    memory = (limit - START_BYTES) // at_once - READING_BYTES
    if memory < READING_BYTES:
        start_mb = (START_BYTES + 2 * READING_BYTES * at_once) / 1e6
        raise exceptions.EngineError(
            f"a memory limit of {limit / 1e6:.0f} MB is too small, expected at least "
            f"{start_mb:.0f} MB for {at_once} partition{'s' * (at_once > 1)} at the same time "
            "(--workers)"
        )
    return memory


def ranges_for_cores(tasks: Sequence[Task], cores: int | None) -> list[int]:
    """Return for each task the number of key ranges with which all cores are busy.

    It is 1 for files below SPLIT_BYTES, and for a task with timers, because a split needs another
    read of them. It is MOST_FOR_CORES at most. ``cores`` is None for a cluster whose cores are not
    known; a range then has about CLUSTER_BYTES of files.
    """
    total = sum(task.file_bytes for task in tasks)
    share = CLUSTER_BYTES if cores is None else total // max(cores, 1) + 1

    def count(task: Task) -> int:
        """Return the number of key ranges of one task."""
        if task.file_bytes < SPLIT_BYTES or any(store.timeout_kinds for store in task.stores):
            return 1
        # Rounded: a partition that is a little larger than its share is worth no second pass.
        return min(MOST_FOR_CORES, max(1, round(task.file_bytes / share)))

    return [count(task) for task in tasks]


def with_idle_cores(tasks: Sequence[Task], cores: int) -> list[Task]:
    """Return the tasks, of which large ones decode in a second thread if a core would idle.

    A task is large if it has AHEAD_BYTES and more than ``LONELY`` cores' share of all file bytes.
    Unlike key ranges, this repeats no work.
    """
    total = sum(task.file_bytes for task in tasks)
    return [
        replace(task, decode_ahead=True)
        if task.file_bytes >= AHEAD_BYTES and cores * task.file_bytes > LONELY * total
        else task
        for task in tasks
    ]


def ranges_for_memory(tasks: Sequence[Task], memory: int) -> list[int]:
    """Return for each task the number of key ranges whose keys fit into ``memory`` bytes each.

    It is at least 1. The numbers and lengths of keys are estimated from samples of the files.
    """
    record_bytes: dict[tuple[int, str], float] = {}
    threads = 1 if all(is_local(task.url) for task in tasks) else THREADS
    row_counts = [
        rows if isinstance(rows, int) else 0 for rows in in_parallel(_snapshot_rows, tasks, threads)
    ]
    lengths = in_parallel(_kept_length, tasks, threads)
    keys = [
        rows + _most_keys(task, record_bytes) for task, rows in zip(tasks, row_counts, strict=True)
    ]
    sizes = [KEY_BYTES + (length if isinstance(length, int) else 0) for length in lengths]
    return [max(1, -(-n * size // memory)) for n, size in zip(keys, sizes, strict=True)]


def _tell(counts: Sequence[int], unsplit: int, notify: Callable[[str], None]) -> None:
    """Notify the user of partitions that are read in passes, or whole in spite of the limit.

    ``counts`` are the passes (reads of all files) of each partition. ``unsplit`` is the number of
    partitions that should be split and cannot be.
    """
    split = [n for n in counts if n > 1]
    if split:
        notify(
            f"memory: {len(split)} of {len(counts)} partitions are read in up to {max(split)} "
            "passes, each with a part of the keys, by the records that a sample of their files has"
        )
    if unsplit:
        notify(
            f"memory: {unsplit} of {len(counts)} partitions are read whole, though their keys may "
            "take more than the limit: the variables of a transformWithState and the lists of a "
            "join of format 4 are not divided"
        )


def _most_keys(task: Task, record_bytes: dict[tuple[int, str], float]) -> int:
    """Return the largest possible number of keys of a task, without rows of RocksDB snapshots.

    It is estimated from one sampled file for each store name. ``record_bytes`` caches the samples:
    operator id and store name -> bytes of a record.
    """
    keys = 0.0
    for store in task.stores:
        files = [file for file in files_to_replay(task, store) if _has_rows(task, file)]
        if files:
            name = task.operator_id, store.store_name
            if name not in record_bytes:
                record_bytes[name] = _file_bytes_of_record(task, store, files)
            keys += sum(file.size for file in files) / record_bytes[name]
    return int(keys * ESTIMATE_SLACK)


def _has_rows(task: Task, file: StoreFile) -> bool:
    """Return True if a file has rows itself: all do, except snapshots of RocksDB.

    A snapshot of RocksDB has its rows in table files that snapshots share.
    """
    return file.kind is not FileKind.SNAPSHOT or not provider_by_name(task.provider).shares_files


def _snapshot_rows(task: Task) -> int:
    """Return the number of rows that RocksDB snapshots record for a task, summed over its stores.

    For each store it is the larger number of its first and last snapshot that is replayed; 0 for
    stores without such snapshots.
    """
    rows = 0
    for store, reader in open_stores(_without_sums(task)):
        result = [file for file in files_to_replay(task, store) if not _has_rows(task, file)]
        ends = (reader.files.snapshot_rows(file) or 0 for file in result[:1] + result[-1:])
        rows += max(ends, default=0)
    return rows


def _kept_length(task: Task) -> int:
    """Return the mean key length in the first block of a store's largest file, in whole bytes.

    It is the largest mean of all stores that keep the bytes of keys in memory. 0 if there is no
    such store, or no file can be read.
    """
    length = 0
    for store, reader in open_stores(_without_sums(task)):
        files = [] if shows_few(task, store) else files_to_replay(task, store)
        if files:
            with suppress(exceptions.InspectorError, OSError):
                largest = max(files, key=lambda file: file.size)
                block = next(iter(reader.blocks(largest)), None)
                if block is not None and block.count:
                    length = max(length, -(-int(block.key_length.sum()) // block.count))
    return length


def _without_sums(task: Task) -> Task:
    """Return the task without checksum files and without stores that share another store's files.

    It is for samples of a partition: no checksum is compared, and no file is sampled twice.
    """
    stores = (replace(store, side_files=()) for store in task.stores if store.counts_files)
    return replace(task, stores=tuple(stores))


def _file_bytes_of_record(task: Task, store: StoreTask, files: Sequence[StoreFile]) -> float:
    """Estimate how many compressed bytes one record of a store takes; never below 1.0.

    Reads the file whose size is nearest to SAMPLE_BYTES. Returns 1.0 if it cannot be read, so that
    the caller expects too many keys and never too few.
    """
    file = min(files, key=lambda candidate: abs(candidate.size - SAMPLE_BYTES))
    ((_, reader),) = open_stores(replace(task, stores=(replace(store, side_files=()),)))
    try:
        records = sum(block.count for block in reader.blocks(file))
    except (exceptions.InspectorError, OSError):
        return 1.0
    return max(1.0, file.size / max(records, 1))


def bound_ranges(
    tasks: Sequence[Task], run: Callable[[BatchFunction, Iterable[Task]], Iterator[pa.RecordBatch]]
) -> Sequence[Task]:
    """Return the tasks, with call bounds for those that have a key range and timers.

    Call bounds show by the records of all keys of a partition which calls of the user's function a
    timeout can have made. ``run`` maps a function over tasks; it reads the tasks with timers once
    more. Nothing is read if there are none.
    """
    timed = [task for task in tasks if needs_bounds(task)]
    if not timed:
        return tasks
    bounds: dict[StoreId, dict[int, CallBounds]] = {}
    for batch in run(run_bounds, timed):
        for observation in facts_in(batch):
            store_bounds, version = bounds.setdefault(observation.store, {}), observation.version
            store_bounds[version] = store_bounds.get(version, CallBounds()) + observation.fact
    return [with_bounds(task, bounds) if needs_bounds(task) else task for task in tasks]


def in_whole(
    tasks: Sequence[Task], observations: Iterable[Observed[Any]]
) -> Iterable[Observed[Any]]:
    """Return the observations of tasks, with those of key ranges merged for whole partitions.

    ``observations`` are facts of stores and versions. They are returned as they are if no task has
    a key range.
    """
    split = [task for task in tasks if task.key_range is not None]
    if not split:
        return observations
    partitions = {}
    for task in split:
        limits = task.request.top, task.request.leftover_limit, task.sampled_keys
        partitions[task.operator_id, task.partition_id] = Listed(*limits)
    return fold_ranges(observations, partitions)
