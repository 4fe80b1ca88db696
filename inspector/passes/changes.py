"""Every record of every delta that can be replayed, with what it did to its key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.checkpoint.storage import Storage
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask, Task
from inspector.model import StoreFile
from inspector.passes.binary_columns import keys_of, repeated, values_of
from inspector.passes.key_filter import chosen, filter_of
from inspector.passes.store_reader import READ_ERRORS, StoreReader
from inspector.providers.chain import Step, replay_steps
from inspector.schemas import CHANGES, batch_of, record_batch
from inspector.state.events import WORDS, BlockEvents, Event, Presence


@dataclass(frozen=True)
class ChangesTask:
    """The changes of one partition.

    Attributes:
        task: the partition; nothing newer than its version is read, no other key is told.
        bases: tell the rows of the snapshots too that the history starts from.
        first_version: older changes are replayed and not told.
        old_values: tell the value that each record replaced.
    """

    task: Task
    bases: bool = False
    first_version: int = 0
    old_values: bool = False

    def to_json(self) -> str:
        """The task as text."""
        return json.dumps(vars(self) | {"task": self.task.to_json()})

    @classmethod
    def from_json(cls, text: str) -> ChangesTask:
        """The inverse of :meth:`to_json`."""
        raw = json.loads(text)
        return cls(**(raw | {"task": Task.from_json(raw["task"])}))


def run_changes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Tell the changes of some partitions; the form of :func:`inspector.passes.run.run_tasks`.

    Memory holds the distinct keys that are looked for (their bytes, and 17 bytes each), a block of
    one file, and where old values are asked for those of the live keys. What a delta holds before a
    place where it cannot be read is told.

    Args:
        batches: of schema :data:`inspector.schemas.TASKS`; ``spec`` is a :class:`ChangesTask`.

    Yields:
        Batches of schema :data:`inspector.schemas.CHANGES`.
    """
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            wanted = ChangesTask.from_json(str(spec))
            task = wanted.task
            storage = Storage(task.url, task.options, task.root)
            for store in task.stores:
                reader = StoreReader(task, storage, task.store_id(store))
                yield from _Walk(wanted, store, reader).tell()
                if reader.problems:
                    yield batch_of(CHANGES, reader.problems)


class _Walk:
    """One store on its way through its versions."""

    def __init__(self, wanted: ChangesTask, store: StoreTask, reader: StoreReader) -> None:
        self._wanted, self._reader = wanted, reader
        self._steps = replay_steps(reader.provider.files_of(store.files), wanted.task.version)
        self._filter = filter_of(wanted.task, store)
        self._presence = Presence(values=wanted.old_values)

    def tell(self) -> Iterator[pa.RecordBatch]:
        for step in self._steps:
            if step.base is not None:
                yield from self._start(step, step.base)
            elif step.delta is not None:
                yield from self._go_on(step, step.delta)

    def _start(self, step: Step, base: StoreFile) -> Iterator[pa.RecordBatch]:
        if step.delta is not None:
            # It tells what its batch wrote, though not what was there before.
            self._presence.forget(known=False)
            yield from self._delta(step.delta)
        yield from self._load(base)

    def _go_on(self, step: Step, delta: StoreFile) -> Iterator[pa.RecordBatch]:
        yield from self._delta(delta)
        if not self._presence.known and step.check is not None:
            yield from self._load(step.check)

    def _load(self, file: StoreFile) -> Iterator[pa.RecordBatch]:
        self._presence.forget(known=True)
        try:
            for block, ordinals in chosen(self._reader.blocks(file), self._filter):
                self._presence.load(block)
                if self._wanted.bases:
                    same = np.full(block.count, Event.IN_SNAPSHOT, np.int8)
                    told = BlockEvents(same, np.full(block.count, -1))
                    yield from self._rows(file, block, ordinals, told)
        except READ_ERRORS as error:
            self._failed(error, file)

    def _delta(self, file: StoreFile) -> Iterator[pa.RecordBatch]:
        try:
            for block, ordinals in chosen(self._reader.blocks(file), self._filter):
                told = self._presence.apply(block)
                if (file.version or 0) >= self._wanted.first_version:
                    yield from self._rows(file, block, ordinals, told)
        except READ_ERRORS as error:
            self._failed(error, file)

    def _failed(self, error: Exception, file: StoreFile) -> None:
        self._reader.failed(error, file)
        self._presence.forget(known=False)

    def _rows(
        self, file: StoreFile, block: RecordBlock, ordinals: Any, told: BlockEvents
    ) -> Iterator[pa.RecordBatch]:
        every = np.arange(block.count)
        old = told.old_sizes
        columns = repeated(self._reader.row("change", file.version), block.count) | {
            "event": pa.array(np.array(WORDS)[told.events]),
            "record": pa.array(ordinals),
            "path": pa.repeat(pa.scalar(file.path), block.count),
            "old_value_bytes": pa.array(old, mask=old < 0),
            "key": keys_of(block, every),
            "value": values_of(block, every),
        }
        if told.old_values:
            columns["old_value"] = pa.array(told.old_values, pa.binary())
        yield record_batch(CHANGES, columns, block.count)
