"""SS205: one join side never removes.

What it means:
    A side of a join removed no row that the watermark had passed. If neither side does, it is a
    warning (inference `join-bound`). Of one side the range may be longer than the history, so it is
    information (inference `join-side`).

How it is proven:
    Removals are counted, and the times of the rows compared with the watermark.

Source:
    StreamingSymmetricHashJoinHelper.getStateWatermarkPredicates (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import WINDOW_VERSIONS
from inspector.findings.views.checkpoint_view import OperatorView
from inspector.findings.views.join_side import JoinSide, JoinSides
from inspector.model import Certainty
from inspector.operators.inferences import INFERENCES


class JoinSideKeeps(Rule[OperatorView]):
    """Sides of a join that keep rows which the watermark has passed."""

    scope = "operator"
    id = "SS205"
    title = "one join side never removes"
    severity = Severity.INFO
    certainties = (Certainty.INFERRED,)
    spark = "withWatermark"
    next_step = (
        "bound this side's time by the other's in the join condition, such as rightTime >= "
        "leftTime AND rightTime <= leftTime + INTERVAL 1 HOUR (in days or less: Spark takes no "
        "months and years); give a range longer than the history by --join-retention"
    )

    window_versions = WINDOW_VERSIONS

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield the sides that keep rows, and the join if the watermark has passed no row of it.

        For the second, both sides must have event times and be young.
        """
        join = JoinSides(operator)
        keeping = [side for side in join.with_times if self.keeps_rows(side)]
        for side in keeping:
            yield from self.find_kept_rows(side, join.opposite(side))
        if len(join.with_times) > 1 and all(map(self.is_young, join.with_times)):
            yield self.young(least_ms=min(-(side.most_ms or 0) for side in join.with_times))

    def keeps_rows(self, side: JoinSide) -> bool:
        """Return True if a side removed none of the rows that the watermark has passed.

        The watermark must have moved and passed a row, and the side must have more rows than in the
        oldest version. Rows that were removed before the watermark passed them do not count.
        Returns False if the changes of fewer than ``window_versions`` versions are known.
        """
        return side.store.history.window >= self.window_versions and side.keeps_passed_rows

    def find_kept_rows(self, side: JoinSide, opposite: JoinSide | None) -> Iterator[Evidence]:
        """Yield at most one evidence of a side that keeps its rows.

        The case depends on whether the opposite side keeps its rows, too. Nothing is yielded if the
        key has a copy of the event time, which SS209 reports.
        """
        has_idle_opposite = opposite is not None and not opposite.removals
        if side.covered_rows and (opposite is None or has_idle_opposite):
            return  # SS209
        is_mutual = opposite is not None and opposite.keeps_passed_rows
        case = self.no_bound if is_mutual and not side.early else self.one_side
        yield case(
            *side.store.newest.rows_and_bytes,
            subject=side.store,
            side=side.label,
            moved_ms=side.moved_ms,
            behind_ms=side.most_ms or 0,
            most_ms=max(side.most_ms or 0, (opposite or side).most_ms or 0),
            early=side.early,
            opposite=0 if opposite is None else opposite.removals,
        )

    def is_young(self, side: JoinSide) -> bool:
        """Return True if a side grows, lost no row, and has no row that the watermark has passed.

        Returns False if the changes of fewer than ``window_versions`` versions are known. Also
        returns False if no version has both a watermark and an event time.
        """
        is_long = side.store.history.window >= self.window_versions
        is_ahead = side.most_ms is not None and side.most_ms <= 0
        return is_long and side.has_grown and not side.removals and is_ahead

    _EVIDENCE = (
        "no row that the watermark had passed was removed in {window:version}, though the "
        "watermark moved by {moved_ms:duration}; {rows:row}, the oldest {behind_ms:duration} "
        "behind the watermark; {early:row} went with a partner, and the other side removed "
        "{opposite:row}"
    )
    _BOUND = (
        "bound the times of both sides in the join condition, such as rightTime >= leftTime AND "
        "rightTime <= leftTime + INTERVAL 1 HOUR (in days or less: Spark takes no months and "
        "years); give a range longer than the history by --join-retention"
    )
    no_bound = Case(
        cause="This join never drops rows; some are {most_ms:duration} behind the watermark. The "
        "condition probably has no time bound.",
        evidence=_EVIDENCE,
        next_step=_BOUND,
        severity=Severity.WARNING if INFERENCES["join-bound"].warns else Severity.INFO,
    )
    one_side = Case(
        cause="The {side} side of the join never drops rows; some are {behind_ms:duration} behind "
        "the watermark. The time range may be long, or have no bound on this side.",
        evidence=_EVIDENCE,
    )
    young = Case(
        cause="No row of the join was removed yet, as the watermark has passed none: without a "
        "time range in the join condition none ever will be.",
        evidence="no row of either side was removed; the watermark has to advance by "
        "{least_ms:duration} before it passes the first",
        next_step=_BOUND,
    )
