"""The task list: one task for each partition of each operator; and what the listing alone tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from inspector.checkpoint.layout import PartitionLayout, StoreLayout
from inspector.model import Certainty, FileKind, Problem, TimeoutKind
from inspector.operators.group_state import PANDAS, empty_size
from inspector.operators.join import COUNT, COUNT_STORES
from inspector.operators.join import NAMES as JOIN
from inspector.operators.rule import Clock, StoreRule
from inspector.operators.session_window import NAMES as SESSION
from inspector.pipeline.discovery import HOLDS_WATERMARK_BACK, Checkpoint, Operator
from inspector.pipeline.tasks import StoreTask, Task
from inspector.sparktypes import to_json
from inspector.state.chain import StoreFiles, restorable_versions

EVICTS_STEPWISE = ("dedupe", "StatefulStreamlineAggregate")
"""Operators that ``statefulOperator.incrementalCleanupFactor`` makes lag (4.3; not recorded)."""

SINCE_3_5 = "optimizer.pruneFiltersCanPruneStreamingSubplan"
SINCE_4_3 = "dropDuplicates.deterministicKeyOrder.enabled"
SIDE_FILES = (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)


@dataclass(frozen=True)
class Wanted:
    """What a run is asked for.

    Attributes:
        version: the state version that is judged.
        fit: hold every row against its schema, and every file against its checksums.
        leftover_limit: leftover keys listed per store and class; 0 for all.
        timeout_kind: which clock the timers follow, if the user said so.
        top: keys listed by each ranking; 0 for none.
        rewrites: follow in how many versions in a row each key was put.
        matched: count the rows of a join that have found a partner.
        lags_ms: how far an operator's watermark lags behind that of the query, as observed.
    """

    version: int
    fit: bool = False
    leftover_limit: int = 0
    timeout_kind: TimeoutKind | None = None
    top: int = 0
    rewrites: bool = False
    matched: bool = False
    lags_ms: Mapping[int, int] = field(default_factory=dict)


def plan(checkpoint: Checkpoint, wanted: Wanted) -> list[Task]:
    """The tasks of a run, by operator and partition."""
    codecs, row_checksum = _confs(checkpoint, wanted.version)
    return [
        Task(
            url=checkpoint.storage.url,
            root=checkpoint.root,
            options=checkpoint.storage.options,
            operator_id=operator.operator_id,
            partition_id=partition.partition_id,
            version=wanted.version,
            stores=tuple(
                _store_task(checkpoint, operator, store, wanted) for store in partition.stores
            ),
            clocks=tuple(checkpoint.logs.clocks.values()),
            codecs=codecs,
            row_checksum=row_checksum,
            fit=wanted.fit,
            leftover_limit=wanted.leftover_limit,
            top=wanted.top,
            rewrites=wanted.rewrites,
            matched=wanted.matched,
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
    checkpoint: Checkpoint, operator: Operator, layout: StoreLayout, wanted: Wanted
) -> StoreTask:
    name = layout.store.store_name
    schema = operator.schemas.get(name)
    rule = operator.rules[name]
    certainty, reason = _certainty(checkpoint, operator, rule, wanted.version)
    expiry = rule.expiry
    if expiry is not None and operator.name in EVICTS_STEPWISE:
        stepwise = _recorded(checkpoint, wanted.version, SINCE_4_3)
        expiry = replace(expiry, previous_bound=stepwise)
    lag = wanted.lags_ms.get(operator.operator_id, 0)
    if expiry is not None and expiry.clock is Clock.WATERMARK and not rule.given and lag:
        expiry = replace(expiry, delay_ms=expiry.delay_ms + lag)
    return StoreTask(
        store_name=name,
        files=layout.of_kind(FileKind.DELTA, FileKind.SNAPSHOT),
        side_files=layout.of_kind(*SIDE_FILES) if wanted.fit else (),
        key_schema=None if schema is None else to_json(schema.key),
        value_schema=None if schema is None else to_json(schema.value),
        expiry=expiry,
        certainty=certainty,
        reason=reason,
        event_time=rule.event_time,
        by_key_time=bool(rule.key_times)
        and not rule.given
        and _held_back(checkpoint, operator, wanted.version) is None,
        number=COUNT if name in COUNT_STORES else None,
        timeout_kinds=_timeout_kinds(checkpoint, operator, wanted)
        if rule.expiry is not None and rule.expiry.clock is Clock.TIMEOUT
        else (),
        # Without Spark's own metadata the two languages cannot be told apart.
        timers_always_clear=operator.name_from == "metadata" and operator.name != PANDAS,
        empty_size=-1 if schema is None else empty_size(schema.value),
        session_fields=len(schema.key.fields) if schema and operator.name in SESSION else 0,
        no_watermark=not any(c.watermark_ms for c in checkpoint.logs.clocks.values()),
    )


def _certainty(
    checkpoint: Checkpoint, operator: Operator, rule: StoreRule, version: int
) -> tuple[Certainty, str]:
    """How sure it is that a row which the rule covers should be gone, and why.

    Since Spark 3.5 an operator downstream of a join or of group state sees a watermark that lags
    by an amount which is not stored (``WatermarkPropagator``); before, all saw that of the query.
    """
    if rule.given:
        return Certainty.PROVEN, rule.source
    held_back = _held_back(checkpoint, operator, version)
    if held_back is not None:
        return Certainty.INFERRED, f"downstream of {held_back} the watermark lags"
    if rule.doubt:
        return Certainty.INFERRED, rule.doubt
    return Certainty.PROVEN, ""


def _held_back(checkpoint: Checkpoint, operator: Operator, version: int) -> str | None:
    """The operator upstream that makes this one's watermark lag; None if there is none."""
    if not _recorded(checkpoint, version, SINCE_3_5):
        return None
    above = [name for name in operator.upstream if name in HOLDS_WATERMARK_BACK]
    return above[-1] if above else None


