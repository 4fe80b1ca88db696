"""Limits of an audit's numbers, and comparison with an earlier audit."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any

from inspector.exceptions import CheckpointError
from inspector.findings.baseline import TOLERANCE, Comparison, Earlier, Trend, compare, earlier_of
from inspector.findings.metrics import Gate, Passed, apply_gates, parse_gates
from inspector.light_dataclasses import dataclass, replace
from inspector.quantities import number_of
from inspector.render import tabular as t
from inspector.render.plain import AuditFindingRow
from inspector.render.report import Report
from inspector.render.report_data import SCHEMA_VERSION
from inspector.sums import group_by

# largest baseline file that is read; the audit of a checkpoint has some ten KB
LARGEST_BYTES = 64 << 20


@dataclass(frozen=True)
class Baseline:
    """Results of an earlier run, by query id (which moves and copies keep) and by path."""

    by_query: Mapping[str, Sequence[Earlier]]  # results of the checkpoints with one query id
    by_path: Mapping[str, Earlier]  # results by path

    def earlier(self, checkpoint: str, query_id: str | None) -> Earlier | None:
        """Return the earlier results of a checkpoint, by query id, then by path; None if none."""
        same_query = self.by_query.get(query_id or "", ())
        same_path = self.by_path.get(checkpoint.rstrip("/"))
        if len(same_query) == 1 or (same_query and same_path not in same_query):
            return same_query[0]
        return same_path

    def __iter__(self) -> Iterator[Earlier]:
        """Iterate over the earlier results of all checkpoints."""
        return iter(self.by_path.values())


def read_baseline(file: str) -> Baseline:
    """Return the baseline in a local file.

    Raises ValueError if the file cannot be read, or is no JSON report of ``audit``.
    """
    try:
        stat = os.stat(file)
        return _read(file, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise ValueError(f"the baseline {file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"the baseline {file} cannot be used: {error}") from None


@lru_cache(maxsize=1)
def _read(file: str, _changed_ns: int, _size: int) -> Baseline:
    """Return the baseline in a file.

    It is parsed once for all checkpoints of a fleet: the cache entry is valid while time and size
    stay.
    """
    with open(file, "rb") as source:
        text = source.read(LARGEST_BYTES + 1)
    if len(text) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES:,} bytes")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(document, dict) or "schema_version" not in document:
        raise ValueError("expected a report of inspector audit -o json")
    if document["schema_version"] != SCHEMA_VERSION:
        got = str(document["schema_version"])[:20]
        hint = "create it again with this version"
        raise ValueError(f"got schema_version {got}, expected {SCHEMA_VERSION}: {hint}")
    if document.get("command") != "audit":
        got = str(document.get("command"))[:40]
        raise ValueError(f"got a report of {got!r}, expected one of 'audit'")
    reports = document.get("reports", [document])
    if not isinstance(reports, list):
        raise ValueError("its reports are not a list")  # noqa: TRY004 - a value of the file
    # What could not be read at all then says nothing of what was there.
    baseline = [earlier_of(r) for r in reports if not (isinstance(r, dict) and "error" in r)]
    identified = (earlier for earlier in baseline if earlier.query_id is not None)
    earlier_by_query = group_by(identified, lambda earlier: earlier.query_id or "")
    return Baseline(earlier_by_query, {item.checkpoint.rstrip("/"): item for item in baseline})


class GateRow(t.Row, table="gates"):
    """With `--max`: a number of the checkpoint, compared with its limit."""

    metric: Annotated[t.Text, "Name of the metric.", t.Rank(1)]
    result: Annotated[t.Text, "`passed`, `exceeded`, or `unknown`, which exceeds nothing."]
    evidence: Annotated[t.Text, "The metric and its limit, in words."]
    value: Annotated[t.Json, "The number, in the metric's unit.", t.WIDE]
    most: Annotated[t.Json, "The limit.", t.WIDE]
    quantity: Annotated[t.Text, "Unit of the metric, such as `bytes`.", t.WIDE]


class ComparisonRow(t.Row, table="comparison", empty="no change exceeds --tolerance"):
    """With `--baseline`: a finding or number that differs from the earlier report."""

    trend: Annotated[t.Text, "`new`, `worse`, `gone` or `better`.", t.Rank(2)]
    name: Annotated[t.Text, "Id of the finding, or name of the metric.", t.Rank(1)]
    operator_id: t.OperatorId | None = None
    store_name: Annotated[t.StoreName | None, t.WIDE] = None
    before: Annotated[t.Text | None, "What it was, in words; null if it is new.", t.Rank(3)]
    now: Annotated[t.Text | None, "What it is.", t.Rank(4)]
    before_value: Annotated[t.Json, "The metric's value, or the bytes of the finding.", t.WIDE]
    now_value: Annotated[t.Json, "The same now.", t.WIDE]


@dataclass(frozen=True)
class AuditCriteria:
    """Limits and baseline with which an audit is compared."""

    gates: tuple[Gate, ...] = ()  # limits of metrics
    baseline: Baseline | None = None  # results of an earlier run; None without one
    tolerance: float = TOLERANCE  # relative change that counts as no change

    @classmethod
    def parse(
        cls, maximum: Mapping[str, str | float], baseline: str | None, tolerance: str
    ) -> AuditCriteria:
        """Return the criteria from the texts of options.

        Raises CheckpointError if one of them is wrong.
        """
        try:
            share = number_of(tolerance)
            if share is None:
                raise ValueError(f"got tolerance {tolerance!r}, expected a value such as 10%")  # noqa: TRY301
            earlier = None if baseline is None else read_baseline(baseline)
            return cls(parse_gates(maximum), earlier, share)
        except ValueError as error:
            raise CheckpointError(str(error)) from None

    def apply(self, report: Report) -> Report:
        """Return the report with its gates, and the comparison with the baseline.

        Both become tables behind the first one, and exceeded gates become rows of the first table.
        """
        gates, comparison = apply_gates(self.gates, report.metrics), None
        first, *remaining_tables = report.tables
        added = [gate_table(gates)] if gates else []
        if self.baseline is not None:
            earlier = self.baseline.earlier(report.checkpoint, report.summary.get("query_id"))
            comparison = compare(report.findings, report.metrics, earlier, self.tolerance)
            added.append(comparison_table(comparison))
        exceeded = [gate for gate in gates if gate.passed is Passed.EXCEEDED]
        if exceeded:
            rows = [*first.rows, *(t.values(_row(report, gate)) for gate in exceeded)]
            first = replace(first, rows=rows)
        return replace(
            report, tables=(first, *added, *remaining_tables), gates=gates, comparison=comparison
        )


def wrong_options(parsed: Mapping[str, Any]) -> str | None:
    """Return the error in the options of a command line, before anything is read."""
    try:
        AuditCriteria.parse(parsed["max"], parsed["baseline"], parsed["tolerance"])
    except CheckpointError as error:
        return str(error)
    return None


def gate_table(gates: Sequence[Gate]) -> t.Table:
    """Return the table of gates."""
    exceeded = sum(gate.passed is Passed.EXCEEDED for gate in gates)
    rows = [
        GateRow(
            metric=gate.metric.name,
            result=gate.passed.value,
            evidence=gate.sentence,
            value=gate.value,
            most=gate.limit,
            quantity=gate.metric.quantity.value,
        )
        for gate in gates
    ]
    return GateRow.table(f"gates: {exceeded} of {len(gates)} exceeded", rows)


def comparison_table(comparison: Comparison) -> t.Table:
    """Return the table of findings and metrics that differ from the baseline, the worst first."""
    rows = [
        ComparisonRow(
            trend=finding.trend.value,
            name=finding.place.id,
            operator_id=finding.place.operator_id,
            store_name=finding.place.store_name,
            before=None if finding.before is None else finding.before.text,
            now=None if finding.now is None else finding.now.text,
            before_value=finding.before and finding.before.bytes,
            now_value=finding.now and finding.now.bytes,
        )
        for finding in comparison.findings
    ] + [
        ComparisonRow(
            trend=metric.trend.value,
            name=metric.metric.name,
            before=metric.metric.text(metric.before),
            now=metric.metric.text(metric.now),
            before_value=metric.before,
            now_value=metric.now,
        )
        for metric in comparison.metrics
    ]
    trends = [trend.value for trend in Trend]
    rows.sort(key=lambda row: trends.index(row.trend))
    title = "compared with the baseline"
    if comparison.earlier is None:
        title += ", which does not contain this checkpoint: all findings are new"
    else:
        batch, complete = comparison.earlier.batch_id, comparison.earlier.complete
        counts = ", ".join(f"{comparison.count(trend)} {trend.value}" for trend in Trend)
        title += f": {counts}" if batch is None else f" (batch {batch}): {counts}"
        title += "" if complete else "; then a part of it could not be read"
    return ComparisonRow.table(title, [row for row in rows if row.trend != Trend.SAME.value])


def _row(report: Report, gate: Gate) -> AuditFindingRow:
    """Return an exceeded gate as a row among findings."""
    return AuditFindingRow(
        checkpoint=report.checkpoint,
        id="gate",
        severity="error",
        certainty="proven" if gate.metric.exact else "estimated",
        title=f"{gate.metric.name} is above its limit",
        evidence=gate.sentence,
    )
