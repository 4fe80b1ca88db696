"""Changes of one version: counts of records, keys before and after, and sums over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s, tally
from inspector.kernel import record_layout as layout
from inspector.kernel.loader import kernel
from inspector.kernel.record_layout import NO_CLOCK, ChangeSums, RecordCounts
from inspector.light_dataclasses import dataclass, field

NO_LATER = (1 << 63) - 1  # in place of the earliest of no clocks
_SMALL = 1 << 14  # sizes, bytes, below which the kernel counts rows, in a table of that length


class Moves(NamedTuple):
    """Live rows more (1), or less (-1), than in the version before: its place, and sizes."""

    at: Int64s
    key_size: Int64s
    value_size: Int64s
    rows: Int64s

    @classmethod
    def of(
        cls, steps: Int64s, key_size: Int64s, touched: npt.NDArray[Any], now_size: Int64s
    ) -> Moves:
        """Return the moves of touched keys, from their old entries and the new sizes of values."""
        was, old_size = touched["live"], touched["size"].astype(np.int64)
        now = now_size >= 0
        moved = ~(was & now & (old_size == now_size))
        went, came = np.flatnonzero(was & moved), np.flatnonzero(now & moved)
        all_steps = np.concatenate([went, came])
        sizes, rows = (
            np.concatenate([old_size[went], now_size[came]]),
            np.ones(len(all_steps), np.int64),
        )
        rows[: len(went)] = -1
        return cls(steps[all_steps], key_size[all_steps], sizes, rows)


@dataclass(frozen=True)
class Change:
    """Changes of one version."""

    version: int
    # the map was loaded from a snapshot, so that nothing is known of the change
    rebased: bool = False
    # over the keys that it touched
    sums: ChangeSums = ChangeSums._make([*[0] * len(layout.SUMS), {}])
    counts: RecordCounts = field(default_factory=RecordCounts)  # over its records
    # position of the first record whose key is below the one before it in its block; None if the
    # keys ascend, or were not compared
    first_descent: int | None = None
    # the least clock that its records put; None if none has one. A timer that is not armed (-1) is
    # none.
    earliest_put: int | None = None
    # the greatest clock that a row had which its records remove; None as above
    latest_removal: int | None = None
    # the records stand in the order in which the batch wrote them; those by which two snapshots
    # differ stand in the order of the tables
    ordered: bool = True


class Changes(NamedTuple):
    """Changes of several successive versions; arrays have one number for each version."""

    versions: Int64s
    # sums, counts: as of :class:`Change`, with arrays in place of numbers and without sizes
    sums: ChangeSums
    counts: RecordCounts
    # rows, key_bytes, value_bytes: of the map behind each version
    rows: Int64s
    key_bytes: Int64s
    value_bytes: Int64s
    # earliest_put, latest_removal: as of :class:`Change`; NO_LATER and NO_CLOCK for none
    earliest_put: Int64s
    latest_removal: Int64s
    moves: Moves  # the rows that came, went, or changed their size

    def iterate(self, selection: Int64s | slice = slice(None)) -> Iterator[Change]:
        """Yield the changes of each version, or of those at ``selection``, without their sums."""
        counts = vars(self.counts).values()
        columns = self.versions, self.earliest_put, self.latest_removal, *counts
        parts = (column[selection].tolist() for column in columns)
        for version, put, removal, *numbers in zip(*parts, strict=True):
            yield Change(
                version,
                counts=RecordCounts(*numbers),
                earliest_put=None if put == NO_LATER else put,
                latest_removal=None if removal == NO_CLOCK else removal,
            )


@dataclass(frozen=True)
class TouchedKeys:
    """Effect of a version on each key that it touched; arrays are parallel to ``ids``."""

    ids: Int64s  # every key that a record of the version names, once
    key_size: Int64s  # UnsafeRow bytes of the key
    # was_size, was_clock, was_live: in the version before (NO_CLOCK where there was none)
    was_size: Int64s
    now_size: Int64s
    was_clock: Int64s
    was_live: Bools
    now_live: Bools
    written: Bools  # put at least once, so that the value object is new
    reborn: Bools  # absent at some moment before its put, so that the key object is new too
    # live before and after, was written, and its value is equal except for the clock slot
    same_state: Bools
    same_value: Bools  # its clock is too
    # places of the keys whose last record replaced one of the same version, with a clock slot only:
    # of those ``was_clock`` is the clock that the record before had put
    again: Int64s = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(
        cls, table: npt.NDArray[Any], parts: list[npt.NDArray[Any]], step: int, flags: int
    ) -> TouchedKeys:
        """Return the keys that the kernel recorded as touched by a version, and clear ``parts``."""
        count = sum(map(len, parts))
        numbers = np.empty((len(layout.NUMBERS), count), np.int64)
        outcomes = np.empty((len(layout.OUTCOMES), count), np.bool_)
        first = 0
        parts.reverse()
        while parts:  # each part goes as soon as its columns are there
            part = parts.pop()
            kernel().change_columns(table, part, step, flags, first, numbers, outcomes)
            first += len(part)
        names = (*layout.NUMBERS, *layout.OUTCOMES)
        return cls(**dict(zip(names, (*numbers, *outcomes), strict=True)))


class Adder:
    """The sums over the keys that a version touches, version after version."""

    def __init__(self) -> None:
        self.sums = np.zeros(len(layout.SUMS), np.int64)
        self.by_size = np.zeros((len(layout.SIZES), _SMALL), np.int64)  # only what is used is there
        self._largest = 0

    def clear(self) -> None:
        """Start a version."""
        self.sums[:] = 0
        self.by_size[:, : self._largest + 1] = 0
        self._largest = 0

    def note_largest(self, size: int) -> None:
        """Note the largest size that the kernel has added."""
        self._largest = max(self._largest, size)

    def finish(self, keys: Callable[[], TouchedKeys]) -> ChangeSums:
        """The sums of a version; ``keys`` gives those that it touched, where rows are too large."""
        counters: list[dict[int, int]] = [{} for _ in layout.SIZES]
        used = self.by_size[:, : self._largest + 1]
        step_index, sizes = used.nonzero()
        if len(step_index):
            counted = zip(
                step_index.tolist(), sizes.tolist(), used[step_index, sizes].tolist(), strict=True
            )
            for kind, size, count in counted:
                counters[kind][size] = count
        if self._largest >= _SMALL:
            _count_large(keys(), counters)
        return ChangeSums._make(
            [*self.sums.tolist(), dict(zip(layout.SIZES, counters, strict=True))]
        )


def _count_large(keys: TouchedKeys, counters: list[dict[int, int]]) -> None:
    """Count the rows of sizes for which the kernel's table has no room."""
    moved = ~(keys.was_live & keys.now_live & (keys.was_size == keys.now_size))
    for live, values, rows in (
        (keys.was_live, keys.was_size, -1),
        (keys.now_live, keys.now_size, 1),
    ):
        for counts, sizes in zip(
            counters, (keys.key_size, values, keys.key_size + values), strict=True
        ):
            large, result = tally(sizes[live & moved & (sizes >= _SMALL)])
            for size, count in zip(large.tolist(), result.tolist(), strict=True):
                counts[size] = counts.get(size, 0) + rows * count
                if not counts[size]:
                    del counts[size]
