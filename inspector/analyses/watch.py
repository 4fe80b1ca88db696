"""``watch``: follows a running query, a line for each batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, Any

from inspector.analyses.shared.common import values_of_fields
from inspector.analyses.shared.declare import Option, analysis
from inspector.analyses.shared.following import BatchSeen, Following, Pace
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.options import HERE, PART, RULES, SCHEMAS, THRESHOLDS, Options
from inspector.analyses.shared.verdict import findings_of, verdict_of
from inspector.discovery.checkpoint import state_file_bytes
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding
from inspector.findings.metrics import values_of
from inspector.findings.verdict import level_of
from inspector.operators.user_rules import parse_duration
from inspector.render import tabular as t
from inspector.render.plain import finding_row
from inspector.render.report import Report


@dataclass(frozen=True, kw_only=True)
class WatchedBatchRow(t.Row, table="batches", empty="no batch was committed"):
    """The state of all stores after one batch."""

    batch_id: Annotated[t.BatchId, t.Rank(1)]
    version: Annotated[t.Version, t.WIDE]
    batch_timestamp_ms: Annotated[t.BatchTimestampMs | None, t.Rank(8)]
    watermark_ms: Annotated[t.WatermarkMs | None, t.Rank(12)]
    lag_ms: Annotated[t.LagMs | None, t.Rank(6)]
    new_data: t.NewData | None
    rows: Annotated[t.Rows | None, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes | None, t.Rank(3)]
    puts: Annotated[t.Puts | None, t.Rank(7)]
    inserts: Annotated[t.Inserts | None, t.WIDE]
    updates: Annotated[t.Updates | None, t.WIDE]
    same_value_puts: Annotated[t.SameValuePuts | None, t.WIDE]
    removals: Annotated[t.Removals | None, t.Rank(5)]
    delta_bytes: Annotated[t.DeltaBytes | None, t.Rank(13)]
    leftovers: Annotated[t.Count, "Keys that have expired and are still there.", t.Rank(4)]
    level: Annotated[
        t.Text, "How bad it is: `ok`, `info`, `warning`, `error`, `unreadable`.", t.Rank(9)
    ]
    findings_new: Annotated[
        t.Json,
        "Findings that the batch before did not have, or of another severity; of the first "
        "batch all.",
        t.Rank(10),
    ]
    findings_gone: Annotated[t.Json, "Findings that the batch before had.", t.Rank(11)]
    stores_read: Annotated[t.Count, "Stores that could be replayed up to the batch.", t.WIDE]
    stores: Annotated[t.Count, "Stores that the query has, one for each partition.", t.WIDE]


_FINDING = (
    "id",
    "severity",
    "certainty",
    "title",
    "cause",
    "operator_id",
    "store_name",
    "evidence",
)
"""What is told of a finding that came or went."""

_Findings = Mapping[tuple[Any, ...], Finding]


def _check(parsed: Mapping[str, Any]) -> str | None:
    if parsed["interval"] <= 0:
        return "--interval has to be more than 0"
    try:
        _seconds(parsed["for"])
    except ValueError as error:
        return f"--for: {error}"
    return None


@analysis(
    uses=(RULES, THRESHOLDS, HERE, SCHEMAS, PART),
    tables=(WatchedBatchRow,),
    follows=True,
    check=_check,
)
def watch(
    path: str,
    options: Options | None = None,
    *,
    interval: Annotated[
        float, Option("Seconds between two looks at the checkpoint.", metavar="SECONDS")
    ] = 10.0,
    until: Annotated[
        int | None, Option("End after this batch.", minimum=0, metavar="BATCH")
    ] = None,
    duration: Annotated[
        str | None, Option("End after this time: 90s, 10m, 2h.", metavar="DURATION", flag="--for")
    ] = None,
    last: Annotated[
        int,
        Option("Begin with so many of the batches that are there and can be restored.", minimum=0),
    ] = 1,
) -> Iterator[Report]:
    """Follow a running query: a line for each batch, and findings as they appear and go.

    The state is replayed once, when it begins; from then on only the files of new batches are
    read, and the keys of all stores are held in memory. A batch is shown when it is committed,
    each once; a query that is restarted is followed on. Snapshots that only confirm what the
    deltas made are not read: ``verify`` does that.

    It ends after --until or --for, when the checkpoint is gone, or by Ctrl-C.

    Returns:
        A report for each batch, as soon as it was committed; waiting is part of the iteration.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, OSError: it cannot be
            read, or no longer; a storage that does not answer is asked again a few times.
        ValueError: the duration is misspelt.
    """
    length = _seconds(duration)
    ends = None if length is None else monotonic() + length
    following = Following(path, options or Options(), last)
    known: _Findings = {}
    for seen in following.batches(Pace(interval, until, ends)):
        report, known = _report(seen, known)
        yield report


def _seconds(duration: str | None) -> float | None:
    return None if duration is None else parse_duration(duration) / 1000


def _report(seen: BatchSeen, known: _Findings) -> tuple[Report, _Findings]:
    """The report on a batch; and its findings, for the next one."""
    judged = seen.run.judge(seen.facts)
    findings = findings_of(judged)
    found = {(f.kind.id, f.operator_id, f.store_name): f for f in findings}
    new = [f for at, f in found.items() if at not in known or known[at].severity != f.severity]
    row = _row(
        judged,
        level=level_of(findings, judged.problems).value,
        findings_new=_short(new),
        findings_gone=_short(f for at, f in known.items() if at not in found),
    )
    verdict = verdict_of(judged, findings)
    report = judged.report(
        "watch",
        (WatchedBatchRow.table(f"batch {seen.batch_id}", [row]),),
        notes=seen.notes,
        findings=findings,
        verdict=verdict,
        metrics=values_of(
            verdict,
            file_bytes=state_file_bytes(judged.checkpoint),
            leftover_bytes=sum(one.fact.row_bytes for one in judged.facts.totals),
            lag_ms=row.lag_ms,
        ),
    )
    return report, found


def _short(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [values_of_fields(finding_row(one), _FINDING, known=True) for one in findings]


def _row(judged: Judged, level: str, findings_new: Any, findings_gone: Any) -> WatchedBatchRow:
    checkpoint, version = judged.checkpoint, judged.version
    clock = checkpoint.clock(version)
    watermark = clock.watermark_ms if clock and clock.watermark_ms else None
    now = clock.timestamp_ms if clock else None
    stores = sum(len(operator.layout.stores) for operator in checkpoint.operators)
    of_version = [one for (_, v), one in judged.facts.versions.items() if v == version]
    total = sum(of_version, VersionFacts())
    changes = ("puts", "inserts", "updates", "same_value_puts", "removals", "delta_bytes")
    return WatchedBatchRow(
        batch_id=version - 1,
        version=version,
        batch_timestamp_ms=now,
        watermark_ms=watermark,
        lag_ms=None if watermark is None or now is None else now - watermark,
        new_data=clock.has_new_data if clock else None,
        **values_of_fields(total, changes, known=not total.rebased),
        **values_of_fields(total, ("rows", "row_bytes"), known=bool(of_version)),
        leftovers=sum(one.fact.rows for one in judged.facts.totals),
        stores_read=len(of_version),
        stores=stores,
        level=level,
        findings_new=findings_new,
        findings_gone=findings_gone,
    )
