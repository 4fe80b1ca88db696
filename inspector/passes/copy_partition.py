"""Copying one partition of a checkpoint to another root, without the rows that are evicted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np

from inspector.arrays import Int64s
from inspector.checkpoint.storage import Storage
from inspector.codec import Message
from inspector.decode.changelog import raw_records
from inspector.decode.frames import inflate
from inspector.decode.records import RecordBlock
from inspector.decode.sst.live import DELIMITER
from inspector.discovery.tasks import StoreTask, Task
from inspector.encode.records import DeltaForm, RawRecords, Record
from inspector.encode.stored_rows import Entry, StoredRows
from inspector.exceptions import MissingVersionError
from inspector.facts.checks import ReadProblem
from inspector.facts.copied import Evicted, EvictedKey, RowPrints
from inspector.facts.fact import Observed
from inspector.light_dataclasses import dataclass, field
from inspector.model import FileKind, StoreFile
from inspector.operators.transform_with_state import is_helper
from inspector.passes.binary_columns import records_of
from inspector.passes.expired_values import Changes, ExpiredValues
from inspector.passes.folder_writer import FolderWriter
from inspector.passes.live_rows import live_blocks, live_blocks_newest_first, live_prints
from inspector.passes.removed_groups import RemovedGroups
from inspector.passes.store_reader import StoreReader, open_stores
from inspector.providers.chain import chain_for
from inspector.providers.content import ChangedVersion, FolderVersion
from inspector.providers.reader_options import ReadOptions
from inspector.providers.registry import provider_by_name
from inspector.sparktypes.schema_json import parse_schema_json

KEYS_SHOWN = 5  # evicted keys of each store and class that a plan shows
# Message if rows that Spark keeps for evicted values are missing; ``missing`` is their number.
TWINS = (
    "{store} has {missing} rows fewer than Spark keeps beside the values that are evicted, so that "
    "it cannot be kept true: let the processor call clear()"
)


@dataclass(frozen=True)
class Choice:
    """Rows of a partition to evict."""

    # returns the indexes of a block's live records to evict, by reason; each index at most once;
    # None if no row is evicted
    of_block: Callable[[StoreTask, RecordBlock, Int64s], Mapping[str, Int64s]] | None = None
    # keys by store: rows of other keys are not evicted; a store is absent if its keys are not known
    keys: Mapping[str, Collection[bytes]] = field(default_factory=dict)
    # the stores whose rows are counted and stay: no copy is made of them
    refused: Collection[str] = ()
    # stores of transformWithState; for each of their keys, all rows are evicted or none
    whole_groups: Collection[str] = ()
    # ordinal of the timer that each evicted row gets set to a past time; None if rows are removed
    timer: int | None = None


@dataclass(frozen=True)
class FolderCopy:
    """One folder of state files, with its stores."""

    directory: str  # of the folder, below the root
    files: tuple[StoreFile, ...]  # up to the copied version, or up to that of a planned batch
    stores: tuple[str, ...]  # names
    # id of the version's checkpoint in the copy if its rows are changed (checkpoint format 2);
    # None where names have no ids
    unique_id: str | None = None


@dataclass(frozen=True)
class CopyTask(Message):
    """One partition."""

    task: Task  # the partition, at the version that is copied
    folders: tuple[FolderCopy, ...]  # folders of the partition that are copied
    # url, options: the new root; an empty URL to find out what would be written. The options may
    # hold credentials: never shown.
    url: str = field(default="", repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    evicts: bool = False  # rows of the partition may be evicted
    compact: bool = False  # all rows go into one snapshot
    # the files of the version after it are copied too: its batch was planned and not committed
    planned: bool = False


def copy_partition(request: CopyTask, choice: Choice) -> Iterator[Observed[Any]]:
    """Copy the files of a partition, without what is evicted, and report what was read and written.

    Yields:
        The rows of each store after the copy (:class:`RowPrints`), what was evicted, the files
        that were written, and problems: then the copy is not whole.
    """
    opened = {store.store_name: (store, reader) for store, reader in open_stores(request.task)}
    for folder in request.folders:
        stores = in_order([opened[name] for name in folder.stores])
        partition = _Folder(request, folder, stores, choice)
        yield from partition.copy()


def in_order(stores: Iterable[OpenStore]) -> list[OpenStore]:
    """Return stores with those last whose rows depend on rows of others that are evicted."""
    return sorted(stores, key=lambda opened: is_helper(opened[0].store_name))


class _Folder:
    """Copy of one folder of state files with its stores."""

    def __init__(
        self,
        request: CopyTask,
        folder: FolderCopy,
        stores: Sequence[OpenStore],
        choice: Choice,
    ) -> None:
        self._request, self._folder, self._stores = request, folder, stores
        task = request.task
        self._source = Storage(task.url, task.options, task.root)
        self._provider = provider_by_name(task.provider)
        self._version = task.version
        self._of_version = self._folder_at(task.version)
        kinds = {file.kind for file in folder.files}
        self._writer = FolderWriter(
            request.url,
            request.options,
            folder.directory,
            hadoop_sums=FileKind.HADOOP_CHECKSUM in kinds,
            spark_sums=FileKind.SPARK_CHECKSUM in kinds,
        )
        self._found: list[Observed[Any]] = []
        self._kept = KeptRows(task, choice, [store for store, _ in stores])

    def copy(self) -> Iterator[Observed[Any]]:
        """Copy the folder and yield its facts, the number of written files and bytes last."""
        request = self._request
        changed = self._new_form() if request.evicts or request.compact else None
        is_whole = changed is not None and changed.has_all_rows
        form = None if changed is None else changed.form
        entries = (
            entry for store in self._stores for entry in self._records(*store, form, is_whole)
        )
        # A folder of which nothing is evicted is copied as it is, unless it is one new snapshot.
        first = next(entries, None)
        if changed is None or (first is None and not is_whole):
            if first is not None:
                raise AssertionError("rows are evicted and their version is not written")
            for file in self._files_of(self._of_version):
                self._writer.copy(self._source, file, self._name_of(file))
        else:
            for file, name in changed.copied:
                self._writer.copy(self._source, file, name)
            own, rows = self._own_records(changed), chain([] if first is None else [first], entries)
            self._writer.write_with_sums(changed.form.name, changed.form.chunks(chain(own, rows)))
        self._copy_next_version()
        yield from self._found
        for _, reader in self._stores[:1]:
            yield Observed(reader.store, self._version, self._writer.written)

    def _folder_at(self, version: int) -> FolderVersion:
        """Return the files up to a version, with the chain of files that makes it.

        MissingVersionError: the version cannot be made from the files.
        """
        files = tuple(f for f in self._folder.files if f.version is None or f.version <= version)
        made_of = chain_for(self._provider.files_of(files), version)
        return FolderVersion(self._source, files, made_of)

    def _files_of(self, folder: FolderVersion) -> Sequence[StoreFile]:
        """Return the files that a copy of a version needs."""
        return self._provider.content.files_to_copy(folder)

    def _name_of(self, file: StoreFile) -> str:
        """Return the path of a file relative to its folder."""
        return self._source.relative(file.path).removeprefix(f"{self._folder.directory}/")

    def _new_form(self) -> ChangedVersion:
        """Return how the provider writes the version again if its rows change."""
        task, content = self._request.task, self._provider.content
        options = ReadOptions(task.codecs, task.row_checksum, task.merge_delimiter, task.encoding)
        return content.encode_version(self._of_version, options, self._folder.unique_id)

    def _own_records(self, changed: ChangedVersion) -> Iterator[RawRecords]:
        """Yield the raw records of the version's changelog if the new file repeats them.

        Yields nothing otherwise.
        """
        if changed.changelog is not None:
            relative, codec = self._source.relative(changed.changelog.path), changed.form.codec
            chunks = self._source.stream(relative, size=changed.changelog.size)
            yield from raw_records(inflate(chunks, codec))

    def _copy_next_version(self) -> None:
        """Copy the files of the next version, whose batch was planned and not committed.

        A sink that has the batch skips it when it runs again, so that Spark does not write them
        again. The partitions that did not finish the batch have none.
        """
        if not self._request.planned:
            return
        try:
            files = self._files_of(self._folder_at(self._version + 1))
        except MissingVersionError:
            return
        copied = {file.path for file in self._files_of(self._of_version)}
        for file in files:
            if file.path not in copied:
                self._writer.copy(self._source, file, self._name_of(file))

    def _records(
        self, store: StoreTask, reader: StoreReader, form: DeltaForm | None, is_whole: bool
    ) -> Iterator[Record]:
        """Yield the records of the new file of a store, as the provider writes them.

        They are all live rows of the store if ``is_whole``, else only its changes.
        """
        entries = self._entries(store, reader, is_whole=is_whole)
        if form is None or not form.changelog:
            yield from cast(Iterator[Record], entries)
            return
        for entry in entries:  # only then it matters which column family the store is
            task = self._request.task
            newest = chain_for(self._provider.files_of(store.files), self._version).files[-1]
            stored = StoredRows(
                store.key_encoder,
                None if store.key_schema is None else parse_schema_json(store.key_schema),
                reader.files.family(newest),
                DELIMITER if task.merge_delimiter else b"",
                task.row_checksum,
            )
            yield from stored.records(chain([entry], entries))

    def _entries(self, store: StoreTask, reader: StoreReader, *, is_whole: bool) -> Iterator[Entry]:
        """Yield the entries to write for the rows of a store, and keep the facts to report.

        Entries are (key, value), with None as the value of a removal. If ``is_whole``, the rows
        that stay are among them.
        """
        task, prints, is_read = self._request.task, RowPrints(), is_whole or self._kept.has_choice
        if not is_read:
            prints = live_prints(task, store, reader)
        for part in self._kept.parts(store, reader, removes=not is_whole) if is_read else ():
            prints += part.prints
            if is_whole:
                yield from records_of(part.block, part.unchanged)
            for entries, _ in part.changes:
                yield from entries
        if task.request.fit:
            reader.check_rest(store.files)
        position = reader.store, self._version
        self._found += [Observed(*position, prints), *self._kept.take_facts()]
        self._found += [ReadProblem.observe(problem, *position) for problem in reader.problems]


OpenStore = tuple[StoreTask, StoreReader]  # A store of a task, with its reader.


class KeptPart(NamedTuple):
    """A part of the rows of a store, after the eviction."""

    block: RecordBlock  # records of the source
    unchanged: Int64s  # positions in it of the rows that stay as they are
    # what is written for the other rows, and the rows that exist because of it
    changes: Sequence[Changes]

    @property
    def prints(self) -> RowPrints:
        """Prints of the rows that the part has after the eviction."""
        made = (RowPrints.of_rows(rows) for _, rows in self.changes)
        return sum(made, RowPrints.of(self.block, self.unchanged))

    def blocks(self) -> Iterator[tuple[RecordBlock, Int64s]]:
        """Yield the rows that the part has after the eviction: a block, and positions in it."""
        yield self.block, self.unchanged
        for _, rows in self.changes:
            if rows:
                block = RecordBlock.of_rows(rows)
                yield block, block.ordinals


class KeptRows:
    """Rows of the stores of a partition that an eviction leaves, and the facts about the others.

    The stores have to be read in the order of :func:`in_order`.
    """

    def __init__(self, task: Task, choice: Choice, stores: Sequence[StoreTask]) -> None:
        self._task, self._choice = task, choice
        self._groups = RemovedGroups()
        self._expired = ExpiredValues(choice.keys, stores)
        self._facts: list[Observed[Any]] = []

    @property
    def has_choice(self) -> bool:
        """True if rows may be evicted."""
        return self._choice.of_block is not None

    def take_facts(self) -> list[Observed[Any]]:
        """Return the evictions and example keys (:class:`Evicted`) since the last call."""
        facts, self._facts = self._facts, []
        return facts

    def parts(
        self, store: StoreTask, reader: StoreReader, *, removes: bool = True
    ) -> Iterator[KeptPart]:
        """Yield the rows of a store. Problems stay with ``reader``.

        ``removes``: the entries of the changes have a removal for each evicted row.
        """
        evicted: dict[str, Evicted] = {}
        version, expired, choose = self._task.version, self._expired, self._choice.of_block
        if choose is None and self._task.passes < 2 and not store.several_values:
            for block, live in live_blocks_newest_first(self._task, store, reader):
                yield KeptPart(block, live, ())
            return
        for _, block, live in live_blocks(self._task, store, reader):
            rows_by_class = {} if choose is None else choose(store, block, live)
            gone = np.concatenate([np.empty(0, np.int64), *rows_by_class.values()])
            for name, rows in rows_by_class.items():
                previous = evicted.get(name, Evicted(name))
                evicted[name] = previous + Evicted.of(name, block, rows)
                for key, value in records_of(block, rows[: max(0, KEYS_SHOWN - previous.rows)]):
                    example = EvictedKey(name, key, len(value))
                    self._facts.append(Observed(reader.store, version, example))
            changed = np.union1d(expired.dependent_rows(store, block, live), gone)
            changes = self._changes(store, block, changed, gone, removes=removes)
            unchanged = np.setdiff1d(live, changed) if len(changed) else live
            yield KeptPart(block, unchanged, list(changes))
        yield KeptPart(RecordBlock.empty(0), np.empty(0, np.int64), list(expired.lists(store)))
        missing = expired.missing(store)
        if missing:
            reader.report("twin-rows", TWINS.format(store=store.store_name, missing=missing))
        self._facts += [Observed(reader.store, version, fact) for fact in evicted.values()]

    def _changes(
        self, store: StoreTask, block: RecordBlock, changed: Int64s, gone: Int64s, *, removes: bool
    ) -> Iterable[Changes]:
        """Return the entries to write for changed rows of a block, with the rows that they make.

        ``changed`` are the rows that go or change, ``gone`` the evicted rows among them. Without
        ``removes`` evicted rows get no removal. With a timer in the choice, evicted rows are kept
        and their timer is set to a time that is past.
        """
        if store.store_name in self._choice.refused:
            return ()
        if store.store_name in self._choice.whole_groups:
            return self._groups.changes(store, block, gone)
        if store.family is not None:
            return self._expired.changes(store, block, changed, gone)
        if self._choice.timer is not None:
            return timeouts(block, gone, self._choice.timer)
        removed = records_of(block, gone if removes else gone[:0])
        return [([(key, None) for key, _ in removed], [])]


PAST_MS = 1
"""Time in ms to which a timer is set so that it fires. Every watermark and every clock has passed
it, and it is not the -1 of a state without timer
(``FlatMapGroupsWithStateExec.processTimedOutState``).
"""


def timeouts(block: RecordBlock, rows: Int64s, ordinal: int) -> Iterator[Changes]:
    """Yield the given rows of group state with their timer set to :data:`PAST_MS`.

    ``ordinal`` is the position of the timer, the last field of the value. Each item has the entries
    to write and the rows that they make, which are equal.
    """
    offset, timer = ordinal // 64 * 8 + 8 + 8 * ordinal, PAST_MS.to_bytes(8, "little")
    records = records_of(block, rows)
    changed = [(key, value[:offset] + timer + value[offset + 8 :]) for key, value in records]
    yield changed, changed
