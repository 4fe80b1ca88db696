"""``verify``: integrity, going on past what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.analyses.shared.common import coverage, identity
from inspector.analyses.shared.declare import FactRequest, TableSpec, analysis
from inspector.analyses.shared.driver_tables import driver_table
from inspector.analyses.shared.options import AT_VERSION, PART, SCHEMAS, WORK, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.verdict import verdict
from inspector.discovery.checkpoint import Checkpoint
from inspector.findings.finding import Finding
from inspector.findings.integrity import judge_problems
from inspector.merge.collect import Facts
from inspector.model import Problem
from inspector.render.plain import PROBLEM_COLUMNS, problem_row
from inspector.render.report import Report

PROBLEMS = TableSpec(
    "problems",
    "what cannot be read, is missing, or is not as it should be",
    PROBLEM_COLUMNS,
    empty="none: every file could be read and says what it should",
    wide=frozenset(("operator_id", "store_name", "partition_id", "version")),
)
FACTS = FactRequest(fit=True)


def problem_rows(run: Run) -> Iterator[Mapping[str, Any]]:
    """All that is wrong when everything has been read and checked."""
    return map(problem_row, run.problems(run.facts(FACTS)))


PROBLEMS_DATA = driver_table(
    "problems",
    "What cannot be read or is missing; everything is read when this is called.",
    PROBLEM_COLUMNS,
    problem_rows,
)


@analysis(
    uses=(WORK, SCHEMAS, PART, AT_VERSION),
    tables=(PROBLEMS,),
    facts=FACTS,
    data_tables=(PROBLEMS_DATA,),
    fail_on="warning",
)
def verify(path: str | Run, options: Options | None = None) -> Report:
    """Read and check every state file, going on past bad ones."""
    run = Run.start(path, options)
    facts = run.facts(FACTS)
    problems = run.problems(facts)
    findings = tuple(judge_problems(problems))
    return verify_report(run.checkpoint, run.version, facts, problems, findings)


def verify_report(
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
    table = PROBLEMS.table("problems", [problem_row(problem) for problem in problems])
    return Report(
        "verify",
        checkpoint.root,
        summary,
        (table,),
        findings=findings,
        problems=problems,
        judged=True,
    )
