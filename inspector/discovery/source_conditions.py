"""Conditions that sources put on a restart, from the offset log and the file sources' logs.

* A restart compares the newest entry of the offset log with the one before it, and no others. It
  calls ``getBatch(previous, newest)`` for sources of the first API (files, Delta Lake), whether the
  newest batch is committed or not (``MicroBatchExecution.populateStartOffsets``). ``rate``,
  ``rate-micro-batch`` and Kafka plan the range again only if that batch runs again.
* A file source whose ``logOffset`` goes back there fails: ``AssertionError`` [Spark 4.3.0]. Of a
  source with several lines the last line counts (``OffsetSeq.toStreamProgress``) [Spark 4.3.0].
* A file source reads the entries of its log from the last batch on, up to the newest one, though no
  batch refers to that. It gives them its input path as ``basePath``, if that path is no glob. A
  file whose path does not begin with it stops the query: "Wrong basePath" [Spark 4.3.0]. Which path
  the query reads is in no file of the checkpoint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from inspector.checkpoint.log_entries import (
    DELTA_TABLE,
    DELTA_VERSION,
    FILES,
    KAFKA,
    NUMBER,
    RATE_MICRO_BATCH,
    Setback,
    SourceOffset,
)
from inspector.checkpoint.logfile import json_object, split_log
from inspector.checkpoint.logs import OFFSETS
from inspector.checkpoint.names import number
from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.restart_reasons import Doubt, ForeignEntry, Refusal
from inspector.discovery.source_logs import COMPACT, SourceFolders
from inspector.exceptions import InspectorError
from inspector.model import LIMITS, BatchId

_ENTRY_BYTES = 1 << 20  # of an entry of a source log whose files are compared
_HEAD_BYTES = 1 << 16  # of an entry that shows the input folders
_MOST_ENTRIES = 8  # entries that are compared: those that no finished batch has read
_COMPARED_WITH = 4  # entries that a finished batch has read, and that show the input folder
# URL schemes -> another scheme of the same storage
_SAME_STORAGE = {"s3a": "s3", "s3n": "s3", "wasbs": "wasb", "abfss": "abfs"}


def judge_sources(
    checkpoint: Checkpoint, planned: int, folders: SourceFolders
) -> Iterator[Refusal | Doubt]:
    """Yield a refusal or doubt for each reason of a source that may prevent the restart.

    ``planned`` is the newest planned batch, ``folders`` are those of its sources.
    """
    for path in folders.doubtful:
        yield Doubt(
            f"{path} is missing: Spark writes it again if it finds the files again that the entry "
            "named, and fails if it does not",
            lost_entry=path,
        )
    again = checkpoint.logs.last_committed != planned
    sources = checkpoint.logs.sources.get(BatchId(planned), ())
    last_lines = {folders.folder(source): source.name for source in sources}
    for source in sources:
        if source.setback is not None and last_lines[folders.folder(source)] == source.name:
            yield from _judge_setback(source.setback, source.called, planned, again=again)
    for foreign in foreign_entries(checkpoint, planned, folders):
        yield Doubt(
            f"{foreign.path} names files outside {foreign.folder}, the folder of the files that "
            'the query has read: Spark fails with "Wrong basePath" unless the query reads both '
            "folders",
            foreign=foreign,
        )


def _judge_setback(
    setback: Setback, source: str, planned: int, *, again: bool
) -> Iterator[Refusal | Doubt]:
    """Yield a refusal or doubt about a source whose offset goes back in the newest entry.

    ``again`` is True if the restart runs batch ``planned`` again; some sources fail only then.
    """
    entry = f"{OFFSETS}/{planned}"
    moved = f"{source} goes back in {entry}, from {setback.before} to {setback.after}"
    refused = f"{entry}, in which {source} goes back from {setback.before} to {setback.after}"
    advice = (
        f"restore {entry} and {OFFSETS}/{planned - 1} from a backup; one of the two entries was "
        "changed"
    )
    if setback.kind == FILES:
        yield Refusal(refused, "AssertionError", to_do=advice)
    elif setback.kind in (DELTA_TABLE, DELTA_VERSION):
        yield Doubt(f"{moved}: Delta Lake refuses an offset of another table or version")
    elif again and setback.kind == RATE_MICRO_BATCH:
        error = "MALFORMED_STATE_IN_RATE_PER_MICRO_BATCH_SOURCE"
        yield Refusal(refused, error, to_do=advice)
    elif again and setback.kind == KAFKA:
        yield Doubt(f"{moved}: Spark fails unless failOnDataLoss is false")
    elif again and setback.kind == NUMBER:
        yield Doubt(f"{moved}: the rate source fails at such a range")


def foreign_entries(
    checkpoint: Checkpoint, planned: int, folders: SourceFolders
) -> Iterator[ForeignEntry]:
    """Yield the first foreign entry of each source log, if one is found.

    Foreign entries name files outside the source's input folder. Only entries newer than the last
    finished batch are searched. A log that cannot be listed is left out.
    """
    committed = checkpoint.logs.last_committed
    if committed is None or committed > planned:
        return
    finished = {s.name: s for s in checkpoint.logs.sources.get(BatchId(committed), ())}
    seen: set[str] = set()
    for source in checkpoint.logs.sources.get(BatchId(planned), ()):
        folder = folders.folder(source)
        read = finished.get(source.name)
        if folder in seen or read is None or read.log_entry is None:
            continue
        seen.add(folder)
        names = folders.listed.get(folder, ())
        with suppress(OSError):
            pending = source if committed < planned else None
            yield from _foreign_entry(
                checkpoint.storage, folder, names, read.log_entry, pending, planned
            )


def _foreign_entry(
    storage: Storage,
    folder: str,
    names: Collection[str],
    read: int,
    unfinished: SourceOffset | None,
    planned: int,
) -> Iterator[ForeignEntry]:
    """Yield the first entry after ``read`` that names files outside the input folder, if any.

    ``read`` is the entry of the last finished batch; it and older entries show the input folder.
    ``unfinished`` is the source in batch ``planned`` if that has no commit.
    """
    numbers = ((number(name.removesuffix(COMPACT)), name) for name in names)
    entries = [(entry, name) for entry, name in numbers if entry is not None]
    newer = sorted(item for item in entries if item[0] > read)[:_MOST_ENTRIES]
    if not newer:
        return
    older = sorted((item for item in entries if item[0] <= read), reverse=True)
    compact = [item for item in older if item[1].endswith(COMPACT)][:1]
    # A compact entry names older files, too: a source that reads several folders shows there.
    input_folders = {
        _folder_of(path)
        for _, name in {*older[:_COMPARED_WITH], *compact}
        for path, _ in _files(storage, f"{folder}/{name}", _HEAD_BYTES)
    }
    base = _common_folder(sorted(input_folders))
    for entry, name in newer if base else ():
        for file, batch in _files(storage, f"{folder}/{name}", _ENTRY_BYTES):
            if batch == entry and not _location(file).startswith(base):
                reads = unfinished is not None and (unfinished.log_entry or 0) >= entry
                yield ForeignEntry(
                    f"{folder}/{name}", _folder_of(file), base, f"{OFFSETS}/{planned}" * reads
                )
                return


def _files(storage: Storage, path: str, max_bytes: int) -> Iterator[tuple[str, int]]:
    """Yield path and batch of the files that an entry of a source log names.

    At most ``max_bytes`` bytes are read. The list ends at a line that is not as Spark writes it.
    """
    data = b""
    with suppress(InspectorError, OSError, ValueError):
        for chunk in storage.stream(path, min(max_bytes, LIMITS.chunk_bytes)):
            data += chunk
            if len(data) >= max_bytes:
                data = data[: data.rfind(b"\n") + 1]  # without the line that was cut
                break
        _, lines = split_log(data, 1)
        for line in filter(None, lines):
            fields = json_object(line)
            name, batch = fields.get("path"), fields.get("batchId")
            if isinstance(name, str) and isinstance(batch, int):
                yield name, batch


def _location(url: str) -> str:
    """Return a URL with its scheme and empty authority spelled in one way.

    Local files have no scheme, and ``s3a``, ``s3n`` and ``s3`` are one.
    """
    scheme, colon, path = url.partition(":")
    if not colon or "/" in scheme:
        return url
    path = "/" + path.lstrip("/")
    scheme = _SAME_STORAGE.get(scheme.lower(), scheme.lower())
    return path if scheme == "file" else f"{scheme}:/{path}"


def _folder_of(url: str) -> str:
    """Return the folder of a file, above the folders of its partition columns."""
    parts = _location(url).split("/")[:-1]
    while len(parts) > 1 and "=" in parts[-1]:
        parts.pop()
    return "/".join(parts)


def _common_folder(folders: Sequence[str]) -> str:
    """Return the folder that contains all folders, or is one of them.

    "" without folders, or if they share none.
    """
    if len(set(folders)) < 2:
        return folders[0] if folders else ""
    shared = []
    for parts in zip(*(folder.split("/") for folder in folders), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared)
