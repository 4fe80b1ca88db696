"""Rows that are given away while they are read, of a query that runs.

They cannot be taken back. So a store is read again where what looks like damage comes before its
first row. Where files went behind that, or the version as a whole, nothing is damaged, and nothing
whole can be given either: that ends the reading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar

import pyarrow as pa

from inspector.checkpoint.logfile import DOUBTFUL

T = TypeVar("T")

Look: TypeAlias = "Callable[[T, Callable[[T], Iterator[pa.RecordBatch]]], Iterator[pa.RecordBatch]]"
"""Reads a task by a function, which is called once or more."""


def once(task: T, read: Callable[[T], Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """The :class:`Look` that takes what it sees."""
    return read(task)


def look_again(
    task: T,
    read: Callable[[T], Iterator[pa.RecordBatch]],
    *,
    again: Callable[[T, Sequence[str]], T],
    looks: int,
) -> Iterator[pa.RecordBatch]:
    """Batches of a task, by a later look where files moved before the first row.

    Args:
        task: what is read.
        read: emits batches with the column ``kind``.
        again: the same by a new listing, which confirms that files are still there whose paths
            are given; raises where they are not.
        looks: how often; once more if a listing shows nothing new.

    Raises:
        OutpacedError: as of ``again``.
    """
    given = False
    for batch in read(task):
        # Problems, of which a second look may not confirm some.
        doubtful = batch.column("kind")[0].as_py() == "problem" and not DOUBTFUL.isdisjoint(
            batch.column("slug").to_pylist()
        )
        if doubtful and (given or not looks):
            again(task, [path for path in batch.column("path").to_pylist() if path is not None])
        elif doubtful:
            newer = again(task, ())
            left = looks - 1 if newer != task else 0
            yield from look_again(newer, read, again=again, looks=left)
            return
        given = True
        yield batch
