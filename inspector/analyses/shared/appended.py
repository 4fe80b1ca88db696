"""The batches that no query ran, in words (premise ``appended-batch``); and how a copy was made."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.copying import read_record
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


def copy_notes(checkpoint: Checkpoint) -> Iterator[str]:
    """A sentence on how a checkpoint was made, if it is a copy that says it."""
    record = read_record(checkpoint.storage)
    if record is None:
        return
    made = datetime.fromtimestamp(record.made_ms / 1000, timezone.utc)
    evicted = f", and evicted were {'; '.join(record.evicted)}" if record.evicted else ""
    yield (
        f"It was copied from {record.source} as it was after batch {record.batch}, on "
        f"{made:%Y-%m-%d %H:%M} UTC by spark-state-inspector {record.made_by}{evicted}."
    )
