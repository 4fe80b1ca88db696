"""Changes of one version: counts of records, keys before and after, and sums over the keys."""

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

NO_LATER = (1 << 63) - 1  # earliest clock of a version that puts no clock
# size in bytes below which the kernel counts rows of each size, in a table of that length
_SMALL = 1 << 14


class Moves(NamedTuple):
    """Rows that a version adds, removes or changes in size; arrays run parallel."""

    at: Int64s  # index of the version
    key_size: Int64s  # bytes of the key
    value_size: Int64s  # bytes of the value
    rows: Int64s  # 1 for a row with these sizes that the version adds, -1 for one that it removes

    @classmethod
    def of(
        cls, steps: Int64s, key_size: Int64s, touched: npt.NDArray[Any], now_size: Int64s
    ) -> Moves:
        """Return the moves of touched keys; a key whose size changes is removed and added.

        ``steps`` has the version of each key, ``touched`` its entry before it, ``now_size`` the
        size of its value after it (negative if removed).
        """
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

    version: int  # the version
    # True if the map was loaded from a snapshot, so that the change is not known
    rebased: bool = False
    # sums over the keys that it touched
    sums: ChangeSums = ChangeSums._make([*[0] * len(layout.SUMS), {}])
    counts: RecordCounts = field(default_factory=RecordCounts)  # counts over its records
    # position of the first record whose key is below the previous one in its block; None if the
    # keys ascend, or were not compared
    first_descent: int | None = None
    # least clock that its records put; None without one. A timer that is not set (-1) does not
    # count
    earliest_put: int | None = None
    # greatest clock of the rows that its records remove; None without one
    latest_removal: int | None = None
    # True if the records are in the order in which the batch wrote them, False if they come from
    # the difference of two snapshots
    ordered: bool = True


class Changes(NamedTuple):
    """Changes of several consecutive versions; arrays have one number for each version."""

    versions: Int64s  # the versions, ascending
    sums: ChangeSums  # sums over the touched keys, as arrays and without sizes
    counts: RecordCounts  # counts over the records, as arrays
    rows: Int64s  # live rows after the version
    key_bytes: Int64s  # bytes of their keys
    value_bytes: Int64s  # bytes of their values
    earliest_put: Int64s  # least clock that its records put; NO_LATER for none
    latest_removal: Int64s  # greatest clock of the rows that it removes; NO_CLOCK for none
    moves: Moves  # rows that were added, removed, or changed in size

    def iterate(self, selection: Int64s | slice = slice(None)) -> Iterator[Change]:
        """Yield the change of each version, or of ``selection``, without sums and moves."""
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
    was_size: Int64s  # bytes of the value in the previous version
    now_size: Int64s  # bytes of the value in this version
    was_clock: Int64s  # clock in the previous version; NO_CLOCK if there was none
    was_live: Bools  # True if the key is in the previous version
    now_live: Bools  # True if the key is in this version
    written: Bools  # True if it was put at least once, so that the value object is new
    reborn: Bools  # True if it was absent before its put, so that the key object is new too
    # True if it was put, is in both versions, and its value is equal except for the clock slot
    same_state: Bools
    same_value: Bools  # True if its clock is equal as well
    # with a clock slot only: indexes of the keys whose last record replaced another one of the same
    # version. Their ``was_clock`` is the clock that the other record had put
    again: Int64s = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(
        cls, table: npt.NDArray[Any], parts: list[npt.NDArray[Any]], step: int, flags: int
    ) -> TouchedKeys:
        """Return the keys that the kernel recorded as touched by a version, and empty ``parts``.

        ``table`` is the map's table, ``step`` the version's index, ``flags`` those of the version.
        """
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
    """Sums over the keys that a version touches, which the kernel adds up.

    Attributes:
        sums: sums in the order of the kernel's layout.
        by_size: changes in the number of rows by kind and size, for sizes below ``_SMALL``.
    """

    def __init__(self) -> None:
        self.sums = np.zeros(len(layout.SUMS), np.int64)
        self.by_size = np.zeros((len(layout.SIZES), _SMALL), np.int64)  # only what is used is there
        self._largest = 0

    def clear(self) -> None:
        """Set all sums to zero for a new version."""
        self.sums[:] = 0
        self.by_size[:, : self._largest + 1] = 0
        self._largest = 0

    def note_largest(self, size: int) -> None:
        """Note the largest size that the kernel has met."""
        self._largest = max(self._largest, size)

    def finish(self, keys: Callable[[], TouchedKeys]) -> ChangeSums:
        """Return the sums of a version; ``keys`` gives its touched keys, if a row is too large."""
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
    """Add to ``counters`` the changes in rows of each size from ``_SMALL`` on.

    ``counters`` has a dict from size to change for each of key, value and row size. A row of the
    previous version counts -1, and a row of this version counts 1. Rows of unchanged size do not
    count.
    """
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