def below_joins(checkpoint: Checkpoint, version: int) -> frozenset[int]:
    """Operators whose watermark lags by as much as a join above them keeps its rows."""
    if not _recorded(checkpoint, version, SINCE_3_5):
        return frozenset()
    return frozenset(
        operator.operator_id
        for operator in checkpoint.operators
        if set(operator.upstream) & set(JOIN)
        and any(rule.expiry is not None for rule in operator.rules.values())
    )


def _recorded(checkpoint: Checkpoint, version: int, key: str) -> bool:
    """Whether the batch's log entry has a conf that Spark records only from some release on."""
    return checkpoint.logs.conf_for(version - 1, key).origin != "default"


def _timeout_kinds(
    checkpoint: Checkpoint, operator: Operator, wanted: Wanted
) -> tuple[TimeoutKind, ...]:
    """The clocks that a query's timers can follow, as far as the log tells.

    Two batches with the same offsets and the same watermark ran for no other reason than a
    processing-time timeout (``FlatMapGroupsWithStateExec.shouldRunAnotherBatch``). A watermark that
    is zero throughout proves nothing: a query may have one and never have seen an event time.
    """
    if wanted.timeout_kind is not None:
        return (wanted.timeout_kind,)
    clocks = list(checkpoint.logs.clocks.values())
    alone = sum(rule.expiry is not None for o in checkpoint.operators for rule in o.rules.values())
    idle = any(
        after.has_new_data is False and after.watermark_ms == before.watermark_ms
        for before, after in pairwise(clocks)
        if after.batch_id == before.batch_id + 1 and before.committed
    )
    if idle and alone == 1 and operator.rules:
        return (TimeoutKind.PROCESSING_TIME,)
    return (TimeoutKind.EVENT_TIME, TimeoutKind.PROCESSING_TIME)


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
    files = StoreFiles.of(layout.files)
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
