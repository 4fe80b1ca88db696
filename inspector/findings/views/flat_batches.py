"""Newest batches through which the watermark did not move."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.light_dataclasses import dataclass
from inspector.model import BatchClock

Clocks = Mapping[int, BatchClock]  # number of a batch -> its clock and watermark


@dataclass(frozen=True)
class FlatBatches:
    """Consecutive batches that had the same watermark, or had none."""

    first: BatchClock  # clocks of the first of these batches
    last: BatchClock  # clocks of the last of these batches
    # number of the batches before the last that had new data, and so could move the watermark
    with_data: int

    def is_usual(self, clocks: Clocks) -> bool:
        """Return True if pauses of the watermark as long as this one are usual.

        The length of a pause is its number of batches with data. At least one earlier pause
        must be as long. At least two earlier pauses, that one included, must be half as long.
        ``clocks`` has the clocks of all batches, by batch number.
        """
        earlier, first = list[int](), self.first
        while (pause := flat_batches(clocks, first.batch_id - 1)) and pause.last.watermark_ms:
            earlier.append(pause.with_data)
            first = pause.first
        is_longest = max(earlier, default=0) >= self.with_data
        return is_longest and sum(2 * count >= self.with_data for count in earlier) > 1


def flat_batches(clocks: Clocks, batch: int) -> FlatBatches | None:
    """Return the run of consecutive batches that ends at ``batch`` and has one watermark.

    None if the watermark of ``batch`` is not recorded.
    """
    last = clocks.get(batch)
    if last is None or last.watermark_ms is None:
        return None
    run = [last]
    while (before := clocks.get(run[-1].batch_id - 1)) is not None:
        if before.watermark_ms != last.watermark_ms:
            break
        run.append(before)
    return FlatBatches(run[-1], last, sum(clock.has_new_data is True for clock in run[1:]))
