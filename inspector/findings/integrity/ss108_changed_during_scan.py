"""SS108: files changed during the scan.

What it means:
    The query runs, and Spark's cleanup removed files between their listing and their reading. It is
    information if a second look could judge the newest batch; else a part of the report is
    missing. The checkpoint is sound.

How it is proven:
    A listed file was not there when it was opened, and the folder was listed again.

Source:
    HDFSBackedStateStoreProvider.doMaintenance, cleanup (2.3 to 4.3).
"""

from __future__ import annotations

from inspector.checkpoint.logfile import MOVED_SLUG, OUTPACED_SLUG, VANISHED_SLUG
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import EVIDENCE, ProblemRule, problem_case
from inspector.findings.rule import Case
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import Problem


class ChangedDuringScan(ProblemRule):
    """Files that a running query removed while they were being read."""

    id = "SS108"
    title = "files changed during the scan"
    severity = Severity.WARNING
    spark = "spark.sql.streaming.minBatchesToRetain"
    next_step = (
        "run this again; where a large checkpoint loses files each time, inspect a copy of it, or "
        "one partition at a time"
    )
    command = "files"

    slugs = (VANISHED_SLUG, MOVED_SLUG, OUTPACED_SLUG)

    def special_case(self, view: CheckpointView, problem: Problem) -> Case | None:
        """Return the case ``moved`` if what changed was read again, so that nothing is missing.

        Returns None for files that are missing, as this rule has no other special case.
        """
        return self.moved if problem.slug == MOVED_SLUG else super().special_case(view, problem)

    general = problem_case(
        "The query removed old files while they were being read, so that part of this report "
        "is missing."
    )
    moved = Case(
        cause="The query went on while it was being read, and what moved was read again; nothing "
        "is missing.",
        evidence=EVIDENCE,
        next_step="nothing: the report is whole, and of one batch",
        severity=Severity.INFO,
    )
