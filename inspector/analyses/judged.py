"""``audit`` and ``verify``: the commands that pass a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from inspector.analyses.common import (
    OPERATOR_ID,
    count,
    coverage,
    identity,
    size,
)
from inspector.analyses.leftover_words import LeftoverWords
from inspector.analyses.leftovers import class_table
from inspector.analyses.measured import size_table
from inspector.analyses.undecided import notes, undecided_tables
from inspector.discovery.checkpoint import Checkpoint, state_file_bytes
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding
from inspector.merge.collect import Facts
from inspector.model import Problem
from inspector.render.keys import Redact
from inspector.render.plain import FINDING_COLUMNS, PROBLEM_COLUMNS, finding_row, problem_row
from inspector.render.report import Column, Report, Table, Unit

AUDIT_KEYS = 5
"""Leftover keys that an audit lists per store and class; ``leftovers`` lists them all."""


def audit(
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
        Table(
            "findings",
            "findings",
            (Column("checkpoint"), *FINDING_COLUMNS),
            [{"checkpoint": checkpoint.root} | finding_row(finding) for finding in findings],
            wide=frozenset(("checkpoint", "title", "evidence", "next_step", "spark")),
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


def verdict(findings: Sequence[Finding], problems: Sequence[Problem]) -> str:
    """One line: what was found, by severity; and whether all could be read."""
    severities = Counter(finding.kind.severity.word for finding in findings)
    words = [f"{severities[s]} {s}" for s in ("error", "warning", "info") if severities[s]]
    text = ", ".join(words) if words else "no findings"
    return f"{text}; {len(problems)} problems" if problems else text


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
    names = ("puts", "inserts", "updates", "same_value_puts", "removals")
    columns = (OPERATOR_ID, Column("store_name"), Column("versions"), *map(count, names))
    return Table("changes", "changes over all versions that can be replayed", columns, rows)


def _examples(checkpoint: Checkpoint, facts: Facts, redact: Redact) -> Table:
    return Table(
        "leftovers",
        "oldest leftovers (inspector leftovers lists them all)",
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
        LeftoverWords.of(checkpoint, redact).rows(facts.leftovers[:AUDIT_KEYS]),
    )


def verify(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    findings: Sequence[Finding],
) -> Report:
    """What is wrong, file by file; and what was read to be able to say so."""
    layouts = [layout for operator in checkpoint.operators for layout in operator.layout.stores]
    versions = facts.by_store()
    summary = (
        identity(checkpoint, version)
        | coverage(checkpoint, version, facts)
        | {
            "verdict": verdict(findings, problems),
            "stores": len(layouts),
            "versions_replayed": len({v for _, v in facts.versions}),
            "raw_bytes": sum(f.raw_bytes for f in facts.versions.values()),
            "rows": sum(one[version].rows for one in versions.values() if version in one),
        }
    )
    table = Table(
        "problems",
        "problems",
        PROBLEM_COLUMNS,
        [problem_row(problem) for problem in problems],
        empty="none: every file could be read and says what it should",
        wide=frozenset(("operator_id", "store_name", "partition_id", "version")),
    )
    return Report(
        "verify",
        checkpoint.root,
        summary,
        (table,),
        findings=findings,
        problems=problems,
        judged=True,
    )
