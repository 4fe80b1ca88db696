"""SS208: join rows and counters disagree.

What it means:
    A join keeps the number of rows of each key in one store and the rows in another, and they
    disagree. Spark fails when it reads a row that is not there
    (`STREAM_STREAM_JOIN_INCONSISTENT_STATE.NULL_VALUE` in 4.3). It is an error if the next batch
    fails.

How it is proven:
    For every key the counter is compared with the rows.

Source:
    SymmetricHashJoinStateManager (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.join_rows import JoinCheck
from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.findings.views.join_side import JoinSides
from inspector.quantities import count_text


class JoinCounters(Rule[OperatorView]):
    """Counters of a join that do not fit its rows."""

    scope = "operator"
    id = "SS208"
    title = "join rows and counters disagree"
    severity = Severity.WARNING
    spark = "spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled"
    next_step = (
        "set spark.sql.streaming.stateStore.skipNullsForStreamStreamJoins.enabled to true, so that "
        "Spark passes over rows that are not there, or start from a new checkpoint; rows behind "
        "their counter are never joined and never removed"
    )
    command = "verify"

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield one evidence for each side of a join whose counters and rows disagree."""
        join = JoinSides(operator)
        for side in join.sides:
            check = side.check or JoinCheck()
            if differences := differences_of(check):
                is_fatal = bool(check.missing_rows) and join.reads_all_rows(side)
                case = self.null_rows if is_fatal else self.disagree
                missing = check.missing_rows
                yield case(
                    subject=side.store, side=side.label, missing=missing, differences=differences
                )

    disagree = Case(
        cause="Rows of the {side} side of the join and the counters that count them disagree.",
        evidence="{differences}",
    )
    null_rows = Case(
        cause="The next batch fails, as it reads all rows of the {side} side of the join and meets "
        "{missing:null row}.",
        evidence="{differences}",
        severity=Severity.ERROR,
    )


def differences_of(check: JoinCheck) -> str:
    """Return the numbers of missing rows, bare counters and uncounted rows as text.

    The parts are separated by semicolons, and numbers of 0 are left out; "" if nothing disagrees.
    """
    counts = (
        (
            check.missing_rows,
            "row missing that a counter counts",
            "rows missing that a counter counts",
        ),
        (
            check.counters_without_rows,
            "key with a counter and no row",
            "keys with a counter and no row",
        ),
        (check.dangling_rows, "row that no counter counts", "rows that no counter counts"),
    )
    return "; ".join(count_text(*count) for count in counts if count[0])
