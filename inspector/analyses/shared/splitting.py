"""How many ranges of keys each partition is read in: by the memory and the cores that there are.

A range reads all records of its partition and keeps its own keys, so that more ranges need less
memory at a time and more work altogether. A partition is split if its keys do not fit into the
memory that the user allows, or if some cores would idle while one reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from inspector.engines.engine import BatchFunction, Engine
from inspector.exceptions import EngineError, InspectorError

if TYPE_CHECKING:
    import pyarrow as pa

    from inspector.analyses.shared.options import Options
    from inspector.discovery.tasks import StoreTask, Task
    from inspector.facts.fact import Observed
    from inspector.facts.timers import CallBounds
    from inspector.model import StoreFile, StoreId

START_BYTES = 120_000_000
"""Memory of the process before it reads any state: Python, numpy, pyarrow, the package."""

READING_BYTES = 30_000_000
"""Memory of one task beside its keys: blocks of records, compressed and raw."""

KEY_BYTES = 110
"""Memory of one key at the most, as the bounds of ``explanation/performance`` say."""

SPLIT_BYTES = 64 << 20
"""File bytes of a task that is worth several, on cores that would idle."""

LONELY = 1.5
"""Cores that a task's share of all bytes comes to, from which on some would idle beside it."""

CLUSTER_BYTES = 1 << 30
"""File bytes of one range on a cluster whose cores are not known."""

MOST_FOR_CORES = 8
"""Ranges of a partition for the sake of cores: half of the work is done in each of them."""

SAMPLE_BYTES = 4 << 20
"""Size of the file by which the records of a store are counted, if there is such a one."""

ESTIMATE_SLACK = 1.25
"""By how much there may be more keys than a sample says."""


class Splits(Protocol):
    """A run, as far as its tasks are split."""

    @property
    def options(self) -> Options:
        """Of its user."""

    @property
    def engine(self) -> Engine:
        """Where the tasks run."""

    def map(self, function: BatchFunction, tasks: Iterable[Task]) -> Iterator[pa.RecordBatch]:
        """Facts of tasks."""


