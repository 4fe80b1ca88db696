"""What an audit is held against: limits of its numbers, and an earlier audit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inspector.analyses.shared.baseline import Baseline, read_baseline
from inspector.analyses.shared.declare import TableSpec
from inspector.exceptions import CheckpointError
from inspector.findings.baseline import TOLERANCE, Comparison, Trend, compare
from inspector.findings.gates import Gate, Passed, judged_gates, parse_gates
from inspector.findings.quantities import number_of
from inspector.render.report import Column, Report, Table, Unit

GATE = "gate"
"""Stands in the place of a finding's id where a gate that is exceeded is a row among findings."""

GATES = TableSpec(
    "gates",
    "a number of the checkpoint, held against the most that it may be; with `--max`",
    (
        Column("metric", doc="Its name."),
        Column("result", doc="`passed`, `exceeded`, or `unknown`, which exceeds nothing."),
        Column("evidence", doc="The same in words."),
        Column("value", Unit.VALUE, doc="What it is, in the metric's unit."),
        Column("most", Unit.VALUE, doc="The most that it may be."),
        Column("quantity", doc="What the metric measures, and so its unit."),
    ),
    wide=frozenset(("value", "most", "quantity")),
    important="metric result evidence value most quantity",
)
COMPARISON = TableSpec(
    "comparison",
    "a finding or a number that is not what it was in an earlier report; with `--baseline`",
    (
        Column("trend", doc="`new`, `worse`, `gone` or `better`."),
        Column("name", doc="Id of the finding, or name of the metric."),
        Column("operator_id", Unit.ID),
        Column("store_name"),
        Column("before", doc="What it was, in words; null if it was not."),
        Column("now", doc="What it is."),
        Column("before_value", Unit.VALUE, doc="The metric's value, or the bytes of the finding."),
        Column("now_value", Unit.VALUE, doc="The same of now."),
    ),
    empty="nothing has changed by more than --tolerance",
    wide=frozenset(("store_name", "before_value", "now_value")),
    important="name trend before now operator_id store_name before_value now_value",
)


@dataclass(frozen=True)
class HeldAgainst:
    """What an audit is held against.

    Attributes:
        gates: without values.
        baseline: the earlier audit, if there is one.
        tolerance: by how much of its earlier value a number may differ and count as the same.
    """

    gates: tuple[Gate, ...] = ()
    baseline: Baseline | None = None
    tolerance: float = TOLERANCE

    @classmethod
    def parse(
        cls, maximum: Mapping[str, str | float], baseline: str | None, tolerance: str
    ) -> HeldAgainst:
        """From the texts of options.

        Raises:
            CheckpointError: one of them cannot be.
        """
        try:
            share = number_of(tolerance)
            if share is None:
                raise ValueError(f"got the tolerance {tolerance!r}, expected one such as 10%")  # noqa: TRY301
            earlier = None if baseline is None else read_baseline(baseline)
            return cls(parse_gates(maximum), earlier, share)
        except ValueError as error:
            raise CheckpointError(str(error)) from None

    def judged(self, report: Report) -> Report:
        """A report with its gates and what has changed, each as a table behind its findings."""
        gates = judged_gates(self.gates, report.metrics)
        comparison = self._comparison(report)
        first, *others = report.tables
        added = [*([gate_table(gates)] if gates else [])]
        if comparison is not None:
            added.append(comparison_table(comparison))
        exceeded = [gate for gate in gates if gate.passed is Passed.EXCEEDED]
        if exceeded:
            rows = [*first.rows, *(_row(report, gate) for gate in exceeded)]
            first = replace(first, rows=rows)
        return replace(
            report,
            tables=(first, *added, *others),
            gates=gates,
            comparison=comparison,
        )

    def _comparison(self, report: Report) -> Comparison | None:
        if self.baseline is None:
            return None
        earlier = self.baseline.earlier(report.checkpoint, report.summary.get("query_id"))
        return compare(report.findings, report.metrics, earlier, self.tolerance)


def wrong_options(parsed: Mapping[str, Any]) -> str | None:
    """What is wrong with the options of a command line, before anything is read."""
    try:
        HeldAgainst.parse(parsed["max"], parsed["baseline"], parsed["tolerance"])
    except CheckpointError as error:
        return str(error)
    return None


def gate_table(gates: Sequence[Gate]) -> Table:
    """The gates, those that are exceeded first."""
    exceeded = sum(gate.passed is Passed.EXCEEDED for gate in gates)
    return GATES.table(
        f"gates: {exceeded} of {len(gates)} exceeded",
        [
            {
                "metric": gate.metric.name,
                "result": gate.passed.value,
                "evidence": gate.sentence,
                "value": gate.value,
                "most": gate.limit,
                "quantity": gate.metric.quantity.value,
            }
            for gate in gates
        ],
    )


def comparison_table(comparison: Comparison) -> Table:
    """Findings and metrics against the baseline, the worst first."""
    rows: list[tuple[Trend, dict[str, Any]]] = []
    for one in comparison.findings:
        before, now = one.before, one.now
        row = one.place._asdict() | {
            "name": one.place.id,
            "before": before and before.text,
            "now": now and now.text,
            "before_value": before and before.bytes,
            "now_value": now and now.bytes,
        }
        rows.append((one.trend, row))
    for each in comparison.metrics:
        row = {
            "name": each.metric.name,
            "before": each.metric.text(each.before),
            "now": each.metric.text(each.now),
            "before_value": each.before,
            "now_value": each.now,
        }
        rows.append((each.trend, row))
    order = list(Trend)
    rows.sort(key=lambda pair: order.index(pair[0]))
    changed = [{"trend": trend.value} | row for trend, row in rows if trend is not Trend.SAME]
    return COMPARISON.table(_title(comparison), changed)


def _title(comparison: Comparison) -> str:
    earlier = comparison.earlier
    if earlier is None:
        return "against the baseline, which does not have this checkpoint: all findings are new"
    counts = ", ".join(f"{comparison.count(trend)} {trend.value}" for trend in Trend)
    batch = "" if earlier.batch_id is None else f" (batch {earlier.batch_id})"
    part = "" if earlier.complete else "; then a part of it could not be read"
    return f"against the baseline{batch}: {counts}{part}"


def _row(report: Report, gate: Gate) -> dict[str, Any]:
    """A gate that is exceeded, as a row among the findings."""
    return {
        "checkpoint": report.checkpoint,
        "id": GATE,
        "severity": "error",
        "certainty": "proven" if gate.metric.exact else "estimated",
        "title": f"{gate.metric.name} is above its limit",
        "evidence": gate.sentence,
    }
