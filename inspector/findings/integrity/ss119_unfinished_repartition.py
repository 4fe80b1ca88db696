"""SS119: repartitioning not finished.

What it means:
    The newest entry of `offsets` gives the state another number of partitions, and has no commit:
    Spark's repartitioning of the checkpoint was interrupted, or is running. The version before it
    is judged here. Spark 4.3 refuses to start the query.

How it is proven:
    The entry has the offsets and the time of a committed batch, and another number of partitions.

Source:
    MicroBatchExecution.checkUnfinishedRepartitionBatch, OfflineStateRepartitionRunner (4.3).
"""

from __future__ import annotations

from inspector.discovery.listing import UNFINISHED_REPARTITION
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class UnfinishedRepartition(ProblemRule):
    """A repartitioning of the checkpoint without its commit."""

    id = "SS119"
    title = "repartitioning not finished"
    severity = Severity.ERROR
    spark = "STREAMING_UNFINISHED_REPARTITION_DETECTED"
    next_step = (
        "run the repartitioning again, to the same number of partitions, and let it finish before "
        "the query is started; Spark does not repartition HDFS-backed state: there the entry of "
        "`offsets` was changed by something else, so restore it from a backup"
    )
    command = "info"

    slugs = (UNFINISHED_REPARTITION,)

    general = problem_case(
        "A repartitioning of the checkpoint has not finished, and the query cannot start."
    )
