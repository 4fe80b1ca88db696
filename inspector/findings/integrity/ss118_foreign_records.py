"""SS118: records that their batch cannot have written.

What it means:
    A delta holds records that no release of Spark writes in the batch of its number: a
    deduplication puts a key that is there, the watermark evicts a row that it has not reached, a
    row was too late, a timer is set in the past. The file was exchanged, copied or changed.

How it is proven:
    The records are compared with the watermark and the time of the batch, and with the keys of the
    version before (premises in the topic `proofs`).

Source:
    StreamingDeduplicateExec, StateStoreSaveExec, WatermarkSupport, GroupStateImpl (2.4 to 4.3).
"""

from __future__ import annotations

from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class ForeignRecords(ProblemRule):
    """A delta whose records are not of the batch that its number names."""

    id = "SS118"
    title = "records that their batch cannot have written"
    severity = Severity.ERROR
    spark = "WatermarkSupport"
    next_step = (
        "compare the partition's deltas with a backup; Spark loads them as they are, whatever they "
        "hold"
    )

    slugs = ("foreign-records",)

    general = problem_case("State files are not of the batches whose numbers they have.")
