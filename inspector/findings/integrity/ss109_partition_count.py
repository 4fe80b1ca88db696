"""SS109: operators or partitions missing or too many.

What it means:
    The offset log and, from Spark 4.0 on, the metadata of an operator record its number of
    partitions, and the folders are others, or the state of an operator is missing.

How it is proven:
    The folders are compared with the recorded number. Operators must be
    numbered from 0 on, without a gap.

Source:
    OffsetSeqMetadata, OperatorStateMetadata (numPartitions), HDFSBackedStateStoreProvider.loadMap
    (2.3 to 4.3), StateScan.planInputPartitions (4.0 to 4.3).
"""

from __future__ import annotations

from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class PartitionCount(ProblemRule):
    """Operators or partitions in the state other than those of the query."""

    id = "SS109"
    title = "operators or partitions missing or too many"
    severity = Severity.ERROR
    spark = "spark.sql.shuffle.partitions"
    next_step = (
        "compare the folders in state/ with a backup: the next batch of the query fails where the "
        "files of a partition are missing. Spark's `statestore` data source leaves out missing "
        "partitions behind the last one that is there, without an error"
    )

    slugs = ("missing-partition", "missing-operator", "extra-partition", "partition-counts")
    names_file = True

    general = problem_case(
        "The operators or partitions in state/ are not those that the query has."
    )
