"""Rows in which two versions of a store differ, in one checkpoint or in two.

Memory holds the distinct keys of one unit (a partition; of two checkpoints with different numbers
of partitions the whole store): their bytes and some 40 bytes each. The old values of changed keys
wait for their new ones, so at most :data:`PAIRING_BYTES` of them are held. If a unit has more, its
files are read again for the next share of its keys. A unit that is read in several passes holds the
keys of one range at a time, and 28 bytes of each that differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.arrays import Int64s, distinct
from inspector.checkpoint.logfile import UNSEEN
from inspector.codec import Message
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import Task
from inspector.exceptions import MissingVersionError
from inspector.light_dataclasses import dataclass, replace
from inspector.model import FileKind, Problem, StoreFile
from inspector.passes.binary_columns import keys_of, repeat, values_of
from inspector.passes.key_filter import filter_of, select_records
from inspector.passes.store_reader import READ_ERRORS, open_stores
from inspector.providers.chain import chain_for
from inspector.schemas import DIFF, array_of, batch_of, problem_batch, record_batch
from inspector.state.key_range import RangeFilter, passes_of, select_range
from inspector.state.live_records import Compared, Differences, TwoVersions

# most bytes of old values that are held until their new ones are read; one value may be longer
PAIRING_BYTES = 64 << 20
_HELD = 128  # bytes that a held value takes in addition to its own


@dataclass(frozen=True)
class DiffTask(Message):
    """Request to compare two versions of a store, or of one of its partitions."""

    old: tuple[Task, ...]  # the partitions of the old version
    new: tuple[Task, ...]  # the partitions of the new version
    limit: int = 0  # most rows that are reported; 0 for all


def differences_of(request: DiffTask) -> Iterator[pa.RecordBatch]:
    """Yield the rows in which two versions differ, as batches of :data:`inspector.schemas.DIFF`.

    The first batch has the counts of each kind of change; problems come last. Nothing is compared
    if a file of one of the versions cannot be read: half of a version would be a wrong answer.
    """
    unit = _Unit(request)
    yield from unit.emit()
    if problems := unit.problems():
        yield problem_batch(DIFF, problems)


class _Part:
    """One partition of a version that is compared: its store, reader and filter."""

    def __init__(self, task: Task) -> None:
        ((self.store, self.reader),) = open_stores(task)
        self.task, self.filter = task, filter_of(task, self.store)


_File = tuple[_Part, StoreFile]  # a file and the part that it belongs to


class _Unit:
    """Comparison of the two versions of one request.

    The first pass learns which keys differ, the second one reads their rows.
    """

    def __init__(self, request: DiffTask) -> None:
        self._limit = request.limit
        self._sides = [[*map(_Part, tasks)] for tasks in (request.old, request.new)]
        self._files: list[list[_File]] = [[], []]
        self._unreadable: set[str] = set()
        passes = [sum(part.task.passes for part in side) for side in self._sides]
        self._passes = passes_of(max(passes))
        self._range: RangeFilter | None = None

    def problems(self) -> list[Problem]:
        """Return the problems of reading, each once although its file is read more than once."""
        result = [p for parts in self._sides for part in parts for p in part.reader.problems]
        return list({(p.slug, p.path, p.message): p for p in result}.values())

    def emit(self) -> Iterator[pa.RecordBatch]:
        """Yield the counts of the differences, then their rows up to the limit.

        Nothing is yielded if a version is not whole.
        """
        result = self._compare()
        if result is None:
            return
        differ = self._meeting(result)
        yield self._counts(differ)
        emitted = 0
        for batch in self._rows(differ):
            left = self._limit - emitted if self._limit else batch.num_rows
            yield batch.slice(0, left)
            emitted += batch.num_rows
            if self._limit and emitted >= self._limit:
                return

    # -- first pass --------------------------------------------------------------------------

    def _compare(self) -> Differences | None:
        """Return the keys that differ, learned one range after the other.

        Returns None if a version is not whole.
        """
        parts: list[Differences] = []
        while len(parts) < len(self._passes):
            unreadable = len(self._unreadable)
            keys, self._range = TwoVersions(), self._passes[len(parts)]
            if not all(self._learn(side, keys) for side in Compared):
                return None
            if parts and unreadable < len(self._unreadable):
                parts = []  # those before are of other files
            else:
                parts.append(keys.differences())
        return Differences.join(parts)

    def _learn(self, side: Compared, keys: TwoVersions) -> bool:
        """Read the keys of one side; return False if its version cannot be restored.

        An unreadable snapshot is left out, and the version is made from an older chain.
        """
        while True:
            try:
                files = [file for part in self._sides[side] for file in self._chain(part)]
            except MissingVersionError:
                return False
            bad = self._read(side, files, keys)
            if bad is None:
                self._files[side] = files
                return True
            if bad.kind is not FileKind.SNAPSHOT:
                return False
            self._unreadable.add(bad.path)
            keys.forget(side)

    def _chain(self, part: _Part) -> list[_File]:
        """Return the files that make a partition's version, without unreadable snapshots.

        MissingVersionError: none can; it is reported, unless a file could not be listed or read.
        """
        usable = (file for file in part.store.files if file.path not in self._unreadable)
        try:
            chain = chain_for(part.reader.provider.files_of(usable), part.task.version)
        except MissingVersionError as error:
            # A chain that lacks only files without read permission is not damaged.
            if not any(problem.slug in UNSEEN for problem in part.reader.problems):
                part.reader.report(error.slug, error.message)
            raise
        return [(part, file) for file in chain.files]

    def _read(self, side: Compared, files: Sequence[_File], keys: TwoVersions) -> StoreFile | None:
        """Learn the keys of some files; return the first file that could not be read, or None."""
        first = 0
        old = [file.path for _, file in self._files[Compared.OLD]]
        if side is Compared.NEW and old and [f.path for _, f in files[: len(old)]] == old:
            keys.start_from_old()
            first = len(old)
        for number, (part, file) in enumerate(files[first:], first):
            try:
                selected = select_records(part.reader.blocks(file), part.filter)
                for block, ordinals in select_range(selected, self._range):
                    keys.learn(side, number, block, ordinals)
            except READ_ERRORS as error:  # noqa: PERF203 - a file takes longer than its try
                part.reader.note_failure(error, file)
                return file
        return None

    def _meeting(self, differ: Differences) -> Differences:
        """Return the differences whose old or new value matches the filter.

        All differences are returned if the filter has no conditions on values.
        """
        if not any(part.filter and part.filter.values for part in self._sides[Compared.NEW]):
            return differ
        parts = [
            ids[part.filter.mask_values(block.select(rows))]
            for side, alone in zip(Compared, ("removed", "added"), strict=True)
            for part, block, rows, ids in self._rows_of_keys(
                differ, [differ.ids["changed"], differ.ids[alone]], side
            )
            if part.filter is not None
        ]
        met = distinct(np.concatenate([np.empty(0, np.int64), *parts]))
        ids_by_change = {change: ids[np.isin(ids, met)] for change, ids in differ.ids.items()}
        return replace(differ, ids=ids_by_change)

    def _counts(self, differ: Differences) -> pa.RecordBatch:
        """Return a batch with the rows, key bytes and value bytes of each kind of change."""
        (first, *_) = [part for parts in self._sides for part in parts]
        location = first.reader.row("count", self._sides[Compared.NEW][0].task.version)
        if max(map(len, self._sides)) > 1:
            location["partition_id"] = None
        rows = []
        for change, ids in differ.ids.items():
            key_bytes = int(differ.key_sizes[ids].sum())
            row = {"change": change, "rows": len(ids), "key_bytes": key_bytes}
            if change != "added":
                row["old_value_bytes"] = int(differ.value_sizes(Compared.OLD, ids).sum())
            if change != "removed":
                row["value_bytes"] = int(differ.value_sizes(Compared.NEW, ids).sum())
            rows.append(location | row)
        return batch_of(DIFF, rows)

    # -- second pass -------------------------------------------------------------------------

    def _rows(self, differ: Differences) -> Iterator[pa.RecordBatch]:
        """Yield the removed rows, then added and changed rows in the new version's order."""
        for number, changed in enumerate(self._rounds(differ)):
            old, new = [changed], [changed]
            if number == 0:
                old, new = [changed, differ.ids["removed"]], [changed, differ.ids["added"]]
            old_bytes: dict[int, bytes] = {}
            for part, block, rows, ids in self._rows_of_keys(differ, old, Compared.OLD):
                pair = np.isin(ids, changed, assume_unique=True)
                values = values_of(block, rows[pair]).to_pylist()
                old_bytes.update(zip(ids[pair].tolist(), values, strict=True))
                gone = rows[~pair]
                if len(gone):
                    value = values_of(block, gone)
                    yield _batch(part, "removed", keys_of(block, gone), value, None)
            for part, block, rows, ids in self._rows_of_keys(differ, new, Compared.NEW):
                yield from _of_new(part, block, rows, ids, old_bytes)

    def _rounds(self, differ: Differences) -> list[Int64s]:
        """Return the ids of changed keys in shares whose old values may be held at once.

        There is always at least one share, which may be empty.
        """
        changed = differ.ids["changed"]
        sizes = differ.value_sizes(Compared.OLD, changed) + _HELD
        share = (np.cumsum(sizes) - sizes) // PAIRING_BYTES
        cuts = np.flatnonzero(np.diff(share)) + 1
        return list(np.split(changed, cuts))

    def _rows_of_keys(
        self, differ: Differences, keys: Sequence[Int64s], side: Compared
    ) -> Iterator[tuple[_Part, RecordBlock, Int64s, Int64s]]:
        """Yield the rows of some keys on one side, by block.

        Each item is (partition, block, indexes of the rows in the block, ids of their keys).
        ``keys`` are arrays of key ids. An error of reading stays with the reader.
        """
        positions, all_ids = differ.places(side, np.concatenate(keys))
        for number, (part, file) in enumerate(self._files[side]):
            if not positions.has_any_in(number):
                continue
            try:
                for block in part.reader.blocks(file):
                    rows, indices = positions.find(number, block.ordinals)
                    if len(rows):
                        yield part, block, rows, all_ids[indices]
            except READ_ERRORS as error:
                # It could be read a moment ago: the query has replaced or removed it meanwhile.
                part.reader.note_failure(error, file)


def _of_new(
    part: _Part, block: RecordBlock, rows: Int64s, ids: Int64s, old_bytes: dict[int, bytes]
) -> Iterator[pa.RecordBatch]:
    """Yield batches of added rows and of changed rows, by the new version's rows of a block.

    A row has changed if ``old_bytes`` has the old value of its id; that entry is removed.
    """
    old = [old_bytes.pop(item, None) for item in ids.tolist()]
    pair = np.array([value is not None for value in old], np.bool_)
    added, changed = rows[~pair], rows[pair]
    if len(added):
        yield _batch(part, "added", keys_of(block, added), None, values_of(block, added))
    if len(changed):
        old_values = array_of([value for value in old if value is not None], pa.binary())
        yield _batch(
            part, "changed", keys_of(block, changed), old_values, values_of(block, changed)
        )


def _batch(part: _Part, change: str, key: Any, old: Any, new: Any) -> pa.RecordBatch:
    """Return a batch of rows with one kind of change: their keys, old values and new values."""
    columns = repeat(part.reader.row("row", part.task.version) | {"change": change}, len(key))
    return record_batch(DIFF, columns | {"key": key, "old_value": old, "value": new}, len(key))
