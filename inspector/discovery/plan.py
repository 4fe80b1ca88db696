"""The task list: one task for each partition of each operator; and what the listing alone shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from inspector.checkpoint.layout import PartitionLayout, StoreLayout
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.tasks import StoreTask, Task
from inspector.discovery.unknown_watermarks import held_back, recorded
from inspector.model import Certainty, FileKind, Problem, TimeoutKind
from inspector.operators.emissions import fed_by_sources
from inspector.operators.group_state import PANDAS, empty_size
from inspector.operators.inferences import INFERENCES
from inspector.operators.join import COUNT, COUNT_STORES
from inspector.operators.rule import Clock, StoreRule
from inspector.operators.session_window import NAMES as SESSION
from inspector.providers.chain import restorable_versions
from inspector.sparktypes import to_json

EVICTS_STEPWISE = ("dedupe", "StatefulStreamlineAggregate")
"""Operators that ``statefulOperator.incrementalCleanupFactor`` makes lag (4.3; not recorded)."""

SINCE_4_3 = "dropDuplicates.deterministicKeyOrder.enabled"
SIDE_FILES = (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)


@dataclass(frozen=True)
class TaskRequest:
    """What the tasks of a run are to find: the facts of an analysis, at a version and by a clock.

    Attributes:
        version: the state version that is judged.
        fit: hold every row against its schema, and every file against its checksums.
        leftover_limit: leftover keys listed per store and class; 0 for all.
        timeout_kind: which clock the timers follow, if the user said so.
        top: keys listed by each ranking; 0 for none.
        observed: kinds of facts whose observers follow every version.
        matched: count the rows of a join that have found a partner.
    """

    version: int
    fit: bool = False
    leftover_limit: int = 0
    timeout_kind: TimeoutKind | None = None
    top: int = 0
    observed: tuple[str, ...] = ()
    matched: bool = False


def plan(checkpoint: Checkpoint, request: TaskRequest) -> list[Task]:
    """The tasks of a run, by operator and partition."""
    codecs, row_checksum = _confs(checkpoint, request.version)
    # What came later says nothing of the judged version.
    clocks = tuple(c for c in checkpoint.logs.clocks.values() if c.batch_id < request.version)
    return [
        Task(
            url=checkpoint.storage.url,
            root=checkpoint.root,
            options=checkpoint.storage.options,
            operator_id=operator.operator_id,
            partition_id=partition.partition_id,
            version=request.version,
            provider=checkpoint.provider.name,
            stores=tuple(
                _store_task(checkpoint, operator, store, request) for store in partition.stores
            ),
            clocks=clocks,
            codecs=codecs,
            row_checksum=row_checksum,
            fit=request.fit,
            leftover_limit=request.leftover_limit,
            top=request.top,
            observed=request.observed,
            matched=request.matched,
        )
        for operator in checkpoint.operators
        for partition in operator.layout.partitions
        if partition.stores
    ]


def _confs(checkpoint: Checkpoint, version: int) -> tuple[dict[int, str], bool]:
    versions = {
        v for files in checkpoint.store_files.values() for v in (*files.deltas, *files.snapshots)
    }
    codecs = {v: checkpoint.conf(v, "stateStore.compression.codec") or "lz4" for v in versions}
    checksum = checkpoint.conf(version, "stateStore.rowChecksum.enabled")
    return codecs, checksum == "true"


def _store_task(
    checkpoint: Checkpoint, operator: Operator, layout: StoreLayout, request: TaskRequest
) -> StoreTask:
    name = layout.store.store_name
    schema = operator.schemas.get(name)
    rule = operator.rules[name]
    certainty, reason = _certainty(checkpoint, operator, rule, request.version)
    expiry = rule.expiry
    by_watermark = expiry is not None and expiry.clock is Clock.WATERMARK
    if expiry is not None and by_watermark and operator.name in EVICTS_STEPWISE:
        stepwise = recorded(checkpoint, request.version, SINCE_4_3)
        expiry = replace(expiry, previous_bound=stepwise)
    return StoreTask(
        store_name=name,
        files=layout.of_kind(FileKind.DELTA, FileKind.SNAPSHOT),
        side_files=layout.of_kind(*SIDE_FILES) if request.fit else (),
        key_schema=None if schema is None else to_json(schema.key),
        value_schema=None if schema is None else to_json(schema.value),
        expiry=expiry,
        certainty=certainty,
        reason=reason,
        event_time=rule.event_time,
        by_key_time=bool(rule.key_times)
        and not rule.user_supplied
        and rule.expiry is None
        and held_back(checkpoint, operator, request.version) is None,
        number=COUNT if name in COUNT_STORES else None,
        timeout_kinds=_timeout_kinds(request) if _has_timers(rule) else (),
        processing_versions=_idle_versions(checkpoint, request) if _has_timers(rule) else (),
        fed_by_sources=fed_by_sources(operator.upstream),
        # Without Spark's own metadata the two languages cannot be told apart.
        timers_always_clear=operator.name_from == "metadata" and operator.name != PANDAS,
        empty_size=-1 if schema is None else empty_size(schema.value),
        session_fields=len(schema.key.fields) if schema and operator.name in SESSION else 0,
    )


def _certainty(
    checkpoint: Checkpoint, operator: Operator, rule: StoreRule, version: int
) -> tuple[Certainty, str]:
    """How sure it is that a row which the rule covers should be gone, and why.

    Since Spark 3.5 an operator downstream of a join or of group state sees a watermark that lags
    by an amount which is not stored (``WatermarkPropagator``); before, all saw that of the query.
    """
    if rule.user_supplied:
        return Certainty.PROVEN, rule.source
    above = held_back(checkpoint, operator, version)
    if above is not None:
        return Certainty.INFERRED, f"downstream of {above} the watermark lags"
    if rule.doubt:
        warns = INFERENCES["complete-mode"].warns
        return Certainty.INFERRED if warns else Certainty.UNDECIDED, rule.doubt
    return Certainty.PROVEN, ""


def _has_timers(rule: StoreRule) -> bool:
    return rule.expiry is not None and rule.expiry.clock is Clock.TIMEOUT


def _timeout_kinds(request: TaskRequest) -> tuple[TimeoutKind, ...]:
    return tuple(TimeoutKind) if request.timeout_kind is None else (request.timeout_kind,)


def _idle_versions(checkpoint: Checkpoint, request: TaskRequest) -> tuple[int, ...]:
    """Versions whose batches ran for no other reason than a processing-time timeout.

    Two batches in a row with the same offsets and the same watermark (premise ``idle-batch``). That
    it is the timeout of this operator is known only if no other has, or may have, one.
    """
    rules = [rule for o in checkpoint.query for rule in o.rules.values()]
    known = all(o.schemas for o in checkpoint.query)
    if sum(map(_has_timers, rules)) != 1 or not known:
        return ()
    clocks = list(checkpoint.logs.clocks.values())
    return tuple(
        after.batch_id + 1
        for before, after in pairwise(clocks)
        if after.batch_id == before.batch_id + 1 < request.version
        and before.committed
        and after.has_new_data is False
        and after.watermark_ms is not None
        and after.watermark_ms == before.watermark_ms
    )


def listing_problems(checkpoint: Checkpoint, version: int) -> Iterator[Problem]:
    """What is wrong with the files by their names alone: gaps, and partitions without files.

    Args:
        checkpoint: what was found.
        version: the judged version; every store has to be able to restore it.
    """
    for operator in checkpoint.operators:
        yield from _missing_partitions(checkpoint, operator, version)
        for partition in operator.layout.partitions:
            yield from _missing_stores(checkpoint, operator, partition)
            for store in partition.stores:
                yield from _gaps(checkpoint, store, version)


def _missing_partitions(
    checkpoint: Checkpoint, operator: Operator, version: int
) -> Iterator[Problem]:
    selected = checkpoint.selection.partition_id
    conf = checkpoint.logs.conf_for(version - 1, "shuffle.partitions").value
    if not version or operator.single_partition or selected is not None or conf is None:
        return
    have = {partition.partition_id for partition in operator.layout.partitions}
    expected = int(conf) if conf.isdecimal() and len(conf) < 10 else 0
    missing = _ranges([p for p in range(expected) if p not in have])
    if missing:
        yield Problem(
            "missing-partition",
            f"partitions {missing} are missing, expected 0 to {expected - 1} "
            "(spark.sql.shuffle.partitions in the offset log)",
            checkpoint.storage.full_path(operator.layout.directory),
        )


def _missing_stores(
    checkpoint: Checkpoint, operator: Operator, partition: PartitionLayout
) -> Iterator[Problem]:
    have = {store.store.store_name for store in partition.stores}
    for name in sorted(set(operator.layout.store_names) - have):
        yield Problem(
            "missing-version",
            f"store {name!r} is missing, expected it in every partition of the operator",
            checkpoint.storage.full_path(partition.directory),
        )


def _gaps(checkpoint: Checkpoint, layout: StoreLayout, version: int) -> Iterator[Problem]:
    files = checkpoint.store_files[layout.directory]
    restorable = restorable_versions(files)
    place = checkpoint.storage.full_path(layout.directory)
    if version and version not in restorable:
        yield Problem(
            "missing-version",
            f"state version {version} (batch {version - 1}) cannot be restored here, "
            f"restorable are {_ranges(restorable) or 'none'}",
            place,
            store=layout.store,
            version=version,
        )
    oldest = restorable[0] if restorable else 1
    known = [v for v in sorted({*files.deltas, *files.snapshots}) if oldest <= v <= version]
    points = [*([] if restorable else [0]), *known, version + 1]
    holes = [(a + 1, b - 1) for a, b in pairwise(points) if b > a + 1]
    lost = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in holes)
    if lost:
        yield Problem(
            "missing-delta",
            f"the deltas of versions {lost} are missing, expected one for every version",
            place,
            store=layout.store,
        )


def _ranges(numbers: Sequence[int]) -> str:
    """``0-3, 7``: sorted numbers, runs drawn together."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
