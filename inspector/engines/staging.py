"""Files that only Spark can read, copied to local disk: the driver's listing, and a task's files.

The listing is a temporary folder. Small files have their content in it, state files only their size
and time, so that all code for listings and logs works on it. The files of a task arrive on its
worker in chunks, in any order, in a folder that is removed when its tasks are done.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa

from inspector.checkpoint.roots import STATE
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import STAGED, name_of_copies, stage_folder, url_of_copies
from inspector.engines.engine import BatchFunction
from inspector.exceptions import EngineError
from inspector.light_dataclasses import dataclass
from inspector.model import LIMITS
from inspector.schemas import task_batch

CHUNK_BYTES = 1 << 20  # largest number of bytes of a file in one row of CHUNKS

# names and Arrow types of the columns of CHUNKS, whose rows are tasks or chunks of files
_columns: list[tuple[str, pa.DataType]] = [
    ("task_id", pa.int64()),
    ("spec", pa.string()),
    ("name", pa.string()),
    ("path", pa.string()),
    ("chunk", pa.int32()),
    ("content", pa.binary()),
]
# Schema of rows that are a task or a chunk of a file. A task has ``task_id``, its number, and
# ``spec``, the task as JSON. A chunk has ``name``, the checkpoint's name in the URLs of tasks
# (:mod:`inspector.checkpoint.urls`), ``path``, the file's path in the checkpoint, ``chunk``, its
# number in the file, and ``content``, its bytes. The other columns are null.
CHUNKS = pa.schema(_columns)


class StagingFolder:
    """A local folder for staged files, with one subfolder for each checkpoint."""

    def __init__(self, path: str) -> None:
        """Use the empty folder at ``path``."""
        self._path = Path(path)

    def write(self, name: str, path: str, chunk: int, content: Any) -> None:
        """Write ``content``, a chunk of a file, at its position in the file.

        ``name`` is the name of the checkpoint, ``path`` the path of the file in the checkpoint, and
        ``chunk`` the number of the chunk, from 0. Chunks may be written in any order, and twice.
        """
        file = self._path / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        target = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(target, content, chunk * CHUNK_BYTES)
        finally:
            os.close(target)

    def names(self, names: Iterable[str]) -> ExitStack:
        """Map the staged URLs of checkpoints to their subfolders until the returned stack closes.

        ``names`` are the names of the checkpoints in these URLs. Closing the stack restores the
        previous mapping.
        """
        stack = ExitStack()
        for name in names:
            stack.enter_context(stage_folder(name, str(self._path / name)))
        return stack


def on_staged_files(function: BatchFunction, names: Iterable[str]) -> BatchFunction:
    """Return a batch function that takes rows of :data:`CHUNKS`: tasks together with their files.

    It writes all files to a temporary folder, and then calls ``function`` with one task after the
    other. ``names`` are the names of the tasks' checkpoints.
    """
    names = tuple(names)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write all files to a temporary folder, and yield the results of the tasks in order."""
        with tempfile.TemporaryDirectory(prefix="inspector-", dir=scratch()) as path:
            folder = StagingFolder(path)
            tasks = sorted(_stage(batches, folder))
            with folder.names(names):
                for number, spec in tasks:
                    yield from function([task_batch(spec, number)])

    return run


def scratch() -> str | None:
    """Return the path of a folder in which to create temporary files.

    It is one of the writable folders of the environment variable SPARK_LOCAL_DIRS, which Spark
    cleans up; processes are distributed over them. Return None, for the system's default, if there
    is none.
    """
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    writable = [folder for folder in folders if folder and os.access(folder, os.W_OK)]
    return writable[os.getpid() % len(writable)] if writable else None


def _stage(batches: Iterable[pa.RecordBatch], folder: StagingFolder) -> list[tuple[int, str]]:
    """Write the chunks of files in ``batches`` of CHUNKS into ``folder``.

    Return the tasks in ``batches`` as (number, spec), in the order of their rows.
    """
    tasks: list[tuple[int, str]] = []
    for batch in batches:
        content = batch.column("content")
        for i, row in enumerate(batch.drop_columns("content").to_pylist()):
            if row["spec"] is not None:
                tasks.append((row["task_id"], row["spec"]))
            else:
                folder.write(row["name"], row["path"], row["chunk"], content[i].as_buffer())
    return tasks


# --- listings ---------------------------------------------------------------------------------

# nanoseconds that are added to times of files in whole milliseconds: half a millisecond, so that
# rounding does not yield the millisecond before
HALF_MS_NS = 500_000


class ListedFile(NamedTuple):
    """A file as Spark lists it."""

    # ``_metadata.file_path``, percent-encoded; None for an empty file, for which Spark has no row
    uri: str | None
    size: int  # bytes
    modified_ms: int  # epoch ms of the last change; 0 for an empty file


@dataclass(frozen=True, eq=False)
class Listing:
    """A checkpoint as Spark listed it."""

    name: str  # unique random name that stands for the checkpoint in the URLs of tasks
    # path of the checkpoint as the user spelled it, by which Spark reads it; it may hold
    # credentials
    root: str
    files: Mapping[str, ListedFile]  # listed files by their path in the checkpoint

    def small(self) -> list[str]:
        """Return the paths of the small files, which the driver reads itself.

        They have at most ``LIMITS.small_file_bytes``. Files of state are left out, except those
        below a folder whose name begins with an underscore, such as schemas.
        """
        return [
            path
            for path, file in self.files.items()
            if file.size <= LIMITS.small_file_bytes
            and (not path.startswith(f"{STATE}/") or "/_" in path.rpartition("/")[0])
        ]


