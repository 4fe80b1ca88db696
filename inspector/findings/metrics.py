"""Metrics of a checkpoint under fixed names, and gates: limits that their values must not exceed.

A name never changes its meaning. More of each is worse. A value that a checkpoint does not show is
None, and exceeds no limit.
"""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Mapping, Sequence
from pkgutil import get_data

from inspector.findings.verdict import StateGrowth, Verdict
from inspector.light_dataclasses import dataclass
from inspector.operators.user_rules import parse_duration
from inspector.quantities import bytes_text, long_duration_text, number_of

# value of a metric, in its unit; None if the checkpoint does not show it
Value = float | int | None
Values = Mapping[str, Value]  # name of a metric -> its value
# Markdown text of the documentation's page of metrics
_PAGE = (get_data("inspector", "docs/reference/metrics.md") or b"").decode()
# name of a metric -> its meaning, from the table on the documentation's page of metrics
_MEANINGS = dict(re.findall(r"^\|`([\w.]+)` \([^)]+\)\|(.+)\|$", _PAGE, re.MULTILINE))


class Quantity(enum.Enum):
    """Kind of number that a metric has, which decides its unit and how its values are written.

    Shares are 0 to 1.
    """

    COUNT = "count"
    BYTES = "bytes"
    SHARE = "share"
    COUNT_PER_HOUR = "count per hour"
    BYTES_PER_HOUR = "bytes per hour"
    SECONDS = "seconds"


# kind of number -> example of a limit, as an option takes it, for error messages
_EXAMPLES = {
    Quantity.COUNT: "1000",
    Quantity.BYTES: "8GiB",
    Quantity.SHARE: "1%",
    Quantity.COUNT_PER_HOUR: "50000",
    Quantity.BYTES_PER_HOUR: "100MiB",
    Quantity.SECONDS: "2h",
}


@dataclass(frozen=True)
class Metric:
    """A number of a checkpoint under a fixed name, of which more is worse."""

    name: str  # name in options, JSON and comparisons
    quantity: Quantity  # kind of number, which decides its unit
    doc: str  # meaning, from the documentation's page of metrics
    exact: bool = True  # True if it is counted from bytes; False for an estimate

    @property
    def example(self) -> str:
        """Example of a value as an option takes it, such as ``8GiB`` or ``2h``."""
        return _EXAMPLES[self.quantity]

    def parse(self, text: str) -> float:
        """Return the number of a user's text for this metric, in the metric's unit.

        ``text`` is such as ``8GiB``, ``1%``, ``2h`` or ``1000``; ``/h`` behind a rate is ignored.
        Durations become seconds, and percentages shares. Raises ValueError if the text is no value
        of this metric.
        """
        text = text.strip().removesuffix("/h") if self._is_rate else text.strip()
        value = number_of(text) if self._has_unit(text) else None
        if value is None and self.quantity is Quantity.SECONDS:
            try:
                return parse_duration(text) / 1000
            except ValueError:
                value = None
        if value is None:
            raise ValueError(f"{self.name} is no {text!r}, expected a value such as {self.example}")
        return value

    def _has_unit(self, text: str) -> bool:
        """Return True if ``number_of`` may read a user's value for this metric.

        ``text`` is the value without ``/h``, such as ``8GiB``. A value in ``%`` is accepted only
        for a share, and other units only for bytes. A plain number is accepted for every metric.
        Durations such as ``2h`` are refused, because ``parse`` reads them with another function.
        """
        if text.endswith("%"):
            return self.quantity is Quantity.SHARE
        of_bytes = self.quantity in (Quantity.BYTES, Quantity.BYTES_PER_HOUR)
        return of_bytes or text.replace(".", "", 1).isdecimal()

    @property
    def _is_rate(self) -> bool:
        """True if values are per hour, and so have ``/h`` behind them."""
        return self.quantity in (Quantity.COUNT_PER_HOUR, Quantity.BYTES_PER_HOUR)

    def text(self, value: Value) -> str:
        """Return a value as text for people, such as ``~8.0 GiB/h``; ``unknown`` for None.

        An estimate has ``~`` in front, and a rate ``/h`` behind it.
        """
        if value is None:
            return "unknown"
        about, sign = "" if self.exact else "~", "-" if value < 0 else ""
        return f"{about}{sign}{self._amount(abs(value))}{'/h' if self._is_rate else ''}"

    def _amount(self, value: float) -> str:
        """Return a value of 0 or more as text with its unit, without ``~`` and ``/h``."""
        if self.quantity in (Quantity.BYTES, Quantity.BYTES_PER_HOUR):
            return bytes_text(round(value))
        if self.quantity is Quantity.SHARE:
            return f"{100 * value:.4g} %"
        if self.quantity is Quantity.SECONDS:
            return long_duration_text(round(value * 1000))
        return f"{value:,.0f}"


def _metric(name: str, quantity: Quantity, *, exact: bool = True) -> Metric:
    """Return the metric with the name ``name``, whose meaning is taken from the documentation.

    Raises KeyError if the documentation's page of metrics lacks the name.
    """
    return Metric(name, quantity, _MEANINGS[name], exact)


