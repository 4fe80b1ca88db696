"""What the two logs say of each other: a damaged or lost entry shows where they disagree.

* Entry N of ``offsets`` begins with the watermark that entry N - 1 of ``commits`` ends with:
  ``MicroBatchExecution`` takes both from one ``WatermarkTracker``, also when it restarts.
* A watermark never falls: ``WatermarkTracker.setWatermark`` and ``updateWatermark`` raise it only.
* A commit has its offsets: entry N of ``offsets`` is written before batch N runs, entry N of
  ``commits`` after it, and ``purge`` removes the oldest offsets first.
* There are no gaps: batches are numbered one by one and purged from the oldest on.

None of these is broken in any of the checkpoints, written by eleven releases of Spark, that the
project is tested with. Which of two entries is wrong cannot be told, so both are named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from inspector.model import BatchClock, BatchId, Problem

CONTRADICTION = "log-contradiction"
LOST_ENTRY = "log-entry-lost"


def cross_checks(
    offsets: Collection[BatchId],
    commits: Collection[BatchId],
    clocks: Mapping[BatchId, BatchClock],
) -> Iterator[Problem]:
    """What is wrong between the logs; paths are relative to the checkpoint's root.

    Args:
        offsets: batches with an entry in the offset log.
        commits: those with one in the commit log.
        clocks: what the entries say; None in place of what could not be read.
    """
    yield from _lost("offsets", offsets, commits)
    yield from _lost("commits", commits, ())
    yield from _watermarks(clocks)


def _lost(log: str, entries: Collection[BatchId], needed: Collection[BatchId]) -> Iterator[Problem]:
    if not entries:
        if needed:
            message = f"got no entry, expected one for each of {len(needed)} committed batches"
            yield Problem(LOST_ENTRY, message, log)
        return
    first, last = min(entries), max(entries)
    expected = {*range(first, last + 1), *(batch for batch in needed if batch > first)}
    for batch in sorted(expected.difference(entries)):
        why = "its batch is committed" if batch in needed else "older and newer ones are there"
        message = f"the entry is missing, though {why}"
        yield Problem(LOST_ENTRY, message, f"{log}/{batch}", version=batch + 1)


def _watermarks(clocks: Mapping[BatchId, BatchClock]) -> Iterator[Problem]:
    for before, after in pairwise(clocks.values()):
        if after.batch_id != before.batch_id + 1 or after.watermark_ms is None:
            continue
        ended, began = before.next_watermark_ms, after.watermark_ms
        if ended is not None and ended != began:
            message = (
                f"got batchWatermarkMs {began}, commits/{before.batch_id} says {ended} as "
                "nextBatchWatermarkMs: one of the two entries was changed"
            )
        elif before.watermark_ms is not None and before.watermark_ms > began:
            message = (
                f"got batchWatermarkMs {began}, less than {before.watermark_ms} of "
                f"offsets/{before.batch_id}, and a watermark never falls: one of the two entries "
                "was changed"
            )
        else:
            continue
        yield Problem(
            CONTRADICTION, message, f"offsets/{after.batch_id}", version=after.batch_id + 1
        )
