"""SS113: removals of keys that are not there.

What it means:
    A delta removes keys that the version before it does not have. Spark writes a removal only for a
    key that it holds, so one of the files is not of this chain: it was copied from another
    partition or query, exchanged with another version, or changed.

How it is proven:
    Each removal is looked up in the version before.

Source:
    HDFSBackedStateStoreProvider.HDFSBackedStateStore.remove (2.3 to 4.3).
"""

from __future__ import annotations

from inspector.findings.finding import Concerns, Severity
from inspector.findings.problem_rule import ProblemRule, problem_case


class AbsentRemovals(ProblemRule):
    """A delta that removes keys which were never there."""

    id = "SS113"
    title = "removals of keys that are not there"
    severity = Severity.ERROR
    spark = "HDFSBackedStateStore.remove"
    next_step = (
        "compare the partition's deltas with a backup; Spark loads them as they are, whatever they "
        "hold"
    )
    concerns = Concerns.RECORDS

    slugs = ("absent-removals",)

    general = problem_case(
        "State files are not of one chain: a delta removes keys that were never there."
    )
