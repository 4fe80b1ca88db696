"""SS315: batches that take longer than they did.

How long a batch took is what its log files show. Where they have no times of their own, as in a
copy, a batch without new data tells: it begins as soon as the batch before it has ended, unless a
trigger makes it wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median

from inspector.checkpoint.logs import Logs
from inspector.discovery.batch_times import batch_durations
from inspector.findings import catalogue
from inspector.findings.finding import Finding
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.model import BatchId, Certainty
from inspector.quantities import duration_text
from inspector.time_text import time_ms_text

_FEWEST = 6  # batches of which a trend is told
_RECENT = 4  # the share of them that is recent: one of so many, and two at the least
_EACH = 2  # times the earlier median that each recent batch takes, so that none is an outlier
_SECOND_MS = 1_000


def judge_durations(logs: Logs, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """Yield the finding about batches that take longer than the ones before did."""
    durations, certainty = batch_durations(logs), Certainty.PROVEN
    if not durations:
        durations, certainty = _until_next_batch(logs), Certainty.INFERRED
    # A batch without new data is quick, whatever the others take.
    with_data = {b: took for b, took in durations.items() if logs.clocks[b].has_new_data}
    chosen = with_data if len(with_data) >= _FEWEST else durations
    if len(chosen) < _FEWEST:
        return
    batches = sorted(chosen)
    split = len(batches) - max(2, len(batches) // _RECENT)
    earlier, recent = ([chosen[b] for b in part] for part in (batches[:split], batches[split:]))
    before, now = median(earlier), median(recent)
    is_longer = now >= thresholds.slow_ratio * before and min(recent) >= _EACH * before
    if not is_longer or now - before < thresholds.slow_seconds * _SECOND_MS:
        return
    last = logs.clocks[batches[split - 1]].timestamp_ms
    until = "" if last is None else f" until {time_ms_text(last)}"
    sentence = f"Batches take {_text(now)}, {_text(before)}{until}"
    spans = "; ".join(_span_text(part, chosen) for part in (batches[:split], batches[split:]))
    yield catalogue.SLOW_BATCHES.of(
        f"{sentence} ({spans})",
        cause=f"{sentence}.",
        certainty=certainty,
    )


def _until_next_batch(logs: Logs) -> dict[BatchId, int]:
    """Return how long each batch took that one without new data follows, by the batch clocks."""
    durations = {}
    for batch, following in pairwise(logs.clocks.values()):
        follows = following.batch_id == batch.batch_id + 1 and following.has_new_data is False
        clocks = batch.timestamp_ms, following.timestamp_ms
        if follows and not following.appended and None not in clocks:
            durations[batch.batch_id] = max(0, (clocks[1] or 0) - (clocks[0] or 0))
    return durations


def _span_text(batches: Sequence[BatchId], durations: Mapping[BatchId, int]) -> str:
    taken = [durations[batch] for batch in batches]
    return f"batches {batches[0]:,} to {batches[-1]:,}: {_text(min(taken))} to {_text(max(taken))}"


def _text(millis: float) -> str:
    is_long = millis >= _SECOND_MS
    return duration_text(round(millis / _SECOND_MS) * _SECOND_MS if is_long else round(millis))
