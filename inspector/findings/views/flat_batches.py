"""The newest batches through which the watermark did not move."""

from __future__ import annotations

from collections.abc import Mapping

from inspector.light_dataclasses import dataclass
from inspector.model import BatchClock

Clocks = Mapping[int, BatchClock]  # clocks of batches, by batch


@dataclass(frozen=True)
class FlatBatches:
    """Batches in a row that had the same watermark, or had none."""

    first: BatchClock  # clocks of the first of these batches
    last: BatchClock  # clocks of the last of these batches
    with_data: int  # batches before the last that had new data and so could move the watermark

    def is_usual(self, clocks: Clocks) -> bool:
        """Return True if such a pause is usual by the clocks of all batches.

        An earlier pause was as long, and two were half as long at least. A source that brings data
        seldom moves the watermark in steps.
        """
        earlier, first = list[int](), self.first
        while (pause := flat_batches(clocks, first.batch_id - 1)) and pause.last.watermark_ms:
            earlier.append(pause.with_data)
            first = pause.first
        is_longest = max(earlier, default=0) >= self.with_data
        return is_longest and sum(2 * count >= self.with_data for count in earlier) > 1


def flat_batches(clocks: Clocks, batch: int) -> FlatBatches | None:
    """Return the batches in a row, up to ``batch``, that have its watermark.

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
