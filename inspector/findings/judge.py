"""Facts of a run to findings."""

from __future__ import annotations

from collections.abc import Sequence

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.findings.finding import Finding
from inspector.findings.integrity import (
    judge_format,
    judge_problems,
    judge_removals,
    judge_rewrites,
)
from inspector.findings.joins import judge_join
from inspector.findings.lifetime import judge as judge_life
from inspector.findings.rule_inputs import join_lifetime, newest_event_times, store_lifetimes
from inspector.findings.watermarks import judge_watermark
from inspector.merge.collect import Facts
from inspector.model import BatchClock, Problem
from inspector.operators.join import NAMES as JOIN


def judge(
    checkpoint: Checkpoint, version: int, facts: Facts, problems: Sequence[Problem]
) -> tuple[Finding, ...]:
    """Every rule applied to the facts of a version; the gravest first.

    Args:
        checkpoint: with the rules that apply to its operators.
        version: the judged state version.
        facts: of all tasks.
        problems: what is wrong by the listing and by the files.
    """
    found = [*judge_problems(problems)]
    for operator in checkpoint.operators:
        found += judge_format(operator.operator_id, _formats(checkpoint, version, operator))
        for life in store_lifetimes(checkpoint, operator, version, facts):
            found += judge_life(life)
        if operator.name in JOIN:
            found += judge_join(join_lifetime(checkpoint, operator, version, facts))
    newest = newest_event_times(checkpoint, facts)
    clocks: dict[int, BatchClock] = dict(checkpoint.logs.clocks.items())
    found += judge_watermark(clocks, version - 1, newest)
    for (operator_id, store), versions in facts.by_store().items():
        found += judge_rewrites(operator_id, store, versions.values())
        found += judge_removals(operator_id, store, versions)
    return tuple(sorted(found, key=lambda f: (-f.kind.severity, f.kind.id)))


def _formats(checkpoint: Checkpoint, version: int, operator: Operator) -> dict[str, str]:
    if operator.name != "stateStoreSave" or not version:
        return {}
    value = checkpoint.conf(version, "aggregation.stateFormatVersion")
    return {} if value is None else {"aggregation": value}
