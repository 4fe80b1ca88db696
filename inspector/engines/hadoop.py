"""Reading through Spark: its source ``binaryFile`` instead of fsspec.

It is for checkpoints on storages for which only the cluster has the file system or the credentials:
hdfs, s3a, abfss, volumes of Unity Catalog. The driver lists, and reads logs and schemas, by small
jobs. The state files are read by executors and sent to the ones that run their tasks by a shuffle.
Only DataFrames are used, so a session of Spark Connect is enough. That source does not show:

* folders without files;
* when a file without bytes was written: it counts as of 1970;
* without the option ``ignoredPathSegmentRegex`` (3.5 has none, 4.3 has it), names that begin with a
  dot or an underscore: Hadoop's checksums (``.crc``), so that nothing is compared with them,
  temporary files, and ``_stateSchema``, which only operators on RocksDB have.

One executor reads a whole file, which needs some five times its size in memory, up to the conf
``spark.sql.sources.binaryFile.maxLength`` (2 GiB by default). A file that is gone is missing in its
task.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from inspector.checkpoint.roots import MARKS, Selection, above, is_root, selection_of
from inspector.checkpoint.storage import Storage
from inspector.credentials import learn, redact
from inspector.engines import session as sessions
from inspector.engines.bin_packing import pack, partition_keys
from inspector.engines.engine import Reader, Work
from inspector.engines.staging import (
    CHUNK_BYTES,
    CHUNKS,
    ListedFile,
    Listing,
    StagingFolder,
    TaskFile,
    files_of_task,
    listing_names,
    open_listing,
    relative_path,
    scratch,
)
from inspector.exceptions import EngineError, NotACheckpointError
from inspector.providers.registry import classify
from inspector.sums import group_by

# name of the conf with the largest size of a file, in bytes, that Spark's source ``binaryFile``
# reads
MAX_LENGTH = "spark.sql.sources.binaryFile.maxLength"
# name of the conf with the largest number of rows in an Arrow batch for a Python worker
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

# value of BATCH_ROWS while chunks of files are sent to Python workers; a row has at most
# CHUNK_BYTES bytes of a file
CHUNKS_PER_BATCH = 64

# names of the files and folders in a checkpoint's root that are listed; ``sources`` is not read
_READ_MARKS = tuple(mark for mark in MARKS if mark != "sources")
# largest sum of the sizes of files, in bytes, that the driver fetches by one ``collect``; more are
# fetched partition by partition
_AT_ONCE_BYTES = 64 << 20
# match of a character that Hadoop reads as part of a glob pattern in a path
_OF_GLOBS = re.compile(r"[][{}*?\\]")
# match at the beginning of a path on a local disk: ``file:/``, ``/``, or a path without a colon
_LOCAL = re.compile(r"file:/|/|[^:]*$")
# Options of Spark's source ``binaryFile``: read all subfolders, skip files that were removed after
# the listing, and fail on files that cannot be read. Names that begin with a dot or an underscore
# are shown by the Spark versions that know ``ignoredPathSegmentRegex``.
_OPTIONS: Mapping[str, str] = {
    "recursiveFileLookup": "true",
    "ignoreMissingFiles": "true",
    "ignoreCorruptFiles": "false",
    "ignoredPathSegmentRegex": "(?!)",  # matches no name, so that no name is hidden
}
# More options of the source ``binaryFile`` for local disks. They switch off Hadoop's checks of
# ``.crc`` files, which would fail the job if a file is damaged.
_OPTIONS_LOCAL: Mapping[str, str] = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}

# schema of CHUNKS, whose rows are tasks or chunks of files, with a first column that has the key of
# the Spark partition that gets the row
_KEYED = pa.schema([("partition_key", pa.int32()), *CHUNKS])

# schema of requested files: URI as Spark lists it, path in the checkpoint, and key of a Spark
# partition that gets the file's chunks
_REQUESTS = pa.schema([pa.field("uri", pa.string()), CHUNKS.field("path"), _KEYED.field(0)])

# SQL expression that splits a file's ``content`` into rows of at most CHUNK_BYTES bytes. The
# columns are ``chunk``, the number of the row from 0, and ``content``, its bytes. The lambda's
# variable holds the bytes of the file, because Spark would copy the column for each chunk.
_CHUNKS_OF_CONTENT = (
    f"posexplode(flatten(transform(array(content), c -> transform("
    f"sequence(0, (octet_length(c) - 1) div {CHUNK_BYTES}), "
    f"i -> substring(c, cast(i * {CHUNK_BYTES} + 1 as int), {CHUNK_BYTES}))))) as (chunk, content)"
)


class HadoopFiles(Reader):
    """Reader of a checkpoint's files by Spark's source ``binaryFile`` in place of fsspec."""

    def __init__(self, session: SparkSession) -> None:
        """Read by ``session``, of Spark 3.5 or later, classic or Connect."""
        self._session = session
        self._listings = sessions.scope_of(session).listings

    def open(self, path: str) -> tuple[Storage, Selection]:
        """Find the checkpoint that ``path`` is, or is in, by small Spark jobs.

        Return a storage with the checkpoint's listing, and the part of the checkpoint that ``path``
        names, such as an operator. NotACheckpointError: the path is in no checkpoint, or does not
        exist. EngineError: Spark cannot list the checkpoint.
        """
        learn(path)
        for root, tail in [(path.rstrip("/") or "/", []), *above(path)]:
            if tail and tail[0] not in MARKS:
                continue
            storage = self._list(root)
            if storage is not None and is_root(storage):
                entry = storage.stat("/".join(tail))
                if entry is None:
                    message = f"got nothing at this path, expected a part of {storage.root}"
                    raise NotACheckpointError(message, redact(path))
                meant = selection_of(tail, classify, is_dir=entry.is_dir) if tail else Selection()
                return storage, meant
        raise NotACheckpointError(
            "got none of 'metadata', 'offsets', 'commits' and 'state' at this path as Spark sees "
            "it, expected a checkpoint folder with them",
            redact(path),
        )

    def frame(self, work: Sequence[Work], count: int) -> DataFrame:
        """Return a frame with the tasks ``work`` and the chunks of their files, as rows of CHUNKS.

        The frame has ``count`` Spark partitions. A task and all chunks of its files are in one of
        them; the most expensive group of tasks is in the first. EngineError: a file is larger than
        Spark reads, or the checkpoint of a task is not open.
        """
        rows: list[tuple[Any, ...]] = []
        readers: dict[TaskFile, dict[int, None]] = {}
        for key, group in zip(partition_keys(count), pack(work, count), strict=True):
            for item in group:
                rows.append((key, len(rows), item.spec, None, None, None, None))
                for file in files_of_task(item.spec, self._listings):
                    readers.setdefault(file, {})[key] = None
        for file, keys in readers.items():
            if file.file_in_listing.uri is None:
                rows += [(key, None, None, file.listing.name, file.path, 0, b"") for key in keys]
        tasks = sessions.to_frame(self._session, rows, _KEYED)
        all_rows = reduce(DataFrame.unionAll, self._chunks(readers), tasks)
        return all_rows.repartition(count, "partition_key").select(*CHUNKS.names)

    def names(self, work: Sequence[Work]) -> list[str]:
        """Return the sorted names of the checkpoints that the tasks ``work`` read.

        They are the names of the listings, as in the URLs of the tasks. EngineError: the checkpoint
        of a task is not open.
        """
        return sorted({name for item in work for name in listing_names(item.spec, self._listings)})

    @contextmanager
    def files_of(self, spec: str) -> Iterator[None]:
        """Copy the files of a task to the local disk, and remove them when the block ends.

        ``spec`` is the task as JSON. Inside the block the URL of the task refers to these files.
        EngineError: a file is larger than Spark reads, Spark cannot read the files, or the
        checkpoint of the task is not open.
        """
        with tempfile.TemporaryDirectory(prefix="inspector-", dir=scratch()) as location:
            folder = StagingFolder(location)
            with sessions.engine_errors(self._session, "Spark cannot read files of a partition"):
                self._fetch(files_of_task(spec, self._listings), folder)
            with folder.names(listing_names(spec, self._listings)):
                yield

    def _list(self, root: str) -> Storage | None:
        """List the folder ``root`` with Spark, and return a storage that shows the listing.

        The storage has the content of the small files, and only the size and time of other files.
        Return None if ``root`` has none of the files and folders in :data:`_READ_MARKS`. One of
        them is enough, so the caller checks that ``root`` is a checkpoint. EngineError: Spark
        cannot list it.
        """
        target = tempfile.mkdtemp(prefix="inspector-listing-")
        try:
            with sessions.engine_errors(self._session, "Spark cannot list it", root):
                marks = [mark for name in _READ_MARKS if (mark := self._mark(root, name))]
                listing = Listing(uuid.uuid4().hex, root, self._files(root, marks))
                if marks:
                    small = [TaskFile(listing, path) for path in listing.small()]
                    self._fetch(small, StagingFolder(target))
                    folders = [mark.name for mark in marks if mark.name not in listing.files]
                    return open_listing(listing, folders, target, self._listings)
        except EngineError:
            shutil.rmtree(target)
            raise
        shutil.rmtree(target)
        return None

    def _mark(self, root: str, name: str) -> _Mark | None:
        """Return the file or folder ``name`` in the folder ``root``, with a frame of its files.

        Return None if Spark reports that it does not exist. Other errors of Spark are raised
        unchanged.
        """
        try:
            frame = self._read(_join(root, name))
            uris = frame.inputFiles()
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error):
                return None
            raise
        return _Mark(name, frame, uris)

    def _files(self, root: str, marks: Sequence[_Mark]) -> dict[str, ListedFile]:
        """Return the files below ``marks``, by their path relative to ``root``.

        Empty files are included. All files are listed by one Spark job.
        """
        files: dict[str, ListedFile] = {}
        seen: set[str] = set()
        columns = "path", "_metadata.file_path", "length", "unix_millis(modificationTime)"
        frames = [mark.frame.selectExpr(f"'{mark.name}'", *columns) for mark in marks]
        # All marks are listed by one job, because each job takes time of its own.
        for name, path, *file in reduce(DataFrame.unionAll, frames).collect() if frames else ():
            files[relative_path(path, root, name)] = ListedFile(*file)
        for mark in marks:
            seen |= {relative_path(uri, root, mark.name, encoded=True) for uri in mark.uris}
        if seen - files.keys():
            # A file without a row is empty, or was removed between the two listings.
            again = [now for item in marks if (now := self._mark(root, item.name))]
            pairs = ((uri, mark.name) for mark in again for uri in mark.uris)
            present = {relative_path(uri, root, name, encoded=True) for uri, name in pairs}
            files |= dict.fromkeys((seen & present) - files.keys(), ListedFile(None, 0, 0))
        return files

    def _fetch(self, files: Sequence[TaskFile], folder: StagingFolder) -> None:
        """Read the content of ``files`` by Spark and write it into the local ``folder``.

        Files that were removed meanwhile are missing in the folder. EngineError: a file is larger
        than Spark reads. Other errors of Spark are raised unchanged.
        """
        for file in files:
            if file.file_in_listing.uri is None:
                folder.write(file.listing.name, file.path, 0, b"")
        frames = self._chunks(dict.fromkeys(files, (0,)))
        if frames:
            frame = reduce(DataFrame.unionAll, frames).select("name", "path", "chunk", "content")
            is_small = sum(file.file_in_listing.size for file in files) <= _AT_ONCE_BYTES
            for row in frame.collect() if is_small else frame.toLocalIterator():
                folder.write(*row)

    def _chunks(self, files: Mapping[TaskFile, Iterable[int]]) -> list[DataFrame]:
        """Return frames with the chunks of ``files``, as rows of ``_KEYED``, one frame per listing.

        ``files`` has, for each file, the keys of the Spark partitions that get its chunks. A chunk
        has a row for each of them. Empty files have no chunks. EngineError: a file is larger than
        Spark reads.
        """
        self._check_sizes(files)
        readable = (file for file in files if file.file_in_listing.uri is not None)
        groups = group_by(readable, lambda file: file.listing)
        return [self._chunks_of(listing, group, files) for listing, group in groups.items()]

    def _chunks_of(
        self, listing: Listing, files: Sequence[TaskFile], keys: Mapping[TaskFile, Iterable[int]]
    ) -> DataFrame:
        """Return a frame, with rows of ``_KEYED``, with the chunks of ``files`` of one ``listing``.

        ``keys`` has, for each file, the keys of the Spark partitions that get its chunks.
        """
        groups = group_by(files, lambda file: file.path.split("/", 1)[0]).values()
        names = ([os.path.dirname(file.path) or file.path for file in group] for group in groups)
        folders = list(map(os.path.commonpath, names))
        frame = self._read(*(_join(listing.root, folder) for folder in folders))
        frame = frame.select(F.col("_metadata.file_path").alias("uri"), "content")
        paths = {file.path for file in files}
        inside = tuple(f"{folder}/" for folder in folders)
        if any(path.startswith(inside) and path not in paths for path in listing.files):
            # Spark filters before it opens the files, so it reads only the requested files.
            frame = frame.where(
                F.col("uri").isin([str(file.file_in_listing.uri) for file in files])
            )
        pairs = [(file, key) for file in files for key in keys[file]]
        rows = [(str(file.file_in_listing.uri), file.path, key) for file, key in pairs]
        requests = sessions.to_frame(self._session, rows, _REQUESTS)
        return frame.join(F.broadcast(requests), "uri").selectExpr(
            "partition_key",
            "cast(null as bigint) as task_id",
            "cast(null as string) as spec",
            f"'{listing.name}' as name",
            "path",
            _CHUNKS_OF_CONTENT,
        )

    def _check_sizes(self, files: Iterable[TaskFile]) -> None:
        """Raise EngineError if a file is larger than the session's conf MAX_LENGTH allows."""
        max_bytes = int(str(self._session.conf.get(MAX_LENGTH, str((1 << 31) - 1))))
        for file in files:
            size = file.file_in_listing.size
            if size > max_bytes:
                raise EngineError(
                    f"file has {size:,} bytes, Spark's binaryFile source reads at most "
                    f"{max_bytes:,}: raise {MAX_LENGTH} (up to 2147483647), or read it without "
                    "--io hadoop",
                    _join(redact(file.listing.root), file.path),
                )

    def _read(self, *paths: str) -> DataFrame:
        """Return a frame of Spark's source ``binaryFile`` over the files at or below ``paths``.

        Paths are literal: characters of glob patterns in them are escaped here.
        """
        reader = self._session.read.format("binaryFile").options(**_OPTIONS)
        if _LOCAL.match(paths[0]):
            reader = reader.options(**_OPTIONS_LOCAL)
        return reader.load([_OF_GLOBS.sub(r"\\\g<0>", path) for path in paths])


class _Mark(NamedTuple):
    """File or folder that marks a checkpoint's root, as Spark lists it."""

    name: str  # name of the file or folder, such as ``offsets``
    frame: DataFrame  # frame of Spark's source ``binaryFile``, with a row for each non-empty file
    uris: list[str]  # URIs of all files, including empty files


def _join(root: str, path: str) -> str:
    """Return ``path``, which is relative to ``root``, joined to ``root``."""
    return f"{root.rstrip('/')}/{path}"
