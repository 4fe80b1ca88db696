"""The batches that no query ran, in words (premise ``appended-batch``)."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import partition_count


def appended_notes(checkpoint: Checkpoint) -> Iterator[str]:
    """A sentence for each committed batch in the log that a tool appended, oldest first."""
    logs = checkpoint.logs
    for batch, clock in logs.clocks.items():
        if clock.appended and clock.committed:
            if batch in logs.repartitions:
                old, new = (
                    partition_count(checkpoint, n + 1) for n in (logs.repartitions[batch], batch)
                )
                what = f"repartitioned the state from {old} to {new} partitions"
            else:
                what = "was appended by a tool"
            yield f"Batch {batch} {what}; no query ran it, and it shows nothing of the query."
