"""One partition of a checkpoint into another place, less the rows that are evicted from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.checkpoint.destination import Destination
from inspector.checkpoint.storage import Storage
from inspector.codec import Message
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask, Task
from inspector.encode.deltas import DeltaForm
from inspector.encode.records import Record
from inspector.encode.side_sums import SideSums, hadoop_sums_of
from inspector.facts.checks import ReadProblem
from inspector.facts.copied import Evicted, EvictedKey, RowPrints, WrittenFiles
from inspector.facts.fact import Observed
from inspector.model import FileKind, StoreFile
from inspector.passes.live_rows import live_blocks
from inspector.passes.store_reader import StoreReader, open_stores
from inspector.providers.common_names import hadoop_sums_name, spark_sums_name
from inspector.providers.options import ReadOptions
from inspector.providers.registry import provider_by_name

KEYS_SHOWN = 5
"""Evicted keys of each store and class that a plan shows."""

Chosen = Callable[[StoreTask, RecordBlock, Int64s], Mapping[str, Int64s]]
"""Of the live records of a block those to evict, by why; each record at most once."""


@dataclass(frozen=True)
class FolderCopy:
    """One folder of state files.

    Attributes:
        directory: relative to the root. files: all that lie in it, up to the version.
        stores: that lie in it. unique_id: of the checkpoint that is appended (format 2).
    """

    directory: str
    files: tuple[StoreFile, ...]
    stores: tuple[str, ...]
    unique_id: str | None = None


@dataclass(frozen=True)
class CopyTask(Message):
    """One partition.

    Attributes:
        task: the partition, at the version that is copied.
        url, options: the new root; an empty URL to find out what would be written. The options may
            hold credentials: never shown.
        appended: a version is appended. compact: all rows go into one snapshot.
        timer: of each evicted row: the ordinal of its timer, which is set to a time that is past;
            None where rows are removed.
    """

    task: Task
    folders: tuple[FolderCopy, ...]
    url: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    appended: bool = False
    compact: bool = False
    timer: int | None = None


def copy_partition(request: CopyTask, chosen: Chosen) -> Iterator[Observed[Any]]:
    """Copy the files of a partition, append what is evicted, and report what was read and written.

    Yields:
        The rows of each store after the copy (:class:`RowPrints`), what was evicted, the files
        that were written, and problems: then the copy is not whole.
    """
    opened = {store.store_name: (store, reader) for store, reader in open_stores(request.task)}
    for folder in request.folders:
        partition = _Folder(request, folder, [opened[name] for name in folder.stores])
        yield from partition.copy(chosen)


class _Folder:
    """One folder on its way."""

    def __init__(
        self,
        request: CopyTask,
        folder: FolderCopy,
        stores: Sequence[tuple[StoreTask, StoreReader]],
    ) -> None:
        self._request, self._folder, self._stores = request, folder, stores
        task = request.task
        self._source = Storage(task.url, task.options, task.root)
        self._destination = Destination(request.url, request.options) if request.url else None
        self._provider = provider_by_name(task.provider)
        self._version = task.version
        self._kinds = {file.kind for file in folder.files}
        self._files = self._bytes = 0
        self._found: list[Observed[Any]] = []

    def copy(self, chosen: Chosen) -> Iterator[Observed[Any]]:
        request, appended = self._request, self._request.appended
        form = self._form() if appended or request.compact else None
        if not request.compact:
            self._copy_files()
        if form is not None and request.compact:
            name = self._provider.snapshot_name(self._version + appended) or ""
            form = replace(form, name=name)
        entries = (entry for store in self._stores for entry in self._entries(*store, chosen))
        if form is None:
            for _ in entries:
                raise AssertionError("rows are evicted and no version is appended")
        elif self._destination is None:
            self._bytes += sum(map(len, form.chunks(entries)))
            self._files += 1
        else:
            self._write_with_sums(form, entries)
        yield from self._found
        for _, reader in self._stores[:1]:
            written = WrittenFiles(self._files, self._bytes)
            yield Observed(reader.store, self._version, written)

    # -- files -------------------------------------------------------------------------------------

    def _form(self) -> DeltaForm:
        task = self._request.task
        options = ReadOptions(task.codecs, task.row_checksum, task.merge_delimiter, task.encoding)
        return self._provider.new_delta(
            self._source, self._folder.files, self._version, options, self._folder.unique_id
        )

    def _copy_files(self) -> None:
        files = self._provider.files_to_copy(self._source, self._folder.files, self._version)
        for file in files:
            relative = self._source.relative(file.path)
            self._files += 1
            self._bytes += file.size
            if self._destination is not None:
                chunks = self._source.stream(relative, size=file.size)
                self._destination.write(relative, chunks)

    def _write_with_sums(self, form: DeltaForm, entries: Iterable[Record]) -> None:
        """Write a new file, with checksum files where the folder's others have them."""
        sums = SideSums()

        def passing() -> Iterator[bytes]:
            for chunk in form.chunks(entries):
                sums.update(chunk)
                yield chunk

        self._write(form.name, passing())
        hadoop = FileKind.HADOOP_CHECKSUM in self._kinds
        if hadoop:
            self._write(hadoop_sums_name(form.name), [sums.hadoop()])
        if FileKind.SPARK_CHECKSUM in self._kinds:
            content, name = sums.spark(), spark_sums_name(form.name)
            self._write(name, [content])
            if hadoop:
                self._write(hadoop_sums_name(name), [hadoop_sums_of(content)])

    def _write(self, name: str, chunks: Iterable[bytes]) -> None:
        assert self._destination is not None
        self._bytes += self._destination.write(f"{self._folder.directory}/{name}", chunks)
        self._files += 1

    # -- rows --------------------------------------------------------------------------------------

    def _entries(self, store: StoreTask, reader: StoreReader, chosen: Chosen) -> Iterator[Record]:
        """The records that go into the new file; what else the rows show is kept on the way."""
        request, prints = self._request, RowPrints()
        evicted: dict[str, Evicted] = {}
        for block, live in live_blocks(request.task, store, reader):
            by_class = chosen(store, block, live)
            gone = np.concatenate([np.empty(0, np.int64), *by_class.values()])
            for name, rows in by_class.items():
                shown = KEYS_SHOWN - evicted[name].rows if name in evicted else KEYS_SHOWN
                self._note_keys(reader, name, block, rows[: max(0, shown)])
                evicted[name] = evicted.get(name, Evicted(name)) + Evicted.of(name, block, rows)
            kept = np.setdiff1d(live, gone)
            prints += RowPrints.of(block, kept)
            if request.compact:
                yield from records_of(block, kept)
            for key, value in records_of(block, gone):
                if request.timer is None:
                    if not request.compact:
                        yield key, None
                    continue
                rearmed = with_timer(value or b"", request.timer)
                prints += RowPrints.of_row(key, rearmed)
                yield key, rearmed
        at = reader.store, self._version
        self._found += [Observed(*at, prints), *(Observed(*at, e) for e in evicted.values())]
        self._found += [ReadProblem.observe(problem, *at) for problem in reader.problems]

    def _note_keys(self, reader: StoreReader, name: str, block: RecordBlock, rows: Int64s) -> None:
        for key, value in records_of(block, rows):
            shown = EvictedKey(name, key, len(value or b""))
            self._found.append(Observed(reader.store, self._version, shown))


def records_of(block: RecordBlock, rows: Int64s) -> Iterator[Record]:
    """Some records of a block, each a put."""
    view = memoryview(block.buffer)
    spans = (block.key_offset, block.key_length, block.value_offset, block.value_length)
    for key_at, key_size, value_at, value_size in zip(
        *(span[rows].tolist() for span in spans), strict=True
    ):
        yield bytes(view[key_at : key_at + key_size]), bytes(view[value_at : value_at + value_size])


PAST_MS = 1
"""The time that a timer is set to: every watermark and every clock has passed it, and it is not the
-1 of no timer (``FlatMapGroupsWithStateExec.processTimedOutState``)."""


def with_timer(value: bytes, ordinal: int) -> bytes:
    """The value of a group state whose timer has run out; ``ordinal`` is that of its last field."""
    at = ordinal // 64 * 8 + 8 + 8 * ordinal
    return value[:at] + PAST_MS.to_bytes(8, "little") + value[at + 8 :]
