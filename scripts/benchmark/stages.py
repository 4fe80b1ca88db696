"""Each stage of the pass alone, on bytes in memory: seconds of one core."""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
import pyarrow as pa
from benchmark.shapes import WINDOWED_COUNT

from inspector.decode.frames import inflate
from inspector.decode.records import RecordBlock, read_records
from inspector.decode.row_columns import Int64Path
from inspector.decode.row_programs import RowCheck
from inspector.facts.size_distributions import LiveSizes
from inspector.facts.versions import measure_version
from inspector.kernel.loader import ENVIRONMENT, kernel
from inspector.sparktypes.ddl import parse_ddl
from inspector.state.replay import StateMap, Tracking

if TYPE_CHECKING:
    from inspector.kernel.loader import Kernel

T = TypeVar("T")
KEY = WINDOWED_COUNT.key
VALUE = "count bigint, sum bigint, max timestamp"
HEADER = struct.Struct("<8sBiiI")


class Clock:
    """Adds up the processor time of this thread by stage: other processes do not count.

    What one stage calls of another is on the other's account.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._others = 0.0

    def run(self, stage: str, work: Any, *args: Any) -> Any:
        """Call a function on a stage's account."""
        before, self._others = self._others, 0.0
        start = time.thread_time()
        try:
            return work(*args)
        finally:
            took = time.thread_time() - start
            self.seconds[stage] = self.seconds.get(stage, 0.0) + took - self._others
            self._others = before + took

    def each(self, stage: str, items: Iterator[T]) -> Iterator[T]:
        """What an iterator gives, made on a stage's account."""
        while (item := self.run(stage, next, items, None)) is not None:
            yield item


class Stages(NamedTuple):
    """What one run over a checkpoint took."""

    seconds: dict[str, float]
    records: int
    raw_bytes: int

    @property
    def decode_to_map(self) -> float:
        """Everything from compressed bytes to the map of the newest version."""
        return sum(self.seconds[name] for name in ("inflate", "scan", "intern", "hash", "replay"))


def run(path: Path) -> Stages:
    """Take every file of a checkpoint through all stages, block by block as an audit does."""
    clock = Clock()
    records = raw_bytes = 0
    checks = RowCheck(parse_ddl(KEY)), RowCheck(parse_ddl(VALUE))
    for folder in sorted((path / "state" / "0").glob("[0-9]*")):
        state, sizes = StateMap(Tracking(window_end(), hashed=True)), LiveSizes()
        state._kernel = cast("Kernel", _Apart(state._kernel, clock))
        state._clear()
        for file in sorted(folder.glob("*.delta"), key=lambda item: int(item.stem)):
            data = file.read_bytes()
            clock.run("lz4 alone", _decompress, list(_payloads(data)))
            raw = _Counted(clock.each("inflate", inflate([data], "lz4")))
            state.begin(int(file.stem))
            for block in clock.each("scan", read_records(raw, snapshot=False)):
                records += block.count
                clock.run("check rows", _check, checks, block)
                clock.run("replay", state.apply, block)
            change = clock.run("replay", state.end)
            raw_bytes += raw.size
            clock.run("facts", measure_version, change, state, sizes, {})
    return Stages(clock.seconds, records, raw_bytes)


def best(path: Path, repeat: int, kernel_name: str = "c") -> Stages:
    """The least that each stage took in some runs with one kernel."""
    before = os.environ.get(ENVIRONMENT)
    os.environ[ENVIRONMENT] = kernel_name
    kernel.cache_clear()
    try:
        runs = [run(path) for _ in range(repeat)]
    finally:
        kernel.cache_clear()
        os.environ.pop(ENVIRONMENT)
        if before is not None:
            os.environ[ENVIRONMENT] = before
    minimum = {name: min(item.seconds[name] for item in runs) for name in runs[0].seconds}
    return runs[0]._replace(seconds=minimum)


def window_end() -> Any:
    """Reads the clock of a windowed aggregation, as the audit does."""
    field = Int64Path(parse_ddl(KEY), (0, 1))
    return lambda block: field.read(block.buffer, block.key_offset, block.key_length)[0]


class _Counted:
    """Blocks of bytes, and how many bytes they were."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self.size = blocks, 0

    def __iter__(self) -> Iterator[bytes]:
        for block in self._blocks:
            self.size += len(block)
            yield block


def _check(checks: tuple[RowCheck, RowCheck], block: RecordBlock) -> None:
    assert not checks[0].misfits(block.buffer, block.key_offset, block.key_length)
    assert not checks[1].misfits(block.buffer, block.value_offset, block.value_length)


def _payloads(data: bytes) -> Iterator[tuple[memoryview, int]]:
    view, at = memoryview(data), 0
    while at < len(view):
        _, token, packed, size, _ = HEADER.unpack_from(view, at)
        at += HEADER.size
        if token & 0xF0 == 0x20:
            yield view[at : at + packed], size
        at += packed


def _decompress(payloads: list[tuple[memoryview, int]]) -> None:
    codec = pa.Codec("lz4_raw")
    for payload, size in payloads:
        codec.decompress(payload, size, asbytes=True)


class _Apart:
    """A kernel whose interning and hashing are on accounts of their own."""

    def __init__(self, real: Any, clock: Clock) -> None:
        self._real, self._clock = real, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def hash64(self, *args: Any) -> None:
        self._clock.run("hash", self._real.hash64, *args)

    def Interner(self, *args: Any) -> Any:  # noqa: N802 - as in the kernels
        return _ApartInterner(self._real.Interner(*args), self._clock)


class _ApartInterner:
    def __init__(self, real: Any, clock: Clock) -> None:
        self._real, self._clock = real, clock

    def intern(self, *args: Any) -> None:
        self._clock.run("intern", self._real.intern, *args)

    def __len__(self) -> int:
        return len(self._real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def distinct(path: Path) -> int:
    """Keys of a checkpoint, to hold against Spark's count."""
    total = 0
    for folder in (path / "state" / "0").glob("[0-9]*"):
        interner = kernel().Interner()
        for file in folder.glob("*.delta"):
            for block in read_records(inflate([file.read_bytes()], "lz4"), snapshot=False):
                ids = np.empty(block.count, np.int64)
                interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        total += len(interner)
    return total
