"""Leftover keys, and versions, of a checkpoint as tables of data, made where the files are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from inspector.analyses.common import BATCH_ID, PARTITION_ID, STORE, VERSION, count, size
from inspector.analyses.leftover_words import LEFTOVER_COLUMNS, LeftoverWords
from inspector.codec import Message
from inspector.discovery.tasks import Task
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.facts.registry import facts_in
from inspector.facts.versions import COUNTS, VersionFacts
from inspector.merge.collect import Facts
from inspector.merge.resolution import Resolution
from inspector.model import Certainty, Problem
from inspector.passes.problem_mode import ProblemMode, problem_batches, with_problems
from inspector.passes.run import run_tasks
from inspector.render.as_arrow import columns_of, record_batch_of
from inspector.render.keys import Redact
from inspector.render.report import Column, Unit
from inspector.schemas import task_batch

_COUNTED = tuple(name for name in COUNTS if name not in ("stores", "rebased"))
_SUMS = ("two_versions_bytes", "two_versions_unshared_bytes")
_CHANGES = tuple(
    name
    for name in (*_COUNTED, *_SUMS)
    if name not in ("rows", "key_bytes", "value_bytes", "raw_bytes")
    and name not in ("delta_bytes", "snapshot_bytes")
)
"""What is known of a version only together with the one before."""

VERSION_COLUMNS = (
    *STORE,
    PARTITION_ID,
    VERSION,
    BATCH_ID,
    Column("batch_timestamp_ms", Unit.TIME_MS),
    Column("watermark_ms", Unit.TIME_MS),
    Column("from_snapshot", Unit.FLAG),
    *(size(name) if name.endswith("bytes") else count(name) for name in (*_COUNTED, *_SUMS)),
)

FLAT: Mapping[str, Sequence[Column]] = {
    "leftovers": LEFTOVER_COLUMNS,
    "versions": VERSION_COLUMNS,
}
"""Table -> its columns; ``key`` of a leftover is JSON, times are times."""


@dataclass(frozen=True)
class FlatTask(Message):
    """The rows of one partition in one of the tables.

    Attributes:
        table: a name of :data:`FLAT`.
        task: the partition; its ``leftover_limit`` is 0, so that all are listed.
        operator_name: of its operator.
        resolution: what all partitions together say of leftovers.
        redact: what is shown of keys.
        mode: error handling.
        listed: problems that the listing shows; emitted with the task's own.
    """

    table: str
    task: Task
    operator_name: str
    resolution: Resolution
    redact: Redact = Redact.NONE
    mode: ProblemMode = ProblemMode.PERMISSIVE
    listed: tuple[Problem, ...] = ()


def flat_schema(table: str, mode: ProblemMode) -> pa.Schema:
    """The columns of :func:`run_flat`."""
    return with_problems(columns_of(FLAT[table]), mode)


def run_flat(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of some partitions; the form of :func:`inspector.passes.run.run_tasks`.

    Args:
        batches: of schema :data:`inspector.schemas.TASKS`; ``spec`` is a :class:`FlatTask`.

    Yields:
        Batches of :func:`flat_schema`.

    Raises:
        InspectorError: something cannot be read, and ``mode`` is ``failfast``.
    """
    for batch in batches:
        for spec in batch.column("spec").to_pylist():
            yield from _of_task(FlatTask.from_json(str(spec)))


def _of_task(request: FlatTask) -> Iterator[pa.RecordBatch]:
    schema = flat_schema(request.table, request.mode)
    rows_of = _ROWS[request.table](request)
    yield from problem_batches(schema, request.mode, request.listed)
    for batch in run_tasks([task_batch(request.task.to_json())]):
        facts = Facts(facts_in(batch))
        yield from problem_batches(schema, request.mode, facts.problems)
        rows = rows_of(facts)
        if rows:
            yield record_batch_of(schema, FLAT[request.table], rows)


_Rows = Callable[[Facts], list[dict[str, Any]]]


def _leftovers(request: FlatTask) -> _Rows:
    words = LeftoverWords.of_task(request.task, request.operator_name, request.redact)

    def rows(facts: Facts) -> list[dict[str, Any]]:
        found = request.resolution.resolved(facts.of(Leftover))
        return words.rows(one for one in found if one.fact.certainty is not Certainty.UNDECIDED)

    return rows


def _versions(request: FlatTask) -> _Rows:
    clocks = {clock.batch_id + 1: clock for clock in request.task.clocks}

    def row(one: Observed[VersionFacts]) -> dict[str, Any]:
        store, facts, clock = one.store, one.fact, clocks.get(one.version)
        known = {name: getattr(facts, name) for name in (*_COUNTED, *_SUMS)}
        return {
            "operator_id": store.operator_id,
            "operator_name": request.operator_name,
            "store_name": store.store_name,
            "partition_id": store.partition_id,
            "version": one.version,
            "batch_id": one.version - 1,
            "batch_timestamp_ms": clock and clock.timestamp_ms,
            "watermark_ms": (clock and clock.watermark_ms) or None,
            "from_snapshot": bool(facts.rebased),
            **known,
            **(dict.fromkeys(_CHANGES) if facts.rebased else {}),
        }

    return lambda facts: [row(one) for one in facts.of(VersionFacts)]


_ROWS: Mapping[str, Callable[[FlatTask], _Rows]] = {
    "leftovers": _leftovers,
    "versions": _versions,
}
