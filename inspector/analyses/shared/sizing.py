"""Which executors hold a state: tables of shapes, and what can be said in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Annotated, Any

from inspector.analyses.shared.heap import MemoryOptions, StoreHeap
from inspector.estimates.sizing import (
    MANAGED_PERCENT,
    RESERVED_BYTES,
    SHAPES,
    Load,
    Shape,
    heap_bytes_for,
    room_bytes,
)
from inspector.render import tabular as t
from inspector.render.report import Table
from inspector.render.units import bytes_text, counted


@dataclass(frozen=True, kw_only=True)
class ExecutorRow(t.Row, table="executors"):
    """What one executor holds; with `--executors`."""

    spread: Annotated[
        t.Text, "How the partitions are placed on executors: `evenly` or `at worst`.", t.Rank(1)
    ]
    bytes: Annotated[t.Bytes, "Bytes of state on the heap of one executor.", t.Rank(2), t.ESTIMATE]
    share_of_heap: Annotated[
        t.Share | None, "Their part of the heap that `--heap` names; null without it.", t.ESTIMATE
    ]
    fits: Annotated[
        t.Flag | None,
        "Whether that is within what is left to the state; null without `--heap`.",
        t.Rank(3),
        t.ESTIMATE,
    ]
    heap_needed_bytes: Annotated[
        t.Bytes,
        "The smallest heap of an executor that leaves so much to the state.",
        t.Rank(4),
        t.ESTIMATE,
    ]


@dataclass(frozen=True, kw_only=True)
class ShapeRow(t.Row, table="shapes"):
    """How many executors of one size hold the state."""

    executor_heap_bytes: Annotated[
        t.Bytes, "Heap of an executor: spark.executor.memory.", t.Title("executor heap"), t.Rank(1)
    ]
    cores: Annotated[t.Count, "Tasks that an executor runs at a time.", t.Rank(3)]
    room_bytes: Annotated[t.Bytes, "What of that heap is left to the state.", t.ESTIMATE]
    executors: Annotated[
        t.Count | None,
        "How many hold it, even if the largest partitions meet on one; null if no number "
        "does, because one partition takes too much.",
        t.Rank(2),
        t.ESTIMATE,
    ]
    executors_if_even: Annotated[
        t.Count | None,
        "How many hold it if the partitions are spread evenly.",
        t.Rank(4),
        t.ESTIMATE,
    ]
    executor_bytes: Annotated[
        t.Bytes | None,
        "State on the heap of one of these executors, at most.",
        t.Rank(5),
        t.ESTIMATE,
    ]


_TYPICAL = Shape(8 << 30, 4)


@dataclass(frozen=True)
class Sizing:
    """A state's load on executors, as far as it is known.

    Attributes:
        load: by partition, for heaps of a size. The JVM makes larger objects in heaps that are
            not below 32 GiB.
        usual, most: heap of each partition of an operator between batches and in one, in bytes.
        options: what its user said of the executors.
    """

    load: Callable[[int | None], Load]
    usual: Sequence[int]
    most: Sequence[int]
    options: MemoryOptions

    @classmethod
    def of(
        cls, stores: Callable[[int | None], Sequence[StoreHeap]], options: MemoryOptions
    ) -> Sizing:
        """From the heaps of a state's stores, for executors whose heaps have a size."""
        usual, most = _by_partition(stores(options.heap_bytes))

        @cache
        def load(heap_bytes: int | None) -> Load:
            return Load(*_by_partition(stores(heap_bytes)))

        return cls(load, usual, most, options)

    @property
    def summary(self) -> dict[str, Any]:
        """What a partition takes; what the options ask for."""
        found: dict[str, Any] = {
            "partitions": len(self.usual),
            "largest_partition_estimate_bytes": max(self.usual, default=0),
            "largest_partition_peak_estimate_bytes": max(self.most, default=0),
            "median_partition_estimate_bytes": round(median(self.usual)) if self.usual else 0,
        }
        return found | self._answer()

    def _answer(self) -> dict[str, Any]:
        executors, heap = self.options.executors, self.options.heap_bytes
        if executors is not None:
            need = self.load(heap).spread(executors, self.options.cores)
            if heap is None:
                return {"heap_needed_estimate_bytes": self._heap_for(need.worst)}
            room = self._room(heap)
            return {"fits_if_even": need.even <= room, "fits_at_worst": need.worst <= room}
        if heap is None:
            return {}
        number, even = self._executors(Shape(heap, self.options.cores))
        fits = {"fits_if_even": even is not None, "fits_at_worst": number is not None}
        return fits if number is None else fits | {"executors_needed": number}

    def tables(self) -> Iterator[Table]:
        """Shapes of executors; with the number of executors, what one of them holds."""
        if self.options.executors is not None:
            yield self._executor_table(self.options.executors)
            return
        heap = self.options.heap_bytes
        shapes = SHAPES if heap is None else (Shape(heap, self.options.cores),)
        yield ShapeRow.table("executors that would hold the state", list(map(self._row, shapes)))

    def notes(self) -> Iterator[str]:
        """What can be said in sentences, the answer first."""
        if not self.usual:
            return
        yield self._now()
        executors, heap = self.options.executors, self.options.heap_bytes
        if executors is None:
            yield self._needed(_TYPICAL if heap is None else Shape(heap, self.options.cores))
        else:
            yield self._held(executors, heap)
        yield self._assumption()

    # -- sentences ---------------------------------------------------------------------------------

    def _now(self) -> str:
        usual, most = self.usual, self.most
        return (
            f"{counted(self.options.retain, 'version')} of the state "
            f"{'take' if self.options.retain != 1 else 'takes'} about {bytes_text(sum(usual))} of "
            f"heap, all executors together, and up to {bytes_text(sum(most))} while a batch runs. "
            f"The largest of {counted(len(usual), 'partition')} takes about "
            f"{bytes_text(max(usual))}, up to {bytes_text(max(most))} in a batch."
        )

    def _needed(self, shape: Shape) -> str:
        number, even = self._executors(shape)
        size = bytes_text(shape.heap_bytes)
        with_cores = f"with {counted(shape.cores, 'core')}"
        if number is None:
            alone = self.load(shape.heap_bytes).spread(len(self.usual), shape.cores).worst
            return (
                f"No number of executors of {size} would hold it: each has room for "
                f"{bytes_text(self._room(shape.heap_bytes))} of state, and one partition takes up "
                f"to {bytes_text(alone)}. It takes larger heaps, or smaller partitions."
            )
        each = "would hold it" if number != 1 else "would hold all of it"
        less = "" if even in (None, number) else f"; {even} if the partitions are spread evenly"
        return f"About {counted(number, 'executor')} of {size} {with_cores} {each}{less}."

    def _held(self, executors: int, heap: int | None) -> str:
        need = self.load(heap).spread(executors, self.options.cores)
        each = f"Each of {counted(executors, 'executor')}" if executors != 1 else "The executor"
        what = f"{each} holds about {bytes_text(need.even)}"
        if need.worst != need.even:
            what += f", up to {bytes_text(need.worst)} if the largest partitions are at work there"
        if heap is None:
            return f"{what}: a heap of {bytes_text(self._heap_for(need.worst))} has room for that."
        room, size = self._room(heap), bytes_text(heap)
        if need.even > room:
            return f"{what}: that does not fit into a heap of {size}, however it is spread."
        if need.worst > room:
            return f"{what}: that fits into a heap of {size} only if it is spread evenly."
        return f"{what}: that fits into a heap of {size}."

    def _assumption(self) -> str:
        percent = self.options.state_percent
        if percent is not None:
            return f"The state is taken to fill at most {percent} % of an executor's heap."
        fraction = MANAGED_PERCENT / 100
        return (
            f"It is assumed that the state fills no more of a heap than Spark leaves to it: of all "
            f"but {bytes_text(RESERVED_BYTES)}, which are reserved, spark.memory.fraction "
            f"({fraction} by default) is for shuffles, joins and caches; the rest, "
            f"{bytes_text(room_bytes(_TYPICAL.heap_bytes))} of {bytes_text(_TYPICAL.heap_bytes)}, "
            "is for the state and all other objects of the executor. --state-percent says "
            "otherwise."
        )

    # -- numbers -----------------------------------------------------------------------------------

    def _row(self, shape: Shape) -> ShapeRow:
        number, even = self._executors(shape)
        holds = None if number is None else self.load(shape.heap_bytes).spread(number, shape.cores)
        return ShapeRow(
            executor_heap_bytes=shape.heap_bytes,
            cores=shape.cores,
            room_bytes=self._room(shape.heap_bytes),
            executors=number,
            executors_if_even=even,
            executor_bytes=None if holds is None else holds.worst,
        )

    def _executors(self, shape: Shape) -> tuple[int | None, int | None]:
        load, room = self.load(shape.heap_bytes), self._room(shape.heap_bytes)
        worst = load.executors_for(room, shape.cores, evenly=False)
        return worst, load.executors_for(room, shape.cores, evenly=True)

    def _executor_table(self, executors: int) -> Table:
        heap = self.options.heap_bytes
        need = self.load(heap).spread(executors, self.options.cores)
        rows = [
            ExecutorRow(
                spread=spread,
                bytes=amount,
                share_of_heap=None if not heap else amount / heap,
                fits=None if heap is None else amount <= self._room(heap),
                heap_needed_bytes=self._heap_for(amount),
            )
            for spread, amount in (("evenly", need.even), ("at worst", need.worst))
        ]
        cores = counted(self.options.cores, "core")
        which = f"each of {executors:,} executors" if executors != 1 else "one executor"
        return ExecutorRow.table(f"state on {which} with {cores}", rows)

    def _room(self, heap_bytes: int) -> int:
        return room_bytes(heap_bytes, self.options.state_percent)

    def _heap_for(self, room: int) -> int:
        return heap_bytes_for(room, self.options.state_percent)


def _by_partition(stores: Sequence[StoreHeap]) -> tuple[list[int], list[int]]:
    """Heap of each partition of an operator, whose stores lie on one executor: usual and most."""
    usual: dict[tuple[int, int], int] = {}
    most: dict[tuple[int, int], int] = {}
    for one in stores:
        place = one.store.operator_id, one.store.partition_id
        usual[place] = usual.get(place, 0) + one.held.total
        most[place] = most.get(place, 0) + one.peak.total
    return list(usual.values()), list(most.values())
