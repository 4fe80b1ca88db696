"""``preflight``: will a changed query restart from a checkpoint, and will it still be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import STORAGE, Option, Options, View
from inspector.discovery.query_sources import QuerySource, query_sources
from inspector.exceptions import CheckpointError
from inspector.findings.finding import Finding, Severity
from inspector.findings.preflight import Line, Preflight, Side, worst
from inspector.findings.restart_rules import RELEASES, RULES, Restarts, release_of
from inspector.findings.verdict import Cause, Verdict, level_of
from inspector.render import tabular as t
from inspector.render.report import Report

TRACELESS = (
    "Compared is what checkpoints record. Filters and projections before the state, the columns "
    "that an aggregate or a join reads, the lengths of windows and sessions, join types, limits, "
    "time ranges, output modes and the code of functions leave no trace in a checkpoint: Spark "
    "starts after such a change, and goes on with state that the old query made."
)


@dataclass(frozen=True, kw_only=True)
class PreflightRow(t.Row, table="lines"):
    """One thing that a restart depends on."""

    item: Annotated[t.Text, "What was compared.", t.Rank(2)]
    verdict: Annotated[
        t.Text,
        "`ok`, `ignored` (Spark keeps the old one), `refused` (it does not start), `silent` (it "
        "starts, and its results are wrong) or `unknown` (no file decides it).",
        t.Rank(1),
    ]
    old: Annotated[t.Text | None, "What the checkpoint in production has.", t.Rank(3)]
    new: Annotated[t.Text | None, "What the changed query has.", t.Rank(4)]
    spark: Annotated[
        t.Text, "What Spark does; of a refusal its error and the releases that refuse.", t.WIDE
    ]
    what_to_do: Annotated[t.Text, "What you can do.", t.Rank(5)]
    rule: Annotated[t.Text, "The rule that says so: `inspector explain SS431`.", t.Rank(6)]
    operator_id: Annotated[t.OperatorId | None, t.WIDE]
    store_name: Annotated[t.StoreName | None, t.WIDE]


@analysis(uses=(STORAGE,), tables=(PreflightRow,), fail_on="error", has_verdict=True)
def preflight(
    path: str | Opened,
    new: Annotated[
        str | None, Option("The checkpoint of the changed query.", metavar="NEW")
    ] = None,
    options: Options | None = None,
    *,
    conf: Annotated[
        Mapping[str, str],
        Option("A conf of the session after the restart; repeatable.", metavar="KEY=VALUE"),
    ] = {},
    to_spark: Annotated[
        str | None,
        View(
            f"The Spark that restarts the query, {RELEASES[0]} to {RELEASES[-1]}.  "
            f"[default: {RELEASES[-1]}]",
            metavar="RELEASE",
        ),
    ] = None,
) -> Report:
    """Will the changed query restart from a checkpoint, and still be right.

    PATH is the checkpoint in production. NEW is a small one that the changed query made in a test,
    of which one committed batch is enough; without it, ``--conf`` and ``--to-spark`` are judged
    alone. Each line is one thing that a restart depends on, and the verdict is the worst of all.

    Args:
        path: the checkpoint that the query goes on from.
        new: the one that the changed query made; None to judge confs and release alone.
        options: of both: how their storage is opened.
        conf: confs of the session that restarts the query; they go before those of ``new``.
        to_spark: the release that restarts it; by default the newest that the rules know.

    Raises:
        CheckpointError: the rules do not know the release.
    """
    release = release_of(to_spark)
    run = Opened.start(path, options)
    new_opened = None if new is None else Opened.start(new, run.options)
    sides = [_side(run), None if new_opened is None else _side(new_opened)]
    old, side = sides
    assert old is not None
    lines = Preflight(old, side, conf, release, run.listed).lines()
    return preflight_report(run, new_opened, lines, release)


def _side(run: Opened) -> Side:
    """A checkpoint with the sources of its newest batch.

    Raises:
        CheckpointError: no batch was ever planned.
    """
    checkpoint = run.checkpoint
    batch = checkpoint.logs.last_offset
    if batch is None:
        raise CheckpointError(
            "no batch was planned, so there is nothing to compare", checkpoint.root
        )
    sources: tuple[QuerySource, ...] = ()
    if batch in checkpoint.logs.confs:  # else it cannot be read, which is a problem already
        sources = query_sources(checkpoint.storage, batch)
    return Side(checkpoint, sources)


def preflight_report(
    run: Opened, new: Opened | None, lines: Sequence[Line], release: str
) -> Report:
    """The lines, worst first, and the verdict of the whole."""
    ordered = sorted(lines, key=lambda line: -line.rule.verdict.rank)
    findings = list(map(_finding, _bad_lines(ordered)))
    subject = run.subject(new.listed if new is not None else ())
    counts = Counter(line.rule.verdict for line in lines)
    severities = Counter(finding.severity for finding in findings)
    summary = {
        "new_checkpoint": None if new is None else new.checkpoint.root,
        "spark": release,
        "verdict": worst(lines).value,
        **{f"lines_{verdict.value}": counts[verdict] for verdict in Restarts},
    }
    return subject.report(
        "preflight",
        (PreflightRow.table("what a restart depends on", list(map(_row, ordered))),),
        summary,
        footnotes=() if new is None else (TRACELESS,),
        findings=findings,
        verdict=Verdict(
            level_of(findings, subject.problems),
            errors=severities[Severity.ERROR],
            warnings=severities[Severity.WARNING],
            infos=severities[Severity.INFO],
            problems=len(subject.problems),
            cause=_cause(findings),
        ),
        rules=tuple(rule.kind for rule in RULES if rule.verdict is not Restarts.OK),
    )


def _bad_lines(lines: Sequence[Line]) -> Iterator[Line]:
    """The lines that are findings."""
    return (line for line in lines if line.rule.verdict is not Restarts.OK)


def _sides(line: Line) -> str:
    """``min, max before, max, min now``: both sides of a line, as far as it has them."""
    texts = [f"{side} {word}" for side, word in ((line.old, "before"), (line.new, "now")) if side]
    return ", ".join(texts)


def _finding(line: Line) -> Finding:
    kind = line.rule.kind
    evidence = ": ".join(filter(None, (line.item, _sides(line))))
    return Finding(
        kind,
        kind.certainties[0],
        evidence,
        line.rule.to_do,
        line.operator_id,
        line.store_name,
        severity=kind.severity,
    )


def _cause(findings: Sequence[Finding]) -> Cause | None:
    """The worst line, which is the first."""
    if not findings:
        return None
    first = findings[0]
    sentence = f"{first.kind.title[:1].upper()}{first.kind.title[1:]}: {first.cause}"
    return Cause(first, sentence, None, None, None, f"{first.next_step}.", first.command)


def _row(line: Line) -> PreflightRow:
    return PreflightRow(
        item=line.item,
        verdict=line.rule.verdict.value,
        old=line.old,
        new=line.new,
        spark=" ".join(filter(None, (line.rule.spark, line.detail))),
        what_to_do=line.rule.to_do,
        rule=line.rule.id,
        operator_id=line.operator_id,
        store_name=line.store_name,
    )
