"""Gates: the most that a number of a checkpoint may be before its audit fails."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inspector.findings.metrics import Metric, Value, Values, metric_of


class Passed(enum.Enum):
    """What came of a gate."""

    PASSED = "passed"
    EXCEEDED = "exceeded"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Gate:
    """A metric, the most that it may be, and what it is.

    Attributes:
        metric: what is held against the limit.
        limit: the most that it may be; in the metric's unit.
        value: what it is; None if the checkpoint does not show it.
    """

    metric: Metric
    limit: float
    value: Value = None

    @property
    def passed(self) -> Passed:
        """Whether the value is within the limit; a value that is unknown exceeds nothing."""
        if self.value is None:
            return Passed.UNKNOWN
        return Passed.EXCEEDED if self.value > self.limit else Passed.PASSED

    @property
    def sentence(self) -> str:
        """What came of it, for people."""
        name, limit = self.metric.name, self.metric.text(self.limit).removeprefix("~")
        if self.passed is Passed.UNKNOWN:
            return f"{name} is unknown, at most {limit} is allowed"
        words = {Passed.EXCEEDED: "above", Passed.PASSED: "within"}[self.passed]
        value = self.metric.text(self.value)
        if value.removeprefix("~") == limit and self.value != self.limit:
            value, limit = f"{self.value:,.10g}", f"{self.limit:,.10g}"
        return f"{name} is {value}, {words} the limit of {limit}"


def parse_gates(given: Mapping[str, str | float]) -> tuple[Gate, ...]:
    """Gates without values.

    Args:
        given: the name of a metric -> the most that it may be, such as ``8GiB``.

    Raises:
        ValueError: an unknown name, or a value that its metric cannot have.
    """
    metrics = {metric_of(name.strip()): limit for name, limit in given.items()}
    return tuple(Gate(metric, metric.parse(str(limit))) for metric, limit in metrics.items())


def apply_gates(gates: Sequence[Gate], values: Values) -> tuple[Gate, ...]:
    """The gates with their values; those that are exceeded first."""
    judged = [Gate(gate.metric, gate.limit, values.get(gate.metric.name)) for gate in gates]
    return tuple(sorted(judged, key=lambda gate: gate.passed is not Passed.EXCEEDED))