# every metric, in the order of reports
METRICS: tuple[Metric, ...] = (
    _metric("state.rows", Quantity.COUNT),
    _metric("state.bytes", Quantity.BYTES),
    _metric("files.bytes", Quantity.BYTES),
    _metric("heap.bytes", Quantity.BYTES, exact=False),
    _metric("leftovers.rows", Quantity.COUNT),
    _metric("leftovers.bytes", Quantity.BYTES),
    _metric("leftovers.ratio", Quantity.SHARE),
    _metric("growth.rows_per_hour", Quantity.COUNT_PER_HOUR, exact=False),
    _metric("growth.bytes_per_hour", Quantity.BYTES_PER_HOUR, exact=False),
    _metric("growth.heap_bytes_per_hour", Quantity.BYTES_PER_HOUR, exact=False),
    _metric("watermark.lag_seconds", Quantity.SECONDS),
    _metric("findings.errors", Quantity.COUNT),
    _metric("findings.warnings", Quantity.COUNT),
    _metric("problems", Quantity.COUNT),
)
# name of each metric -> the metric
BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}


def metric_of(name: str) -> Metric:
    """Return the metric with the name ``name``.

    Raises ValueError for an unknown name. Its message lists all names, and asks if a similar one is
    meant.
    """
    if name in BY_NAME:
        return BY_NAME[name]
    near = difflib.get_close_matches(name, BY_NAME, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise ValueError(f"unknown metric {name!r}{hint}; expected one of {', '.join(BY_NAME)}")


def values_of(
    verdict: Verdict, *, file_bytes: int, leftover_bytes: int, lag_ms: int | None
) -> dict[str, Value]:
    """Return the values of all metrics for an audited checkpoint, by name.

    ``file_bytes`` are the bytes of the state files, and ``leftover_bytes`` those of leftovers
    (expired rows that are still there). ``lag_ms`` is the clock of the judged batch less the
    watermark; None if it is unknown. Values that are unknown are None.
    """
    size, growth = verdict.size, verdict.growth
    rows = None if size is None else size.rows
    return {
        "state.rows": rows,
        "state.bytes": None if size is None else size.bytes,
        "files.bytes": file_bytes,
        "heap.bytes": None if size is None else size.heap_bytes,
        "leftovers.rows": verdict.leftovers,
        "leftovers.bytes": None if verdict.leftovers is None else leftover_bytes,
        "leftovers.ratio": None
        if verdict.leftovers is None or rows is None
        else verdict.leftovers / max(1, rows),
        "growth.rows_per_hour": _rate(growth, "rows_per_hour"),
        "growth.bytes_per_hour": _rate(growth, "bytes_per_hour"),
        "growth.heap_bytes_per_hour": _rate(growth, "heap_bytes_per_hour"),
        "watermark.lag_seconds": None if lag_ms is None else lag_ms / 1000,
        "findings.errors": verdict.errors,
        "findings.warnings": verdict.warnings,
        "problems": verdict.problems,
    }


def _rate(growth: StateGrowth | None, name: str) -> int | None:
    """Return the rate of growth in the field ``name``, per hour and rounded to a whole number.

    It is the rate that limits are compared with: 0 in place of a rise if the state does not grow.
    None if growth is unknown or not judged.
    """
    per_hour: float | None = None if growth is None else getattr(growth, name)
    rate = None if growth is None or per_hour is None else growth.rate_for_limits(per_hour)
    return None if rate is None else round(rate)


class Passed(enum.Enum):
    """Result of a gate: its metric is within the limit, above it, or unknown."""

    PASSED = "passed"
    EXCEEDED = "exceeded"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Gate:
    """A limit for a metric, with the value of a checkpoint that is compared with it."""

    metric: Metric  # metric that is compared with the limit
    limit: float  # largest allowed value, in the metric's unit
    value: Value = None  # value of the checkpoint, in the metric's unit; None if it is unknown

    @property
    def passed(self) -> Passed:
        """Result of the comparison: EXCEEDED if the value is above the limit.

        UNKNOWN if the value is None; otherwise PASSED.
        """
        if self.value is None:
            return Passed.UNKNOWN
        return Passed.EXCEEDED if self.value > self.limit else Passed.PASSED

    @property
    def sentence(self) -> str:
        """Result for people, such as ``state.rows is 120, above the limit of 100``.

        The exact numbers are written if value and limit would read alike.
        """
        name, limit = self.metric.name, self.metric.text(self.limit).removeprefix("~")
        if self.passed is Passed.UNKNOWN:
            return f"{name} is unknown, at most {limit} is allowed"
        words = {Passed.EXCEEDED: "above", Passed.PASSED: "within"}[self.passed]
        value = self.metric.text(self.value)
        if value.removeprefix("~") == limit and self.value != self.limit:
            value, limit = f"{self.value:,.10g}", f"{self.limit:,.10g}"
        return f"{name} is {value}, {words} the limit of {limit}"


def parse_gates(given: Mapping[str, str | float]) -> tuple[Gate, ...]:
    """Return gates without values from the user's limits, such as ``8GiB``, by the metric's name.

    Raises ValueError for an unknown metric or a limit that the metric cannot have.
    """
    metrics = {metric_of(name.strip()): limit for name, limit in given.items()}
    return tuple(Gate(metric, metric.parse(str(limit))) for metric, limit in metrics.items())


def apply_gates(gates: Sequence[Gate], values: Values) -> tuple[Gate, ...]:
    """Return copies of the gates with the values of a checkpoint, exceeded gates first.

    ``values`` are the values by the metric's name.
    """
    judged = [Gate(gate.metric, gate.limit, values.get(gate.metric.name)) for gate in gates]
    return tuple(sorted(judged, key=lambda gate: gate.passed is not Passed.EXCEEDED))
