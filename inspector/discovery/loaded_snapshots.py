"""Snapshots that a restart loads: whether Spark opens them, without reading a row.

A command that reads no state file cannot say that a query restarts from a snapshot which RocksDB
refuses. One request for each snapshot, and one for each of its tables, show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.checkpoint.layout import StoreLayout
from inspector.checkpoint.patience import in_parallel
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.restart import restart_of
from inspector.exceptions import InspectorError, LimitError
from inspector.model import UNLISTED, Problem, StoreFile
from inspector.providers.task_files import check_identity

MOST_SNAPSHOTS = 1_000  # snapshots that are read, of the partitions with the lowest numbers


def snapshot_problems(checkpoint: Checkpoint) -> list[Problem]:
    """Return why Spark cannot load snapshots that a restart needs, or loses rows by them.

    Empty for HDFS-backed state. Reads the snapshot and the end of each of its tables, and older
    snapshots if Spark does not load the newest. What cannot be read because the storage fails is
    left out.
    """
    if not checkpoint.provider.shares_files:
        return []
    layouts = {
        store.store: store
        for operator in checkpoint.operators
        for partition in operator.layout.partitions
        for store in partition.stores
    }
    loads = [load for load in restart_of(checkpoint).loads if load.base and load.store in layouts]
    items = [(layouts[load.store], load.base) for load in loads[:MOST_SNAPSHOTS]]
    threads = checkpoint.storage.threads
    answers = in_parallel(lambda item: list(_problems(checkpoint, *item)), items, threads)
    return [problem for answer in answers if isinstance(answer, list) for problem in answer]


def _problems(checkpoint: Checkpoint, layout: StoreLayout, newest: int) -> Iterator[Problem]:
    """Yield the problems of a store's snapshots from ``newest`` down to the first that loads.

    A snapshot that loads but loses rows ends the list, too.
    """
    snapshots = checkpoint.store_files[layout.directory].snapshots
    for version in sorted((v for v in snapshots if v <= newest), reverse=True):
        problem = _problem(checkpoint, layout, snapshots[version])
        if problem is None:
            return
        yield problem
        if problem.slug == UNLISTED:
            return


def _problem(checkpoint: Checkpoint, layout: StoreLayout, file: StoreFile) -> Problem | None:
    """Return why Spark cannot load a snapshot whole; None if it can or a limit stops the check.

    Raises FileNotFoundError if the file was removed or rewritten since it was listed.
    """
    storage, content = checkpoint.storage, checkpoint.provider.content
    store_version = layout.store, file.version
    try:
        lost = content.check_snapshot(storage, file, layout.files)
        return Problem(UNLISTED, lost, file.path, None, *store_version) if lost else None
    except LimitError:
        return None
    except InspectorError as error:
        check_identity(storage, file)
        return Problem(
            error.slug, error.message, error.path or file.path, error.offset, *store_version
        )
