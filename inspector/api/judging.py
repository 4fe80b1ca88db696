"""Facts of a run to findings."""

from __future__ import annotations

from inspector.api.lives import join_life, newest_event_times, store_lives
from inspector.api.run import Run
from inspector.findings.finding import Finding
from inspector.findings.integrity import judge_format, judge_problems, judge_rewrites
from inspector.findings.joins import judge_join
from inspector.findings.lifetime import judge as judge_life
from inspector.findings.watermarks import judge_watermark
from inspector.model import BatchClock
from inspector.operators.join import NAMES as JOIN
from inspector.pipeline.collect import Facts
from inspector.pipeline.discovery import Operator


def findings(run: Run, facts: Facts) -> tuple[Finding, ...]:
    """Every rule applied to the facts; the gravest first."""
    found = [*judge_problems(run.problems(facts))]
    for operator in run.checkpoint.operators:
        found += judge_format(operator.operator_id, _formats(run, operator))
        for life in store_lives(run.checkpoint, operator, run.version, facts):
            found += judge_life(life)
        if operator.name in JOIN:
            found += judge_join(join_life(run.checkpoint, operator, run.version, facts))
    newest = newest_event_times(run.checkpoint, facts)
    clocks: dict[int, BatchClock] = dict(run.checkpoint.logs.clocks.items())
    found += judge_watermark(clocks, run.version - 1, newest)
    for (operator_id, store), versions in facts.by_store().items():
        found += judge_rewrites(operator_id, store, versions.values())
    return tuple(sorted(found, key=lambda f: (-f.kind.severity, f.kind.id)))


def _formats(run: Run, operator: Operator) -> dict[str, str]:
    if operator.name != "stateStoreSave" or not run.version:
        return {}
    value = run.checkpoint.conf(run.version, "aggregation.stateFormatVersion")
    return {} if value is None else {"aggregation": value}
