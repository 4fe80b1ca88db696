"""SS102: file that cannot be read.

What it means:
    A delta or snapshot is cut, or has wrong checksums or a record of an impossible length.

How it is proven:
    Every file of the chains is read to its end, with all lengths and checksums; `problems` has the
    byte of each fault. It is a warning if a restart does without the file.

Source:
    HDFSBackedStateStoreProvider.updateFromDeltaFile, readSnapshotFile (2.3 to 4.3). Spark 4.2 and
    later fall back to an older snapshot.
"""

from __future__ import annotations

from collections.abc import Iterable

from inspector.exceptions import TailError
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import (
    EVIDENCE,
    NOTHING_NEEDED,
    ProblemRule,
    claimed_slugs,
    problem_case,
)
from inspector.findings.rule import Case
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import Problem


class UnreadableFile(ProblemRule):
    """A file whose bytes are not what Spark writes: every problem that no other rule names."""

    id = "SS102"
    title = "file that cannot be read"
    severity = Severity.ERROR
    spark = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
    next_step = "restore the file from a backup or an earlier object version"
    explains = ("SS105",)

    names_file = is_spared = is_copied = True

    def problems(self, view: CheckpointView) -> Iterable[Problem]:
        """Return the problems whose slug no other rule claims."""
        return [p for p in view.context.problems if p.slug not in claimed_slugs()]

    def special_case(self, view: CheckpointView, problem: Problem) -> Case | None:
        """Return the case ``tail`` for bytes at a file's end that Spark does not read.

        For other problems it is the case ``spared`` if the query restarts in spite of the problem;
        else None.
        """
        return self.tail if problem.slug == TailError.slug else super().special_case(view, problem)

    tail = Case(
        cause="At {path}{others:others}: {short}; Spark does not read so far, and no row is lost.",
        evidence=EVIDENCE,
        next_step=NOTHING_NEEDED,
        severity=Severity.WARNING,
    )
    general = problem_case("A state, log or metadata file cannot be read.")
