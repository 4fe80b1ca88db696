"""Clocks of a query: batch clock and watermark, as its logs recorded them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.what_if import delays_of
from inspector.model import BatchClock


def span(first: BatchClock | None, last: BatchClock | None) -> int | None:
    """Return the ms from the start of the batch ``first`` to that of ``last``.

    None if one of the batches, or the time of one, is unknown.
    """
    times = [clock.timestamp_ms for clock in (first, last) if clock is not None]
    recorded = [time for time in times if time is not None]
    return recorded[1] - recorded[0] if len(recorded) > 1 else None


class QueryClock:
    """Batch clock and watermark of a query at the judged version, and of its other batches."""

    def __init__(self, checkpoint: Checkpoint, version: int) -> None:
        """Make the view of the clocks of a checkpoint at the judged version."""
        self._checkpoint = checkpoint
        self.version = version

    @cached_property
    def batches(self) -> Mapping[int, BatchClock]:
        """Number of a batch -> its clocks, for all batches in the offset log."""
        return dict(self._checkpoint.logs.clocks.items())

    @cached_property
    def batch(self) -> BatchClock | None:
        """Clocks of the judged batch; None if its entry is gone."""
        return self._checkpoint.clock(self.version)

    def at(self, version: int) -> BatchClock | None:
        """Return the clocks of the batch that made ``version``; None if its entry is gone."""
        return self._checkpoint.clock(version)

    @property
    def batch_ms(self) -> int | None:
        """Processing time of the judged batch, in epoch ms; None if it was not recorded."""
        return None if self.batch is None else self.batch.timestamp_ms

    @property
    def watermark_ms(self) -> int | None:
        """Watermark of the judged batch in epoch ms, or the one that it made if it had none.

        0 if it neither had nor made one; None if it is unknown.
        """
        return None if self.batch is None else watermark_of(self.batch)

    @cached_property
    def delays_ms(self) -> Sequence[int]:
        """Delays of ``withWatermark`` in the schemas of the state, in ms, the longest first."""
        return sorted(delays_of(self._checkpoint), reverse=True)

    @cached_property
    def is_by_fastest(self) -> bool:
        """True if the query's watermark is the highest of several (multipleWatermarkPolicy=max)."""
        return self._checkpoint.conf(self.version, "multipleWatermarkPolicy") == "max"

    @cached_property
    def data_batches(self) -> int:
        """Number of batches in the log, up to the judged one, that read new data."""
        before = (clock for batch, clock in self.batches.items() if batch < self.version)
        return sum(clock.has_new_data is True for clock in before)

    @cached_property
    def gap_ms(self) -> int | None:
        """Median time between recorded batches, in ms; None without two recorded times."""
        times = [clock.timestamp_ms for _, clock in sorted(self.batches.items())]
        recorded = [time for time in times if time is not None]
        gaps = sorted(after - before for before, after in pairwise(recorded))
        return gaps[len(gaps) // 2] if gaps else None

    @cached_property
    def doubt(self) -> str:
        """Reason why the judged batch's watermark is unknown; "" if no older entry has one.

        It applies only if ``watermark_ms`` is None, which is not checked here. Older entries have
        no watermark if they were purged or never recorded one.
        """
        logs, version = self._checkpoint.logs, self.version
        before = (clock for batch, clock in logs.clocks.items() if batch < version - 1)
        if all(clock.watermark_ms is None for clock in before):
            return ""  # purged, or never recorded
        entry = f"entry {version - 1} of the offset log"
        return f"{entry} is missing, cannot be read or is contradicted by another"

    def is_without_watermark(self, data_batches: int) -> bool:
        """Return True if there is surely no watermark though enough batches had data.

        ``data_batches`` is the least number of batches with data. False if the watermark is
        unknown.
        """
        return self.watermark_ms == 0 and self.data_batches >= data_batches

    def advance_ms(self, versions: int, clock: Callable[[BatchClock], int | None]) -> int:
        """Return the ms by which a clock moved over the newest versions; 0 if a time is unknown.

        ``versions`` is the number of versions to go back from the judged one. ``clock`` returns the
        time, in epoch ms, from the clocks of a batch.
        """
        first, last = self.at(self.version - versions), self.batch
        begin_ms, end_ms = (None if batch is None else clock(batch) for batch in (first, last))
        return end_ms - begin_ms if begin_ms and end_ms else 0


def watermark_of(clock: BatchClock) -> int | None:
    """Return the watermark of a batch in epoch ms, or the one that it made if it had none.

    0 if it neither had nor made one; None if both are unknown.
    """
    return clock.watermark_ms or clock.next_watermark_ms or clock.watermark_ms


def timestamp_of(clock: BatchClock) -> int | None:
    """Return the processing time of a batch, epoch ms; None if it is not recorded."""
    return clock.timestamp_ms
