"""Files that Spark has read, staged where a task can read them, and the task run on them.

They arrive in chunks, in no particular order, and are written to a temporary folder on the worker's
disk, which is removed when its tasks are done. This module knows nothing of Spark.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from inspector.checkpoint.urls import stage_folder
from inspector.engines.engine import BatchFunction
from inspector.schemas import task_batch

CHUNK_BYTES = 1 << 20  # bytes of a file in one row, at most

_columns: list[tuple[str, pa.DataType]] = [
    ("task_id", pa.int64()),
    ("spec", pa.string()),
    ("name", pa.string()),
    ("path", pa.string()),
    ("chunk", pa.int32()),
    ("content", pa.binary()),
]
CHUNKS = pa.schema(_columns)
# A row is a task (``task_id``, ``spec``), or a chunk of a file: ``name`` of the checkpoint's staged
# files (:mod:`inspector.checkpoint.urls`), ``path`` in it, number of the ``chunk``, bytes.


class StagingFolder:
    """An empty folder for staged files, with one folder in it for each checkpoint."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def write(self, name: str, path: str, chunk: int, content: Any) -> None:
        """Write a chunk of a file; chunks may come twice, and in any order."""
        file = self._path / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        # At its own offset: chunks come in any order.
        target = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(target, content, chunk * CHUNK_BYTES)
        finally:
            os.close(target)

    def names(self, names: Iterable[str]) -> ExitStack:
        """Map the names of checkpoints to their folders here, until the stack is closed."""
        stack = ExitStack()
        for name in names:
            stack.enter_context(stage_folder(name, str(self._path / name)))
        return stack


def on_staged_files(function: BatchFunction, names: Iterable[str]) -> BatchFunction:
    """The same batch function for rows of :data:`CHUNKS`: tasks together with their files."""
    names = tuple(names)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="inspector-", dir=scratch()) as path:
            folder = StagingFolder(path)
            tasks = sorted(_stage(batches, folder))
            with folder.names(names):
                for number, spec in tasks:
                    yield from function([task_batch(spec, number)])

    return run


def scratch() -> str | None:
    """Where a worker may write: a folder that Spark cleans when the executor ends, if any."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    writable = [folder for folder in folders if folder and os.access(folder, os.W_OK)]
    return writable[os.getpid() % len(writable)] if writable else None


def _stage(batches: Iterable[pa.RecordBatch], folder: StagingFolder) -> list[tuple[int, str]]:
    tasks: list[tuple[int, str]] = []
    for batch in batches:
        content = batch.column("content")
        for i, row in enumerate(batch.drop_columns("content").to_pylist()):
            if row["spec"] is not None:
                tasks.append((row["task_id"], row["spec"]))
            else:
                folder.write(row["name"], row["path"], row["chunk"], content[i].as_buffer())
    return tasks
