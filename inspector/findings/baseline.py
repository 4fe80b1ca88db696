"""An earlier audit held against this one: what got better, worse, what is new and what is gone."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inspector.findings.finding import Finding, Severity
from inspector.findings.metrics import METRICS, Metric, Value, Values
from inspector.light_dataclasses import dataclass
from inspector.quantities import count_text
from inspector.sums import sum_known

# Share of its earlier value by which a number may differ and count as unchanged: a running query is
# never twice the same.
TOLERANCE = 0.1

USUAL_GROWTH = 0.01  # share of the state per hour; growth that differs by less counts as unchanged
# seconds by which the watermark's lag may differ, as it varies with the batches
USUAL_LAG_SECONDS = 600

# metric of growth -> metric of what grows
_GROWS = {
    "growth.rows_per_hour": "state.rows",
    "growth.bytes_per_hour": "state.bytes",
    "growth.heap_bytes_per_hour": "heap.bytes",
}
_MOST = 1 << 63  # numbers of a file must be smaller


class Trend(enum.Enum):
    """Change of a finding or metric against the baseline, the worst first."""

    NEW = "new"
    WORSE = "worse"
    GONE = "gone"
    BETTER = "better"
    SAME = "same"

    @property
    def is_bad(self) -> bool:
        """True if a gate fails for it."""
        return self in (Trend.NEW, Trend.WORSE)


class Place(NamedTuple):
    """Identity of a finding across audits."""

    id: str  # id of the finding
    operator_id: int | None  # operator that it is about; None for the checkpoint
    store_name: str | None  # store that it is about; None if it is about no single store


@dataclass(frozen=True)
class Earlier:
    """Results of an earlier audit of a checkpoint."""

    checkpoint: str  # path
    # id of the query, by which the checkpoint is recognised first; None if unknown
    query_id: str | None
    batch_id: int | None  # judged batch
    complete: bool  # everything could be read; if not, a new finding may have been there before
    metrics: Values  # values by name
    # severity, rows and bytes of each finding; of several in one place the sum
    findings: Mapping[Place, Amount]


@dataclass(frozen=True)
class Amount:
    """Severity, rows and bytes of a finding."""

    severity: Severity  # highest severity
    rows: int | None = None  # rows concerned; None if it counts none
    bytes: int | None = None  # row bytes of these rows; None if it counts none

    def __add__(self, second: Amount) -> Amount:
        """Return the sum, with the higher severity: one id may have several findings in a store."""
        return Amount(
            max(self.severity, second.severity),
            sum_known((self.rows, second.rows)),
            sum_known((self.bytes, second.bytes)),
        )

    @property
    def text(self) -> str:
        """Severity, and rows if it counts any, for people."""
        if self.rows is None:
            return self.severity.word
        return f"{self.severity.word}, {count_text(self.rows, 'row')}"


@dataclass(frozen=True)
class FindingTrend:
    """A finding in the earlier and in the present audit; None where it is absent."""

    place: Place  # identity of the finding
    before: Amount | None  # amount in the earlier audit; None if it is new
    now: Amount | None  # amount in the present audit; None if it is gone
    trend: Trend  # new, worse, gone, better or same


@dataclass(frozen=True)
class MetricTrend:
    """Values of a metric in the earlier and in the present audit."""

    metric: Metric  # compared metric
    before: Value  # value in the earlier audit
    now: Value  # value in the present audit
    trend: Trend  # worse, better or same


@dataclass(frozen=True)
class Comparison:
    """A checkpoint compared with its baseline."""

    # earlier results; None if the baseline lacks the checkpoint, so that all is new
    earlier: Earlier | None
    findings: tuple[FindingTrend, ...]  # findings of either audit, the worst first
    metrics: tuple[MetricTrend, ...]  # metrics that both audits have, the worst first

    def count(self, trend: Trend) -> int:
        """Return the number of findings and metrics with a trend."""
        return self.trends.count(trend)

    @property
    def trends(self) -> list[Trend]:
        """Trends of all findings and metrics."""
        return [*(f.trend for f in self.findings), *(m.trend for m in self.metrics)]

    @property
    def worse_metrics(self) -> tuple[MetricTrend, ...]:
        """Metrics for which a gate fails."""
        return tuple(metric for metric in self.metrics if metric.trend.is_bad)

    def is_bad(self, finding: Finding) -> bool:
        """True if a finding is new or worse."""
        return any(t.place == place_of(finding) and t.trend.is_bad for t in self.findings)


def compare(
    findings: Sequence[Finding],
    metrics: Values,
    earlier: Earlier | None,
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Return the comparison of an audit with an earlier one.

    Numbers that differ by up to ``tolerance`` of the earlier value count as the same. Without an
    earlier audit all findings are new.
    """
    now = amounts_of((place_of(f), Amount(f.severity, f.rows, f.bytes)) for f in findings)
    before = {} if earlier is None else earlier.findings
    trends = []
    for location in {**now, **before}:
        pair = before.get(location), now.get(location)
        trends.append(FindingTrend(location, *pair, _trend_of(*pair, tolerance)))
    of_metrics = () if earlier is None else _metric_trends(earlier.metrics, metrics, tolerance)
    order = list(Trend).index
    return Comparison(
        earlier,
        tuple(sorted(trends, key=lambda item: order(item.trend))),
        tuple(sorted(of_metrics, key=lambda item: order(item.trend))),
    )


