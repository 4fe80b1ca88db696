"""SS222: join without a match.

What it means:
    Both sides of the join have stored rows, and none found a match.

How it is proven:
    The flag `matched` of each row in the files is counted, also of rows that are gone (state format
    2).

Source:
    SymmetricHashJoinStateManager (3.0 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import HOT_ROWS
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.findings.views.join_side import JoinSides
from inspector.model import Certainty


class NoMatch(Rule[OperatorView]):
    """A join of which no row has ever been joined, though both sides have many."""

    scope = "operator"
    id = "SS222"
    title = "join without a match"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "Dataset.join"
    next_step = (
        "compare the keys of both sides (inspector rows): spelling, type and unit (u1 and U1, 42 "
        "and 042), and which of two events that belong together has the later time"
    )
    command = "rows"

    hot_rows = HOT_ROWS

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield at most one evidence: a join with many rows on both sides, none with a match.

        ``hot_rows`` rows on each side are many. The rows must have the flag ``matched``.
        """
        puts = [side.partners for side in JoinSides(operator).sides if side.partners is not None]
        has_match = any(side.matched for side in puts)
        if len(puts) == 2 and not has_match and min(p.unmatched for p in puts) >= self.hot_rows:
            yield self.no_match(left=puts[0].unmatched, right=puts[1].unmatched)

    no_match = Case(
        cause="No row of the join has ever found a match: the keys of its two sides are never "
        "equal (spelling, type, unit), or the time range excludes those that are.",
        evidence="the files have {left:row} of the left side and {right:row} of the right one, "
        "none with a match",
    )
