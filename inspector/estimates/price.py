"""Requests, cost and time of an audit, estimated from listings alone.

An audit requests each file once: logs, metadata and schemas; every delta, snapshot and table of the
judged version and of older ones; their checksum files. For checkpoint format 2 it requests the
newest snapshot once more, and larger files in parts.
"""

from __future__ import annotations

import struct
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from inspector.checkpoint.logs import COMMITS, MOST_ENTRIES, OFFSETS
from inspector.checkpoint.metadata import QUERY_METADATA
from inspector.checkpoint.names import MAX_INT, hadoop_sums_name, main_path, number
from inspector.checkpoint.roots import STATE, Selection
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.discovery.tasks import Request, StoreTask, Task
from inspector.encode.frames import compress_blocks
from inspector.encode.records import frame_records
from inspector.facts.registry import facts_in
from inspector.light_dataclasses import dataclass, fields, replace
from inspector.model import DEFAULT_STORE, KINDS_OF_VERSION, FileKind, StoreFile, Version
from inspector.passes.worker import run_tasks
from inspector.providers.provider import Provider
from inspector.providers.registry import classify, provider_for
from inspector.schemas import task_batch
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import to_json
from inspector.sums import Sums, group_by

LISTED_AT_ONCE = 1000  # names in the answer to a LIST of S3 or Google Cloud (Azure: up to 5,000)

_SUMS = (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)  # kinds of checksum files


@dataclass(frozen=True)
class Work(Sums):
    """Requests of an audit. Adds up."""

    lists: int = 0  # LIST requests
    gets: int = 0  # GET or HEAD requests
    files: int = 0  # files that are read
    bytes: int = 0  # bytes that are read


@dataclass(frozen=True)
class Prices:
    """Prices of a cloud in US dollars, if computing is in the region of the bucket."""

    list: float = 0.0  # for 1,000 LIST requests
    get: float = 0.0  # for 1,000 GET or HEAD requests
    gib: float = 0.0  # for a GiB that is read; nothing within the region
    core_hour: float = 0.0  # for an hour of one virtual core, on demand


def prices_from(texts: Mapping[str, str]) -> Prices | None:
    """Return the prices that a user gives by the names of :class:`Prices`; None for no price.

    Raises ValueError for an unknown name, and for a text that is no number from 0 on.
    """
    names = [field.name for field in fields(Prices)]
    values = {}
    for name, text in texts.items():
        try:
            values[name] = float(text)
        except ValueError:
            values[name] = -1
        if name not in names or not 0 <= values[name] < float("inf"):
            message = f"got the price {name}={text}, expected dollars for one of {', '.join(names)}"
            raise ValueError(message)
    return Prices(**values) if values else None


def dollars(work: Work, core_hours: float, prices: Prices) -> float:
    """Return the cost of a work in US dollars."""
    requests = (work.lists * prices.list + work.gets * prices.get) / 1000
    return requests + work.bytes / (1 << 30) * prices.gib + core_hours * prices.core_hour


def work_of_audit(
    storage: Storage, selection: Selection, version: int | None = None, *, is_root: bool = False
) -> Work:
    """Return the requests of an audit of a checkpoint, by listings.

    ``version`` None stands for the newest committed one. ``is_root``: a search has found the
    checkpoint by a LIST, so that :meth:`.opening.Opened.start` need not search for its root.
    OSError: the storage cannot be listed. Raises UnsupportedProviderError.
    """
    entries, lists = _entries(storage)
    inside = group_by(entries, lambda entry: entry.path.rpartition("/")[0])
    work = Work(lists) + _work_of_root(storage, inside.get("", ()), is_root=is_root)
    for entry in _small_files(inside):
        work += Work(0, bool(entry.size), 1, entry.size)
    version = selection.version if version is None else version
    if version is None and (committed := _by_number(inside.get(COMMITS, ()))):
        version = int(committed[-1].name) + 1
    files = dict(_state_files(inside, selection))
    state_files = tuple(file for store_files in files.values() for file in store_files)
    provider = provider_for(None, state_files, storage.root)
    for store_files in files.values():
        work += _work_of_store(provider, store_files, version)
    if selection == Selection():
        work += _work_of_restart(provider, state_files, version)
    return work


