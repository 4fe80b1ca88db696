"""Metrics in Prometheus' text format, for the textfile collector of its node exporter.

Every metric is a gauge ``spark_state_...`` in base units (bytes, seconds, ratios) with the labels
``checkpoint`` and ``query_id``; nothing of keys and values is in a label. An unknown value is
absent. A checkpoint that could not be read has ``spark_state_level`` 4 and nothing else.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from inspector.findings.metrics import BY_NAME, Passed
from inspector.findings.rule import all_kinds
from inspector.findings.verdict import Level
from inspector.plain_text import escape
from inspector.render.report_data import ReportData

_PER_SECOND = 1 / 3600  # factor from rates per hour to rates per second
LABELS = ("checkpoint", "query_id")  # labels of every metric

NAMES: dict[str, tuple[str, float]] = {
    "state.rows": ("spark_state_rows", 1),
    "state.bytes": ("spark_state_bytes", 1),
    "files.bytes": ("spark_state_files_bytes", 1),
    "heap.bytes": ("spark_state_heap_bytes", 1),
    "leftovers.rows": ("spark_state_leftover_rows", 1),
    "leftovers.bytes": ("spark_state_leftover_bytes", 1),
    "leftovers.ratio": ("spark_state_leftover_ratio", 1),
    "growth.rows_per_hour": ("spark_state_growth_rows_per_second", _PER_SECOND),
    "growth.bytes_per_hour": ("spark_state_growth_bytes_per_second", _PER_SECOND),
    "growth.heap_bytes_per_hour": ("spark_state_growth_heap_bytes_per_second", _PER_SECOND),
    "watermark.lag_seconds": ("spark_state_watermark_lag_seconds", 1),
    "findings.errors": ("spark_state_errors", 1),
    "findings.warnings": ("spark_state_warnings", 1),
    "problems": ("spark_state_problems", 1),
}
"""Metric -> its name here, and what its values are multiplied by."""

# Names of metrics that are not numbers of an audit.
LEVEL, _BATCH = "spark_state_level", "spark_state_batch_id"
_CLOCK, _WRITTEN = "spark_state_batch_timestamp_seconds", "spark_state_inspected_timestamp_seconds"
_FINDINGS, _GATES = "spark_state_findings", "spark_state_gate_exceeded"

_FAMILIES: dict[str, tuple[str, tuple[str, ...]]] = {
    LEVEL: ("0 ok, 1 info, 2 warning, 3 error, 4 part of the checkpoint could not be read.", ()),
    _BATCH: ("The judged batch.", ()),
    _CLOCK: ("Clock of the judged batch.", ()),
    _FINDINGS: ("Findings of each rule.", ("id", "severity")),
    _GATES: ("1 if the metric is above the limit that was given with --max.", ("metric",)),
}
"""Besides those of metrics: what they mean, and their labels besides :data:`LABELS`."""

Sample = tuple[str, tuple[str, ...], float]  # its family, labels besides :data:`LABELS`, value
Observed = tuple[tuple[str, str], Sequence[Sample]]  # labels and few numbers of a checkpoint


def metrics_of(report: ReportData) -> Observed:
    """Return the labels of a report's checkpoint, and its samples.

    Unknown values are left out.
    """
    summary = report.summary
    timestamp = summary.get("batch_timestamp_ms")
    seconds = None if timestamp is None else timestamp / 1000
    numbers = {LEVEL: report.level.rank, _BATCH: summary.get("batch_id"), _CLOCK: seconds}
    for metric, (name, factor) in NAMES.items():
        value = report.metrics.get(metric)
        numbers[name] = None if value is None else value * factor
    samples: list[Sample] = [(name, (), v) for name, v in numbers.items() if v is not None]
    samples += ((_GATES, (g.metric.name,), g.passed is Passed.EXCEEDED) for g in report.gates)
    counts = Counter((finding.kind.id, finding.severity.word) for finding in report.findings)
    if report.judged:
        ids = {finding.kind.id for finding in report.findings}
        absent_kinds = (kind for kind in report.rules or all_kinds() if kind.id not in ids)
        counts.update({(kind.id, kind.severity.word): 0 for kind in absent_kinds})
    samples += ((_FINDINGS, labels, counts[labels]) for labels in sorted(counts))
    return (escape(report.checkpoint), escape(str(summary.get("query_id") or ""))), samples


def unreadable(checkpoint: str) -> Observed:
    """Return the labels and the only sample, level 4, of a checkpoint that could not be read."""
    return (escape(checkpoint), ""), [(LEVEL, (), Level.UNREADABLE.rank)]


def render_prometheus(report: ReportData) -> Iterator[str]:
    """Yield the metrics of a report as text."""
    yield prometheus_text([metrics_of(report)])


def prometheus_text(checkpoints: Sequence[Observed], now: float | None = None) -> str:
    """Return the metrics of all checkpoints in Prometheus' text format 0.0.4.

    ``now`` is the time of writing, in epoch seconds; by default the present.
    """
    from prometheus_client import CollectorRegistry, Gauge, generate_latest  # noqa: PLC0415 - slow

    registry = CollectorRegistry()
    families = {
        name: Gauge(name, doc, (*LABELS, *more), registry=registry)
        for name, (doc, more) in _FAMILIES.items()
    }
    for metric, (name, _) in NAMES.items():
        doc = BY_NAME[metric].doc.replace("per hour", "per second")
        doc += "" if BY_NAME[metric].exact else " An estimate."
        families[name] = Gauge(name, doc, LABELS, registry=registry)
    for labels, samples in checkpoints:
        for name, more, value in samples:
            families[name].labels(*labels, *more).set(value)
    doc = "When this was written; alert if it grows old."
    Gauge(_WRITTEN, doc, registry=registry).set(time.time() if now is None else now)
    return generate_latest(registry).decode()
