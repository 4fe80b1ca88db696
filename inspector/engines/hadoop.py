"""Reading through Spark: its source ``binaryFile`` in place of fsspec.

For checkpoints on storages that only the cluster has the file system or the credentials for: hdfs,
s3a, abfss, volumes of Unity Catalog. The driver lists, and reads logs and schemas, by small jobs;
the state files go from the executors that read them to those that run their tasks, by a shuffle.
DataFrames are all that is used, so a session of Spark Connect will do.

What that source does not show, and so nobody sees here:

* folders without files;
* when a file without bytes was written: it counts as of 1970;
* where Spark has no option ``ignoredPathSegmentRegex`` (3.5 has none, 4.3 has it), names that begin
  with a dot or an underscore: Hadoop's checksums (``.crc``), so that nothing is held against them,
  temporary files, and ``_stateSchema``, which only operators on RocksDB have.

A file is read whole by one executor, which needs some five times its size in memory; its most is
the conf ``spark.sql.sources.binaryFile.maxLength``, by default 2 GiB. A file that is gone since it
was listed is missed by its task, as with fsspec.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from inspector.checkpoint.roots import MARKS, Selection, above, is_root, selection_of
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import redact
from inspector.engines import session as sessions
from inspector.engines.copies import (
    Copy,
    Listed,
    Needed,
    names_in,
    needed,
    new_copy,
    opened,
    relative,
)
from inspector.engines.dealt import deal
from inspector.engines.engine import BatchFunction, Work
from inspector.engines.slots import keys_of_slots
from inspector.engines.staging import PIECE_BYTES, PIECES, Folder, scratch
from inspector.exceptions import EngineError, NotACheckpointError
from inspector.providers.registry import classify
from inspector.schemas import task_batch

MAX_LENGTH = "spark.sql.sources.binaryFile.maxLength"
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

PIECES_AT_ONCE = 64
"""Rows that Spark hands to a Python worker at once: so many MiB at most."""

_READ_MARKS = tuple(mark for mark in MARKS if mark != "sources")
_AT_ONCE_BYTES = 64 << 20
_OF_GLOBS = re.compile(r"[][{}*?\\]")
"""Characters that mean something in the patterns that Hadoop takes paths for."""

_LOCAL = re.compile(r"file:/|/|[^:]*$")
_OPTIONS: Mapping[str, str] = {
    "recursiveFileLookup": "true",
    "ignoreMissingFiles": "true",
    "ignoreCorruptFiles": "false",
    "ignoredPathSegmentRegex": "(?!)",  # hides nothing, where Spark knows it
}
_OPTIONS_LOCAL: Mapping[str, str] = {
    # Hadoop's own checks of ".crc" would fail the job for a damaged file.
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}

_SLOTTED = pa.schema([("slot", pa.int32()), *PIECES])

_PLACES = (
    pa.schema({"uri": pa.string()}).append(_SLOTTED.field("path")).append(_SLOTTED.field("slot"))
)
"""Files, each with a Spark partition that it is needed in."""

_PIECES_OF_CONTENT = (
    # The lambda's variable holds the bytes; the column itself would be copied for every piece.
    f"posexplode(flatten(transform(array(content), c -> transform("
    f"sequence(0, (octet_length(c) - 1) div {PIECE_BYTES}), "
    f"i -> substring(c, cast(i * {PIECE_BYTES} + 1 as int), {PIECE_BYTES}))))) as (piece, content)"
)


class HadoopFiles:
    """The files that a session of Spark can read.

    Args:
        session: of Spark 3.5 or later, classic or Connect.
    """

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    def open(self, path: str) -> tuple[Storage, Selection]:
        """A checkpoint's listing, and the part of it that a path means.

        Args:
            path: its root, or a path below it, as Spark's sources take it.

        Raises:
            NotACheckpointError: nothing is there, or something else.
            EngineError: Spark cannot list it.
        """
        for root, tail in [(path.rstrip("/") or "/", []), *above(path)]:
            if tail and tail[0] not in MARKS:
                continue
            storage = self._listed(root)
            if storage is not None and is_root(storage):
                entry = storage.stat("/".join(tail))
                if entry is None:
                    message = f"got nothing at this path, expected a part of {storage.root}"
                    raise NotACheckpointError(message, redact(path))
                is_dir = entry.is_dir
                meant = selection_of(tail, classify, is_dir=is_dir) if tail else Selection()
                return storage, meant
        raise NotACheckpointError(
            "got none of 'metadata', 'offsets', 'commits' and 'state' at this path as Spark sees "
            "it, expected a checkpoint folder with them",
            redact(path),
        )

    def frame(self, work: Sequence[Work], slots: int) -> DataFrame:
        """Tasks with their files, as :data:`inspector.engines.staging.PIECES`.

        All of one task is in one Spark partition; the heaviest in the first.

        Raises:
            EngineError: a file is larger than Spark reads.
        """
        rows: list[tuple[Any, ...]] = []
        wanted: dict[Needed, dict[int, None]] = {}
        for key, hand in zip(keys_of_slots(slots), deal(work, slots), strict=True):
            for each in hand:
                rows.append((key, len(rows), each.spec, None, None, None, None))
                for file in needed(each.spec):
                    wanted.setdefault(file, {})[key] = None
        for file, keys in wanted.items():
            if file.copy.files[file.path].uri is None:
                rows += [(key, None, None, file.copy.name, file.path, 0, b"") for key in keys]
        tasks = sessions.hand_over(self._session, rows, _SLOTTED)
        all_rows = reduce(DataFrame.unionAll, self._pieces(wanted), tasks)
        return all_rows.repartition(slots, "slot").select(*PIECES.names)

    def names(self, work: Sequence[Work]) -> list[str]:
        """Of the checkpoints that these tasks are about."""
        return sorted({name for each in work for name in names_in(each.spec)})

    def here(self, function: BatchFunction) -> BatchFunction:
        """The same batch function with each task's files read by Spark into this process's reach.

        One task after the other, for what is written where the command runs; its disk holds the
        files of one task.
        """

        def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                for row in batch.to_pylist():
                    spec = str(row["spec"])
                    with tempfile.TemporaryDirectory(prefix="inspector-", dir=scratch()) as place:
                        folder = Folder(place)
                        self._fetch(needed(spec), folder)
                        with folder.names(names_in(spec)):
                            yield from function([task_batch(spec, row["task_id"])])

        return run

    def small_batches(self) -> AbstractContextManager[None]:
        """Bound what Spark hands to a Python worker at once, while a frame is computed.

        Newer ones bound it by bytes themselves (``maxBytesPerBatch``, 64 MiB in 4.3).
        """
        return sessions.set_to(self._session, BATCH_ROWS, str(PIECES_AT_ONCE))

    def _listed(self, root: str) -> Storage | None:
        """The copy of a root's listing with its small files; None if there is nothing."""
        target = tempfile.mkdtemp(prefix="inspector-listing-")
        try:
            marks = [mark for name in _READ_MARKS if (mark := self._mark(root, name))]
            copy = new_copy(root, self._files(root, marks))
            if marks:
                self._fetch([Needed(copy, path) for path in copy.small()], Folder(target))
                folders = [mark.name for mark in marks if mark.name not in copy.files]
                return opened(copy, folders, target)
        except EngineError:
            shutil.rmtree(target)
            raise
        except Exception as error:  # noqa: BLE001 - py4j, gRPC and PySpark each have their own
            shutil.rmtree(target)
            message = f"Spark cannot list it: {sessions.words(error)}"
            raise EngineError(message, redact(root)) from None
        shutil.rmtree(target)
        return None

    def _mark(self, root: str, name: str) -> _Mark | None:
        """What lies at one of a checkpoint's marks; None if it is not there."""
        try:
            frame = self._read(_joined(root, name))
            uris = frame.inputFiles()
        except Exception as error:
            if "PATH_NOT_FOUND" in str(error):
                return None
            raise
        return _Mark(name, frame, uris)

    def _files(self, root: str, marks: Sequence[_Mark]) -> dict[str, Listed]:
        found: dict[str, Listed] = {}
        seen: set[str] = set()
        for mark in marks:
            listing = mark.frame.select(
                "path", "_metadata.file_path", "length", F.expr("unix_millis(modificationTime)")
            )
            for path, *file in listing.collect():
                found[relative(path, root, mark.name)] = Listed(*file)
            seen |= {relative(uri, root, mark.name, encoded=True) for uri in mark.uris}
        if seen - found.keys():
            # Rows are of files that are not empty; or it has gone between the two listings.
            again = [now for each in marks if (now := self._mark(root, each.name))]
            there = {relative(uri, root, m.name, encoded=True) for m in again for uri in m.uris}
            found |= dict.fromkeys((seen & there) - found.keys(), Listed(None, 0, 0))
        return found

    def _fetch(self, files: Sequence[Needed], folder: Folder) -> None:
        """Lay down files in this process's reach."""
        for file in files:
            if file.copy.files[file.path].uri is None:
                folder.write(file.copy.name, file.path, 0, b"")
        frames = self._pieces(dict.fromkeys(files, (0,)))
        if frames:
            frame = reduce(DataFrame.unionAll, frames).select("name", "path", "piece", "content")
            few = sum(file.copy.files[file.path].size for file in files) <= _AT_ONCE_BYTES
            for row in frame.collect() if few else frame.toLocalIterator():
                folder.write(*row)

    def _pieces(self, files: Mapping[Needed, Iterable[int]]) -> list[DataFrame]:
        """The pieces of files, each with the slots that it is wanted in."""
        self._check_sizes(files)
        groups: dict[tuple[Copy, str], dict[Needed, Iterable[int]]] = {}
        for file, slots in files.items():
            if file.copy.files[file.path].uri is not None:
                mark = file.path.split("/", 1)[0]
                groups.setdefault((file.copy, mark), {})[file] = slots
        return [self._pieces_of(copy, group) for (copy, _), group in groups.items()]

    def _pieces_of(self, copy: Copy, files: Mapping[Needed, Iterable[int]]) -> DataFrame:
        wanted = {str(copy.files[file.path].uri): file.path for file in files}
        folder = os.path.commonpath([os.path.dirname(path) or path for path in wanted.values()])
        frame = self._read(_joined(copy.root, folder))
        frame = frame.select(F.col("_metadata.file_path").alias("uri"), "content")
        inside = sum(path.startswith(f"{folder}/") for path in copy.files)
        if len(wanted) < inside:
            # Known before the files are opened: what is not asked for is not read.
            frame = frame.where(F.col("uri").isin(list(wanted)))
        of_files = [(str(copy.files[f.path].uri), f.path, slot) for f in files for slot in files[f]]
        places = sessions.hand_over(self._session, of_files, _PLACES)
        return frame.join(F.broadcast(places), "uri").selectExpr(
            "slot",
            "cast(null as bigint) as task_id",
            "cast(null as string) as spec",
            f"'{copy.name}' as name",
            "path",
            _PIECES_OF_CONTENT,
        )

    def _check_sizes(self, files: Iterable[Needed]) -> None:
        most = int(str(self._session.conf.get(MAX_LENGTH, str((1 << 31) - 1))))
        for copy, path in files:
            size = copy.files[path].size
            if size > most:
                raise EngineError(
                    f"file has {size:,} bytes, Spark's binaryFile source reads at most {most:,}: "
                    f"raise {MAX_LENGTH} (up to 2147483647), or read it without --io hadoop",
                    _joined(redact(copy.root), path),
                )

    def _read(self, path: str) -> DataFrame:
        reader = self._session.read.format("binaryFile").options(**_OPTIONS)
        if _LOCAL.match(path):
            reader = reader.options(**_OPTIONS_LOCAL)
        return reader.load(_OF_GLOBS.sub(r"\\\g<0>", path))


class _Mark(NamedTuple):
    """A mark of a checkpoint: its name, its files as a frame, and the URIs of all of them."""

    name: str
    frame: DataFrame
    uris: list[str]


def _joined(root: str, path: str) -> str:
    return f"{root.rstrip('/')}/{path}"
