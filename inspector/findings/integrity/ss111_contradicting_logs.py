"""SS111: the logs contradict each other.

What it means:
    An entry of `offsets` or `commits` is missing between others, or two disagree on a watermark. If
    clock and watermark go back together several times, most likely two runs write by turns. It is a
    warning where a restart does without the entry. The regular gaps of asynchronous progress
    tracking are no contradiction.

How it is proven:
    Each entry is compared with its neighbours.

Source:
    MicroBatchExecution.markMicroBatchStart, markMicroBatchEnd, WatermarkTracker (2.3 to 4.3).
"""

from __future__ import annotations

from inspector.checkpoint.log_checks import CONTRADICTION, LOST_ENTRY
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class ContradictingLogs(ProblemRule):
    """Entries of the logs that are missing or contradict each other."""

    id = "SS111"
    title = "the logs contradict each other"
    severity = Severity.ERROR
    spark = "org.apache.spark.sql.execution.streaming.OffsetSeqLog"
    next_step = (
        "see that no second run of the query uses this checkpoint; compare the entries that are "
        "named with a backup: a query changes none, and a restart plans the next batch from them"
    )

    slugs = (CONTRADICTION, LOST_ENTRY, "sources-changed")
    names_file = is_spared = True

    general = problem_case(
        "Entries of the offset and commit logs are missing or contradict each other."
    )
