"""``audit``: every fact and every rule; the findings are the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.analyses.shared.common import (
    OPERATOR_ID,
    count,
    coverage,
    identity,
    size,
)
from inspector.analyses.shared.declare import FactRequest, TableSpec, analysis
from inspector.analyses.shared.driver_tables import driver_table
from inspector.analyses.shared.leftover_classes import CLASSES, class_table
from inspector.analyses.shared.leftover_words import LeftoverWords
from inspector.analyses.shared.options import (
    AT_VERSION,
    PART,
    RULES,
    SCHEMAS,
    WORK,
    Options,
    redacting,
)
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.size_table import SIZES, size_table
from inspector.analyses.shared.undecided import UNDECIDED, notes, undecided_tables
from inspector.analyses.shared.verdict import verdict
from inspector.discovery.checkpoint import Checkpoint, state_file_bytes
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding
from inspector.findings.judge import judge
from inspector.merge.collect import Facts
from inspector.model import Problem
from inspector.render.keys import Redact
from inspector.render.plain import FINDING_COLUMNS, finding_row
from inspector.render.report import Column, Report, Table, Unit

AUDIT_KEYS = 5
"""Leftover keys that an audit lists per store and class; ``leftovers`` lists them all."""

FINDINGS = TableSpec(
    "findings",
    "a judged statement about the checkpoint",
    (Column("checkpoint"), *FINDING_COLUMNS),
    wide=frozenset(("checkpoint", "title", "evidence", "next_step", "spark")),
)
CHANGES = TableSpec(
    "changes",
    "what all versions that can be replayed did to one store",
    (
        OPERATOR_ID,
        Column("store_name"),
        Column("versions", doc="The versions that were counted: `1 to 13`."),
        *map(count, ("puts", "inserts", "updates", "same_value_puts", "removals")),
    ),
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
        Column("clock_ms", Unit.TIME_MS),
        Column("threshold_ms", Unit.TIME_MS),
        size("key_bytes"),
        size("value_bytes"),
    ),
)
FACTS = FactRequest(fit=True, leftover_limit=AUDIT_KEYS)


def finding_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    """The findings of an audit."""
    facts = run.facts(FactRequest(fit=True))
    for found in judge(run.checkpoint, run.version, facts, run.problems(facts)):
        yield finding_row(found)


FINDINGS_DATA = driver_table(
    "findings",
    "The findings of an audit, which runs when this is called.",
    FINDING_COLUMNS,
    finding_rows,
    options=("timeout_kind",),
)


@analysis(
    uses=(RULES, redacting(Redact.HASH), WORK, SCHEMAS, PART, AT_VERSION),
    tables=(FINDINGS, SIZES, CLASSES, UNDECIDED, CHANGES, EXAMPLES),
    facts=FACTS,
    data_tables=(FINDINGS_DATA,),
    fail_on="warning",
    many=True,
)
def audit(path: str | Run, options: Options | None = None) -> Report:
    """Apply every fact and every rule to checkpoints; one verdict each.

    With several PATHs a checkpoint that cannot be read does not keep the others from it; the
    code is the gravest of all, and JSON is an array of reports.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, EngineError, OSError: the
            checkpoint as a whole cannot be read; what is wrong in it is a problem of the report.
    """
    run = Run.start(path, options)
    facts = run.facts(FACTS)
    problems = run.problems(facts)
    return audit_report(
        run.checkpoint,
        run.version,
        facts,
        problems,
        judge(run.checkpoint, run.version, facts, problems),
        run.options.redact or Redact.HASH,
    )


def audit_report(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    findings: Sequence[Finding],
    redact: Redact,
) -> Report:
    """Findings first; then sizes, the last versions' changes, and the oldest leftovers."""
    total = sum((f for (_, v), f in facts.versions.items() if v == version), VersionFacts())
    summary = (
        identity(checkpoint, version)
        | coverage(checkpoint, version, facts)
        | {
            "verdict": verdict(findings, problems),
            "state_file_bytes": state_file_bytes(checkpoint),
            "rows": total.rows,
            "row_bytes": total.row_bytes,
            "two_versions_bytes": total.two_versions_bytes,
            "two_versions_unshared_bytes": total.two_versions_unshared_bytes,
            "leftovers": sum(one.fact.rows for one in facts.totals),
        }
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
        notes=notes(facts),
        judged=True,
    )


def _changes(facts: Facts) -> Table:
    rows = []
    for (operator_id, store), versions in facts.by_store().items():
        known = {v: f for v, f in versions.items() if f.rebased < f.stores}
        window = sum(known.values(), VersionFacts())
        rows.append(
            {
                "operator_id": operator_id,
                "store_name": store,
                "versions": f"{min(known)} to {max(known)}" if known else None,
                "puts": window.puts,
                "inserts": window.inserts,
                "updates": window.updates,
                "same_value_puts": window.same_value_puts,
                "removals": window.removals,
            }
        )
    return CHANGES.table("changes over all versions that can be replayed", rows)


def _examples(checkpoint: Checkpoint, facts: Facts, redact: Redact) -> Table:
    return EXAMPLES.table(
        "oldest leftovers (inspector leftovers lists them all)",
        LeftoverWords.of(checkpoint, redact).rows(facts.leftovers[:AUDIT_KEYS]),
    )