def place_of(finding: Finding) -> Place:
    """Return the identity of a finding, which another audit's finding may share."""
    return Place(finding.kind.id, finding.operator_id, finding.store_name)


def amounts_of(amounts: Iterator[tuple[Place, Amount]]) -> dict[Place, Amount]:
    """Return the sum of the amounts of each place."""
    sums: dict[Place, Amount] = {}
    for location, amount in amounts:
        sums[location] = sums[location] + amount if location in sums else amount
    return sums


def _metric_trends(before: Values, now: Values, tolerance: float) -> Iterator[MetricTrend]:
    """Yield the trend of each metric that both audits have."""
    for metric in METRICS:
        then, current = before.get(metric.name), now.get(metric.name)
        if then is not None and current is not None:
            least = _least_difference(metric, now)
            # State that shrinks is not worse for shrinking more slowly.
            pair = max(0, then), max(0, current)
            trend = _trend_of_numbers(*pair, max(least, tolerance * pair[0]))
            yield MetricTrend(metric, then, current, trend)


def _least_difference(metric: Metric, now: Values) -> float:
    """Return the difference of a metric's values up to which it counts as unchanged.

    It is for changes that come and go by themselves; in the metric's unit.
    """
    if metric.name == "watermark.lag_seconds":
        return USUAL_LAG_SECONDS
    state = now.get(_GROWS.get(metric.name, ""))
    return 0 if state is None else USUAL_GROWTH * state


def _trend_of(before: Amount | None, now: Amount | None, tolerance: float) -> Trend:
    """Return how a finding changed between two audits.

    ``before`` and ``now`` are its amounts; None if that audit did not have the finding. Returns NEW
    if ``before`` is None, and GONE if ``now`` is None. Otherwise the severity decides. If the
    severity is equal, the bytes decide, or the rows if one audit has no bytes. A number that
    changes by at most ``tolerance`` (a share of the earlier number) is the same.
    """
    if before is None:
        return Trend.NEW
    if now is None:
        return Trend.GONE
    if now.severity != before.severity:
        return Trend.WORSE if now.severity > before.severity else Trend.BETTER
    for then, current in ((before.bytes, now.bytes), (before.rows, now.rows)):
        if then is not None and current is not None:
            return _trend_of_numbers(then, current, tolerance * then)
    return Trend.SAME


def _trend_of_numbers(before: float, now: float, least: float) -> Trend:
    """Return whether a number is the same, worse (larger) or better (smaller).

    Differences up to ``least`` count as the same.
    """
    if abs(now - before) <= least:
        return Trend.SAME
    return Trend.WORSE if now > before else Trend.BETTER


def failing(
    findings: Sequence[Finding], least: Severity | None, comparison: Comparison | None
) -> tuple[Finding, ...]:
    """Return the findings for which a gate fails.

    They have at least the severity ``least`` and, with a comparison, are new or worse. Empty if
    ``least`` is None.
    """
    if least is None:
        return ()
    return tuple(
        f for f in findings if f.severity >= least and (comparison is None or comparison.is_bad(f))
    )


def earlier_of(report: Mapping[str, Any]) -> Earlier:
    """Return the results in the JSON report of one audit; ValueError for another document."""
    try:
        summary = report["summary"]
        result = amounts_of(map(_place_and_amount, report["findings"]))
        metrics = {m.name: _number(report["metrics"].get(m.name)) for m in METRICS}
        checkpoint, query_id = report["checkpoint"], summary.get("query_id")
        batch_id, complete = summary.get("batch_id"), bool(report["complete"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected the report of an audit: {error!r}") from None
    if not isinstance(checkpoint, str):
        raise ValueError("got a report without its path")  # noqa: TRY004 - a value of the file
    query_id = query_id if isinstance(query_id, str) else None
    return Earlier(checkpoint, query_id, _count(batch_id), complete, metrics, result)


def _place_and_amount(finding: Mapping[str, Any]) -> tuple[Place, Amount]:
    """Return identity and amount of a finding in a report."""
    store = finding["store_name"]
    location = Place(
        str(finding["id"]), _count(finding["operator_id"]), None if store is None else str(store)
    )
    severity = Severity[str(finding["severity"]).upper()]
    return location, Amount(severity, _count(finding["rows"]), _count(finding["bytes"]))


def _count(value: Any) -> int | None:
    """Return a whole number of a report; None for None, TypeError for other values."""
    if isinstance(value, float):
        raise TypeError(f"{value!r:.40} is not a count")
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> Value:
    """Return a number of a report; None for None, TypeError for other values."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise TypeError(f"{value!r:.40} is not a number")
    if value is not None and not -_MOST < value < _MOST:  # nor NaN
        raise TypeError("a number is beyond all that can be counted")
    return value
