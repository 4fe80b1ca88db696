"""``verify``: integrity, going on past what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from inspector.analyses.shared.common import coverage, identity
from inspector.analyses.shared.declare import FactRequest, TableSpec, analysis
from inspector.analyses.shared.driver_tables import driver_table
from inspector.analyses.shared.options import (
    AT_VERSION,
    PART,
    SCHEMAS,
    THRESHOLDS,
    WORK,
    Options,
)
from inspector.analyses.shared.part import part_of
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.verdict import verdict_on_files
from inspector.checkpoint.layout import StoreLayout
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.checks import ChecksPassed
from inspector.findings.finding import Finding
from inspector.findings.judge import judge_integrity
from inspector.merge.collect import Facts
from inspector.model import FileKind, Problem, StoreFile
from inspector.providers.common_names import main_path
from inspector.render.plain import PROBLEM_COLUMNS, problem_row
from inspector.render.report import Report

PROBLEMS = TableSpec(
    "problems",
    "what cannot be read, is missing, or is not as it should be",
    PROBLEM_COLUMNS,
    empty="none: every file could be read and says what it should",
    wide=frozenset(("operator_id", "store_name", "partition_id", "version")),
    important="problem path message offset",
)
FOOTNOTE = (
    "Files are the deltas and snapshots of the judged version and older ones. A file passes if it "
    "can be decoded to its end; a checksum that is wrong is a problem, whether its file passes or "
    "not."
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
    uses=(THRESHOLDS, WORK, SCHEMAS, PART, AT_VERSION),
    tables=(PROBLEMS,),
    facts=FACTS,
    data_tables=(PROBLEMS_DATA,),
    fail_on="warning",
    many=True,
)
def verify(path: str | Run, options: Options | None = None) -> Report:
    """Read and check every state file, going on past bad ones."""
    run = Run.start(path, options)
    facts = run.facts(FACTS)
    problems = run.problems(facts)
    findings = judge_integrity(run.checkpoint, run.version, facts, problems, run.thresholds)
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
    passed = sum((one.fact for one in facts.of(ChecksPassed)), ChecksPassed())
    files = {f.path for layout in layouts for f in layout.files if _is_state(f, version)}
    sums = {f.path: f for layout in layouts for f in layout.files if f.kind in _SUMS}
    summary = (
        identity(checkpoint, version)
        | coverage(checkpoint, version, facts)
        | {
            "operators": len(checkpoint.operators),
            "stores": len({layout.store.name for layout in layouts}),
            "partitions": len({_partition(layout) for layout in layouts}),
            "files": len(files),
            "files_that_passed": passed.files,
            "checksum_files": sum(main_path(f) in files for f in sums.values()),
            "checksum_files_that_passed": passed.file_checksums,
            "row_checksums_that_passed": passed.row_checksums,
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
        footnotes=(FOOTNOTE,),
        judged=True,
        verdict=verdict_on_files(checkpoint, version, findings, problems),
        part=part_of(checkpoint, version),
    )


_SUMS = (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)


def _is_state(file: StoreFile, version: int) -> bool:
    """Whether it is a delta or snapshot of the judged version or an older one."""
    return file.kind in (FileKind.DELTA, FileKind.SNAPSHOT) and (file.version or 0) <= version


def _partition(layout: StoreLayout) -> tuple[int, int]:
    return layout.store.operator_id, layout.store.partition_id
