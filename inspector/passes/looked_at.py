"""Rows that are given away while they are read, of a query that runs.

They cannot be taken back. So a store is read again where what looks like damage comes before its
first row; what comes behind that is said as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

import pyarrow as pa

from inspector.checkpoint.logfile import DOUBTFUL

T = TypeVar("T")

Look: TypeAlias = "Callable[[T, Callable[[T], Iterator[pa.RecordBatch]]], Iterator[pa.RecordBatch]]"
"""Reads a task by a function, which is called once or more."""


def once(task: T, read: Callable[[T], Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The :class:`Look` that takes what it sees."""
    return read(task)


def looked_at(
    task: T,
    read: Callable[[T], Iterator[pa.RecordBatch]],
    *,
    again: Callable[[T], T],
    looks: int,
) -> Iterator[pa.RecordBatch]:
    """Batches of a task, by a later look where files moved before the first row.

    Args:
        task: what is read.
        read: emits batches with the column ``kind``.
        again: the same by a new listing.
        looks: how often; once more if a listing shows nothing new.
    """
    given = False
    for batch in read(task):
        if looks and not given and _is_doubtful(batch):
            other = again(task)
            left = looks - 1 if other != task else 0
            yield from looked_at(other, read, again=again, looks=left)
            return
        given = True
        yield batch


def _is_doubtful(batch: pa.RecordBatch) -> bool:
    """Whether a batch is of problems, of which a second look may not confirm some."""
    if batch.column("kind")[0].as_py() != "problem":
        return False
    return not DOUBTFUL.isdisjoint(batch.column("slug").to_pylist())
