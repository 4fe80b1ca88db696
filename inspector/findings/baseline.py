"""Comparison of an audit with an earlier one: trends of findings and metrics, for gates."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inspector.findings.finding import Finding, Severity
from inspector.findings.metrics import METRICS, Metric, Value, Values
from inspector.light_dataclasses import dataclass
from inspector.quantities import count_text
from inspector.sums import sum_known

# Share of its earlier value by which a finding's or metric's number may differ and count as
# unchanged, if the user sets no other: the state of a running query always changes a little.
TOLERANCE = 0.1

# share of the state by which growth per hour may differ between two audits and count as unchanged
USUAL_GROWTH = 0.01
# seconds by which the watermark's lag may differ between two audits and count as unchanged
USUAL_LAG_SECONDS = 600

# name of a metric of growth -> name of the metric of the state that grows
_GROWS = {
    "growth.rows_per_hour": "state.rows",
    "growth.bytes_per_hour": "state.bytes",
    "growth.heap_bytes_per_hour": "heap.bytes",
}
_MOST = 1 << 63  # absolute value that numbers of a baseline file must stay below


class Trend(enum.Enum):
    """Change of a finding or metric from the earlier to the present audit, the worst first."""

    NEW = "new"
    WORSE = "worse"
    GONE = "gone"
    BETTER = "better"
    SAME = "same"

    @property
    def is_bad(self) -> bool:
        """True for NEW and WORSE, for which a gate fails."""
        return self in (Trend.NEW, Trend.WORSE)


class Place(NamedTuple):
    """Identity of a finding across audits: its id, operator and store."""

    id: str  # id of the finding
    operator_id: int | None  # operator that it is about; None for the checkpoint
    store_name: str | None  # store that it is about; None for a whole operator or the checkpoint


@dataclass(frozen=True)
class Earlier:
    """Results of an earlier audit of a checkpoint."""

    checkpoint: str  # path of the audited checkpoint
    # id of the query, which identifies the checkpoint even if its path changed; None if unknown
    query_id: str | None
    batch_id: int | None  # judged batch; None if the report has none
    # True if the audit could read everything; if not, findings that look new may be older
    complete: bool
    metrics: Values  # values of the metrics by name
    # amount of each finding, by its identity; the sum if several findings have one identity
    findings: Mapping[Place, Amount]


@dataclass(frozen=True)
class Amount:
    """Severity, rows and bytes of a finding, or the sum of several findings of one ``Place``."""

    severity: Severity  # severity of the finding; the highest one of several
    rows: int | None = None  # number of rows concerned; None if the finding counts none
    bytes: int | None = None  # row bytes of these rows; None if the finding counts none

    def __add__(self, second: Amount) -> Amount:
        """Return the sum of the rows and bytes, with the higher of the two severities.

        It serves several findings with one id, operator and store. A number that is None in both is
        None in the sum.
        """
        return Amount(
            max(self.severity, second.severity),
            sum_known((self.rows, second.rows)),
            sum_known((self.bytes, second.bytes)),
        )

    @property
    def text(self) -> str:
        """Text for people: the severity, and the rows unless they are None: ``error, 3 rows``."""
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
    """Trends of a checkpoint's findings and metrics against those of an earlier audit."""

    # results of the earlier audit; None if the baseline lacks the checkpoint, so all is new
    earlier: Earlier | None
    findings: tuple[FindingTrend, ...]  # findings of either audit, the worst first
    metrics: tuple[MetricTrend, ...]  # metrics that both audits have, the worst first

    def count(self, trend: Trend) -> int:
        """Return the number of findings and metrics with the trend ``trend``."""
        return self.trends.count(trend)

    @property
    def trends(self) -> list[Trend]:
        """Trends of all findings, then of all metrics."""
        return [*(f.trend for f in self.findings), *(m.trend for m in self.metrics)]

    @property
    def worse_metrics(self) -> tuple[MetricTrend, ...]:
        """Metrics whose trend is worse, for which a gate fails."""
        return tuple(metric for metric in self.metrics if metric.trend.is_bad)

    def is_bad(self, finding: Finding) -> bool:
        """Return True if ``finding`` of the present audit is new or worse.

        Findings with one id, operator and store are judged together.
        """
        return any(t.place == place_of(finding) and t.trend.is_bad for t in self.findings)


