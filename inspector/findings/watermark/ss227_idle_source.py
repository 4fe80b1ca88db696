"""SS227: source that brings nothing.

What it means:
    A source had the same offset through the newest batches, while another one moved in several of
    them. It may be a table that seldom changes, or a topic or folder that is no longer written. It
    is part of SS206 if a watermark waits for it.

How it is proven:
    The offsets of neighbouring entries of `offsets` are compared.

Source:
    MicroBatchExecution.constructNextBatch (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import DATA_BATCHES, Threshold
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.idle_sources import idle_sources

_MOST_NAMED = 3  # largest number of idle sources that the cause names; the evidence lists all


class SilentSource(Rule[CheckpointView]):
    """Sources that brought nothing in the newest batches, while others brought data."""

    scope = "checkpoint"
    id = "SS227"
    title = "source that brings nothing"
    severity = Severity.INFO
    spark = "latestOffset"
    command = "offsets"
    next_step = (
        "check that the source is still written, and that the query reads the right topic, table "
        "or folder; leave it as it is if the source seldom changes"
    )

    data_batches = DATA_BATCHES
    idle_batches = Threshold(
        10, "batches", "Newest batches in which a source brought nothing while others did."
    )

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield at most one evidence: the sources that brought nothing in the newest batches.

        Another source must have brought data, and ``data_batches`` of the ``idle_batches`` newest
        batches must have had new data.
        """
        last = view.version - 1
        first = last + 1 - int(self.idle_batches)
        clocks = view.clock.batches
        batches = [clocks.get(batch) for batch in range(first, last + 1)]
        with_data = sum(clock is not None and clock.has_new_data is True for clock in batches)
        if first < 1 or with_data < self.data_batches:
            return
        idle, has_moving_source = idle_sources(first, last, view.sources)
        if idle and has_moving_source:
            yield self.silent(
                names=[source.name for source in idle[:_MOST_NAMED]],
                since=max(source.since for source in idle),
                first=first,
                last=last,
                batches=with_data,
                offsets=[f"{s.name} is at {s.offset} since batch {s.since}" for s in idle],
            )

    silent = Case(
        cause="No data has come from {names:words} since batch {since}, while another source "
        "brought data in {batches:number} of the batches {first} to {last}.",
        evidence="{offsets:words}",
    )
