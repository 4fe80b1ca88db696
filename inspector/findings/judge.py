"""Facts of a run to findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.restart import restart_of
from inspector.exceptions import MissingVersionError
from inspector.facts.misplaced import MisplacedKeys
from inspector.facts.versions import VersionFacts
from inspector.findings.efficiency import StoreCosts, judge_costs, judge_format, judge_heap
from inspector.findings.finding import Finding
from inspector.findings.integrity import (
    judge_placement,
    judge_problems,
    judge_replay,
)
from inspector.findings.joins import judge_join
from inspector.findings.lifetime import judge as judge_life
from inspector.findings.rule_inputs import (
    join_lifetime,
    newest_times,
    store_lifetimes,
    variable_lives,
)
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.findings.variables import judge_variable
from inspector.findings.watermarks import judge_watermark
from inspector.merge.collect import Facts
from inspector.model import BatchClock, Problem, StoreId, StoreName
from inspector.operators.join import NAMES as JOIN
from inspector.providers.chain import chain_for


def judge(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    thresholds: Thresholds = DEFAULTS,
    heap_bytes: int | None = None,
) -> tuple[Finding, ...]:
    """Every rule applied to the facts of a version; the gravest first.

    Args:
        checkpoint: with the rules that apply to its operators.
        version: the judged state version.
        facts: of all tasks.
        problems: what is wrong by the listing and by the files.
        thresholds: from which numbers on something is a finding.
        heap_bytes: estimate of what the retained versions take, where there is a limit for it.
    """
    broken = judge_integrity(checkpoint, version, facts, problems, thresholds)
    found: list[Finding] = []
    for operator in checkpoint.operators:
        found += judge_format(operator.operator_id, _formats(checkpoint, version, operator))
        for life in store_lifetimes(checkpoint, operator, version, facts):
            found += judge_life(life, thresholds)
        for variable in variable_lives(operator, version, facts):
            found += judge_variable(variable, thresholds)
        if operator.name in JOIN:
            found += judge_join(join_lifetime(checkpoint, operator, version, facts), thresholds)
        found += judge_replay(
            operator.operator_id, _depths(checkpoint, operator, version), thresholds
        )
    found += _watermark(checkpoint, version, facts, thresholds)
    for costs in _costs(checkpoint, version, facts):
        found += judge_costs(costs, thresholds)
    found += judge_heap(heap_bytes, thresholds)
    reported = (one for one in found if thresholds.reports(one.kind.id, one.rows))
    return _gravest_first([*broken, *reported])


def judge_integrity(
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    thresholds: Thresholds = DEFAULTS,
) -> tuple[Finding, ...]:
    """The rules about files alone: can they be read and loaded, and are they of one chain.

    Args:
        checkpoint: what was found.
        version: the judged state version.
        facts: of all tasks.
        problems: what is wrong by the listing and by the files.
        thresholds: from which numbers on something is a finding.
    """
    found: list[Finding] = []
    for operator in checkpoint.operators:
        depths = _depths(checkpoint, operator, version)
        found += judge_replay(operator.operator_id, depths, thresholds)
    for name, places in _placements(facts).items():
        found += judge_placement(name.operator_id, name.store_name, places)
    reported = [one for one in found if thresholds.reports(one.kind.id, one.rows)]
    newest = version == checkpoint.newest_version
    restart = restart_of(checkpoint, problems) if newest else None
    return _gravest_first([*judge_problems(problems, thresholds, restart), *reported])


def _gravest_first(found: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(found, key=lambda one: (-one.severity, one.kind.id)))


def _placements(facts: Facts) -> dict[StoreName, dict[int, MisplacedKeys]]:
    found: dict[StoreName, dict[int, MisplacedKeys]] = {}
    for one in facts.of(MisplacedKeys):
        found.setdefault(one.store.name, {})[one.store.partition_id] = one.fact
    return found


def _watermark(
    checkpoint: Checkpoint, version: int, facts: Facts, thresholds: Thresholds
) -> Iterator[Finding]:
    clocks: dict[int, BatchClock] = dict(checkpoint.logs.clocks.items())
    yield from judge_watermark(
        clocks,
        version - 1,
        newest_times(checkpoint, facts),
        dict(checkpoint.logs.sources.items()),
        by_slowest=checkpoint.conf(version, "multipleWatermarkPolicy") != "max",
        thresholds=thresholds,
    )


def _depths(checkpoint: Checkpoint, operator: Operator, version: int) -> dict[StoreId, int]:
    """Deltas that each store has to replay to load the version; those that can."""
    found: dict[StoreId, int] = {}
    for layout in operator.layout.folders:
        with suppress(MissingVersionError):
            chain = chain_for(checkpoint.store_files[layout.directory], version)
            found[layout.store] = len(chain.deltas)
    return found


def _costs(checkpoint: Checkpoint, version: int, facts: Facts) -> Iterator[StoreCosts]:
    operators = {operator.operator_id: operator for operator in checkpoint.operators}
    partitions: dict[StoreName, dict[int, VersionFacts]] = {}
    for (store, of_version), one in facts.versions.items():
        if of_version == version:
            partitions.setdefault(store.name, {})[store.partition_id] = one
    for name, versions in facts.by_store().items():
        operator = operators[name.operator_id]
        yield StoreCosts(
            name.operator_id,
            operator.name,
            name.store_name,
            partitions.get(name, {}),
            versions,
            operator.single_partition,
        )


def _formats(checkpoint: Checkpoint, version: int, operator: Operator) -> dict[str, str]:
    if operator.name != "stateStoreSave" or not version:
        return {}
    value = checkpoint.conf(version, "aggregation.stateFormatVersion")
    return {} if value is None else {"aggregation": value}