def compare(
    findings: Sequence[Finding],
    metrics: Values,
    earlier: Earlier | None,
    tolerance: float = TOLERANCE,
) -> Comparison:
    """Return the comparison of an audit with an earlier one.

    ``findings`` and ``metrics`` are those of the present audit. ``tolerance`` is the share of an
    earlier number by which it may change and count as the same. If ``earlier`` is None, all
    findings are new, and no metric is compared.
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
    """Return the id, operator and store of a finding, which identify it in another audit."""
    return Place(finding.kind.id, finding.operator_id, finding.store_name)


def amounts_of(amounts: Iterator[tuple[Place, Amount]]) -> dict[Place, Amount]:
    """Return the sums of the amounts by place, for pairs of a place and an amount."""
    sums: dict[Place, Amount] = {}
    for location, amount in amounts:
        sums[location] = sums[location] + amount if location in sums else amount
    return sums


def _metric_trends(before: Values, now: Values, tolerance: float) -> Iterator[MetricTrend]:
    """Yield the trend of each metric that has a value in both audits.

    ``before`` and ``now`` are the values of the earlier and the present audit. A difference counts
    as the same up to ``tolerance``, a share of the earlier value, or up to the usual fluctuation of
    the metric. Negative values are compared as 0.
    """
    for metric in METRICS:
        then, current = before.get(metric.name), now.get(metric.name)
        if then is not None and current is not None:
            least = _least_difference(metric, now)
            # State that shrinks is not worse for shrinking more slowly.
            pair = max(0, then), max(0, current)
            trend = _trend_of_numbers(*pair, max(least, tolerance * pair[0]))
            yield MetricTrend(metric, then, current, trend)


def _least_difference(metric: Metric, now: Values) -> float:
    """Return the difference of two values of a metric up to which the metric counts as unchanged.

    The result has the metric's unit. It is USUAL_LAG_SECONDS for the watermark's lag, and the share
    USUAL_GROWTH of the present state, from ``now``, for a rate of growth. It is 0 for other
    metrics.
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
    """Return SAME, WORSE or BETTER for a number that was ``before`` and is ``now``.

    SAME is for differences up to ``least``. Otherwise a larger number is worse, and a smaller one
    is better.
    """
    if abs(now - before) <= least:
        return Trend.SAME
    return Trend.WORSE if now > before else Trend.BETTER


def failing(
    findings: Sequence[Finding], least: Severity | None, comparison: Comparison | None
) -> tuple[Finding, ...]:
    """Return the findings for which a gate fails.

    They have at least the severity ``least``. If there is a comparison, they are also new or worse
    by it. The result is empty if ``least`` is None.
    """
    if least is None:
        return ()
    return tuple(
        f for f in findings if f.severity >= least and (comparison is None or comparison.is_bad(f))
    )


def earlier_of(report: Mapping[str, Any]) -> Earlier:
    """Return the results of an audit from its parsed JSON report.

    Raises ValueError if ``report`` is not the report of one audit.
    """
    try:
        summary = report["summary"]
        result = amounts_of(map(_place_and_amount, report["findings"]))
        metrics = {m.name: _number(report["metrics"].get(m.name)) for m in METRICS}
        checkpoint, query_id = report["checkpoint"], summary.get("query_id")
        batch_id, complete = _count(summary.get("batch_id")), bool(report["complete"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"expected the report of an audit: {error!r}") from None
    if not isinstance(checkpoint, str):
        raise ValueError("got a report without its path")  # noqa: TRY004 - a value of the file
    query_id = query_id if isinstance(query_id, str) else None
    return Earlier(checkpoint, query_id, batch_id, complete, metrics, result)


def _place_and_amount(finding: Mapping[str, Any]) -> tuple[Place, Amount]:
    """Return the identity and the amount of a finding in a parsed JSON report.

    Raises KeyError if a field is missing or the severity is unknown, and TypeError if a number is
    wrong.
    """
    store = finding["store_name"]
    location = Place(
        str(finding["id"]), _count(finding["operator_id"]), None if store is None else str(store)
    )
    severity = Severity[str(finding["severity"]).upper()]
    return location, Amount(severity, _count(finding["rows"]), _count(finding["bytes"]))


def _count(value: Any) -> int | None:
    """Return a count from a JSON report as an integer; None for None.

    Raises TypeError for floats (``3.0`` too), booleans, texts and numbers that are too large.
    """
    if isinstance(value, float):
        raise TypeError(f"{value!r:.40} is not a count")
    number = _number(value)
    return None if number is None else int(number)


def _number(value: Any) -> Value:
    """Return a number from a JSON report unchanged; None for None.

    Raises TypeError for booleans, texts, NaN and numbers whose absolute value is 2**63 or more.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise TypeError(f"{value!r:.40} is not a number")
    if value is not None and not -_MOST < value < _MOST:  # nor NaN
        raise TypeError("a number is beyond all that can be counted")
    return value
