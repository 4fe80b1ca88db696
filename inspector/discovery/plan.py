"""The task list: one task for each partition of each operator."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import gcd

from inspector.checkpoint.layout import PartitionLayout, StoreLayout
from inspector.checkpoint.state_schema import StateSchema
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.discovery.placement import (
    count_hashed,
    has_partition,
    lacks_operator,
    partition_count,
)
from inspector.discovery.tasks import ALL_LEFTOVERS, Request, StoreTask, Task
from inspector.discovery.unknown_watermarks import (
    UNSEEN,
    has_branches,
    is_recorded,
    operator_holding_back,
    sees_watermark,
)
from inspector.discovery.what_if import DEDUPLICATIONS, delays_of, scenario_of
from inspector.light_dataclasses import replace
from inspector.model import KINDS_OF_SUMS, KINDS_OF_VERSION, Certainty, TimeoutKind
from inspector.operators import deduplicate_within_watermark
from inspector.operators.aggregation import COMPLETE
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.group_state import PANDAS, empty_size
from inspector.operators.inferences import INFERENCES
from inspector.operators.join import COUNT, COUNT_STORES, time_fields
from inspector.operators.join import NAMES as JOIN
from inspector.operators.physical import Asks, only_sources_feed
from inspector.operators.rule import MICROS_PER_MS, Clock, ExpiryField, RowPart, Scenario, StoreRule
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import has_several_values
from inspector.sparktypes import field_at, is_int64
from inspector.sparktypes.key_encoders import KeyEncoder
from inspector.sparktypes.schema_json import to_json

# a conf that offset entries record since Spark 4.3
SINCE_4_3 = "dropDuplicates.deterministicKeyOrder.enabled"
MOST_READS = 8  # chains of files of older partitions that a task reads for its history, on average
FEW_READS = 1_000  # this number of chains is read in any case, whatever the average


def plan(
    checkpoint: Checkpoint, version: int, request: Request = ALL_LEFTOVERS, *, history: bool = True
) -> list[Task]:
    """Return one task for each partition of each operator.

    With ``history``, tasks after a repartitioning also carry the tasks (``origins``) by which they
    read the older partitions of their keys.
    """
    stores = checkpoint.store_files.values()
    versions = {v for files in stores for v in (*files.deltas, *files.snapshots)}
    codecs = {v: checkpoint.conf(v, "stateStore.compression.codec") or "lz4" for v in versions}
    row_checksum = checkpoint.conf(version, "stateStore.rowChecksum.enabled") == "true"
    merge_operator = checkpoint.conf(version, "stateStore.rocksdb.mergeOperatorVersion")
    encoding = checkpoint.conf(version, "stateStore.encodingFormat")
    partitions = partition_count(checkpoint, version)
    # What came later says nothing of the judged version.
    clocks = tuple(c for c in checkpoint.logs.clocks.values() if c.batch_id < version)
    tasks = [
        Task(
            url=checkpoint.storage.url,
            root=checkpoint.root,
            options=checkpoint.storage.options,
            operator_id=operator.operator_id,
            partition_id=partition.partition_id,
            version=version,
            provider=checkpoint.provider.name,
            stores=tuple(
                _store_task(checkpoint, operator, partition, layout, version, request)
                for layout in partition.stores
            ),
            clocks=clocks,
            codecs=codecs,
            row_checksum=row_checksum,
            merge_delimiter=merge_operator in (None, "1"),
            encoding=encoding or "unsaferow",
            request=request,
            partitions=partitions,
            present=not lacks_operator(checkpoint, operator.operator_id, version)
            and (
                operator.single_partition
                or has_partition(checkpoint, operator.operator_id, partition.partition_id, version)
            ),
        )
        for operator in checkpoint.operators
        for partition in operator.layout.partitions
        if partition.stores
    ]
    batches = checkpoint.logs.repartitions
    batch = max((b for b in batches if b < version), default=None)
    if batch is None or not history:
        return tasks
    request_without_facts = replace(ALL_LEFTOVERS, timeout_kind=request.timeout_kind)
    older = plan(checkpoint, batches[batch] + 1, request_without_facts)
    return _with_origins(checkpoint, tasks, [task for task in older if task.present], batch + 1)


def _with_origins(
    checkpoint: Checkpoint, tasks: list[Task], older: list[Task], repartitioned: int
) -> list[Task]:
    """Return the tasks with the older tasks whose partitions their rows came from (``origins``).

    The tasks are returned unchanged if that would read too many chains of files. ``repartitioned``
    is the state version that the repartitioning made.
    """
    # A key of partition p of n was in a partition q of m that equals p modulo their greatest common
    # divisor, where Spark's hash placed it; else in any. So a task also reads m / gcd(m, n) older
    # partitions, one after the other, and holds the keys of one of them beside its own. Over
    # several repartitionings the numbers multiply. Where all tasks together would read more than
    # MOST_READS times what they have, the history of the keys begins with the repartitioning.
    origins: list[list[Task]] = []
    cost = {id(task): _reads(task) for task in older}
    for operator in checkpoint.operators:
        operator_tasks = [task for task in older if task.operator_id == operator.operator_id]
        version = repartitioned - 1
        placed = all(count_hashed(checkpoint, operator, s, version) for s in operator.rules)
        for task in tasks:
            if task.operator_id == operator.operator_id:
                step = gcd(partition_count(checkpoint, version), task.partitions) if placed else 1
                related = (
                    o for o in operator_tasks if (o.partition_id - task.partition_id) % step == 0
                )
                origins.append(list(related) if task.present else [])
    reads = sum(cost[id(task)] for task_origins in origins for task in task_origins)
    if reads > max(MOST_READS * len(tasks), FEW_READS):
        return tasks
    return [
        replace(
            task,
            origins=tuple(
                replace(item, clocks=(), codecs={}, options={}).to_json() for item in task_origins
            ),
            repartitioned=repartitioned if task_origins else 0,
        )
        for task, task_origins in zip(tasks, origins, strict=True)
    ]


def _reads(task: Task) -> int:
    """Return the number of chains of files that a task reads: its own, and those of its origins."""
    return 1 + sum(_reads(Task.from_json(origin)) for origin in task.origins)


def _store_task(
    checkpoint: Checkpoint,
    operator: Operator,
    partition: PartitionLayout,
    layout: StoreLayout,
    version: int,
    request: Request,
) -> StoreTask:
    """Build the part of a task that is about one store: files, schemas, rule and checks."""
    name = layout.store.store_name
    # Of column families that share files the first counts them, and holds them against sums.
    owns_files = layout is next(s for s in partition.stores if s.directory == layout.directory)
    schema = operator.schemas.get(name)
    rule = operator.rules[name]
    certainty, reason = _certainty(checkpoint, operator, rule, version)
    expiry = rule.expiry
    if expiry and expiry.clock is Clock.WATERMARK and operator.physical.evicts_later:
        expiry = replace(expiry, previous_bound=is_recorded(checkpoint, version, SINCE_4_3))
    kinds = tuple(TimeoutKind) if request.timeout_kind is None else (request.timeout_kind,)
    return StoreTask(
        store_name=name,
        files=layout.of_kind(*KINDS_OF_VERSION),
        side_files=layout.of_kind(*KINDS_OF_SUMS) if owns_files else (),
        counts_files=owns_files,
        key_schema=None if schema is None else to_json(schema.key),
        value_schema=None if schema is None else to_json(schema.value),
        expiry=expiry,
        certainty=certainty,
        reason=reason,
        event_time=rule.event_time,
        unmarked=_only_time(operator, name) if rule.never else None,
        raised=dict(_rises(checkpoint, operator, rule, version)),
        by_key_time=bool(rule.key_times)
        and not rule.user_supplied
        and rule.expiry is None
        and operator_holding_back(checkpoint, operator, version) is None,
        # Where a join's counter has its number another schema may have something else.
        number=COUNT
        if name in COUNT_STORES and schema and is_int64(field_at(schema.value, COUNT.path))
        else None,
        timeout_kinds=kinds if _has_timers(rule) else (),
        processing_versions=_idle_versions(checkpoint, version) if _has_timers(rule) else (),
        only_sources_feed=only_sources_feed(operator.upstream),
        # Without Spark's own metadata the two languages cannot be told apart.
        timers_always_clear=operator.name_from == "metadata" and operator.name != PANDAS,
        empty_size=-1 if schema is None else empty_size(schema.value),
        hashed_fields=count_hashed(checkpoint, operator, name, version) if request.fit else 0,
        cross_checks=_cross_checks(checkpoint, operator, rule, version),
        session_fields=len(schema.key.fields) if schema and operator.name in SESSION else 0,
        family=operator.family(name),
        grouping_key=operator.grouping_key(name),
        written_values=_written_values(schema),
        column_family=layout.column_family,
        key_encoder=_key_encoder(operator, name, schema),
        scenarios=_scenarios(checkpoint, operator, name, request),
        several_values=any(
            has_several_values(operator.metadata, family, operator.layout.store_names)
            for family in (schema.column_families if schema else ())
        ),
    )


def _rises(
    checkpoint: Checkpoint, operator: Operator, rule: StoreRule, version: int
) -> Iterator[tuple[int, int]]:
    """Yield (state version, new watermark in ms) for batches that raised the watermark too far.

    Too far: by FAR_MS or more at once, and either to FAR_MS past the batch's clock or under
    multipleWatermarkPolicy=max. A deduplication with an expiry column has its delay added. Nothing
    for a store whose rows do not follow the watermark.
    """
    # They are compared with expiry times, so with a delay where those have it.
    followed = rule.expiry or rule.event_time
    if followed is None or followed.clock is not Clock.WATERMARK:
        return
    is_maximum = checkpoint.conf(version, "multipleWatermarkPolicy") == "max"
    has_expiry_column = operator.name in deduplicate_within_watermark.NAMES
    delay_ms = max(delays_of(checkpoint), default=0) if has_expiry_column else 0
    for batch, clock in checkpoint.logs.clocks.items():
        old_watermark, new_watermark = clock.watermark_ms, clock.next_watermark_ms
        if (
            old_watermark is None
            or new_watermark is None
            or batch >= version
            or new_watermark - old_watermark < FAR_MS
        ):
            continue
        if is_maximum or new_watermark - (clock.timestamp_ms or new_watermark) >= FAR_MS:
            yield batch + 1, new_watermark + delay_ms


# least rise of the watermark, ms, in one batch that may leave rows of this batch behind
FAR_MS = 1_800_000


def _only_time(operator: Operator, store: str) -> ExpiryField | None:
    """Return the only time field of a store's rows, as a field to compare with the watermark.

    None if the rows have no time, or several.
    """
    times = possible_times(operator, store)
    if len(times) != 1:
        return None
    ((part, path),) = times
    return ExpiryField(Clock.WATERMARK, part, path, MICROS_PER_MS, True, "time")


def possible_times(operator: Operator, store: str) -> list[tuple[RowPart, tuple[int, ...]]]:
    """Return the time fields of a store's rows on which a later withWatermark may be.

    Each is (key or value, path). Values count only in joins. Empty for group state, and without a
    schema.
    """
    # A restart leaves the schema as it is. Rows of a join may have it in their value.
    schema = operator.schemas.get(store)
    if schema is None or operator.name in GROUP_STATE:
        return []
    value_fields = time_fields(schema.value) if operator.name in JOIN else []
    key_fields = [(RowPart.KEY, path) for path in time_fields(schema.key)]
    return [*key_fields, *((RowPart.VALUE, path) for path in value_fields)]


def _scenarios(
    checkpoint: Checkpoint, operator: Operator, store: str, request: Request
) -> tuple[Scenario, ...]:
    """Return the scenarios of the requested what-if for one store; none without a what-if.

    One, or two if it is not known which clock (event, processing time) its timers follow.
    """
    if request.what_if is None:
        return ()
    scenario = scenario_of(checkpoint, operator, store, request.what_if)
    if not isinstance(scenario, Scenario):
        return ()
    kinds: tuple[TimeoutKind | None, ...] = (scenario.kind or request.timeout_kind,)
    if scenario.clock is Clock.TIMEOUT and kinds == (None,):
        kinds = tuple(TimeoutKind)
    return tuple(replace(scenario, kind=kind) for kind in kinds)


def _key_encoder(operator: Operator, store: str, schema: StateSchema | None) -> KeyEncoder:
    """Return the encoder by which RocksDB arranges a store's keys.

    It is read from the schema, or else from the operator's metadata; before 4.0 only the key of a
    session window has a prefix.
    """
    # A schema of format 3 says it, else the operator's metadata (4.0 on). Before, only a session
    # window has a prefix: all but the last field (StreamingSessionWindowStateManagerImplV1).
    if schema is not None and schema.column_families:
        return schema.column_families[0].encoder
    stores = operator.metadata.stores if operator.metadata else ()
    info = next((item for item in stores if item.store_name == store), None)
    if info is not None:
        return KeyEncoder.of_prefix(info.num_cols_prefix_key)
    session = schema is not None and operator.name in SESSION
    return KeyEncoder.of_prefix(len(schema.key.fields) - 1 if session and schema else 0)


def _written_values(schema: StateSchema | None) -> dict[int, str]:
    """Return the value schemas (StructType JSON) of a store by their number.

    A store with schema evolution has several.
    """
    return {
        number: to_json(value)
        for family in (schema.column_families if schema else ())
        for number, value in (*family.older_values.items(), (family.value_schema_id, family.value))
    }


def _certainty(
    checkpoint: Checkpoint, operator: Operator, rule: StoreRule, version: int
) -> tuple[Certainty, str]:
    """Return how certain it is that an expired row is a leftover, and why it is not proven.

    The reason is also the rule's source if the user gave the rule, and "" if the operator's own
    rule decides.
    """
    # Spark leaves no row that the operator's watermark has passed, but in complete mode: one that
    # stays shows that this is another watermark, or that something else put it (one-watermark).
    if rule.user_supplied:
        return Certainty.PROVEN, rule.source
    feeder = operator_holding_back(checkpoint, operator, version)
    if feeder is not None:
        return Certainty.INFERRED, f"downstream of {feeder.name} the watermark lags"
    if rule.doubt == COMPLETE and has_branches(checkpoint, version):
        return Certainty.UNDECIDED, UNSEEN
    if rule.doubt:
        return INFERENCES["complete-mode"].certainty, rule.doubt
    clock = rule.expiry.clock if rule.expiry is not None else None
    if clock is Clock.WATERMARK or (
        clock is Clock.TIMEOUT and not sees_watermark(checkpoint, operator, version)
    ):
        return Certainty.UNDECIDED, UNSEEN
    return Certainty.PROVEN, ""


def _cross_checks(
    checkpoint: Checkpoint, operator: Operator, rule: StoreRule, version: int
) -> tuple[str, ...]:
    """Choose the checks to be run on a store's records, by name, that would expose a wrong rule.

    Each looks for records that no batch can have written if the rule is right.
    """
    dedup = operator.name in DEDUPLICATIONS
    checks = ["absent"] if checkpoint.provider.removes_what_it_has else []
    checks += ["updates"] if dedup else []
    if rule.expiry is None or rule.user_supplied:
        return tuple(checks)
    if _has_timers(rule):
        checks += ["timers"] if sees_watermark(checkpoint, operator, version) else []
    elif operator.name in deduplicate_within_watermark.NAMES:
        # A row without an event time expires at 0 + delay, and is not too late.
        checks.append("removals")
    elif (dedup or operator.name in AGGREGATIONS) and _has_single_time(operator):
        # Below a join or group state the watermark lags, so that more rows pass.
        checks.append("removals")
        checks += [] if operator_holding_back(checkpoint, operator, version) else ["late"]
    return tuple(checks)


def _has_single_time(operator: Operator) -> bool:
    """Return whether each key has a single time field, which then must decide when rows expire."""
    # Of two columns of a watermark the first of the input counts, whatever the key's order
    # (WatermarkSupport.findEventTimeColumn); and a restart may choose another for the same schema.
    return all(len(time_fields(schema.key)) == 1 for schema in operator.schemas.values())


def _has_timers(rule: StoreRule) -> bool:
    """True if the rule's rows expire by group state timers."""
    return rule.expiry is not None and rule.expiry.clock is Clock.TIMEOUT


