"""Facts of a run to findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from inspector.decode.row_hash import row_hash
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.listing import ranges_text
from inspector.discovery.restart import Restart
from inspector.discovery.restart_conditions import JOIN_NULLS
from inspector.exceptions import MissingVersionError
from inspector.facts.misplaced import MisplacedKeys
from inspector.findings import integrity_rules
from inspector.findings.finding import Finding, Group, Severity
from inspector.findings.rule import rules
from inspector.findings.sources import judge_setbacks, judge_source_logs
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.findings.unwritten import judge_unwritten
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.judged_version import Context, KeyWords
from inspector.findings.views.query_clock import span
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import (
    KINDS_OF_VERSION,
    Certainty,
    FileKind,
    Problem,
    StoreId,
    StoreName,
)
from inspector.providers.chain import chain_for


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
    """Every rule applied to the facts of a version; the gravest first.

    ``heap_bytes`` estimates what the retained versions take, where there is a limit for it;
    ``restart`` is known if the version is the newest; ``growing`` lacks stores that cannot be told.
    """
    context = Context(problems, key_words, growing, heap_bytes, restart)
    view = CheckpointView(checkpoint, version, facts, context)
    of_files = restart and _without_null_rows(restart)
    broken = judge_integrity(checkpoint, version, facts, problems, thresholds, of_files)
    findings: list[Finding] = []
    if restart is not None:
        findings += judge_unwritten(checkpoint, restart, thresholds)
    findings += judge_rules(view, thresholds)
    findings = _visible_findings(findings)
    findings = _with_attempts(findings, _versions_of_two_attempts(checkpoint, version))
    reported = (f for f in findings if thresholds.reports(f.kind.id, f.count))
    return _gravest_first([*broken, *reported])


def judge_rules(view: CheckpointView, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """Yield the findings of all rules about a checkpoint, its operators and its stores."""
    views = {"checkpoint": (view,), "operator": view.operators, "store": view.stores}
    for rule in rules():
        for subject in views[rule.scope]:
            yield from rule(thresholds).findings(subject)


def _visible_findings(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings without those that another one of the same subject hides."""
    hidden = {(id_, finding.store) for finding in findings for id_ in finding.hides}
    return [f for f in findings if (f.kind.id, f.store) not in hidden]


def _without_null_rows(restart: Restart) -> Restart:
    """Return the restart without null rows of joins, which SS208 reports."""
    return replace(restart, obstacles=tuple(o for o in restart.obstacles if o.about != JOIN_NULLS))


def judge_integrity(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    thresholds: Thresholds = DEFAULTS,
    restart: Restart | None = None,
) -> tuple[Finding, ...]:
    """The rules about files alone: can they be read and loaded, and are they of one chain."""
    findings: list[Finding] = []
    for operator in checkpoint.operators:
        depths: dict[StoreId, int] = {}
        for layout in operator.layout.folders:
            with suppress(MissingVersionError):
                chain = chain_for(checkpoint.store_files[layout.directory], version)
                depths[layout.store] = len(chain.deltas)
        noun = checkpoint.provider.names.delta_noun
        oldest = version + 1 - max(depths.values(), default=1)
        passed = span(checkpoint.clock(oldest), checkpoint.clock(version)) or 0
        of_operator = operator.operator_id, depths, thresholds, noun, passed
        findings += integrity_rules.judge_replay(*of_operator)
        for called, schema in operator.schemas.items():
            name = StoreName(operator.operator_id, called)
            of_version = facts.of_version(name, version)
            keys, values = of_version.key_sizes.counts, of_version.value_sizes.counts
            findings += integrity_rules.judge_widths(name, "key", keys, schema.key)
            findings += integrity_rules.judge_widths(name, "value", values, schema.value)
    placements: dict[StoreName, dict[int, MisplacedKeys]] = {}
    for observation in facts.of(MisplacedKeys):
        store = observation.store
        placements.setdefault(store.name, {})[store.partition_id] = observation.fact
    for name, partitions in placements.items():
        findings += integrity_rules.judge_placement(name, partitions)
    reported = [f for f in findings if thresholds.reports(f.kind.id, f.rows)]
    relative = checkpoint.storage.relative
    if version < checkpoint.newest_version:
        # Cleanup has removed an old one, or else the file that is gone has a problem of its own.
        problems = [p for p in problems if p.slug != MissingVersionError.slug]
    reported += integrity_rules.judge_problems(problems, thresholds, restart, relative)
    positions = {batch: s for batch, s in checkpoint.logs.sources.items() if batch < version}
    reported += judge_setbacks(
        positions if restart is None else checkpoint.logs.sources, thresholds
    )
    if restart is not None:
        reported += judge_source_logs(restart, thresholds)
    if restart is not None and all(f.severity is not Severity.ERROR for f in reported):
        reported += integrity_rules.judge_restart(restart, thresholds)
    return _gravest_first(reported)


def _versions_of_two_attempts(checkpoint: Checkpoint, version: int) -> dict[int, list[int]]:
    """Return, by operator, the versions up to one that two attempts have written visibly.

    The temporary file of one attempt is beside the file of the other one (premise
    ``one-attempt``).
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
    """Add to proven findings about rows that two attempts at a batch are visible."""
    result = []
    for finding in findings:
        attempts = versions.get(-1 if finding.operator_id is None else finding.operator_id, ())
        is_proof = finding.certainty is Certainty.PROVEN
        if attempts and is_proof and finding.kind.group is Group.LIFETIME:
            subject = "version" if len(attempts) == 1 else "versions"
            finding = replace(
                finding,
                evidence=f"{finding.evidence}; two attempts wrote {subject} "
                f"{ranges_text(attempts)}: this is proven of the files, and the running query may "
                "have other rows (premise one-attempt)",
            )
        result.append(finding)
    return result


def _gravest_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: (-finding.severity, finding.kind.id)))
