"""When the live rows were last put: facts that hold whatever the rule, or without any.

A put writes the row again, also with an equal value; so the age is that of the last call that
wrote, not of the last change. What a snapshot brought was put at its version or before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from inspector.state.replay import BEFORE_WINDOW, NO_CLOCK, StateMap

BEFORE = 0
"""In place of a version: put before the window, at the version of the snapshot or earlier."""


@dataclass(frozen=True)
class Ages:
    """Live rows and their bytes by the version of the last put. Adds; the zero is empty.

    Attributes:
        rows, bytes: by version; BEFORE for those put before the window.
        window_version: the newest version of any partition at which its history begins.
        first_known: the newest of the oldest versions whose changes are known.
        oldest_ms, newest_ms: of the rule's event-time field over all live rows; None without one.
    """

    rows: Counter[int] = field(default_factory=Counter)
    bytes: Counter[int] = field(default_factory=Counter)
    window_version: int = 0
    first_known: int = 0
    oldest_ms: int | None = None
    newest_ms: int | None = None

    def __add__(self, other: Ages) -> Ages:
        oldest = [one.oldest_ms for one in (self, other) if one.oldest_ms is not None]
        newest = [one.newest_ms for one in (self, other) if one.newest_ms is not None]
        return Ages(
            self.rows + other.rows,
            self.bytes + other.bytes,
            max(self.window_version, other.window_version),
            max(self.first_known, other.first_known),
            min(oldest, default=None),
            max(newest, default=None),
        )

    @property
    def total(self) -> tuple[int, int]:
        """Rows and bytes."""
        return sum(self.rows.values()), sum(self.bytes.values())


def measure_ages(state: StateMap) -> Iterator[tuple[int, int, int]]:
    """Version of the last put (or BEFORE), rows and bytes of the live rows put then."""
    slots = len(state.versions) - BEFORE_WINDOW
    rows, weights = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    for some in state.portions():
        live, slot = state.live[some], state.put_step[some] - BEFORE_WINDOW
        # bincount adds in doubles, which are exact up to 2^53 bytes.
        sizes = np.add(state.key_size[some], state.value_size[some], dtype=np.float64)
        if not live.all():
            slot, sizes = slot[live], sizes[live]
        rows += np.bincount(slot, minlength=slots)
        weights += np.bincount(slot, sizes, slots).astype(np.int64)
    for at in np.flatnonzero(rows).tolist():
        version = BEFORE if at == 0 else state.versions[at + BEFORE_WINDOW]
        yield version, int(rows[at]), int(weights[at])


def clock_range_ms(state: StateMap, per_ms: int) -> tuple[int, int] | None:
    """Oldest and newest clock of the live rows in ms, rounded up; None where none has one."""
    ends: list[int] = []
    for some in state.portions():
        clock = state.clock[some]
        told = state.live[some] & (clock != NO_CLOCK)
        if told.any():
            clock = clock if told.all() else clock[told]
            ends += int(clock.min()), int(clock.max())
    return (-(-min(ends) // per_ms), -(-max(ends) // per_ms)) if ends else None
