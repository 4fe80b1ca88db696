"""An engine that moves parcels between tasks as Spark does, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pyarrow as pa

from inspector.engines.engine import Exchange, Exchanged, Job, ShufflingEngine
from inspector.engines.parcels import PARCELS, call_receivers, results_in, with_shuffle_keys
from inspector.schemas import array_of, task_batch
from tests.attributes import attributes

Row = tuple[int, int, int, int, int, bytes]


class SortingEngine(ShufflingEngine):
    """Runs the batch functions that Spark's Python workers would run, in this process."""

    def __init__(self) -> None:
        self.functions: list[str] = []  # names of the functions of its jobs
        self.sent: list[Row] = []  # rows of the last exchange, as the receivers get them
        self.lost_targets: set[int] = set()  # receivers whose parcels are lost
        self.notes: tuple[str, ...] = ()

    def run(self, job: Job) -> Iterator[pa.RecordBatch]:
        """Run a job."""
        self.functions.append(job.function.__name__)
        specs = attributes(job.work, "spec")
        results = job.function(task_batch(spec, n) for n, spec in enumerate(specs))
        yield from results if job.merge is None else job.merge.function(results)

    def exchange(self, job: Exchange) -> Iterator[Exchanged]:
        """Run senders, sort what they send, and run receivers."""
        self.functions.append(job.send.__name__)
        count = len(job.receivers)
        send = with_shuffle_keys(job.send, [0], count)
        sent = send(task_batch(item.spec, n) for n, item in enumerate(job.senders))
        rows: Iterator[Row] = chain(*map(rows_of, sent))
        kept = (row for row in rows if row[1] not in self.lost_targets or not row[5])
        self.sent = sorted(kept, key=lambda row: row[:5])
        results = call_receivers(job.receive, job.receivers)(map(batch_of, self.sent))
        yield from results_in(chain(*map(rows_of, results)))


def rows_of(batch: pa.RecordBatch) -> Iterator[Any]:
    """Yield the rows of a batch."""
    yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def batch_of(row: Row) -> pa.RecordBatch:
    """Return one row as a batch of PARCELS."""
    columns = [array_of([value], item.type) for value, item in zip(row, PARCELS, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=PARCELS)
