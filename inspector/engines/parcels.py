"""Functions on both sides of the shuffle of an exchange, in the form of ``mapInArrow``."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
import pyarrow as pa

from inspector.engines.engine import PARCEL_COLUMNS, BatchFunction, Receiver, Work

SHUFFLE_KEY = "shuffle_key"  # column by whose hash Spark chooses the partition of the shuffle
# columns of PARCELS that are numbers
_numbers: list[tuple[str, pa.DataType]] = [
    (name, pa.int32()) for name in (SHUFFLE_KEY, *PARCEL_COLUMNS[:-1])
]
# schema of the parcels that Spark shuffles: the shuffle key, numbers, and the packed rows
PARCELS = pa.schema([*_numbers, (PARCEL_COLUMNS[-1], pa.binary())])


def with_shuffle_keys(function: BatchFunction, keys: Sequence[int]) -> BatchFunction:
    """Return the batch function whose parcels have the first column of :data:`PARCELS` too.

    ``keys`` has for each partition of the shuffle the number that Spark's hash puts there.
    """
    by_partition = np.array(keys, np.int32)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the parcels of each task with their key."""
        for batch in function(batches):
            receivers = batch.column(PARCEL_COLUMNS[0]).to_numpy()
            shuffle_keys = pa.array(by_partition[receivers % len(keys)], pa.int32())
            yield pa.RecordBatch.from_arrays([shuffle_keys, *batch.columns], schema=PARCELS)

    return run


def call_receivers(function: Receiver, receivers: Sequence[Work]) -> BatchFunction:
    """Return a batch function that calls a receiver's function for sorted rows of PARCELS.

    It contains the specs of all receivers, compressed.
    """
    packed = [zlib.compress(receiver.spec.encode()) for receiver in receivers]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of each receiver whose rows are in the batches."""
        for number, rows in groupby(_rows_of(batches), itemgetter(0)):
            parcels = ((rank, content) for _, rank, content in rows if content)
            yield from function(zlib.decompress(packed[number]).decode(), parcels)

    return run


def _rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes]]:
    """Yield the receiver, rank and content of each row."""
    for batch in batches:
        receivers, ranks = (batch.column(name).to_numpy() for name in PARCEL_COLUMNS[:2])
        contents = batch.column(PARCEL_COLUMNS[-1])
        for row in range(batch.num_rows):
            yield int(receivers[row]), int(ranks[row]), contents[row].as_py() or b""
