"""SS209: join on a copy of the event time.

What it means:
    A field of the join key equals the event time of every row, and a watermark on it would have
    removed some. So it is a copy (a cast, a computed column) that carries no watermark. It is
    information only (inference `join-copy`).

How it is proven:
    Each field of the join key is compared with the event time of the same row.

Source:
    StreamingSymmetricHashJoinHelper, StreamingSymmetricHashJoinExec (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.findings.views.join_side import JoinSides
from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES


class JoinCopy(Rule[OperatorView]):
    """A join key that holds the event time and carries no watermark."""

    scope = "operator"
    id = "SS209"
    title = "join on a copy of the event time"
    severity = Severity.WARNING if INFERENCES["join-copy"].warns else Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "withWatermark"
    next_step = (
        "join on the column of withWatermark itself, or on its window: a cast or a computed copy "
        "of it carries no watermark"
    )

    window_versions = WINDOW_VERSIONS

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield one evidence for each side whose rows a watermark on the key would have removed.

        The side must have kept all rows that the watermark passed, for ``window_versions`` versions
        or more. The opposite side must have removed none.
        """
        join = JoinSides(operator)
        for side in join.with_times:
            opposite = join.opposite(side)
            is_ranged = opposite is not None and opposite.removals
            is_short = side.store.history.window < self.window_versions
            if not is_short and not is_ranged and side.keeps_passed_rows and side.covered_rows:
                yield self.copy(
                    *side.store.newest.rows_and_bytes,
                    subject=side.store,
                    covered=side.covered_rows,
                    moved_ms=side.moved_ms,
                )

    copy = Case(
        cause="Most likely the join compares a copy of the event time that carries no watermark, "
        "so its rows never expire.",
        evidence="the join key holds the event time of every row, and carries no watermark: of "
        "{rows:row} {covered:number} would have been removed by one; none was in {window:version}, "
        "though the watermark moved by {moved_ms:duration}",
    )
