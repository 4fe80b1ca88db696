"""The live rows of one version of one store, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.arrays import Int64s
from inspector.checkpoint.names import MAX_LONG
from inspector.decode.records import RecordBlock
from inspector.decode.row_columns import Int64Path
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import MissingVersionError
from inspector.model import NO_TIMEOUT, FileKind, StoreFile
from inspector.operators.rule import Clock, RowPart
from inspector.passes.binary_columns import keys_of, repeat, values_of
from inspector.passes.key_filter import BoundFilter, filter_of, select_records
from inspector.passes.store_reader import READ_ERRORS, StoreReader
from inspector.passes.tracked import range_filter, schema_of_field
from inspector.providers.chain import Chain, StoreFiles, chain_for
from inspector.schemas import ROWS, int64_array, record_batch
from inspector.state.key_range import RangeFilter, passes_of, select_range
from inspector.state.live_records import LastPuts, Positions


def live_rows(task: Task, store: StoreTask, reader: StoreReader) -> Iterator[pa.RecordBatch]:
    """Yield the live rows of the task's version that match its filter, in the order of the files.

    Nothing is yielded if a delta of the version cannot be read: half a version would be a wrong
    answer. Problems stay with ``reader``.
    """
    key_filter = filter_of(task, store)
    expires = _expiry_reader(store)
    for file, block, live in live_blocks(task, store, reader, key_filter):
        rows = live if key_filter is None else key_filter.live(block, live)
        if len(rows):
            columns = {"key": keys_of(block, rows), "value": values_of(block, rows)}
            columns |= repeat(reader.row("row", task.version), len(rows))
            if expires is not None:
                columns["expires_at_ms"] = expires(block, rows)
            if file.kind is FileKind.DELTA and file.version is not None:
                columns["last_put_batch"] = np.full(len(rows), file.version - 1)
            yield record_batch(ROWS, columns, len(rows))


def _expiry_reader(store: StoreTask) -> Callable[[RecordBlock, Int64s], Any] | None:
    """Return a function that gives for live records when the store's rule removes them.

    Its result is an Arrow array of clocks in epoch ms, null for a row without a time. None if no
    rule by a clock is known, or its row has no schema.
    """
    expiry = store.expiry
    schema = schema_of_field(store, expiry)
    if expiry is None or schema is None:
        return None
    field, rule = Int64Path(schema, expiry.path), expiry

    def read(block: RecordBlock, rows: Int64s) -> Any:
        is_key = rule.part is RowPart.KEY
        offsets = (block.key_offset if is_key else block.value_offset)[rows]
        lengths = (block.key_length if is_key else block.value_length)[rows]
        times, valid = field.read(block.buffer, offsets, lengths)
        if rule.clock is Clock.TIMEOUT:
            valid &= times != NO_TIMEOUT
        # The first whole millisecond that is not before the time; it may be the largest number.
        clocks = times // rule.per_ms + (times % rule.per_ms != 0)
        clocks = np.minimum(clocks, MAX_LONG - rule.delay_ms) + rule.delay_ms
        return int64_array(clocks, valid)

    return read


def live_blocks(
    task: Task, store: StoreTask, reader: StoreReader, key_filter: BoundFilter | None = None
) -> Iterator[tuple[StoreFile, RecordBlock, Int64s]]:
    """Yield (file, block, indexes of its live records) for the blocks that have any.

    ``key_filter`` selects by key only, never by value. If the task reads its keys in several
    passes, only 8 bytes are kept for each key after its pass. Problems stay with ``reader``.
    """
    passes = [range_filter(task, store)] if task.passes < 2 else passes_of(task.passes)
    # A hash of each key of a file would take longer than the search for its position.
    quick = None if key_filter is not None and key_filter.hashes else key_filter
    files = reader.provider.files_of(store.files)
    chain, positions = _locate(task.version, files, reader, passes, quick)
    used = {n: file for n, file in enumerate(chain) if positions.has_any_in(n)}
    reader.files.expect(used.values())
    try:
        for number, file in used.items():
            for block in reader.blocks(file):
                rows, _ = positions.find(number, block.ordinals)
                if len(rows):
                    yield file, block, rows
    except READ_ERRORS as error:
        # It could be read a moment ago: the query has replaced or removed it meanwhile.
        reader.note_failure(error, file)


def _locate(
    version: int,
    files: StoreFiles,
    reader: StoreReader,
    passes: Sequence[RangeFilter | None],
    key_filter: BoundFilter | None,
) -> tuple[Sequence[StoreFile], Positions]:
    """Return the files that make a version, and the positions of its rows in them.

    Both are empty if the version cannot be made.

    A snapshot that cannot be read is passed over for an older chain of the same version, as Spark
    4.2 and later do (``autoSnapshotRepair``).
    """
    while True:
        try:
            chain = chain_for(files, version)
        except MissingVersionError as error:
            if not reader.problems:
                reader.report(error.slug, error.message)
            break
        positions, bad = _learn(reader, passes, key_filter, chain)
        if bad is None:
            return chain.files, positions
        if bad != chain.base:
            break
        files = files.without(bad)
    return (), Positions(np.empty(0, np.int64))


def _learn(
    reader: StoreReader,
    passes: Sequence[RangeFilter | None],
    key_filter: BoundFilter | None,
    chain: Chain,
) -> tuple[Positions, StoreFile | None]:
    """Return the positions of the live rows of a version, and None or the first unreadable file."""
    parts = list[Positions]()
    reader.storage.keep(chain.files)  # for the rows themselves
    for keys in passes:
        puts = LastPuts()
        reader.files.expect(chain.files)
        for number, file in enumerate(chain.files):
            try:
                selected = select_records(reader.blocks(file), key_filter)
                for block, ordinals in select_range(selected, keys):
                    puts.learn(number, block, ordinals)
            except READ_ERRORS as error:  # noqa: PERF203 - a file takes longer than its try
                reader.note_failure(error, file)
                return puts.finish(), file
        parts.append(puts.finish())
    return Positions.join(parts), None
