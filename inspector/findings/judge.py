"""Facts of a run to findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from inspector.decode.row_hash import row_hash
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.listing import ranges_text
from inspector.discovery.query_sources import newest_first
from inspector.discovery.restart import Restart
from inspector.discovery.restart_conditions import JOIN_NULLS
from inspector.discovery.what_if import delays_of
from inspector.exceptions import MissingVersionError, RowError
from inspector.facts.misplaced import MisplacedKeys
from inspector.findings import catalogue, integrity, rule_inputs
from inspector.findings.cost_inputs import KeyWords, file_costs, store_costs
from inspector.findings.efficiency import judge_costs, judge_files, judge_format, judge_heap
from inspector.findings.finding import Finding, Group, Severity
from inspector.findings.join_restarts import reads_all_rows
from inspector.findings.joins import JoinLifetime, judge_join
from inspector.findings.lifetime import judge as judge_life
from inspector.findings.slow_batches import judge_durations
from inspector.findings.sources import judge_setbacks, judge_source_logs
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.findings.unwritten import judge_unwritten
from inspector.findings.variables import judge_variable
from inspector.findings.watermarks import judge_watermark
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import (
    KINDS_OF_VERSION,
    BatchId,
    Certainty,
    FileKind,
    Problem,
    StoreId,
    StoreName,
)
from inspector.operators.join import NAMES as JOIN
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
    of_files = restart and _without_null_rows(restart)
    broken = judge_integrity(checkpoint, version, facts, problems, thresholds, of_files)
    findings: list[Finding] = []
    unfit = {p.store.name for p in problems if p.slug == RowError.slug and p.store is not None}
    for operator in checkpoint.operators:
        findings += judge_files(file_costs(checkpoint, operator, facts), thresholds)
        if operator.name == "stateStoreSave" and version:
            state_format = checkpoint.conf(version, "aggregation.stateFormatVersion")
            findings += judge_format(operator.operator_id, state_format)
        of_run = checkpoint, operator, version, facts
        for life in rule_inputs.store_lifetimes(*of_run, growing, key_words):
            if StoreName(life.operator_id, life.store_name) in unfit:
                life = replace(life, expiring=None)  # their times say nothing
            findings += judge_life(life, thresholds)
        for variable in rule_inputs.variable_lives(operator, version, facts):
            findings += judge_variable(variable, thresholds)
        if operator.name in JOIN:
            findings += _judge_join(operator, rule_inputs.join_lifetime(*of_run), thresholds)
    lengths = {}
    for costs in store_costs(checkpoint, version, facts, key_words):
        findings += judge_costs(costs, thresholds)
        if costs.windows is not None:
            lengths[StoreName(costs.operator_id, costs.store_name)] = costs.windows.length_ms
    # In windows that overlap much, each event makes many keys by design.
    many = [f.store for f in findings if f.kind is catalogue.FAN_OUT]
    findings = [f for f in findings if f.kind is not catalogue.UNIQUE_KEYS or f.store not in many]
    findings += judge_watermark(
        dict(checkpoint.logs.clocks.items()),
        version - 1,
        rule_inputs.newest_times(checkpoint, facts, lengths),
        dict(checkpoint.logs.sources.items()),
        delay_ms=max(delays_of(checkpoint), default=None),
        by_slowest=checkpoint.conf(version, "multipleWatermarkPolicy") != "max",
        late=rule_inputs.late_batches(facts),
        newest_first=lambda: [
            *newest_first(checkpoint.storage, checkpoint.logs.sources.get(BatchId(version - 1), ()))
        ],
        thresholds=thresholds,
    )
    findings += judge_heap(heap_bytes, thresholds)
    findings += _judge_batches(checkpoint, version, restart, thresholds)
    findings = _with_attempts(findings, _versions_of_two_attempts(checkpoint, version))
    reported = (f for f in findings if thresholds.reports(f.kind.id, f.rows))
    return _gravest_first([*broken, *reported])


def _judge_batches(
    checkpoint: Checkpoint, version: int, restart: Restart | None, thresholds: Thresholds
) -> Iterator[Finding]:
    """How long the newest batches take, and whether one stands still."""
    if version >= checkpoint.newest_version:
        yield from judge_durations(checkpoint.logs, thresholds)
    if restart is not None:
        yield from judge_unwritten(checkpoint, restart, thresholds)


def _without_null_rows(restart: Restart) -> Restart:
    """Return the restart without null rows of joins, which SS208 reports."""
    return replace(restart, obstacles=tuple(o for o in restart.obstacles if o.about != JOIN_NULLS))


def _judge_join(
    operator: Operator, life: JoinLifetime, thresholds: Thresholds
) -> Iterator[Finding]:
    read = [store for store in life.checks if reads_all_rows(operator, life, store)]
    return judge_join(replace(life, read_whole=read), thresholds)


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
        passed = rule_inputs.span(checkpoint.clock(oldest), checkpoint.clock(version)) or 0
        findings += integrity.judge_replay(operator.operator_id, depths, thresholds, noun, passed)
        for called, schema in operator.schemas.items():
            name = StoreName(operator.operator_id, called)
            of_version = facts.of_version(name, version)
            keys, values = of_version.key_sizes.counts, of_version.value_sizes.counts
            findings += integrity.judge_widths(name, "key", keys, schema.key)
            findings += integrity.judge_widths(name, "value", values, schema.value)
    placements: dict[StoreName, dict[int, MisplacedKeys]] = {}
    for observation in facts.of(MisplacedKeys):
        store = observation.store
        placements.setdefault(store.name, {})[store.partition_id] = observation.fact
    for name, partitions in placements.items():
        findings += integrity.judge_placement(name, partitions)
    reported = [f for f in findings if thresholds.reports(f.kind.id, f.rows)]
    relative = checkpoint.storage.relative
    if version < checkpoint.newest_version:
        # Cleanup has removed an old one, or else the file that is gone has a problem of its own.
        problems = [p for p in problems if p.slug != MissingVersionError.slug]
    reported += integrity.judge_problems(problems, thresholds, restart, relative)
    positions = {batch: s for batch, s in checkpoint.logs.sources.items() if batch < version}
    reported += judge_setbacks(
        positions if restart is None else checkpoint.logs.sources, thresholds
    )
    if restart is not None:
        reported += judge_source_logs(restart, thresholds)
    if restart is not None and all(f.severity is not Severity.ERROR for f in reported):
        reported += integrity.judge_restart(restart, thresholds)
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