def split(tasks: Iterable[Task], run: Splits) -> list[Task]:
    """The tasks, those of large partitions in several with a range of the keys each.

    Raises:
        EngineError: the memory that the user allows is not enough for anything.
    """
    from inspector.discovery.key_ranges import split_task  # noqa: PLC0415 - not for ``info``

    tasks = list(tasks)
    cores = run.engine.cores
    if run.engine.in_process and cores is not None:
        tasks = with_idle_cores(tasks, cores)
        cores = -(-cores // 2)  # a task that is alone takes two
    counts = ranges_for_cores(tasks, cores)
    limit = run.options.memory_limit
    if limit is None:
        return [each for task, n in zip(tasks, counts, strict=True) for each in split_task(task, n)]
    at_once = (run.engine.in_process and run.engine.cores) or 1
    memory = _key_memory(limit, at_once)
    counts = [max(n, m) for n, m in zip(counts, ranges_for_memory(tasks, memory), strict=True)]
    parts = [split_task(task, n) for task, n in zip(tasks, counts, strict=True)]
    whole = sum(n > 1 and len(some) == 1 for n, some in zip(counts, parts, strict=True))
    _tell([len(part) for part in parts], whole, run.options.engine.notify)
    return [replace(each, key_memory=memory) for part in parts for each in part]


def ranges_for_cores(tasks: Sequence[Task], cores: int | None) -> list[int]:
    """How many ranges of each task keep all cores busy until the end.

    Timers need a pass more if they are split, which no core makes up for.
    """
    total = sum(task.file_bytes for task in tasks)
    share = CLUSTER_BYTES if cores is None else total // max(cores, 1) + 1

    def count(task: Task) -> int:
        if task.file_bytes < SPLIT_BYTES or any(store.timeout_kinds for store in task.stores):
            return 1
        # Rounded: a partition that is a little larger than its share is worth no second pass.
        return min(MOST_FOR_CORES, max(1, round(task.file_bytes / share)))

    return [count(task) for task in tasks]


def with_idle_cores(tasks: Sequence[Task], cores: int) -> list[Task]:
    """The tasks, large ones with a thread more where there is a core for it.

    That one decodes while the other replays: no work is done twice, as it is by ranges.
    """
    total = sum(task.file_bytes for task in tasks)

    def is_alone(task: Task) -> bool:
        return task.file_bytes >= SPLIT_BYTES and cores * task.file_bytes > LONELY * total

    return [replace(task, decode_ahead=True) if is_alone(task) else task for task in tasks]


def ranges_for_memory(tasks: Sequence[Task], memory: int) -> list[int]:
    """How many ranges of each task fit into so many bytes, by the records of its files."""
    from inspector.checkpoint.parallel import THREADS, in_parallel  # noqa: PLC0415 - as above
    from inspector.checkpoint.urls import is_local  # noqa: PLC0415 - as above

    record_bytes = _RecordBytes()
    threads = 1 if all(is_local(task.url) for task in tasks) else THREADS
    told = [rows if isinstance(rows, int) else 0 for rows in in_parallel(_told, tasks, threads)]
    keys = [int(rows + record_bytes.keys_of(task)) for task, rows in zip(tasks, told, strict=True)]
    return [max(1, -(-number * KEY_BYTES // memory)) for number in keys]


def _key_memory(limit: int, at_once: int) -> int:
    """Bytes for the keys of one task."""
    memory = (limit - START_BYTES) // at_once - READING_BYTES
    if memory < READING_BYTES:
        least = (START_BYTES + 2 * READING_BYTES * at_once) / 1e6
        raise EngineError(
            f"a memory limit of {limit / 1e6:.0f} MB is too small, expected at least "
            f"{least:.0f} MB for {at_once} partition{'s' * (at_once > 1)} at the same time "
            "(--workers)"
        )
    return memory


def _tell(counts: Sequence[int], whole: int, notify: Callable[[str], None]) -> None:
    """Say in advance what will be read more than once, and what cannot be."""
    split = [n for n in counts if n > 1]
    if split:
        notify(
            f"memory: {len(split)} of {len(counts)} partitions are read in up to {max(split)} "
            "passes, each with a part of the keys, by the records that a sample of their files has"
        )
    if whole:
        notify(
            f"memory: {whole} of {len(counts)} partitions are read whole, though their keys may "
            "take more than the limit: the variables of a transformWithState and the lists of a "
            "join of format 4 are not divided"
        )


class _RecordBytes:
    """File bytes of a record by store name, from one file of each."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, str], float] = {}

    def keys_of(self, task: Task) -> int:
        """Keys that a task has at the most beside those of :func:`_told`, as the sample tells."""
        from inspector.discovery.key_ranges import replayed_files  # noqa: PLC0415 - as above

        keys = 0.0
        for store in task.stores:
            files = [
                replayed_file
                for replayed_file in replayed_files(task, store)
                if _has_rows(task, replayed_file)
            ]
            if files:
                name = task.operator_id, store.store_name
                if name not in self._found:
                    self._found[name] = _file_bytes_of_record(task, store, files)
                keys += sum(file.size for file in files) / self._found[name]
        return int(keys * ESTIMATE_SLACK)


def _has_rows(task: Task, file: StoreFile) -> bool:
    """Whether a file has its rows in itself: a snapshot of shared files has them in those."""
    from inspector.model import FileKind  # noqa: PLC0415 - as above
    from inspector.providers.registry import provider_by_name  # noqa: PLC0415 - as above

    return file.kind is not FileKind.SNAPSHOT or not provider_by_name(task.provider).shares_files


def _told(task: Task) -> int:
    """Rows that the snapshots of a task's stores say they have: the oldest, or the newest if more.

    Raises:
        InspectorError, OSError: one cannot be read.
    """
    from inspector.discovery.key_ranges import replayed_files  # noqa: PLC0415 - as above
    from inspector.passes.store_reader import open_stores  # noqa: PLC0415 - as above

    rows = 0
    stores = tuple(replace(store, side_files=()) for store in task.stores if store.counts_files)
    for store, reader in open_stores(replace(task, stores=stores)):
        result = [
            replayed_file
            for replayed_file in replayed_files(task, store)
            if not _has_rows(task, replayed_file)
        ]
        rows += max(
            (reader.snapshot_rows(each) or 0 for each in result[:1] + result[-1:]), default=0
        )
    return rows


def _file_bytes_of_record(task: Task, store: StoreTask, files: Sequence[StoreFile]) -> float:
    """Compressed bytes of one record; 1, so that no fewer keys are expected, if no file is good."""
    from inspector.passes.store_reader import open_stores  # noqa: PLC0415 - as above

    file = min(files, key=lambda each: abs(each.size - SAMPLE_BYTES))
    ((_, reader),) = open_stores(replace(task, stores=(replace(store, side_files=()),)))
    try:
        records = sum(block.count for block in reader.blocks(file))
    except (InspectorError, OSError):
        return 1.0
    return max(1.0, file.size / max(records, 1))


# --- what the ranges of a partition have in common ---------------------------------------------


def bounded(tasks: Sequence[Task], run: Splits) -> Sequence[Task]:
    """The tasks, those of ranges of a group state's keys with what all ranges show.

    That takes a pass of its own over them: who made a record is judged by all records around it.
    """
    from inspector.discovery.key_ranges import needs_bounds, with_bounds  # noqa: PLC0415 - for ranges of timers

    timed = [task for task in tasks if needs_bounds(task)]
    if not timed:
        return tasks
    from inspector.facts.registry import facts_in  # noqa: PLC0415 - as above
    from inspector.facts.timers import CallBounds  # noqa: PLC0415 - as above
    from inspector.passes.run import run_bounds  # noqa: PLC0415 - as above

    result: dict[StoreId, dict[int, CallBounds]] = {}
    for batch in run.map(run_bounds, timed):
        for observation in facts_in(batch):
            of_store = result.setdefault(observation.store, {})
            of_store[observation.version] = (
                of_store.get(observation.version, CallBounds()) + observation.fact
            )
    known: Mapping[StoreId, Mapping[int, CallBounds]] = result
    return [with_bounds(task, known) if needs_bounds(task) else task for task in tasks]


def in_whole(
    tasks: Sequence[Task], observations: Iterable[Observed[Any]]
) -> Iterable[Observed[Any]]:
    """What tasks observed, as if none of their partitions had been split."""
    split = [task for task in tasks if task.key_range is not None]
    if not split:
        return observations
    from inspector.merge.ranges import Listed, fold_ranges  # noqa: PLC0415 - as above

    partitions = {
        (task.operator_id, task.partition_id): Listed(task.request.top, task.request.leftover_limit)
        for task in split
    }
    return fold_ranges(observations, partitions)
