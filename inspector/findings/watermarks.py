"""SS206: a watermark that stands still while data arrives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from inspector.findings.catalogue import DATA_BATCHES, WATERMARK_FLAT
from inspector.findings.finding import Finding
from inspector.model import BatchClock, Certainty


@dataclass(frozen=True)
class Flat:
    """The batches at the end of the log through which the watermark did not move.

    Attributes:
        first, last: of those batches. with_data: batches among them, but for the last, that had new
            data and so could have moved it.
    """

    first: BatchClock
    last: BatchClock
    with_data: int


def flat_end(clocks: Mapping[int, BatchClock], batch: int) -> Flat | None:
    """The batches up to ``batch`` that had its watermark; None without a watermark."""
    last = clocks.get(batch)
    if last is None or not last.watermark_ms:
        return None
    run: list[BatchClock] = [last]
    while (before := clocks.get(run[-1].batch_id - 1)) is not None:
        if before.watermark_ms != last.watermark_ms:
            break
        run.append(before)
    return Flat(run[-1], last, sum(clock.has_new_data is True for clock in run[1:]))


def judge_watermark(
    clocks: Mapping[int, BatchClock], batch: int, newest_ms: Sequence[int]
) -> Iterator[Finding]:
    """The finding, if operators wait for the watermark.

    Args:
        clocks: of the batches in the log.
        batch: the judged one.
        newest_ms: the newest event time in each store whose rows go by the watermark.
    """
    flat = flat_end(clocks, batch)
    if flat is None or not newest_ms or flat.with_data < DATA_BATCHES:
        return
    watermark = flat.last.watermark_ms or 0
    words = [
        f"batches {flat.first.batch_id} to {flat.last.batch_id} all had the watermark "
        f"{_time(watermark)}, though {flat.with_data:,} of them brought new data"
    ]
    if flat.first.timestamp_ms is not None and flat.last.timestamp_ms is not None:
        seconds = (flat.last.timestamp_ms - flat.first.timestamp_ms) / 1000
        words.append(f"the batch clock went on by {seconds:,.0f} s")
    words.append(f"the newest event time in state is {_time(max(newest_ms))}")
    yield Finding(
        WATERMARK_FLAT,
        Certainty.PROVEN,
        "; ".join(words),
        WATERMARK_FLAT.to_do,
    )


def _time(millis: int) -> str:
    moment = datetime.fromtimestamp(millis / 1000, timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
