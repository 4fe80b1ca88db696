"""Facts of a run to findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from inspector.api.run import Run
from inspector.findings.finding import Finding
from inspector.findings.integrity import judge_format, judge_problems, judge_rewrites
from inspector.findings.lifetime import LeftoverTotal, StoreLife
from inspector.findings.lifetime import judge as judge_life
from inspector.measure.leftovers import Certainty, LeftoverClass
from inspector.measure.versions import VersionFacts
from inspector.pipeline.collect import Facts
from inspector.pipeline.discovery import Checkpoint, Operator


def findings(run: Run, facts: Facts) -> tuple[Finding, ...]:
    """Every rule applied to the facts; the gravest first."""
    found = [*judge_problems(run.problems(facts))]
    for operator in run.checkpoint.operators:
        found += judge_format(operator.operator_id, _formats(run, operator))
        for life in _lives(run.checkpoint, operator, run.version, facts):
            found += judge_life(life)
    for (operator_id, store), versions in facts.by_store().items():
        found += judge_rewrites(operator_id, store, versions.values())
    return tuple(sorted(found, key=lambda f: (-f.kind.severity, f.kind.id)))


def _formats(run: Run, operator: Operator) -> dict[str, str]:
    if operator.name != "stateStoreSave" or not run.version:
        return {}
    value = run.checkpoint.conf(run.version, "aggregation.stateFormatVersion")
    return {} if value is None else {"aggregation": value}


def _lives(
    checkpoint: Checkpoint, operator: Operator, version: int, facts: Facts
) -> Iterator[StoreLife]:
    clock = checkpoint.clock(version)
    merged = facts.by_store()
    for store, rule in operator.rules.items():
        versions = merged.get((operator.operator_id, store), {})
        known = [one for one in versions.values() if not one.rebased]
        yield StoreLife(
            operator_id=operator.operator_id,
            operator_name=operator.name,
            store_name=store,
            rule=rule,
            newest=versions.get(version, VersionFacts()),
            removals=sum(one.removed_rows for one in known),
            puts=sum(one.puts for one in known),
            window=len(known),
            leftovers=_totals(facts, operator.operator_id, store),
            watermark_ms=None if clock is None else clock.watermark_ms,
        )


def _totals(facts: Facts, operator_id: int, store: str) -> tuple[LeftoverTotal, ...]:
    merged: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in facts.totals:
        if (row["operator_id"], row["store_name"]) == (operator_id, store):
            merged.setdefault((row["leftover_class"], row["certainty"]), []).append(row)
    return tuple(
        LeftoverTotal(
            LeftoverClass(kind),
            Certainty(certainty),
            sum(row["rows"] for row in of_class),
            sum(row["key_bytes"] + row["value_bytes"] for row in of_class),
            min(row["expired_version"] for row in of_class),
        )
        for (kind, certainty), of_class in sorted(merged.items())
    )
