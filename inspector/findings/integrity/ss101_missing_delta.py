"""SS101: missing delta.

What it means:
    A delta between the snapshot, or the empty version 0, and a later version is missing. No version
    from that delta on can be loaded until the next snapshot.

How it is proven:
    Every version from the oldest restorable one to the judged one needs a delta. If a restart needs
    it, the query does not start (`Cannot restart` in the report). Otherwise it is a warning.

Source:
    HDFSBackedStateStoreProvider.loadMap, filesForVersion (2.3 to 4.3). A `foreachBatch` that does
    not consume its DataFrame commits a batch whose delta was never written.
"""

from __future__ import annotations

from inspector.discovery.listing import complete_copy
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import MISSING_DELTA, ProblemRule, problem_case
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import Problem


class MissingDelta(ProblemRule):
    """A delta that versions need and that is not there."""

    id = "SS101"
    title = "missing delta"
    severity = Severity.ERROR
    spark = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS"
    next_step = (
        "restore the file from a backup or an earlier object version; without it the versions up "
        "to the next snapshot cannot be loaded"
    )
    explains = ("SS105",)

    slugs = (MISSING_DELTA,)
    names_file = is_spared = is_copied = True

    def to_do(self, view: CheckpointView, problem: Problem) -> str:
        """Return advice to the user on a missing delta.

        If a complete temporary file has the delta, the advice begins with renaming that file.
        """
        if copy := complete_copy(problem.message):
            return (
                f"rename {copy} to the name of the missing file while the query is stopped, and "
                f"run verify; or {self.next_step}"
            )
        return super().to_do(view, problem)

    at_file = problem_case(
        "At {path}{others:others}: {short}, so no version that needs it can be loaded."
    )
    general = problem_case(
        "A delta file is missing, so no state version from it on can be loaded until the "
        "next snapshot."
    )
