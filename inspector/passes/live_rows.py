"""The live rows of one version of one store, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import MissingVersionError
from inspector.kernel.loader import kernel
from inspector.model import StoreFile
from inspector.passes.key_filter import filter_of
from inspector.passes.store_reader import READ_ERRORS, StoreReader
from inspector.schemas import ROWS, record_batch
from inspector.state.chain import Chain, StoreFiles, chain_for
from inspector.state.last_puts import LastPuts, LivePositions


def live_rows(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[pa.RecordBatch]:
    """The rows of the task's version, in the order of the files; problems stay with ``reader``.

    A version of which a delta cannot be read has no rows: half a version would be a wrong answer.
    """
    found = _locate(task.version, StoreFiles.of(store.files), reader)
    if found is None or not found[0].files:  # version 0 has no files
        return
    chain, positions = found
    key_filter = filter_of(task, store)
    file = chain.files[0]
    reader.expect([f for number, f in enumerate(chain.files) if positions.any_in(number)])
    try:
        for number, file in enumerate(chain.files):
            if positions.any_in(number):
                for block in reader.blocks(file):
                    live = positions.mask(number, block)
                    if key_filter is not None:
                        live &= key_filter.mask(block)
                    yield from _emit(block, live, reader, task.version)
    except READ_ERRORS as error:
        # It could be read a moment ago: the query has replaced or removed it meanwhile.
        reader.failed(error, file)


def _locate(
    version: int, files: StoreFiles, reader: StoreReader
) -> tuple[Chain, LivePositions] | None:
    """Which files make a version, and where in them its rows lie.

    A snapshot that cannot be read is passed over for an older chain of the same version, as Spark
    4.2 and later do (``autoSnapshotRepair``).
    """
    while True:
        try:
            chain = chain_for(files, version)
        except MissingVersionError as error:
            if not reader.problems:
                reader.report(error.slug, error.message)
            return None
        positions, bad = _learn(chain, reader)
        if bad is None:
            return chain, positions
        if bad != chain.base:
            return None
        files = files.without(bad)


def _learn(chain: Chain, reader: StoreReader) -> tuple[LivePositions, StoreFile | None]:
    """Positions of the live rows, and the file that could not be read, if there is one."""
    puts = LastPuts()
    reader.expect(chain.files)
    for number, file in enumerate(chain.files):
        try:
            for block in reader.blocks(file):
                puts.learn(number, block)
        except READ_ERRORS as error:  # noqa: PERF203 - a file takes longer than its try
            reader.failed(error, file)
            return puts.finish(), file
    return puts.finish(), None


def _emit(
    block: RecordBlock, live: npt.NDArray[np.bool_], reader: StoreReader, version: int
) -> Iterator[pa.RecordBatch]:
    rows = int(live.sum())
    if not rows:
        return
    store = reader.row("row", version)
    columns = {name: pa.repeat(pa.scalar(value), rows) for name, value in store.items()}
    keys = _binary(block, block.key_offset[live], block.key_length[live])
    values = _binary(block, block.value_offset[live], block.value_length[live])
    yield record_batch(ROWS, columns | {"key": keys, "value": values}, rows)


def _binary(
    block: RecordBlock, offsets: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> Any:
    offsets, lengths = np.ascontiguousarray(offsets), np.ascontiguousarray(lengths)
    data = kernel().gather(block.buffer, offsets, lengths)
    ends: Any = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=ends[1:])
    return pa.Array.from_buffers(
        pa.binary(), len(lengths), [None, pa.py_buffer(memoryview(ends)), pa.py_buffer(data)]
    )
