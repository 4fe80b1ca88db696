"""Functions that run before and after Spark's shuffle in an exchange of parcels between tasks.

Both have the form of ``mapInArrow``'s argument.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.engines.arrow_encoding import IPC_SCHEMA, from_ipc, to_ipc
from inspector.engines.engine import PARCEL_COLUMNS, BatchFunction, Exchanged, Receiver, Work
from inspector.schemas import array_of, numbers_of

# name of the column by whose hash Spark chooses the shuffle partition of a row
SHUFFLE_KEY = "shuffle_key"
# names and types of the columns of PARCELS that are numbers: all except the content
_numbers: list[tuple[str, pa.DataType]] = [
    (name, pa.int32()) for name in (SHUFFLE_KEY, *PARCEL_COLUMNS[:-1])
]
# schema of the rows that Spark shuffles: the shuffle key and a parcel, whose content may also be a
# result of a sender
PARCELS = pa.schema([*_numbers, (PARCEL_COLUMNS[-1], pa.binary())])


# schema of results of an exchange: True for a result of a sender, and the result as an Arrow IPC
# stream
RESULTS = pa.schema([("is_of_sender", pa.bool_()), *IPC_SCHEMA])


def with_shuffle_keys(
    function: BatchFunction, keys: Sequence[int], receivers: int
) -> BatchFunction:
    """Return ``function``, which senders run, with batches of :data:`PARCELS` as its results.

    ``keys`` has, for each shuffle partition, a number that Spark's hash puts there. ``receivers``
    is the number of receivers. Results of senders become parcels for a further receiver with this
    number, which only yields them. The first sender sends a parcel without content to each
    receiver, so that receivers without other parcels run too.
    """
    by_partition = np.array(keys, np.int32)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the parcels and the results of each sender as batches of PARCELS."""
        for batch in batches:
            if 0 in batch.column("task_id").to_pylist():
                yield _with_keys(_empty_parcels(receivers), by_partition)
            for result in function([batch]):
                is_parcels = result.schema.names == list(PARCEL_COLUMNS)
                columns = result.columns if is_parcels else _parcel_of(result, receivers)
                yield _with_keys(columns, by_partition)

    return run


def _with_keys(columns: Sequence[Any], keys: npt.NDArray[np.int32]) -> pa.RecordBatch:
    """Return a batch of :data:`PARCELS` from the ``columns`` of parcels, as in PARCEL_COLUMNS.

    ``keys`` has the shuffle key of each shuffle partition. The receivers are distributed over these
    partitions by their numbers, in turns.
    """
    numbers = numbers_of(columns[0], np.int32)
    shuffle_keys = array_of(keys[numbers % len(keys)].tolist(), pa.int32())
    return pa.RecordBatch.from_arrays([shuffle_keys, *columns], schema=PARCELS)


def _empty_parcels(receivers: int) -> list[Any]:
    """Return columns, as in PARCEL_COLUMNS, with one empty parcel for each receiver.

    ``receivers`` is the number of receivers. The rank, sender and number of each parcel are -1, so
    that the empty parcels are sorted first.
    """
    numbers = array_of(range(receivers), pa.int32())
    before = array_of([-1] * receivers, pa.int32())
    return [numbers, before, before, before, array_of([b""] * receivers, pa.binary())]


def _parcel_of(result: pa.RecordBatch, receivers: int) -> list[Any]:
    """Return columns, as in PARCEL_COLUMNS, with one parcel that holds ``result``, of a sender.

    Its receiver has the number ``receivers``, one more than any real receiver.
    """
    (row,) = to_ipc([result])
    return [*(array_of([number], pa.int32()) for number in (receivers, 0, 0, 0)), *row.columns]


def call_receivers(function: Receiver, receivers: Sequence[Work]) -> BatchFunction:
    """Return a batch function that takes sorted rows of PARCELS and runs the receivers.

    It calls ``function`` with the spec and the parcels of each receiver that has rows. It yields
    the results of receivers, and those of senders, as batches of :data:`RESULTS`. It holds the
    specs of all ``receivers``, compressed.
    """
    packed = [zlib.compress(receiver.spec.encode()) for receiver in receivers]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the results of each receiver whose rows are in the batches, and of senders."""
        for number, rows in groupby(_rows_of(batches), itemgetter(0)):
            parcels = ((rank, content) for _, rank, content in rows if content)
            if number == len(packed):
                yield from (_result(content, is_of_sender=True) for _, content in parcels)
                continue
            results = function(zlib.decompress(packed[number]).decode(), parcels)
            for row in to_ipc(results):
                yield _result(row.column(0)[0].as_py(), is_of_sender=False)

    return run


def _result(content: bytes, *, is_of_sender: bool) -> pa.RecordBatch:
    """Return a batch of one row of :data:`RESULTS`.

    ``content`` is the result as an Arrow IPC stream; ``is_of_sender`` is True if a sender made it.
    """
    columns = [array_of([is_of_sender], pa.bool_()), array_of([content], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=RESULTS)


def results_in(rows: Iterable[Sequence[Any]]) -> Iterator[Exchanged]:
    """Yield the result in each row of :data:`RESULTS`, decoded from its Arrow bytes.

    ``rows`` have two values each: True for a result of a sender, and the bytes.
    """
    for is_of_sender, content in rows:
        yield from (Exchanged(is_of_sender, batch) for batch in from_ipc([content]))


def _rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number of the receiver, rank, content) for each row in batches of :data:`PARCELS`.

    The rank is the first of the numbers by which a receiver's parcels are sorted; several parcels
    may have the same rank. A null content is yielded as empty bytes.
    """
    for batch in batches:
        receivers, ranks = (numbers_of(batch.column(name), np.int32) for name in PARCEL_COLUMNS[:2])
        contents = batch.column(PARCEL_COLUMNS[-1])
        for row in range(batch.num_rows):
            yield int(receivers[row]), int(ranks[row]), contents[row].as_py() or b""
