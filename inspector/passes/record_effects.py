"""Every record of every delta that can be replayed, with what it did to its key."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from inspector.arrays import Int64s
from inspector.codec import Message
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import InspectorError
from inspector.light_dataclasses import dataclass
from inspector.model import StoreFile
from inspector.passes.binary_columns import keys_of, repeat, values_of
from inspector.passes.key_filter import filter_of, select_records
from inspector.passes.store_reader import READ_ERRORS, StoreReader, open_stores
from inspector.providers.chain import replay_steps
from inspector.schemas import (
    CHANGES,
    array_of,
    int64_array,
    problem_batch,
    record_batch,
    repeat_value,
)
from inspector.state.events import WORDS, BlockEvents, Event, Presence
from inspector.state.key_range import RangeFilter, passes_of, select_range


@dataclass(frozen=True)
class ChangesTask(Message):
    """Request for the changes of one partition."""

    task: Task  # the partition and its key filter; nothing newer than its version is read
    # True to report also the rows of the snapshots from which the history starts
    bases: bool = False
    first_version: int = 0  # older changes are replayed and not reported
    old_values: bool = False  # report the value that each record replaced


def changes_of(request: ChangesTask) -> Iterator[pa.RecordBatch]:
    """Yield the changes of one partition, as batches of schema :data:`inspector.schemas.CHANGES`.

    Memory holds the distinct keys that match (their bytes, and 17 bytes each), a block of one file,
    and the live values if old values are requested. Changes of a delta are reported up to the
    position where it cannot be read. A task with several passes yields the changes of one range of
    keys after another.
    """
    for store, reader in open_stores(request.task):
        for keys in passes_of(request.task.passes):
            yield from _Walk(request, store, reader, keys).emit()
        if reader.problems:
            yield problem_batch(CHANGES, reader.problems)


class _Walk:
    """Walk over the files of one store that yields its changes for one range of keys."""

    def __init__(
        self, request: ChangesTask, store: StoreTask, reader: StoreReader, keys: RangeFilter | None
    ) -> None:
        self._request, self._reader, self._keys = request, reader, keys
        self._steps = replay_steps(reader.provider.files_of(store.files), request.task.version)
        self._filter = filter_of(request.task, store)
        self._presence = Presence(values=request.old_values)

    def _blocks(self, file: StoreFile) -> Iterator[tuple[RecordBlock, Int64s]]:
        """Return the records of a file that match filter and range, with their ordinals."""
        return select_range(select_records(self._reader.blocks(file), self._filter), self._keys)

    def emit(self) -> Iterator[pa.RecordBatch]:
        """Yield the changes of all versions in order, as batches."""
        for step in self._steps:
            if step.base is not None:
                if step.delta is not None:
                    # A delta shows what its batch wrote, but not what was there before.
                    self._presence.forget(known=False)
                    yield from self._delta(step.delta)
                yield from self._load(step.base)
            elif step.delta is not None:
                yield from self._delta(step.delta)
                if not self._presence.known and step.check is not None:
                    yield from self._load(step.check)
            elif step.compared is not None and self._presence.known:
                yield from self._compare(step.compared)
            elif step.compared is not None:
                yield from self._load(step.compared)

    def _load(self, file: StoreFile) -> Iterator[pa.RecordBatch]:
        """Take a snapshot as the new start of the history; yield its rows if they are requested."""
        self._presence.forget(known=True)
        try:
            for block, ordinals in self._blocks(file):
                self._presence.load(block)
                if self._request.bases:
                    in_snapshot = np.full(block.count, Event.IN_SNAPSHOT, np.int8)
                    events = BlockEvents(in_snapshot, np.full(block.count, -1))
                    yield from self._matching_rows(file, block, ordinals, events)
        except READ_ERRORS as error:
            self._note_failure(error, file)

    def _compare(self, file: StoreFile) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a version: how its snapshot differs from the previous version."""
        self._presence.begin_comparison()
        try:
            for block, ordinals in self._blocks(file):
                events = self._presence.apply(block)
                # A key with its old value in a snapshot is no sign of a put.
                rows = np.flatnonzero(events.events != Event.SAME_VALUE)
                if len(rows):
                    changed = block.select(rows), ordinals[rows], events.select(rows)
                    yield from self._from_first(file, *changed)
        except READ_ERRORS as error:
            self._note_failure(error, file)
            return
        removals, events = self._presence.end_comparison()
        if removals.count:
            yield from self._from_first(file, removals, None, events)

    def _delta(self, file: StoreFile) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a delta."""
        try:
            for block, ordinals in self._blocks(file):
                yield from self._from_first(file, block, ordinals, self._presence.apply(block))
        except READ_ERRORS as error:
            self._note_failure(error, file)

    def _note_failure(self, error: InspectorError | OSError, file: StoreFile) -> None:
        """Keep an error of reading, and forget which keys exist: later effects are unknown."""
        self._reader.note_failure(error, file)
        self._presence.forget(known=False)

    def _from_first(
        self, file: StoreFile, block: RecordBlock, ordinals: Int64s | None, events: BlockEvents
    ) -> Iterator[pa.RecordBatch]:
        """Yield the changes of a file unless its version is older than the first requested one."""
        if (file.version or 0) >= self._request.first_version:
            yield from self._matching_rows(file, block, ordinals, events)

    def _matching_rows(
        self, file: StoreFile, block: RecordBlock, ordinals: Int64s | None, events: BlockEvents
    ) -> Iterator[pa.RecordBatch]:
        """Yield a batch of the records whose value also matches the filter, with their effects.

        ``ordinals`` are their positions in the file; None if they have none. The effects were
        computed with all records of the key before.
        """
        if self._filter is not None and self._filter.values is not None:
            rows = np.flatnonzero(self._filter.mask_values(block))
            if not len(rows):
                return
            events, block = events.select(rows), block.select(rows)
            ordinals = None if ordinals is None else ordinals[rows]
        all_rows = np.arange(block.count)
        old = events.old_sizes
        columns = repeat(self._reader.row("change", file.version), block.count) | {
            "event": array_of(WORDS, pa.string()).take(int64_array(events.events)),
            "record": pa.nulls(block.count, pa.int64())
            if ordinals is None
            else int64_array(ordinals),
            "path": repeat_value(file.path, block.count),
            "old_value_bytes": int64_array(old, old >= 0),
            "key": keys_of(block, all_rows),
            "value": values_of(block, all_rows),
        }
        if events.old_values:
            columns["old_value"] = array_of(events.old_values, pa.binary())
        yield record_batch(CHANGES, columns, block.count)
