"""``verify``: integrity, going on past what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.driver_tables import driver_table
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.options import (
    AT_VERSION,
    PART,
    SCHEMAS,
    THRESHOLDS,
    WORK,
    Options,
)
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.verdict import verdict_on_files
from inspector.analyses.shared.vouching import vouching, vouching_notes
from inspector.checkpoint.layout import StoreLayout
from inspector.discovery.checksums import is_state
from inspector.discovery.tasks import Request
from inspector.facts.checks import ChecksPassed
from inspector.findings.judge import judge_integrity
from inspector.merge.collect import Facts
from inspector.model import FileKind, StoreName
from inspector.providers.common_names import main_path
from inspector.render import tabular as t
from inspector.render.plain import ProblemRow, problem_row
from inspector.render.report import Report, Table


@dataclass(frozen=True, kw_only=True)
class CheckRow(t.Row, table="checks"):
    """A store, over all partitions: what vouches for its files."""

    operator_id: t.OperatorId
    store_name: Annotated[t.StoreName, t.Rank(1)]
    files_that_passed: Annotated[
        t.Count, "Deltas and snapshots that could be decoded to their end.", t.Rank(2)
    ]
    files_without_checksum: Annotated[
        t.Count,
        "Those of them that hold no checksum: neither their blocks nor their rows do, nor a "
        "file beside them. A byte that changed there may go unnoticed.",
        t.Rank(3),
    ]
    files_confirmed_by_snapshot: Annotated[
        t.Count,
        "Those without a checksum that make the same rows as a snapshot does, and that snapshot.",
        t.Rank(4),
    ]


FOOTNOTE = (
    "Files are the deltas and snapshots of the judged version and older ones. A file passes if it "
    "can be decoded to its end; a checksum that is wrong is a problem, whether its file passes or "
    "not."
)
FACTS = Request(fit=True)


def problem_rows(run: Run) -> Iterator[ProblemRow]:
    """All that is wrong when everything has been read and checked."""
    return map(problem_row, run.problems(run.facts(FACTS)))


PROBLEMS_DATA = driver_table(
    ProblemRow,
    "What cannot be read or is missing; everything is read when this is called.",
    problem_rows,
)


@analysis(
    uses=(THRESHOLDS, WORK, SCHEMAS, PART, AT_VERSION),
    tables=(ProblemRow, CheckRow),
    facts=FACTS,
    data_tables=(PROBLEMS_DATA,),
    fail_on="warning",
    many=True,
)
def verify(path: str | Run, options: Options | None = None) -> Report:
    """Read and check every state file, going on past bad ones."""
    run = Run.start(path, options)
    return verify_report(run.judge(run.facts(FACTS)))


def verify_report(judged: Judged) -> Report:
    """What is wrong, file by file; and what was read to be able to say so."""
    checkpoint, version, facts = judged.checkpoint, judged.version, judged.facts
    findings = judge_integrity(checkpoint, version, facts, judged.problems, judged.thresholds)
    layouts = [layout for operator in checkpoint.operators for layout in operator.layout.stores]
    versions = facts.by_store()
    passed = sum((one.fact for one in facts.of(ChecksPassed)), ChecksPassed())
    files = {f.path for layout in layouts for f in layout.files if is_state(f, version)}
    sums = {f.path: f for layout in layouts for f in layout.files if f.kind in _SUMS}
    summary = judged.coverage | {
        "operators": len(checkpoint.operators),
        "stores": len({layout.store.name for layout in layouts}),
        "partitions": len({_partition(layout) for layout in layouts}),
        "files": len(files),
        "files_that_passed": passed.files,
        "checksum_files": sum(main_path(f) in files for f in sums.values()),
        "checksum_files_that_passed": passed.file_checksums,
        "row_checksums_that_passed": passed.row_checksums,
        **vouching(checkpoint, facts),
        "versions_replayed": len({v for _, v in facts.versions}),
        "raw_bytes": sum(f.raw_bytes for f in facts.versions.values()),
        "rows": sum(one[version].rows for one in versions.values() if version in one),
    }
    table = ProblemRow.table("problems", [problem_row(problem) for problem in judged.problems])
    return judged.report(
        "verify",
        (table, _by_store(facts)),
        summary,
        notes=vouching_notes(judged, facts),
        footnotes=(FOOTNOTE,),
        findings=findings,
        verdict=verdict_on_files(judged, findings),
    )


_SUMS = (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)


def _by_store(facts: Facts) -> Table:
    stores: dict[StoreName, ChecksPassed] = {}
    for one in facts.of(ChecksPassed):
        name = one.store.name
        stores[name] = stores.get(name, ChecksPassed()) + one.fact
    rows = [
        CheckRow(
            operator_id=name.operator_id,
            store_name=name.store_name,
            files_that_passed=found.files,
            files_without_checksum=found.unsummed_files,
            files_confirmed_by_snapshot=found.confirmed_files,
        )
        for name, found in sorted(stores.items())
    ]
    return CheckRow.table("what vouches for the files of each store", rows)


def _partition(layout: StoreLayout) -> tuple[int, int]:
    return layout.store.operator_id, layout.store.partition_id
