"""The one pass: every restorable version of a store, oldest first, each file read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from inspector.decode.key_order import KeyOrder
from inspector.decode.records import RecordBlock
from inspector.decode.rows import Int64Path, RowDecoder, fixed_slot_offset
from inspector.measure.leftovers import (
    Clocks,
    Leftovers,
    TimeoutKind,
    TimerEvidence,
    find_leftovers,
    overdue_evidence,
    timer_evidence,
)
from inspector.measure.sizes import LiveSizes
from inspector.measure.versions import measure_version
from inspector.model import BatchClock, StoreFile
from inspector.operators.rule import Clock, ExpiryField, Side
from inspector.pipeline.reading import READ_ERRORS, StoreReader
from inspector.pipeline.tasks import StoreTask, Task
from inspector.sparktypes import StructType, parse_schema_json, widen_timeout
from inspector.state.chain import Step, StoreFiles, replay_steps
from inspector.state.compare import compare_snapshot
from inspector.state.replay import NO_CLOCK, Change, Int64s, StateMap, Tracking

MISFITS_LISTED = 3
"""Rows of one file that are named when they do not fit their schema; the others are counted."""


def audit_store(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[dict[str, Any]]:
    """Replay a store and tell its facts; problems stay with ``reader``."""
    pass_ = _Pass(task, store, reader)
    files = StoreFiles.of(store.files)
    for step in replay_steps(files, task.version):
        change = pass_.take(step)
        if change is not None:
            yield from pass_.tell_version(change, step)
    if pass_.whole and pass_.state.versions[-1:] == [task.version]:
        yield from pass_.tell_leftovers()


class _Pass:
    """A store on its way through its versions.

    Attributes:
        state: the map so far.
        whole: the map is that of the step taken last; False after a file that could not be read.
    """

    def __init__(self, task: Task, store: StoreTask, reader: StoreReader) -> None:
        self._task, self._store, self._reader = task, store, reader
        self._fit = _Fit(store, reader) if task.fit else None
        self.state = StateMap(tracking(store))
        self.whole = True
        self._sizes = LiveSizes()
        self._batches: dict[int, BatchClock] = {c.batch_id: c for c in task.clocks}
        self._timers = TimerEvidence()

    # -- replay ------------------------------------------------------------------------------

    def take(self, step: Step) -> Change | None:
        """Take one step; None if its version could not be made."""
        if step.base is not None:
            return self._load(step.base)
        assert step.delta is not None
        change: Change | None = None
        if self.whole:
            change = self._apply(step.delta)
        else:
            self._pass_over(step.delta)
        if change is None:
            return self._load(step.check) if step.check is not None else None
        if step.check is not None:
            self._compare(step.check)
        return change

    def _load(self, file: StoreFile) -> Change | None:
        self.state.begin(file.version or 0, rebase=True)
        return self._run(file)

    def _apply(self, file: StoreFile) -> Change | None:
        self.state.begin(file.version or 0)
        return self._run(file)

    def _run(self, file: StoreFile) -> Change | None:
        try:
            for block in self._checked(file):
                self.state.apply(block)
        except READ_ERRORS as error:
            self._reader.failed(error, file)
            self.whole = False
            return None
        self.whole = True
        return self.state.end()

    def _pass_over(self, file: StoreFile) -> None:
        """Only see whether a file can be read: its version cannot be made."""
        try:
            for _ in self._checked(file):
                pass
        except READ_ERRORS as error:
            self._reader.failed(error, file)

    def _compare(self, file: StoreFile) -> None:
        raw_bytes = self._reader.raw_bytes
        try:
            difference = compare_snapshot(self.state, self._checked(file))
        except READ_ERRORS as error:
            self._reader.failed(error, file)
        else:
            if difference:
                self._reader.report(
                    "snapshot-differs",
                    f"{difference.missing} keys are missing, {difference.extra} are too many and "
                    f"{difference.different} have another value, "
                    "expected what the deltas up to this version make",
                    file,
                )
        self._reader.raw_bytes = raw_bytes

    def _checked(self, file: StoreFile) -> Iterable[RecordBlock]:
        blocks = self._reader.blocks(file)
        return blocks if self._fit is None else self._fit.check(file, blocks)

    # -- facts -------------------------------------------------------------------------------

    def tell_version(self, change: Change, step: Step) -> Iterator[dict[str, Any]]:
        """The facts of the version that a step made."""
        snapshot = step.base or step.check
        files = {
            "delta_bytes": step.delta.size if step.delta else 0,
            "snapshot_bytes": snapshot.size if snapshot else 0,
            "raw_bytes": self._reader.raw_bytes,
        }
        facts = measure_version(change, self.state, self._sizes, files)
        if self.state.tracking.clock_slot >= 0 and not change.rebased:
            clock = self._batches.get(change.version - 1)
            self._timers += timer_evidence(change, self.state, clock)
        yield self._reader.row("version", change.version) | facts.columns()

    def tell_leftovers(self) -> Iterator[dict[str, Any]]:
        """The leftovers of the version that was replayed last."""
        expiry = self._store.expiry
        if expiry is None or self.state.tracking.clock is None:
            return
        clocks = Clocks.of(self.state.versions, self._batches)
        kinds: tuple[TimeoutKind, ...] = ()
        if expiry.clock is Clock.TIMEOUT:
            if self._store.timers_always_clear:
                self._timers += overdue_evidence(self.state, clocks)
            kinds = self._timers.possible(self._store.timeout_kinds)
            yield self._reader.row("timers", self._task.version) | {
                "timeout_kind": ",".join(kind.value for kind in kinds)
            }
        found = find_leftovers(
            self.state,
            expiry,
            clocks,
            certainty=self._store.certainty,
            timers=(self._timers, kinds),
        )
        for leftovers in found:
            yield from self._tell(leftovers)

    def _tell(self, leftovers: Leftovers) -> Iterator[dict[str, Any]]:
        state, ids = self.state, leftovers.ids
        if not len(ids):
            return
        kind = leftovers.timeout_kind
        common: dict[str, Any] = {
            "leftover_class": leftovers.kind.value,
            "certainty": leftovers.certainty.value,
            "timeout_kind": None if kind is None else kind.value,
        }
        versions = np.array(state.versions, np.int64)
        yield (
            self._reader.row("leftovers", self._task.version)
            | common
            | {
                "rows": len(ids),
                "key_bytes": int(state.key_size[ids].sum(dtype=np.int64)),
                "value_bytes": int(state.value_size[ids].sum(dtype=np.int64)),
                "expired_version": int(versions[leftovers.expired_step].min()),
            }
        )
        for i in self._listed(leftovers):
            key_id = int(ids[i])
            put = int(state.put_step[key_id])
            yield (
                self._reader.row("leftover", self._task.version)
                | common
                | {
                    "key": state.keys(ids[i : i + 1])[0],
                    "key_bytes": int(state.key_size[key_id]),
                    "value_bytes": int(state.value_size[key_id]),
                    "expired_version": int(versions[leftovers.expired_step[i]]),
                    "clock_ms": int(leftovers.clock_ms[i]),
                    "threshold_ms": int(leftovers.threshold_ms[i]),
                    "last_put_version": None if put < 0 else int(versions[put]),
                    "puts": int(state.puts[key_id]),
                    "fired": int(leftovers.fired[i]),
                }
            )

    def _listed(self, leftovers: Leftovers) -> list[int]:
        """Positions of the leftovers to list: oldest first, then largest, up to the limit."""
        ids = leftovers.ids
        size = self.state.key_size[ids].astype(np.int64) + self.state.value_size[ids]
        order = np.lexsort((ids, -size, leftovers.expired_step))
        limit = self._task.leftover_limit
        chosen: list[int] = (order[:limit] if limit else order).tolist()
        return chosen


class _Fit:
    """Holds every row against its schema.

    Spark does so with the first row of a partition
    (``UnsafeRowUtils.validateStructuralIntegrity``).
    """

    def __init__(self, store: StoreTask, reader: StoreReader) -> None:
        key, value = schemas(store)
        self._decoders = [
            (name, RowDecoder(schema), name == "value")
            for name, schema in (("key", key), ("value", value))
            if schema is not None
        ]
        self._reader = reader

    def check(self, file: StoreFile, blocks: Iterable[RecordBlock]) -> Iterator[RecordBlock]:
        """Hand the blocks on; report the rows that do not fit."""
        misfits = 0
        for block in blocks:
            for name, decoder, is_value in self._decoders:
                misfits += self._of_block(file, block, name, decoder, is_value, misfits)
            yield block
        if misfits > MISFITS_LISTED:
            self._reader.report(
                "bad-row", f"{misfits} rows of the file do not fit their schema", file
            )

    def _of_block(
        self,
        file: StoreFile,
        block: RecordBlock,
        name: str,
        decoder: RowDecoder,
        is_value: bool,
        before: int,
    ) -> int:
        rows = np.arange(block.count)
        offsets, lengths = block.key_offset, block.key_length
        if is_value:
            rows = np.flatnonzero(block.value_length >= 0)
            offsets, lengths = block.value_offset[rows], block.value_length[rows]
        misfits = decoder.decode(block.buffer, offsets, lengths).misfits
        for index, message in misfits[: max(0, MISFITS_LISTED - before)]:
            record = block.first_record + int(rows[index])
            raw = block.raw_offset + int(offsets[index])
            self._reader.report(
                "bad-row", f"{name} of record {record} at raw byte {raw}: {message}", file
            )
        return len(misfits)


def schemas(store: StoreTask) -> tuple[StructType | None, StructType | None]:
    """Key and value schema of a store as its rows are laid out, None where unknown.

    A group state of format 1 declares its timer ``integer`` and stores 64 bits.
    """
    key = None if store.key_schema is None else parse_schema_json(store.key_schema)
    value = None if store.value_schema is None else parse_schema_json(store.value_schema)
    return key, None if value is None else widen_timeout(value)


def tracking(store: StoreTask) -> Tracking:
    """What has to be read from every record to judge it by the store's rule."""
    expiry = store.expiry
    key, value = schemas(store)
    schema = None if expiry is None else (key if expiry.side is Side.KEY else value)
    if expiry is None or schema is None:
        return Tracking()
    clock = _clock_reader(expiry, schema)
    if expiry.clock is Clock.WATERMARK:
        return Tracking(clock)
    descends = None if key is None else KeyOrder(key).descends
    return Tracking(clock, fixed_slot_offset(schema, expiry.path[0]), descends)


def _clock_reader(expiry: ExpiryField, schema: StructType) -> Any:
    field = Int64Path(schema, expiry.path)
    of_key = expiry.side is Side.KEY

    def read(block: RecordBlock) -> Int64s:
        clocks = np.full(block.count, NO_CLOCK)
        rows = np.flatnonzero(block.value_length >= 0)
        offsets = (block.key_offset if of_key else block.value_offset)[rows]
        lengths = (block.key_length if of_key else block.value_length)[rows]
        values, valid = field.read(block.buffer, offsets, lengths)
        clocks[rows[valid]] = values[valid]
        return clocks

    return read
