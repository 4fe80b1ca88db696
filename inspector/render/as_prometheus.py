"""Metrics in Prometheus' text format, for the textfile collector of its node exporter.

Every metric is a gauge ``spark_state_...`` in base units (bytes, seconds, ratios) with the labels
``checkpoint`` and ``query_id``; nothing of keys and values is in a label. An unknown value is
absent. A checkpoint that could not be read has ``spark_state_level`` 4 and nothing else.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence

from inspector.findings.catalogue import CATALOGUE
from inspector.findings.metrics import BY_NAME, Passed
from inspector.findings.verdict import Level
from inspector.light_dataclasses import dataclass, field
from inspector.plain_text import escape
from inspector.render.report_data import ReportData

_PER_SECOND = 1 / 3600
LABELS = ("checkpoint", "query_id")

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

_LEVEL = "0 ok, 1 info, 2 warning, 3 error, 4 part of the checkpoint could not be read."
_WRITTEN = "When this was written; alert if it grows old."


@dataclass(frozen=True)
class Observed:
    """What is exported of one checkpoint: few numbers, so that many can be held."""

    checkpoint: str
    query_id: str
    level: Level
    values: dict[str, float | int | None] = field(default_factory=dict)
    # batch_id, batch_seconds: of the judged version; epoch seconds
    batch_id: int | None = None
    batch_seconds: float | None = None
    # rule and severity -> how many; 0 for rules that found nothing
    findings: dict[tuple[str, str], int] = field(default_factory=dict)
    # name and limit of metrics -> whether the limit is exceeded
    gates: tuple[tuple[str, bool], ...] = ()


def observed(report: ReportData) -> Observed:
    """What is exported of a report."""
    summary = report.summary
    counts = Counter((finding.kind.id, finding.severity.word) for finding in report.findings)
    if report.judged:
        ids = {finding.kind.id for finding in report.findings}
        without = (kind for kind in report.rules or CATALOGUE if kind.id not in ids)
        counts.update({(kind.id, kind.severity.word): 0 for kind in without})
    timestamp = summary.get("batch_timestamp_ms")
    return Observed(
        escape(report.checkpoint),
        escape(str(summary.get("query_id") or "")),
        report.level,
        dict(report.metrics),
        summary.get("batch_id"),
        None if timestamp is None else timestamp / 1000,
        dict(sorted(counts.items())),
        tuple((gate.metric.name, gate.passed is Passed.EXCEEDED) for gate in report.gates),
    )


def unreadable(checkpoint: str) -> Observed:
    """What is exported of a checkpoint that could not be read at all."""
    return Observed(escape(checkpoint), "", Level.UNREADABLE)


def render_prometheus(report: ReportData) -> Iterator[str]:
    """The report's metrics."""
    yield prometheus_text([observed(report)])


def prometheus_text(checkpoints: Sequence[Observed], now: float | None = None) -> str:
    """The metrics of checkpoints of one run, in the text format 0.0.4; ``now`` in epoch seconds."""
    import prometheus_client as p  # noqa: PLC0415 - takes a while, and few commands need it

    registry = p.CollectorRegistry()

    def gauge(name: str, doc: str, labels: Sequence[str] = LABELS) -> p.Gauge:
        return p.Gauge(name, doc, labels, registry=registry)

    level = gauge("spark_state_level", _LEVEL)
    batch = gauge("spark_state_batch_id", "The judged batch.")
    clock = gauge("spark_state_batch_timestamp_seconds", "Clock of the judged batch.")
    findings = gauge("spark_state_findings", "Findings of each rule.", (*LABELS, "id", "severity"))
    doc = "1 if the metric is above the limit that was given with --max."
    gates = gauge("spark_state_gate_exceeded", doc, (*LABELS, "metric"))
    metrics = []
    for metric, (name, factor) in NAMES.items():
        doc = BY_NAME[metric].doc.replace("per hour", "per second")
        estimate = "" if BY_NAME[metric].exact else " An estimate."
        metrics.append((metric, factor, gauge(name, doc + estimate)))
    for checkpoint in checkpoints:
        labels = (checkpoint.checkpoint, checkpoint.query_id)
        level.labels(*labels).set(checkpoint.level.rank)
        for family, value in ((batch, checkpoint.batch_id), (clock, checkpoint.batch_seconds)):
            if value is not None:
                family.labels(*labels).set(value)
        for (rule, severity), count in checkpoint.findings.items():
            findings.labels(*labels, rule, severity).set(count)
        for name, exceeded in checkpoint.gates:
            gates.labels(*labels, name).set(exceeded)
        for metric, factor, family in metrics:
            value = checkpoint.values.get(metric)
            if value is not None:
                family.labels(*labels).set(value * factor)
    written = gauge("spark_state_inspected_timestamp_seconds", _WRITTEN, ())
    written.set(time.time() if now is None else now)
    return p.generate_latest(registry).decode()
