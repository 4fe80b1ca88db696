"""The clocks that a replay's steps are judged by, and how sure a judgement is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inspector.model import BatchClock, TimeoutKind
from inspector.state.change import Bools, Int64s
from inspector.state.replay import NO_CLOCK


@dataclass(frozen=True)
class Clocks:
    """The clocks of the batches behind a replay's steps, as arrays by step.

    Attributes:
        versions: state version of each step (batch + 1).
        watermark_ms, timestamp_ms: of the batch; NO_CLOCK where its log entry is gone.
        no_new_data: the batch had the source offsets of the one before, so that the only calls it
            made were for timeouts.
    """

    versions: Int64s
    watermark_ms: Int64s
    timestamp_ms: Int64s
    no_new_data: Bools

    @classmethod
    def of(cls, versions: Sequence[int], batches: Mapping[int, BatchClock]) -> Clocks:
        """The clocks of each version's batch."""
        found = [batches.get(version - 1) for version in versions]

        def column(values: list[int | None]) -> Int64s:
            return np.array([NO_CLOCK if v is None else v for v in values], np.int64)

        return cls(
            np.array(versions, np.int64),
            column([b.watermark_ms if b else None for b in found]),
            column([b.timestamp_ms if b else None for b in found]),
            np.array([b is not None and b.has_new_data is False for b in found], np.bool_),
        )

    def threshold_ms(self, kind: TimeoutKind) -> Int64s:
        """What timers are held against, by step."""
        return self.watermark_ms if kind is TimeoutKind.EVENT_TIME else self.timestamp_ms
