"""``verify``: integrity, going on past what cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from inspector.analyses.shared import options as o
from inspector.analyses.shared.conclusion import verdict_on_files
from inspector.analyses.shared.data_tables import driver_table
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Judged, vouching_notes
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.checkpoint.names import main_path
from inspector.discovery.checksums import is_state
from inspector.discovery.tasks import Request
from inspector.exceptions import CheckpointError
from inspector.facts.checks import ChecksPassed
from inspector.findings.judge import judge_integrity
from inspector.light_dataclasses import replace
from inspector.model import KINDS_OF_SUMS, Subset
from inspector.render import tabular as t
from inspector.render.audit_history import Proofs
from inspector.render.plain import ProblemRow, problem_row
from inspector.render.report import Report


class CheckRow(t.Row, table="checks"):
    """A store, over all partitions: which checks its files passed."""

    operator_id: t.OperatorId
    store_name: Annotated[t.StoreName, t.Rank(1)]
    files_that_passed: Annotated[
        t.Count, "Deltas and snapshots that could be decoded to their end.", t.Rank(2)
    ]
    files_without_checksum: Annotated[
        t.Count,
        "Those without a checksum in them or beside them: a change of their bytes may go "
        "unnoticed.",
        t.Rank(3),
    ]
    files_confirmed_by_snapshot: Annotated[
        t.Count,
        "Those without a checksum that are confirmed: deltas and a snapshot make the same rows.",
        t.Rank(4),
    ]


# footnote of the report: the files that are counted, and when a file passes
FOOTNOTE = (
    "Files are the deltas and snapshots of the judged version and older ones. A file passes if it "
    "can be decoded to its end; a checksum that is wrong is a problem, whether its file passes or "
    "not."
)
# facts (results of reading state files) that the command requests of its tasks: those of each
# version, with all rows compared with their schema and all files with their checksums
FACTS = Request(fit=True)


def problem_rows(opened: Opened) -> Iterator[ProblemRow]:
    """Read and check every state file, and return an iterator with a row for each problem."""
    run = Run.start(opened, None)
    return map(problem_row, run.problems(run.facts(FACTS)))


# table of data, for programs on Spark and for SQL, with a row for each problem
PROBLEMS_DATA = driver_table(
    ProblemRow,
    "What cannot be read or is missing; everything is read when this is called.",
    problem_rows,
)
# note of a report that is about one part of the state files (``--subset``)
OF_SUBSET = (
    "The files of this part were decoded and compared with their checksums, each for itself. That "
    "snapshots hold what deltas make, and that rows fit their schema, is checked by verify without "
    "--subset."
)
# beginning of a value of ``--subset`` that selects the part that was verified longest ago
_NEXT = "next/"


def _wrong_subset(subset: str | None, *, remembered: bool) -> str | None:
    """Return the error in the value of ``--subset``, as a sentence; None if there is none.

    ``subset`` is the value, such as ``1/24`` or ``next/24``; None if it is not given. The latter
    needs a history of when each part was verified: ``remembered`` is True if there is one.
    """
    if subset is None:
        return None
    if subset.startswith(_NEXT) and not remembered:
        return f"--subset {subset} is the part whose proof is the oldest, which --history remembers"
    try:
        Subset.parse(subset.replace(_NEXT, "1/", 1))
    except ValueError as error:
        return str(error)
    return None


@analysis(
    uses=(o.THRESHOLDS, o.REPLAY),
    tables=(ProblemRow, CheckRow),
    facts=FACTS,
    data_tables=(PROBLEMS_DATA,),
    fail_on="warning",
    many=True,
    remembered=True,
    check=lambda parsed: _wrong_subset(parsed["subset"], remembered=parsed["history"] is not None),
)
def verify(
    path: str | Opened,
    options: o.Options | None = None,
    *,
    subset: Annotated[
        str | None,
        o.Option(
            "Decode and check one part of the state files, chosen by the hash of their names: "
            "1/24, or next/24 for the part whose last check in --history is the oldest. No "
            "version is replayed.",
            metavar="PART/PARTS",
        ),
    ] = None,
    proofs: Proofs | None = None,  # when each part was verified before, if that is remembered
) -> Report:
    """Read and check every state file, continuing past bad ones.

    Each file is decoded to its end and compared with its checksums; logs with each other, snapshots
    with deltas, rows with their schema and partition. It says whether the query restarts. After a
    bad delta no version up to the next snapshot can be restored. Findings have the columns of
    ``audit``; only ``audit`` judges leftovers and growth. The exit code is 4 if a file is missing
    or damaged, else 1 from a warning on (such as a checksum mismatch). The summary has the numbers
    of files, and of those that passed. With --batch later versions are not read; no option checks
    new files alone. The query may run: missing or damaged files are read again before they are
    reported.

    Raises:
        CheckpointError: the subset is none.
    """
    proofs = proofs or Proofs()
    message = _wrong_subset(subset, remembered=proofs.place is not None)
    if message is not None:
        raise CheckpointError(message)
    run = Run.start(path, options)
    part = None if subset is None else Subset.parse(subset.replace(_NEXT, "1/", 1))
    if part is not None and (subset or "").startswith(_NEXT):
        part = proofs.next(run.checkpoint.root, part.count)
    judged = run.judge(run.facts(replace(FACTS, subset=part)))
    report = verify_report(replace(judged, subset=part))
    if part is None:
        return report
    sentence = proofs.sentence(run.checkpoint.root, part, proven=not report.problems)
    return replace(report, notes=(*report.notes, OF_SUBSET, sentence))


def verify_report(judged: Judged) -> Report:
    """Return the report on problems and checksums, with findings about files and a verdict.

    It has a table of problems, and a table of what vouches for the files of each store. If only a
    part of the files was read (``judged.subset``), numbers of rows and versions are left out.
    """
    checkpoint, version, facts = judged.checkpoint, judged.version, judged.facts
    findings = judge_integrity(
        checkpoint, version, facts, judged.problems, judged.thresholds, judged.next_start
    )
    layouts, passed = checkpoint.layout.stores, facts.checks
    files = {f.path for layout in layouts for f in layout.files if is_state(f, version)}
    sums = {f.path: f for layout in layouts for f in layout.files if f.kind in KINDS_OF_SUMS}
    is_complete = judged.subset is None
    summary = (judged.coverage if is_complete else {}) | {
        "operators": len(checkpoint.operators),
        "stores": len({layout.store.name for layout in layouts}),
        "partitions": len({(item.store.operator_id, item.store.partition_id) for item in layouts}),
        "files": len(files),
        "files_that_passed": passed.files,
        "checksum_files": sum(main_path(f) in files for f in sums.values()),
        "checksum_files_that_passed": passed.file_checksums,
        "row_checksums_that_passed": passed.row_checksums,
        "files_without_checksum": facts.checks.unsummed_files,
        "files_confirmed_by_snapshot": facts.checks.confirmed_files,
        "small_files": checkpoint.small_files,
        "small_files_without_checksum": checkpoint.unsummed_small_files,
    }
    if is_complete:
        summary |= {
            "versions_replayed": len({v for _, v in facts.versions}),
            "raw_bytes": sum(f.raw_bytes for f in facts.versions.values()),
            "rows": judged.total.rows,
        }
    checks = [
        CheckRow(
            **name._asdict(),
            files_that_passed=store.files,
            files_without_checksum=store.unsummed_files,
            files_confirmed_by_snapshot=store.confirmed_files,
        )
        for name, store in sorted(facts.sums(ChecksPassed).items())
    ]
    table = ProblemRow.table("problems", [problem_row(problem) for problem in judged.problems])
    return judged.report(
        "verify",
        (table, CheckRow.table("checksum coverage by store", checks)),
        summary,
        notes=vouching_notes(judged, facts if is_complete else None),
        footnotes=(FOOTNOTE,),
        findings=findings,
        verdict=verdict_on_files(judged, findings),
    )
