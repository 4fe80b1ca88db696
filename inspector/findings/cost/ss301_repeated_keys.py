"""SS301: state format 1 keeps the key twice (SPARK-24763).

What it means:
    The values of an aggregation repeat its grouping columns. Spark keeps the format with which a
    checkpoint began; format 1 is that of Spark 2.3.

How it is proven:
    The offset log records the format. If it records none, the release that wrote it has format 1.

Source:
    StreamingAggregationStateManager (2.4 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.findings.finding import Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.views.checkpoint_view import OperatorView


class RepeatedKeys(Rule[OperatorView]):
    """An aggregation whose values repeat the columns of their keys."""

    scope = "operator"
    id = "SS301"
    title = "state format 1 keeps the key twice (SPARK-24763)"
    severity = Severity.INFO
    spark = "spark.sql.streaming.aggregation.stateFormatVersion"
    next_step = "convert it: inspector copy PATH NEW --state-format 2; a new query has format 2"
    command = "sizes"

    def find(self, operator: OperatorView) -> Iterator[Evidence]:
        """Yield at most one evidence: an aggregation of state format 1, once a batch has run."""
        version = operator.whole.version
        if operator.operator.name != "stateStoreSave" or not version:
            return
        conf = operator.whole.checkpoint.conf(version, "aggregation.stateFormatVersion")
        if conf == "1":
            yield self.first_format()

    first_format = Case(
        cause="The state format of this aggregation stores every key twice.",
        evidence="by the offset log the aggregation has state format 1 (as where none is "
        "recorded): each value repeats its key",
    )
