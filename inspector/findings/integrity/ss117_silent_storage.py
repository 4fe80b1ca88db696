"""SS117: storage did not answer.

What it means:
    The storage did not answer in time, broke off, or failed, at every attempt.

How it is proven:
    `problems` has its answer, if any.

Source:
    Any storage (2.3 to 4.3): timeouts, closed connections, HTTP 5xx, disk faults.
"""

from __future__ import annotations

from inspector.checkpoint.logfile import STORAGE_SLUG
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class SilentStorage(ProblemRule):
    """Parts of the checkpoint that the storage did not return."""

    id = "SS117"
    title = "storage did not answer"
    severity = Severity.WARNING
    spark = "java.io.IOException"
    next_step = (
        "check the connection and the storage, and run this again; nothing says that a file is "
        "damaged"
    )

    slugs = (STORAGE_SLUG,)

    general = problem_case(
        "The storage did not return a part of the checkpoint, which is missing from this report."
    )
