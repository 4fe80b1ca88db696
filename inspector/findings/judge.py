"""Judgement of the merged facts of a run: every rule is applied, and findings are returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from inspector.decode.row_hash import row_hash
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.listing import ranges_text
from inspector.discovery.restart import Restart
from inspector.findings.finding import Finding, Group, Severity
from inspector.findings.rule import FOLDERS, rules
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.judged_version import Context, KeyWords
from inspector.findings.wording import write
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import (
    KINDS_OF_VERSION,
    Certainty,
    FileKind,
    Problem,
    StoreName,
)

ATTEMPTS = (
    "two attempts wrote {count:/version} {versions}: this is proven of the files, and the running "
    "query may have other rows (premise one-attempt)"
)
"""Note for the evidence of proven lifetime findings whose operator has versions of two attempts."""


def judge(  # noqa: PLR0913 - what findings rest on
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    thresholds: Thresholds = DEFAULTS,
    heap_bytes: int | None = None,
    key_words: KeyWords = lambda _store, key, _schema=None: row_hash(key),
    restart: Restart | None = None,
    growing: Mapping[StoreName, bool] = MappingProxyType({}),
) -> tuple[Finding, ...]:
    """Return the findings of every rule about a version, the most severe first.

    ``facts`` are those of all versions up to ``version``. ``problems`` are what could not be read.
    ``heap_bytes`` is the estimated heap of the retained versions; None without a limit for it.
    ``key_words`` returns words for a key. ``restart`` is None if the version is not the newest.
    ``growing`` is True for each store whose bytes grow; stores for which it is unknown are absent.
    """
    context = Context(problems, key_words, growing, heap_bytes, restart)
    view = CheckpointView(checkpoint, version, facts, context)
    findings = _visible_findings(list(judge_rules(view, thresholds)))
    findings = _with_attempts(findings, _versions_of_two_attempts(checkpoint, version))
    return _reported_findings(findings, thresholds)


def judge_rules(
    view: CheckpointView,
    thresholds: Thresholds = DEFAULTS,
    folders: tuple[str, ...] = FOLDERS,
) -> Iterator[Finding]:
    """Yield the findings of the rules in some folders, such as ``integrity``.

    A rule judges the whole checkpoint, each operator or each store, as its ``scope`` says. No
    finding is left out here.
    """
    views = {"checkpoint": (view,), "operator": view.operators, "store": view.stores}
    for rule in rules(folders):
        for subject in views[rule.scope]:
            yield from rule(thresholds).findings(subject)


def _visible_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that another finding hides.

    A finding hides those whose id is in its ``hides`` and whose operator and store are its own.
    """
    hidden = {(id_, finding.store) for finding in findings for id_ in finding.hides}
    return [f for f in findings if (f.kind.id, f.store) not in hidden]


def judge_integrity(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    thresholds: Thresholds = DEFAULTS,
    restart: Restart | None = None,
) -> tuple[Finding, ...]:
    """Return the findings of the rules about files alone, the most severe first.

    ``restart`` is None if ``version`` is not the newest. ``problems`` are what could not be read.
    """
    context = Context(problems, restart=restart, judges_rows=False)
    view = CheckpointView(checkpoint, version, facts, context)
    return _reported_findings(judge_rules(view, thresholds, ("integrity",)), thresholds)


def _reported_findings(findings: Iterable[Finding], thresholds: Thresholds) -> tuple[Finding, ...]:
    """Return the findings that reach the user's least numbers, sorted by severity and id.

    The most severe one is first. Findings that yield to errors are left out next to an error of
    their group.
    """
    reported = [f for f in findings if thresholds.reports(f.kind.id, f.count)]
    groups = {
        f.kind.group
        for f in reported
        if f.severity is Severity.ERROR and not f.kind.yields_to_errors
    }
    visible = (f for f in reported if not (f.kind.yields_to_errors and f.kind.group in groups))
    return tuple(sorted(visible, key=lambda finding: (-finding.severity, finding.kind.id)))


def _versions_of_two_attempts(checkpoint: Checkpoint, version: int) -> dict[int, list[int]]:
    """Return, by operator number, the versions that two attempts of a batch wrote, sorted.

    A temporary file next to the finished file of a version shows a second attempt. Only versions up
    to ``version`` are returned.
    """
    versions: dict[int, set[int]] = {}
    for operator in checkpoint.operators:
        for folder in operator.layout.folders:
            names = {file.path: file for file in folder.of_kind(*KINDS_OF_VERSION)}
            for temporary in folder.of_kind(FileKind.TEMPORARY):
                parent, _, name = temporary.path.rpartition("/")
                final = names.get(f"{parent}/{'.'.join(name.split('.')[1:3])}")
                if final is not None and (final.version or 0) <= version:
                    versions.setdefault(operator.operator_id, set()).add(final.version or 0)
    return {operator: sorted(of_operator) for operator, of_operator in versions.items()}


def _with_attempts(
    findings: Iterable[Finding], versions: Mapping[int, Sequence[int]]
) -> list[Finding]:
    """Return the findings, with a note on two attempts in the evidence of some.

    These are proven lifetime findings about an operator in ``versions``, which has the versions
    that two attempts wrote, by operator.
    """
    result = []
    for finding in findings:
        attempts = versions.get(-1 if finding.operator_id is None else finding.operator_id, ())
        is_proof = finding.certainty is Certainty.PROVEN
        if attempts and is_proof and finding.kind.group is Group.LIFETIME:
            note = write(ATTEMPTS, {"count": len(attempts), "versions": ranges_text(attempts)})
            finding = replace(finding, evidence=f"{finding.evidence}; {note}")
        result.append(finding)
    return result
