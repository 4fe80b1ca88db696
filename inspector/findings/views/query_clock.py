"""The clocks of a query, as its logs recorded them up to the judged batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.what_if import delays_of
from inspector.model import BatchClock


def span(first: BatchClock | None, last: BatchClock | None) -> int | None:
    """Return the ms from the start of one batch to that of another; None if one is unknown."""
    times = [clock.timestamp_ms for clock in (first, last) if clock is not None]
    recorded = [time for time in times if time is not None]
    return recorded[1] - recorded[0] if len(recorded) > 1 else None


class QueryClock:
    """The batch clock and the watermark of a query at the judged version."""

    def __init__(self, checkpoint: Checkpoint, version: int) -> None:
        """Make the view of the clocks at a version."""
        self._checkpoint = checkpoint
        self.version = version

    @cached_property
    def batches(self) -> Mapping[int, BatchClock]:
        """Clocks of all batches in the log, by batch."""
        return dict(self._checkpoint.logs.clocks.items())

    @cached_property
    def batch(self) -> BatchClock | None:
        """Clocks of the judged batch; None if its entry is gone."""
        return self._checkpoint.clock(self.version)

    def at(self, version: int) -> BatchClock | None:
        """Return the clocks of the batch that made a version; None if its entry is gone."""
        return self._checkpoint.clock(version)

    @property
    def batch_ms(self) -> int | None:
        """Processing time of the judged batch, in epoch ms; None if it was not recorded."""
        return None if self.batch is None else self.batch.timestamp_ms

    @property
    def watermark_ms(self) -> int | None:
        """Watermark of the judged batch, epoch ms; of the next batch if it had none.

        0 if neither has one; None if it is unknown.
        """
        return None if self.batch is None else watermark_of(self.batch)

    @cached_property
    def delays_ms(self) -> Sequence[int]:
        """Delays of withWatermark in the schemas, in ms, the longest first."""
        return sorted(delays_of(self._checkpoint), reverse=True)

    @cached_property
    def is_by_fastest(self) -> bool:
        """True if the greatest of several watermarks counts (multipleWatermarkPolicy=max)."""
        return self._checkpoint.conf(self.version, "multipleWatermarkPolicy") == "max"

    @cached_property
    def data_batches(self) -> int:
        """Number of batches up to the judged one that read new data."""
        before = (clock for batch, clock in self.batches.items() if batch < self.version)
        return sum(clock.has_new_data is True for clock in before)

    @cached_property
    def gap_ms(self) -> int | None:
        """Median time from one batch to the next, in ms; None if fewer than two are recorded."""
        times = [clock.timestamp_ms for _, clock in sorted(self.batches.items())]
        recorded = [time for time in times if time is not None]
        gaps = sorted(after - before for before, after in pairwise(recorded))
        return gaps[len(gaps) // 2] if gaps else None

    @cached_property
    def doubt(self) -> str:
        """Reason why the judged batch's watermark is unknown; "" if older entries lack it too.

        Also "" if it is known of no older batch because entries were purged.
        """
        logs, version = self._checkpoint.logs, self.version
        before = (clock for batch, clock in logs.clocks.items() if batch < version - 1)
        if all(clock.watermark_ms is None for clock in before):
            return ""  # purged, or never recorded
        entry = f"entry {version - 1} of the offset log"
        return f"{entry} is missing, cannot be read or is contradicted by another"

    def is_without_watermark(self, data_batches: int) -> bool:
        """Return True if there is no watermark after this number of batches with data."""
        return self.watermark_ms == 0 and self.data_batches >= data_batches

    def advance_ms(self, versions: int, clock: Callable[[BatchClock], int | None]) -> int:
        """Return the ms by which a clock moved over the newest versions; 0 if unknown.

        ``versions`` is their number, and ``clock`` reads the time from the clocks of a batch.
        """
        first, last = self.at(self.version - versions), self.batch
        begin_ms, end_ms = (None if batch is None else clock(batch) for batch in (first, last))
        return end_ms - begin_ms if begin_ms and end_ms else 0


def watermark_of(clock: BatchClock) -> int | None:
    """Return the watermark of a batch, or the one that it made if it had none.

    Epoch ms; 0 if there is none yet, None if it is unknown.
    """
    return clock.watermark_ms or clock.next_watermark_ms or clock.watermark_ms


def timestamp_of(clock: BatchClock) -> int | None:
    """Return the processing time of a batch, epoch ms; None if it is not recorded."""
    return clock.timestamp_ms