# type of a mapping from names of listings to listings, whose storages are in use
Listings = dict[str, Listing]


def open_listing(
    listing: Listing, folders: Iterable[str], target: str, listings: Listings
) -> Storage:
    """Return a storage that shows ``listing``, from a local folder with the listed files.

    The small files must be in the folder ``target``, below the name of the listing. Other files are
    created there with their size and no content. ``folders`` are the names of folders to create,
    because they may be empty. ``listings`` has the listing until the storage is garbage-collected;
    then ``target`` is removed too.
    """
    fetched = str(Path(target, listing.name))
    for folder in folders:
        Path(fetched, folder).mkdir(parents=True, exist_ok=True)
    for path, file in listing.files.items():
        location = Path(fetched, path)
        location.parent.mkdir(parents=True, exist_ok=True)
        if not location.exists():
            location.touch()
            os.truncate(location, file.size)
        ns = file.modified_ms * 1_000_000 + HALF_MS_NS
        os.utime(location, ns=(ns, ns))
    with stage_folder(listing.name, fetched):
        storage = Storage(url_of_copies(listing.name), {}, listing.root)
    listings[listing.name] = listing
    weakref.finalize(storage, listings.pop, listing.name, None)
    weakref.finalize(storage, shutil.rmtree, target, ignore_errors=True)
    return storage


def relative_path(path: str, root: str, mark: str, *, encoded: bool = False) -> str:
    """Return the path, relative to the checkpoint ``root``, of a file that Spark lists.

    ``path`` is the file's path or URI by Spark; with ``encoded`` it is percent-encoded. ``mark`` is
    the file or folder in the root that was listed, such as ``offsets``; the result begins with it.
    EngineError: ``mark`` is not in ``path``.
    """
    # Spark may spell the root differently; only its last part is certain to be the same.
    parts = (unquote(path) if encoded else path).split("/")
    positions = [i for i, part in enumerate(parts) if part == mark]
    parent = root.rstrip("/").rsplit("/", 1)[-1]
    candidates = [i for i in positions if i and parts[i - 1] == parent]
    if not positions:
        message = f"Spark lists {parts[-1]!r} outside of {mark!r}, expected it inside"
        raise EngineError(message, root)
    return "/".join(parts[(candidates or positions)[-1] :])


class TaskFile(NamedTuple):
    """A file that a task reads."""

    listing: Listing  # listing of the file's checkpoint
    path: str  # path of the file in the checkpoint

    @property
    def file_in_listing(self) -> ListedFile:
        """Entry of the file in its listing, with URI, size and time."""
        return self.listing.files[self.path]


def files_of_task(spec: str, listings: Mapping[str, Listing]) -> list[TaskFile]:
    """Return the state files and side files that a task and its nested tasks read, each file once.

    ``spec`` is the task as JSON. ``listings`` has the listings of open checkpoints by name.
    EngineError: the checkpoint of a task is closed or was not listed by Spark.
    """
    task_files: dict[TaskFile, None] = {}
    for task, listing in _with_listings(spec, listings):
        for store in task["stores"]:
            for file in (*store["files"], *store["side_files"]):
                path = file["path"].removeprefix(task["root"]).lstrip("/")
                task_files[TaskFile(listing, path)] = None
    return list(task_files)


def listing_names(spec: str, listings: Mapping[str, Listing]) -> set[str]:
    """Return the names of the listings of the checkpoints that a task and its nested tasks read.

    ``spec`` is the task as JSON. ``listings`` has the listings of open checkpoints by name.
    EngineError: the checkpoint of a task is closed or was not listed by Spark.
    """
    return {listing.name for _, listing in _with_listings(spec, listings)}


def _with_listings(
    spec: str, listings: Mapping[str, Listing]
) -> Iterator[tuple[dict[str, Any], Listing]]:
    """Yield (task as a JSON object, listing of its checkpoint) for each task in ``spec``.

    ``listings`` has the listings of open checkpoints by name. EngineError: it lacks a checkpoint.
    """
    for task in _tasks(spec):
        listing = listings.get(name_of_copies(task["url"]))
        if listing is None:
            raise EngineError(
                f"got a task on {task['root']} that Spark has not listed, expected one of a "
                "checkpoint that is open on this engine"
            )
        yield task, listing


def _tasks(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the tasks, as JSON objects, in ``value``: a JSON value, or a text of JSON.

    Lists, values of objects, nested tasks, and texts that contain a staged URL are searched. Other
    values, and texts that are not JSON, contain no task.
    """
    if isinstance(value, str):
        if f"{STAGED}:/" in value:
            with suppress(ValueError, RecursionError):  # a text that is not JSON
                yield from _tasks(json.loads(value))
    elif isinstance(value, Sequence):
        for item in value:
            yield from _tasks(item)
    elif isinstance(value, dict):
        if "url" in value and "stores" in value:
            yield value
            yield from _tasks(value.get("origins", ()))
        else:
            yield from _tasks(list(value.values()))