def _idle_versions(checkpoint: Checkpoint, version: int) -> tuple[int, ...]:
    """Return versions whose batches used processing time: an idle batch followed each.

    Empty unless exactly one operator of the query may request idle batches at any time.
    """
    # Two batches in a row with the same offsets and the same watermark (premise idle-batch): the
    # first followed processing time, whereas a restart may have run the second again by the other
    # clock. That it is the timeout of this operator is known only if no other may ask for batches.
    if sum(map(_may_ask_always, checkpoint.query)) != 1:
        return ()
    clocks = list(checkpoint.logs.clocks.values())
    return tuple(
        older.batch_id + 1
        for older, newer in pairwise(clocks)
        if newer.batch_id == older.batch_id + 1 < version
        and older.committed
        and newer.has_new_data is False
        and not newer.appended
        and not older.appended
        and newer.watermark_ms is not None
        and newer.watermark_ms == older.watermark_ms
    )


def _may_ask_always(operator: Operator) -> bool:
    """Return whether an operator may request batches at any time, as processing-time timers do.

    Group state whose schema has no timer cannot.
    """
    rules = operator.rules.values()
    if operator.name in GROUP_STATE and operator.schemas:
        return any(_has_timers(rule) or rule.user_supplied for rule in rules)
    return operator.physical.asks is Asks.PERHAPS_ALWAYS
