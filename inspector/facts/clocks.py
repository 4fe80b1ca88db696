"""The clocks that a replay's steps are judged by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from inspector.arrays import Bools, Int64s, distinct
from inspector.light_dataclasses import dataclass
from inspector.model import BatchClock, TimeoutKind
from inspector.state.replay import NO_CLOCK


@dataclass(frozen=True)
class Clocks:
    """The clocks of the batches behind a replay's steps, as arrays by step."""

    versions: Int64s  # state version of each step (batch + 1)
    # watermark_ms, timestamp_ms: of the batch; NO_CLOCK where its log entry is gone
    watermark_ms: Int64s
    timestamp_ms: Int64s
    ran: Bools  # whether a query ran the batch; no tool appended it

    @classmethod
    def of(cls, versions: Sequence[int], batches: Mapping[int, BatchClock]) -> Clocks:
        """The clocks of each version's batch."""
        result = [batches.get(version - 1) for version in versions]

        def column(values: list[int | None]) -> Int64s:
            return np.array([NO_CLOCK if v is None else v for v in values], np.int64)

        return cls(
            np.array(versions, np.int64),
            column([b.watermark_ms if b else None for b in result]),
            column([b.timestamp_ms if b else None for b in result]),
            np.array([b is None or not b.appended for b in result], np.bool_),
        )

    def threshold_ms(self, kind: TimeoutKind) -> Int64s:
        """What timers are held against, by step."""
        return self.watermark_ms if kind is TimeoutKind.EVENT_TIME else self.timestamp_ms


def running_max(times: Int64s) -> Int64s:
    """At each step, the furthest that a clock had come."""
    reached: Int64s = np.maximum.accumulate(times)
    return reached


def first_step_at(times: Int64s, since: Int64s, targets: Int64s) -> Int64s:
    """The first step at which a clock that may go back had come so far; -1 where it never did.

    ``times`` are of the clock, by step, far below all others where it is not known; ``since`` is
    the step from which on it counts, for each of ``targets``, the times that are looked for.
    """
    steps = np.full(len(targets), -1, np.int64)
    for start in distinct(since).tolist():
        chosen, after = np.flatnonzero(since == start), running_max(times[start:])
        positions = np.searchsorted(after, targets[chosen], side="left")
        steps[chosen] = np.where(positions < len(after), positions + start, -1)
    return steps


def first_due(times: Int64s, since: Int64s, timers: Int64s) -> tuple[Int64s, Int64s]:
    """The first step behind ``since`` whose time is past each timer, and how many such steps.

    ``times`` are of a clock, by step, NO_CLOCK where not known; ``since`` is the step of the put
    that set each timer. Each is due at the last step.
    """
    # A clock may go back (the processing time of a machine that was set right), so each batch
    # counts by its own time. A timer cannot run out in the batch that sets it.
    first = np.full(len(timers), len(times) - 1, np.int64)
    often = np.ones(len(timers), np.int64)
    for put in distinct(since).tolist():
        chosen, after = np.flatnonzero(since == put), times[put + 1 :]
        if not len(after):
            continue
        reached, ordered = running_max(after), np.sort(after)
        positions = np.searchsorted(reached, timers[chosen], side="right")
        first[chosen] = np.minimum(positions, len(after) - 1) + put + 1
        often[chosen] = len(after) - np.searchsorted(ordered, timers[chosen], side="right")
    return first, np.maximum(often, 1)
