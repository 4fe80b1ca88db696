"""SS129: state schemas of another checkpoint.

What it means:
    The checkpoint was copied by hand. Metadata of `transformWithState` name schemas by absolute
    paths: those of the original.

How it is proven:
    The schema exists at the path that the metadata name.

Source:
    OperatorStateMetadataV2 (4.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.checkpoint_view import CheckpointView


class ForeignSchemas(Rule[CheckpointView]):
    """Operator metadata that name state schemas of another checkpoint, which exist there."""

    scope = "checkpoint"
    id = "SS129"
    title = "state schemas of another checkpoint"
    severity = Severity.INFO
    spark = "FileNotFoundException"
    next_step = "make a copy with inspector copy PATH NEW, which rewrites the paths"
    command = "info"

    def find(self, view: CheckpointView) -> Iterator[Evidence]:
        """Yield at most one evidence: the first operator whose schemas are in another checkpoint.

        The number of such operators is the number of occurrences.
        """
        restart = view.files_restart
        foreign = () if restart is None else restart.foreign_schemas
        for number, original in foreign[:1]:
            yield self.foreign(
                occurrences=len(foreign), operator=number, original=original, error=self.spark
            )

    foreign = Case(
        cause="Spark reads the state schemas of operator {operator} from {original}, the "
        "checkpoint that this one was copied from. Without it the query fails with {error}.",
        evidence="the metadata of operator {operator} name schemas below {original}",
    )
