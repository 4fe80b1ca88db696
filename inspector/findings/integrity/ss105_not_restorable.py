"""SS105: newest committed version not restorable in every partition.

What it means:
    The version that the last committed batch made cannot be put together in at least one partition.
    The query cannot restart from this checkpoint as it is.

How it is proven:
    In some partition no snapshot, and no empty version 0, has every delta after it up to the newest
    committed version. `inspector verify PATH` prints the `inspector copy PATH NEW --batch N` of the
    newest version that every partition has.

Source:
    HDFSBackedStateStoreProvider.loadMap (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable

from inspector.exceptions import MissingVersionError
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import Problem


class NotRestorable(ProblemRule):
    """A newest committed version that some partition cannot restore."""

    id = "SS105"
    title = "newest committed version not restorable in every partition"
    severity = Severity.ERROR
    spark = "CANNOT_LOAD_STATE_STORE"
    next_step = (
        "restart from the newest version that every partition can restore, or from a copy of the "
        "checkpoint"
    )
    explains = ("SS104", "SS106", "SS110")

    slugs = (MissingVersionError.slug,)
    is_copied = True
    go_back = ProblemRule.go_back.partition(", or ")[2]

    def problems(self, view: CheckpointView) -> Iterable[Problem]:
        """Return the problems that a version cannot be restored, if the newest version is judged.

        Empty if an older version is judged.
        """
        # Cleanup has removed an old one, or else the file that is gone has a problem of its own.
        is_newest = view.version >= view.checkpoint.newest_version
        return super().problems(view) if is_newest else ()

    general = problem_case(
        "The newest committed state version cannot be restored in every partition, so the "
        "query cannot restart from this checkpoint."
    )
