"""``audit``: every fact and every rule; the findings are the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, Any

from inspector.analyses.shared.common import (
    COMPARED_TIME,
    EXPIRY_TIME,
    OPERATOR_ID,
    count,
    coverage,
    identity,
    size,
)
from inspector.analyses.shared.declare import FactRequest, Option, TableSpec, View, analysis
from inspector.analyses.shared.driver_tables import driver_table
from inspector.analyses.shared.gating import COMPARISON, GATES, HeldAgainst, wrong_options
from inspector.analyses.shared.heap import heap_by_store
from inspector.analyses.shared.leftover_classes import CLASSES, class_table
from inspector.analyses.shared.leftover_words import LeftoverWords
from inspector.analyses.shared.options import (
    AT_VERSION,
    PART,
    RULES,
    SCHEMAS,
    THRESHOLDS,
    WORK,
    Options,
    redacting,
)
from inspector.analyses.shared.part import part_of
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.size_table import SIZES, size_table
from inspector.analyses.shared.undecided import UNDECIDED, notes, undecided_tables
from inspector.analyses.shared.verdict import verdict_of
from inspector.analyses.shared.vouching import vouching_notes
from inspector.discovery.checkpoint import Checkpoint, state_file_bytes
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding
from inspector.findings.judge import judge
from inspector.findings.metrics import values_of
from inspector.merge.collect import Facts
from inspector.model import Problem, Redact
from inspector.render.plain import FINDING_COLUMNS, finding_row
from inspector.render.report import Column, Report, Table, Unit

AUDIT_KEYS = 5
"""Leftover keys that an audit lists per store and class; ``leftovers`` lists them all."""

FINDINGS = TableSpec(
    "findings",
    "a judged statement about the checkpoint",
    (Column("checkpoint"), *FINDING_COLUMNS),
    wide=frozenset(("checkpoint", "title", "cause", "evidence", "next_step", "command", "spark")),
    important="id severity operator_id rows bytes certainty store_name",
)
CHANGES = TableSpec(
    "changes",
    "what the versions did to one store, from the first one whose changes all partitions show",
    (
        OPERATOR_ID,
        Column("store_name"),
        Column("from_version", Unit.ID),
        Column("to_version", Unit.ID),
        *map(count, ("puts", "inserts", "updates", "same_value_puts", "removals")),
    ),
    important="store_name puts removals operator_id same_value_puts from_version to_version",
)
EXAMPLES = TableSpec(
    "leftovers",
    "an expired key that is still there, of the oldest",
    (
        OPERATOR_ID,
        Column("partition_id", Unit.ID),
        Column("key", Unit.VALUE),
        Column("class"),
        Column("certainty"),
        Column("expired_batch", Unit.ID),
        EXPIRY_TIME,
        COMPARED_TIME,
        size("key_bytes"),
        size("value_bytes"),
    ),
    important=(
        "key expired_batch class clock_ms threshold_ms operator_id partition_id value_bytes"
    ),
)
FACTS = FactRequest(fit=True, leftover_limit=AUDIT_KEYS)


def finding_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    """The findings of an audit."""
    facts = run.facts(FactRequest(fit=True))
    for found in _findings(run, facts):
        yield finding_row(found)


FINDINGS_DATA = driver_table(
    "findings",
    "The findings of an audit, which runs when this is called.",
    FINDING_COLUMNS,
    finding_rows,
    options=("timeout_kind",),
)


@analysis(
    uses=(RULES, THRESHOLDS, redacting(Redact.HASH), WORK, SCHEMAS, PART, AT_VERSION),
    tables=(FINDINGS, GATES, COMPARISON, SIZES, CLASSES, UNDECIDED, CHANGES, EXAMPLES),
    facts=FACTS,
    data_tables=(FINDINGS_DATA,),
    fail_on="warning",
    many=True,
    has_verdict=True,
    page=True,
    check=wrong_options,
)
def audit(
    path: str | Run,
    options: Options | None = None,
    *,
    maximum: Annotated[
        Mapping[str, str | float],
        View(
            "Exit with 1 if a number is above this, such as state.bytes=8GiB, heap.bytes=16GiB, "
            "leftovers.ratio=1% or growth.bytes_per_hour=100MiB; repeatable.",
            metavar="METRIC=VALUE",
            flag="--max",
        ),
    ] = MappingProxyType({}),
    baseline: Annotated[
        str | None,
        Option(
            "JSON report of an earlier audit: say what got better, worse, is new and gone, and "
            "exit with 1 only for what is new or worse.",
            metavar="FILE",
        ),
    ] = None,
    tolerance: Annotated[
        str,
        View(
            "By how much of its earlier value a number may differ from the baseline and count as "
            "the same.",
            metavar="PERCENT",
        ),
    ] = "10%",
    page: bool = False,
) -> Report:
    """Apply every fact and every rule to checkpoints; one verdict each.

    With several checkpoints there is a table with a row for each, the one that needs a person most
    first; one that cannot be read does not keep the others from it, and the exit code is the
    gravest of all.

    Args:
        path: the checkpoint.
        options: which part and version, and rules that are not in the checkpoint.
        maximum: a metric -> the most that it may be, such as ``8GiB``.
        baseline: JSON report of an earlier audit.
        tolerance: by how much a number may differ from the baseline and count as the same.
        page: make what the report has as an HTML page too: charts, versions, fields, schemas.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, EngineError, OSError: the
            checkpoint as a whole cannot be read; what is wrong in it is a problem of the report.
    """
    held_against = HeldAgainst.parse(maximum, baseline, tolerance)
    run = Run.start(path, options)
    if not page:
        return held_against.judged(_audited(run, run.facts(FACTS)))
    # Half of all analyses, which no other form of an audit needs.
    from inspector.analyses.page.of_audit import page_of, page_request  # noqa: PLC0415

    facts = run.facts(page_request(FACTS))
    report = held_against.judged(_audited(run, facts))
    return replace(report, page=page_of(run, facts, report))


def _audited(run: Run, facts: Facts) -> Report:
    problems = run.problems(facts)
    return audit_report(
        run.checkpoint,
        run.version,
        facts,
        problems,
        _findings(run, facts),
        run.options.redact or Redact.HASH,
    )


def _findings(run: Run, facts: Facts) -> tuple[Finding, ...]:
    limited = run.thresholds.heap_bytes is not None and run.checkpoint.provider.keeps_maps
    heap = sum(heap_by_store(run.checkpoint, run.version, facts).values()) if limited else None
    return judge(run.checkpoint, run.version, facts, run.problems(facts), run.thresholds, heap)


def audit_report(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    findings: Sequence[Finding],
    redact: Redact,
) -> Report:
    """The verdict and the findings; then sizes, changes, and the oldest leftovers."""
    total = sum((f for (_, v), f in facts.versions.items() if v == version), VersionFacts())
    verdict = verdict_of(checkpoint, version, facts, findings, problems)
    summary = (
        identity(checkpoint, version)
        | coverage(checkpoint, version, facts)
        | {
            "state_file_bytes": state_file_bytes(checkpoint),
            "rows": total.rows,
            "row_bytes": total.row_bytes,
            "heap_estimate_bytes": verdict.size.heap_bytes if verdict.size else None,
            "leftovers": verdict.leftovers,
        }
    )
    helpers = _helpers(checkpoint, version, facts)
    if helpers is not None:
        summary |= {"helper_rows": helpers.rows, "helper_row_bytes": helpers.row_bytes}
    if not checkpoint.provider.keeps_maps:
        del summary["heap_estimate_bytes"]  # the rows are not on a heap
    metrics = values_of(
        verdict,
        file_bytes=summary["state_file_bytes"],
        leftover_bytes=sum(one.fact.row_bytes for one in facts.totals),
        lag_ms=_lag_ms(summary),
    )
    tables = (
        FINDINGS.table(
            "findings",
            [{"checkpoint": checkpoint.root} | finding_row(finding) for finding in findings],
        ),
        size_table(checkpoint, version, facts),
        class_table(checkpoint, facts),
        *undecided_tables(checkpoint, facts),
        _changes(facts),
        _examples(checkpoint, facts, redact),
    )
    return Report(
        "audit",
        checkpoint.root,
        summary,
        tables,
        findings=findings,
        problems=problems,
        notes=(*notes(facts), *vouching_notes(checkpoint, version, facts)),
        judged=True,
        verdict=verdict,
        metrics=metrics,
        part=part_of(checkpoint, version),
    )


def _helpers(checkpoint: Checkpoint, version: int, facts: Facts) -> VersionFacts | None:
    """What transformWithState keeps for itself, such as indexes; None without such an operator."""
    of_processors = {one.operator_id: one for one in checkpoint.operators if one.processor}
    found = VersionFacts()
    for store, of in facts.by_store(version).items():
        operator = of_processors.get(store.operator_id)
        family = operator.family(store.store_name) if operator else None
        if family is not None and family.is_helper:
            found += of[version]
    return found if of_processors else None


def _lag_ms(summary: Mapping[str, Any]) -> int | None:
    now, watermark = summary["batch_timestamp_ms"], summary["watermark_ms"]
    return None if now is None or watermark is None else int(now - watermark)


def _changes(facts: Facts) -> Table:
    rows = []
    for (operator_id, store), versions in facts.by_store().items():
        known = _unbroken(versions)
        window = sum(known.values(), VersionFacts())
        rows.append(
            {
                "operator_id": operator_id,
                "store_name": store,
                "from_version": min(known, default=None),
                "to_version": max(known, default=None),
                "puts": window.puts,
                "inserts": window.inserts,
                "updates": window.updates,
                "same_value_puts": window.same_value_puts,
                "removals": window.removals,
            }
        )
    return CHANGES.table("what the versions changed, as far back as all partitions show it", rows)


def _unbroken(versions: Mapping[int, VersionFacts]) -> dict[int, VersionFacts]:
    """The newest versions in a row whose changes are known in every partition.

    A sum that lacks a partition, or a version, would look like the whole.
    """
    stores = max((one.stores for one in versions.values()), default=0)
    found: dict[int, VersionFacts] = {}
    for version in sorted(versions, reverse=True):
        one = versions[version]
        if one.rebased or one.stores < stores or (found and version + 1 not in found):
            break
        found[version] = one
    return found


def _examples(checkpoint: Checkpoint, facts: Facts, redact: Redact) -> Table:
    return EXAMPLES.table(
        "the oldest leftovers (the command leftovers lists them all)",
        LeftoverWords.of(checkpoint, redact).rows(facts.leftovers[:AUDIT_KEYS]),
    )
