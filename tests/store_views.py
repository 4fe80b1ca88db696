"""Views for tests of rules: a store with facts and clocks, without any file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from inspector.checkpoint.layout import Layout, OperatorLayout, PartitionLayout, StoreLayout
from inspector.checkpoint.log_entries import SourceOffset
from inspector.checkpoint.logs import Logs
from inspector.checkpoint.metadata import OperatorMetadata
from inspector.checkpoint.roots import Selection
from inspector.checkpoint.state_schema import StateSchema
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timer_runs import CallsByClock, TimerCalls
from inspector.facts.timers import ClockEvidence
from inspector.facts.top_keys import SampledKey
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding
from inspector.findings.problem_rule import ProblemRule
from inspector.findings.rule import Rule
from inspector.findings.views.checkpoint_view import CheckpointView, OperatorView
from inspector.findings.views.judged_version import Context
from inspector.findings.views.store_view import StoreView
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import BatchClock, Problem, StoreFile, StoreId, StoreName, TimeoutKind
from inspector.operators.rule import StoreRule
from inspector.providers.chain import StoreFiles
from inspector.sparktypes import StructType

SECOND_MS = 1000


def batch_clocks(
    *watermarks: int | None, gap_ms: int = 10 * SECOND_MS, start_ms: int = 0
) -> dict[int, BatchClock]:
    """Return the clocks of committed batches with new data, each with its watermark."""
    return {
        batch: BatchClock(
            cast("Any", batch), start_ms + gap_ms * batch, mark, committed=True, has_new_data=True
        )
        for batch, mark in enumerate(watermarks)
    }


def checkpoint_view(  # noqa: PLR0913 - the parts of a view
    stores: Mapping[str, StoreRule],
    facts: Iterable[tuple[str, int, Any]] = (),
    *,
    operator_name: str = "stateStoreSave",
    clocks: Mapping[int, BatchClock] | None = None,
    sources: Mapping[int, Sequence[SourceOffset]] | None = None,
    schemas: Mapping[str, StateSchema] | None = None,
    policy: str = "min",
    state_format: str = "2",
    metadata: OperatorMetadata | None = None,
    **context: Any,
) -> CheckpointView:
    """Return a view of one operator with stores, at the version of the newest batch.

    Each fact comes with the name of its store and its partition.
    """
    clocks = clocks or batch_clocks(0)
    version = max(clocks) + 1
    operator = Operator(
        OperatorLayout(0, "0"), operator_name, "schemas", metadata, schemas or {}, stores
    )
    confs = {
        "spark.sql.streaming.multipleWatermarkPolicy": policy,
        "spark.sql.streaming.aggregation.stateFormatVersion": state_format,
    }
    batches: Any = {
        "clocks": clocks,
        "confs": dict.fromkeys(clocks, confs),
        "sources": sources or {},
    }
    logs = Logs(**batches)
    checkpoint = Checkpoint(
        *(
            cast("Any", SimpleNamespace(relative=str)),
            Selection(),
            Layout(),
            logs,
            (operator,),
            cast("Any", None),
        ),
        query=(operator,),
    )
    observed = [
        Observed(StoreId(0, store, partition), version, fact) for store, partition, fact in facts
    ]
    return CheckpointView(checkpoint, version, Facts(observed), Context(**context))


def store_view(  # noqa: PLR0913 - the parts of a view
    rule: StoreRule,
    *facts: Any,
    history: Sequence[VersionFacts] = (),
    partitions: Sequence[VersionFacts] = (),
    key: StructType | None = None,
    value: StructType | None = None,
    keys: Sequence[bytes] = (),
    calls: TimerCalls | None = None,
    kind: TimeoutKind | None = None,
    growing: bool | None = None,
    store_name: str = "default",
    **options: Any,
) -> StoreView:
    """Return a view of one store.

    ``history`` are the facts of the versions of partition 0, the oldest first; ``partitions`` those
    of the other partitions, or of all, in the judged version; ``keys`` a sample. Timers follow the
    clock ``kind``, and made ``calls``.
    """
    store = StoreId(0, store_name, 0)
    clocks = options.pop("clocks", None) or batch_clocks(*[0] * max(1, len(history)))
    version = max(clocks) + 1
    first = version + 1 - len(history)
    seen: list[Observed[Any]] = [
        Observed(store, first + at, changes) for at, changes in enumerate(history)
    ]
    seen += [
        Observed(StoreId(0, store_name, number), version, changes)
        for number, changes in enumerate(partitions, start=bool(history))
    ]
    seen += [Observed(store, version, fact) for fact in facts]
    seen += [Observed(store, version, SampledKey(row, n, version)) for n, row in enumerate(keys)]
    if calls is not None:
        kinds = [kind] if kind else list(TimeoutKind)
        seen += [Observed(store, version, CallsByClock(by, calls)) for by in kinds]
    if kind is not None:
        siblings = frozenset(TimeoutKind) - {kind}
        seen.append(Observed(store, version, ClockEvidence(siblings)))
    schema = StateSchema(3, key or StructType(()), value or StructType(()))
    schemas = {store_name: schema} if key or value else {}
    if growing is not None:
        options["growing"] = {StoreName(0, store_name): growing}
    view = checkpoint_view({store_name: rule}, clocks=clocks, schemas=schemas, **options)
    view.facts = Facts(seen)
    (only,) = view.stores
    return only


def versions_with(name: str, values: Iterable[Any], **fixed: Any) -> list[VersionFacts]:
    """Return facts of versions that have these values in one field, and equal other fields."""
    return [VersionFacts(**{name: value}, **fixed) for value in values]


def findings_of_stores(rule: Rule[StoreView], view: CheckpointView) -> list[Finding]:
    """Return the findings of a rule about all stores of a view."""
    return [finding for store in view.stores for finding in rule.findings(store)]


def leftover_view(
    rule: StoreRule,
    *totals: LeftoverCount,
    provable: Mapping[TimeoutKind, int] | None = None,
    **options: Any,
) -> StoreView:
    """Return a view of a store with these leftovers, and what naming its clock would prove."""
    view = store_view(rule, **options)
    vars(view.expiry)["leftovers"] = list(totals)
    vars(view.facts)["provable"] = lambda _name: provable or {}
    return view


def processor_metadata(*declared: str) -> OperatorMetadata:
    """Return the metadata of a transformWithState that declares these values."""
    variables = [{"stateName": name, "stateVariableType": "ValueState"} for name in declared]
    return OperatorMetadata("transformWithStateExec", properties={"stateVariables": variables})


def operator_view(
    *folders: Sequence[StoreFile], compares: bool = False, **options: Any
) -> OperatorView:
    """Return a view of an operator with these files in the folder of each partition.

    ``compares``: snapshots may be written without deltas, as by RocksDB.
    """
    view = checkpoint_view({"default": StoreRule()}, **options)
    layouts = [
        StoreLayout(StoreId(0, "default", number), f"0/{number}", tuple(files))
        for number, files in enumerate(folders)
    ]
    partitions = tuple(
        PartitionLayout(layout.store.partition_id, layout.directory, (layout,))
        for layout in layouts
    )
    vars(view.checkpoint)["store_files"] = {
        layout.directory: StoreFiles.of(layout.files, cast("Any", None), compares=compares)
        for layout in layouts
    }
    (operator,) = view.operators
    operator.operator = replace(operator.operator, layout=OperatorLayout(0, "0", partitions))
    return operator


def problem(slug: str, path: str | None = "/c/1.delta", message: str = "got 1") -> Problem:
    """Return a problem of version 1 of the store ``default`` in partition 1 of operator 3."""
    return Problem(slug, message, path, 21, StoreId(3, "default", 1), 1)


def problem_findings(
    rule: type[ProblemRule], *problems: Problem, restart: Any = None
) -> list[Finding]:
    """Return the findings of a rule about problems of a checkpoint without facts."""
    return list(rule().findings(checkpoint_view({}, problems=problems, restart=restart)))