def _entries(storage: Storage) -> tuple[list[Entry], int]:
    """Return all files that an audit may read, and the number of LIST requests that find them."""
    flat = storage.tree()
    tree = storage.walk((OFFSETS, COMMITS, STATE)) if flat is None else flat
    files = [e for inside in tree.folders.values() for e in inside if e.is_file]
    lists = len(tree.folders) if flat is None else max(1, -(-len(files) // LISTED_AT_ONCE))
    return files, lists


def _work_of_root(storage: Storage, entries: Iterable[Entry], *, is_root: bool) -> Work:
    """Return the requests that find a checkpoint's root (:func:`.roots.resolve_root`).

    ``is_root``: the given path is the root itself. ``entries`` are the files in it.
    """
    if is_root or not storage.lists_all:
        return Work(lists=1)
    size = next((entry.size for entry in entries if entry.name == QUERY_METADATA), 0)
    return Work(0 if size else 1, 1, 0, size)


def _small_files(inside: Mapping[str, list[Entry]]) -> Iterator[Entry]:
    """Yield the logs, metadata and schemas that are read, each followed by its checksum file."""
    for folder, entries in inside.items():
        parts = folder.split("/")
        if not folder:
            chosen = [entry for entry in entries if entry.name == QUERY_METADATA]
        elif folder in (OFFSETS, COMMITS):
            chosen = _by_number(entries)[-MOST_ENTRIES:]
        elif parts[0] == STATE and parts[2:] == ["_metadata", "v2"]:
            chosen = _by_number(entries)[-1:]
        elif parts[0] == STATE and (parts[-1] == "_metadata" or parts[2:3] == ["_stateSchema"]):
            # A newer format of operator metadata replaces the older one.
            newer = f"{folder}/v2" in inside
            chosen = [e for e in entries if not e.name.startswith(".") and not newer]
        else:
            continue
        names = {entry.name: entry for entry in entries}
        for entry in chosen:
            yield entry
            if hadoop_sums_name(entry.name) in names:
                yield names[hadoop_sums_name(entry.name)]


def _by_number(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries whose name is a number, in the order of the numbers."""
    numbered = ((number(entry.name), entry) for entry in entries)
    return [entry for _, entry in sorted((n, e) for n, e in numbered if n is not None)]


def _state_files(
    inside: Mapping[str, list[Entry]], selection: Selection
) -> Iterator[tuple[str, list[StoreFile]]]:
    """Yield (folder, files) of each selected store."""
    stores: dict[str, list[StoreFile]] = {}
    for folder, entries in inside.items():
        state, *parts = folder.split("/")
        numbers = [number(part, MAX_INT) for part in parts[:2]]
        if state != STATE or len(numbers) < 2 or None in numbers or parts[2:3] == ["_metadata"]:
            continue
        chosen = (selection.operator_id, selection.partition_id)
        if any(
            chosen_number not in (None, there)
            for chosen_number, there in zip(chosen, numbers, strict=True)
        ):
            continue
        kind, _ = classify(parts[-1], is_dir=True) if parts[2:] else (FileKind.OTHER, None)
        shared = kind is not FileKind.OTHER
        store = folder.rpartition("/")[0] if shared else folder
        name = (parts[2:-1] if shared else parts[2:]) or [DEFAULT_STORE]
        # Stores that share files have one folder, which any of them needs.
        if name != [DEFAULT_STORE] and not selection.has_store(name[0]):
            continue
        for entry in entries:
            file_kind, version = classify(entry.name)
            state_files = kind if shared and file_kind not in _SUMS else file_kind
            file = StoreFile(entry.path, state_files, version, entry.size, entry.modified_ms)
            stores.setdefault(store, []).append(file)
    return iter(stores.items())


def _work_of_restart(provider: Provider, files: Iterable[StoreFile], version: int | None) -> Work:
    """Return the request for the newest snapshot of checkpoint format 2, if there is one.

    Its format number shows which release can read it.
    """
    snapshots = [
        file
        for file in files
        if file.kind is FileKind.SNAPSHOT
        and provider.unique_id(file) is not None
        and (version is None or (file.version or 0) <= version)
    ]
    if not snapshots:
        return Work()
    newest = max(snapshots, key=lambda file: file.version or 0)
    return Work(0, provider.requests_of(newest, has_sums=False), 1, newest.size)


def _work_of_store(provider: Provider, files: list[StoreFile], version: int | None) -> Work:
    """Return the requests for one store: its state files and their checksum files."""
    # The newest of several attempts at a version counts, as if no commit log named one.
    resolved = provider.resolve_attempts(files, {})
    sums = group_by((file for file in resolved if file.kind in _SUMS), main_path)
    work = Work()
    for file in resolved:
        sum_files = sums.get(file.path, [])
        is_read = version is None or (file.version or 0) <= version or bool(sum_files)
        is_state = file.kind in KINDS_OF_VERSION
        if file.kind is FileKind.TABLE or (is_state and is_read):
            work += Work(0, provider.requests_of(file, has_sums=bool(sum_files)), 1, file.size)
            for side in sum_files:
                work += Work(0, bool(side.size), 1, side.size)
    return work


# --- How much processor time this machine takes for a file and for a byte -------------------------
#
# It is measured on rows made up. Rows of real keys compress otherwise and are larger or smaller, so
# that what follows from it is an estimate.

_FILES = 128  # small files that are measured
_RECORDS = 100_000  # records of the large file that is measured
_SEED = 7  # seed of the random rows
_SCHEMA = "a BIGINT, b BIGINT, c BIGINT"  # schema of their keys and values
# codec of the files by which the time of an audit is measured; Spark's default
_CODEC: Final = "lz4"


@dataclass(frozen=True)
class Pace:
    """Processor time of one core for reading state files."""

    file: float  # seconds for a small file
    byte: float  # seconds for each byte on storage

    def seconds(self, files: int, size: int) -> float:
        """Return the seconds for a number of files with a number of bytes in all."""
        return files * self.file + size * self.byte


@lru_cache(maxsize=1)
def measure() -> Pace:
    """Return the pace of this process with its kernel; it takes a fifth of a second, once."""
    random = np.random.default_rng(_SEED)
    with tempfile.TemporaryDirectory(prefix="inspector-") as folder:
        small = [_write(Path(folder), v, 1, random) for v in range(1, _FILES + 1)]
        large = _write(Path(folder), _FILES + 1, _RECORDS, random)
        single = [_write(Path(folder), _FILES + 2, 1, random)]
        _seconds(folder, single)  # so that whatever is imported first is not counted
        base = _seconds(folder, single)
        per_file = max(0.0, _seconds(folder, small) - base) / (len(small) - 1)
        per_byte = max(0.0, _seconds(folder, [large]) - base) / large.size
    return Pace(per_file, per_byte)


def _write(folder: Path, version: int, records: int, random: np.random.Generator) -> StoreFile:
    """Write a delta of rows of three numbers, with random keys, and return the file."""
    keys = random.integers(0, 1 << 40, records).tolist()
    row = struct.Struct("<4q").pack  # no null, and three numbers
    rows = ((row(0, key, 0, 0), row(0, i, 1_700_000_000_000_000, 0)) for i, key in enumerate(keys))
    path = folder / f"version-{version}"
    path.write_bytes(b"".join(compress_blocks(frame_records(rows), _CODEC)))
    return StoreFile(str(path), FileKind.DELTA, Version(version), path.stat().st_size)


def _task(folder: str, files: list[StoreFile]) -> Task:
    """Return a task that checks these files as versions 1, 2, ... of one store."""
    numbered = [replace(file, version=Version(i)) for i, file in enumerate(files, 1)]
    schema, codecs = to_json(parse_ddl(_SCHEMA)), dict.fromkeys(range(1, len(files) + 1), _CODEC)
    store = StoreTask("default", tuple(numbered), key_schema=schema, value_schema=schema)
    return Task(
        folder, folder, {}, 0, 0, len(files), (store,), codecs=codecs, request=Request(fit=True)
    )


def _seconds(folder: str, files: list[StoreFile]) -> float:
    """Return the processor seconds of this thread for reading files."""
    task = _task(folder, files)
    start = time.thread_time()
    for batch in run_tasks([task_batch(task.to_json(), 0)]):
        list(facts_in(batch))
    return time.thread_time() - start
