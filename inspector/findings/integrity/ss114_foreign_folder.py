"""SS114: folder that is no state store.

What it means:
    A folder among the stores of a partition, or files beside them, that belong to no store: a
    backup or a copy. Spark never opens such a folder, and no number here counts it. Or a file in a
    store's folder with a name that Spark never gives.

How it is proven:
    The folders are compared with the stores in the operator's metadata or, before Spark 4.0, with
    the names that Spark gives.

Source:
    StateStoreId.storeCheckpointLocation (2.3 to 4.3), OperatorStateMetadata (4.0 to 4.3).
"""

from __future__ import annotations

from inspector.checkpoint.layout import FOREIGN_FILE
from inspector.findings.finding import Severity
from inspector.findings.problem_rule import ProblemRule, problem_case
from inspector.findings.rule import Case
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.model import Problem


class ForeignFolder(ProblemRule):
    """Folders and files in the state that no store of the query has."""

    id = "SS114"
    title = "folder that is no state store"
    severity = Severity.INFO
    spark = "org.apache.spark.sql.execution.streaming.state.StateStoreId"
    next_step = "move it out of the checkpoint, once nobody needs it there"

    slugs = ("foreign-folder",)

    def special_case(self, view: CheckpointView, problem: Problem) -> Case | None:
        """Return the case ``file`` if the problem is about a file; None if it is about a folder."""
        is_file = problem.message.startswith(FOREIGN_FILE)
        return self.file if is_file else super().special_case(view, problem)

    general = problem_case(
        "A folder in the state belongs to no store of the query, and Spark ignores it."
    )
    file = problem_case(
        "A file in the state has a name that no state store gives, and Spark ignores it."
    )
