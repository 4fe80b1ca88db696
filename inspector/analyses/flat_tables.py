"""Leftover keys, and versions, of a checkpoint as tables of data, made where the files are read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from inspector.analyses.common import BATCH_ID, PARTITION_ID, STORE, VERSION, count, size
from inspector.analyses.leftover_words import LEFTOVER_COLUMNS, LeftoverWords
from inspector.discovery.tasks import Task
from inspector.facts.versions import VersionFacts
from inspector.merge.resolution import Resolution
from inspector.model import Certainty
from inspector.passes.problem_mode import ProblemMode, problem_batches, with_problems
from inspector.passes.run import run_tasks
from inspector.render.as_arrow import columns_of, record_batch_of
from inspector.render.keys import Redact
from inspector.render.report import Column, Unit
from inspector.schemas import COUNTS, task_batch

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
class FlatTask:
    """The rows of one partition in one of the tables.

    Attributes:
        table: a name of :data:`FLAT`.
        task: the partition; its ``leftover_limit`` is 0, so that all are told.
        operator_name: of its operator.
        resolution: what all partitions together say of leftovers.
        redact: what is shown of keys.
        mode: what becomes of what cannot be read.
        listed: problems that the listing shows, as rows; emitted with the task's own.
    """

    table: str
    task: Task
    operator_name: str
    resolution: Resolution
    redact: Redact = Redact.NONE
    mode: ProblemMode = ProblemMode.PERMISSIVE
    listed: tuple[Mapping[str, Any], ...] = ()

    def to_json(self) -> str:
        """The task as text."""
        inner = {"task": self.task.to_json(), "resolution": self.resolution.to_json()}
        words = {"redact": self.redact.value, "mode": self.mode.value}
        return json.dumps(vars(self) | inner | words)

    @classmethod
    def from_json(cls, text: str) -> FlatTask:
        """The inverse of :meth:`to_json`."""
        raw = json.loads(text)
        raw["task"] = Task.from_json(raw["task"])
        raw["resolution"] = Resolution.from_json(raw["resolution"])
        raw["redact"], raw["mode"] = Redact(raw["redact"]), ProblemMode(raw["mode"])
        raw["listed"] = tuple(raw["listed"])
        return cls(**raw)


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


def _of_task(wanted: FlatTask) -> Iterator[pa.RecordBatch]:
    schema = flat_schema(wanted.table, wanted.mode)
    rows_of = _ROWS[wanted.table](wanted)
    yield from problem_batches(schema, wanted.mode, wanted.listed)
    spec = task_batch(wanted.task.to_json())
    for batch in run_tasks([spec]):
        facts = batch.to_pylist()
        yield from problem_batches(
            schema, wanted.mode, (f for f in facts if f["kind"] == "problem")
        )
        rows = rows_of(facts)
        if rows:
            yield record_batch_of(schema, FLAT[wanted.table], rows)


_Rows = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


def _leftovers(wanted: FlatTask) -> _Rows:
    words = LeftoverWords.of_task(wanted.task, wanted.operator_name, wanted.redact)

    def rows(facts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        listed = (fact for fact in facts if fact["kind"] == "leftover")
        found = filter(None, map(wanted.resolution.resolve, listed))
        undecided = Certainty.UNDECIDED.value
        return words.rows(row for row in found if row["certainty"] != undecided)

    return rows


def _versions(wanted: FlatTask) -> _Rows:
    clocks = {clock.batch_id + 1: clock for clock in wanted.task.clocks}

    def row(fact: dict[str, Any]) -> dict[str, Any]:
        facts, clock = VersionFacts.from_columns(fact), clocks.get(fact["version"])
        known = {name: getattr(facts, name) for name in (*_COUNTED, *_SUMS)}
        return {
            "operator_id": fact["operator_id"],
            "operator_name": wanted.operator_name,
            "store_name": fact["store_name"],
            "partition_id": fact["partition_id"],
            "version": fact["version"],
            "batch_id": fact["version"] - 1,
            "batch_timestamp_ms": clock and clock.timestamp_ms,
            "watermark_ms": (clock and clock.watermark_ms) or None,
            "from_snapshot": bool(facts.rebased),
            **known,
            **(dict.fromkeys(_CHANGES) if facts.rebased else {}),
        }

    return lambda facts: [row(fact) for fact in facts if fact["kind"] == "version"]


_ROWS: Mapping[str, Callable[[FlatTask], _Rows]] = {
    "leftovers": _leftovers,
    "versions": _versions,
}
