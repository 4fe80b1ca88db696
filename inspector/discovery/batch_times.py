"""Durations of batches, and signs of real-time mode, from the times of log files.

``offsets/N`` is written when batch N begins and ``commits/N`` when it has ended
(``MicroBatchExecution.markMicroBatchStart``, ``markMicroBatchEnd``). Real-time mode (4.1 and later)
writes both when the batch ends, and a restart removes entries of ``offsets`` without a commit
(``scripts/lab/restart_real_time.py`` with 4.3.0). Both modes record the clock at the beginning of
the batch.

A copy has the times at which it was made, so that the times of the files are compared with the
clocks in the entries first.
"""

from __future__ import annotations

from itertools import pairwise

from inspector.checkpoint.logs import COMMITS, OFFSETS, Logs
from inspector.discovery.checkpoint import CONF, Checkpoint
from inspector.model import BatchId

# shorter spans between the clocks of the first and last batch are not judged
_LEAST_SPAN_MS = 5_000
_TOLERANCE_MS = 1_500  # allowed difference of file times and clocks: storage may keep whole seconds
# allowed difference of file times and clocks, as a share of the span of the clocks
_TOLERANCE = 0.1
_OF_END = 0.8  # share of a batch after which its entry is written, if in real-time mode
_LONG_MS = 500  # a shorter batch shows nothing of the mode
_SINCE_4_0 = f"{CONF}stateStore.encodingFormat"  # a conf that offset entries record since Spark 4.0
# a conf that offset entries record since Spark 4.2, the first with stateful real-time mode
_HAS_STATE_SINCE = f"{CONF}stateStore.rowChecksum.enabled"


def batch_durations(logs: Logs) -> dict[BatchId, int]:
    """Return how long each committed batch took, in ms; empty if file times do not show it.

    A batch that a tool appended is left out.
    """
    times = _log_times(logs)
    is_real_time = _writes_at_end(logs, times)
    durations = {}
    for batch, (begun, ended) in times.items():
        clock = logs.clocks[batch]
        start = clock.timestamp_ms if is_real_time and clock.timestamp_ms else begun
        if not clock.appended:
            durations[batch] = max(0, ended - start)
    return durations


def is_real_time(checkpoint: Checkpoint) -> bool | None:
    """Return whether the query runs in real-time mode; None if the files do not show it."""
    logs = checkpoint.logs
    newest = logs.last_offset
    if newest is None or logs.conf_for(newest, _SINCE_4_0).origin != "recorded":
        return False  # an older release
    # State needs checkpoint format 2, on RocksDB, and a later release.
    is_new = logs.conf_for(newest, _HAS_STATE_SINCE).origin == "recorded"
    if checkpoint.layout.has_state and not (logs.unique_ids and is_new):
        return False
    times = _log_times(logs)
    return _writes_at_end(logs, times) if times else None


def _log_times(logs: Logs) -> dict[BatchId, tuple[int, int]]:
    """Return when the offsets and commits entries of each committed batch were written, epoch ms.

    Returns nothing if the file times do not agree with the clocks in the entries, as in a copy.
    """
    offsets, commits = (logs.written_ms.get(log, {}) for log in (OFFSETS, COMMITS))
    batches = [b for b in sorted(offsets.keys() & commits.keys()) if b in logs.clocks]
    times = {batch: (offsets[batch], commits[batch]) for batch in batches}
    clocks = [logs.clocks[batch].timestamp_ms for batch in batches]
    if len(batches) < 2 or None in clocks:
        return {}
    ordered = [time for pair in times.values() for time in pair]
    if any(older > newer for older, newer in pairwise(ordered)):
        return {}
    span = (clocks[-1] or 0) - (clocks[0] or 0)
    # In real-time mode the first entry comes a batch later than its clock, as the last one does.
    logged_ms = times[batches[-1]][0] - times[batches[0]][0]
    if span < _LEAST_SPAN_MS or abs(logged_ms - span) > max(_TOLERANCE_MS, _TOLERANCE * span):
        return {}
    return times


def _writes_at_end(logs: Logs, times: dict[BatchId, tuple[int, int]]) -> bool:
    """True if each ``offsets`` entry was written near the end of its batch.

    Batches shorter than ``_LONG_MS`` are ignored; False if none is longer. ``times``: when the
    entries of ``offsets`` and ``commits`` were written, epoch ms.
    """
    shares = []
    for batch, (begun, ended) in times.items():
        start = logs.clocks[batch].timestamp_ms or 0
        if ended - start >= _LONG_MS:
            shares.append((begun - start) / (ended - start))
    return bool(shares) and min(shares) >= _OF_END
