"""SS306: heap over limit.

What it means:
    The versions of the state in the memory of executors take more heap than the limit that was
    given.

How it is proven:
    The heap is an estimate by the objects of rows, keys and values; objects of two versions count
    once (topic `heap`). Fewer rows or retained versions, or RocksDB, take less.

Source:
    HDFSBackedStateStoreProvider.loadedMaps, maxBatchesToRetainInMemory (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import Threshold
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import Certainty


class HeapOverLimit(Rule[CheckpointView]):
    """State whose estimated heap is above the limit of the user."""

    scope = "checkpoint"
    id = "SS306"
    title = "heap over limit"
    severity = Severity.WARNING
    certainties = (Certainty.INFERRED,)
    spark = "java.lang.OutOfMemoryError"
    next_step = "see inspector memory for the heap of each executor, and for what would change it"
    command = "memory"

    heap_bytes: Threshold[int | None] = Threshold(
        None, "bytes", "Heap of all executors together that two retained versions may take."
    )

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield at most one evidence: the estimated heap, if it is above the user's limit.

        Nothing is yielded if the user gave no limit.
        """
        heap, limit = view.context.heap_bytes, self.heap_bytes
        if heap is not None and limit is not None and heap > limit:
            yield self.over_limit(heap=heap, limit=limit)

    over_limit = Case(
        cause="The state takes an estimated {heap:bytes} of heap, more than the limit of "
        "{limit:bytes}.",
        evidence="the two versions that Spark retains take an estimated {heap:bytes} of heap in "
        "all executors together; the limit is {limit:bytes}",
    )
