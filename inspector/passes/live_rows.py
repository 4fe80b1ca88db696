"""The live rows of one version of one store, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from inspector.arrays import Int64s, longer
from inspector.checkpoint.names import MAX_LONG
from inspector.decode.records import RecordBlock
from inspector.decode.row_columns import Int64Path
from inspector.discovery.tasks import StoreTask, Task
from inspector.exceptions import MissingVersionError
from inspector.facts.copied import RowPrints
from inspector.kernel.loader import kernel
from inspector.model import NO_TIMEOUT, FileKind, StoreFile
from inspector.operators.rule import Clock, RowPart
from inspector.passes.binary_columns import keys_of, repeat, values_of
from inspector.passes.key_filter import BoundFilter, filter_of, select_records
from inspector.passes.store_reader import READ_ERRORS, StoreReader
from inspector.passes.tracked import range_filter, schema_of_field
from inspector.providers.chain import Chain, chain_for
from inspector.schemas import ROWS, int64_array, record_batch
from inspector.state.key_range import RangeFilter, passes_of, select_range
from inspector.state.live_records import LastPuts, Positions

HELD_BYTES = 64 << 20  # decompressed bytes of a file up to which it is kept to be read once


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
    # A hash of each key of a file would take longer than the search for its position.
    quick = None if key_filter is not None and key_filter.hashes else key_filter
    yield from _read(reader, _locate(task, store, reader, quick))


def live_blocks_newest_first(
    task: Task, store: StoreTask, reader: StoreReader
) -> Iterator[tuple[RecordBlock, Int64s]]:
    """Yield the live rows of the task's version: blocks, and indexes of the rows in each.

    The files come in the reverse of Spark's order. A file is read once, or twice if it has more
    than HELD_BYTES after decompression. If a file cannot be read, the rows after it are missing;
    this and other problems stay with ``reader``. Not for stores whose values have several rows, nor
    for tasks that read their keys in several passes.
    """
    try:
        chain = chain_for(reader.provider.files_of(store.files), task.version)
    except MissingVersionError as error:
        reader.report(error.slug, error.message)
        return
    newest_first = chain.files[::-1]
    reader.storage.keep(newest_first)
    reader.files.expect(newest_first)
    seen = kernel().Interner(hashed=True)
    for file in newest_first:
        try:
            yield from _live_in_file(reader, file, seen)
        except READ_ERRORS as error:  # noqa: PERF203 - a file takes longer than its try
            reader.note_failure(error, file)
            return


def _live_in_file(
    reader: StoreReader, file: StoreFile, seen: Any
) -> Iterator[tuple[RecordBlock, Int64s]]:
    """Yield the puts of a file that are the last record of a key that is in no newer file.

    ``seen`` is an interner with the keys of newer files; those of this file are added. Raises as
    :meth:`.StoreReader.blocks`.
    """
    held: list[RecordBlock] | None = []
    first_id, records, held_bytes = len(seen), 0, 0
    last = np.zeros(0, np.int64)  # twice the last record of each new key, plus 1 for a put
    for block in reader.blocks(file):
        ids = np.empty(block.count, np.int64)
        seen.intern(block.buffer, block.key_offset, block.key_length, ids)
        if len(seen) - first_id > len(last):
            last = longer(last, (len(seen) - first_id) * 5 // 4)
        is_new = np.flatnonzero(ids >= first_id)
        is_put = block.value_length[is_new] >= 0
        last[ids[is_new] - first_id] = (records + is_new) << 1 | is_put
        records += block.count
        held_bytes += len(block.buffer)
        if held is not None:
            held.append(block)
        if held_bytes > HELD_BYTES:
            held = None
    is_live = np.zeros(records, np.bool_)
    last = last[: len(seen) - first_id]
    is_live[last[(last & 1) == 1] >> 1] = True
    start = 0
    for block in reader.blocks(file) if held is None else held:
        rows = np.flatnonzero(is_live[start : start + block.count])
        start += block.count
        if len(rows):
            yield block, rows


def live_prints(task: Task, store: StoreTask, reader: StoreReader) -> RowPrints:
    """Return the prints of the live rows of the task's version; problems stay with ``reader``.

    Files that have each key once, and no removal, are read once. Other files are read twice.
    """
    located = _locate(task, store, reader, prints=True)
    if located.prints is not None:
        return located.prints
    made = (RowPrints.of(block, rows) for _, block, rows in _read(reader, located))
    return sum(made, RowPrints())


class _Located(NamedTuple):
    """Positions of the live rows of a version in the files that make it."""

    files: Sequence[StoreFile]  # the files in the order of Spark; empty if one cannot be read
    positions: Positions  # of all rows; empty if a file cannot be read
    prints: RowPrints | None  # of all rows; None if they are not known before the rows are read


def _read(
    reader: StoreReader, located: _Located
) -> Iterator[tuple[StoreFile, RecordBlock, Int64s]]:
    """Yield the rows at some positions as :func:`live_blocks` does."""
    files, positions, _ = located
    used = {n: file for n, file in enumerate(files) if positions.has_any_in(n)}
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
    task: Task,
    store: StoreTask,
    reader: StoreReader,
    key_filter: BoundFilter | None = None,
    *,
    prints: bool = False,
) -> _Located:
    """Return the files that make the task's version, and the positions of its rows in them.

    Both are empty if the version cannot be made. ``prints`` requests the prints of the rows; the
    result has them if the files have each key once, and no removal.

    A snapshot that cannot be read is passed over for an older chain of the same version, as Spark
    4.2 and later do (``autoSnapshotRepair``).
    """
    passes = [range_filter(task, store)] if task.passes < 2 else passes_of(task.passes)
    files = reader.provider.files_of(store.files)
    while True:
        try:
            chain = chain_for(files, task.version)
        except MissingVersionError as error:
            if not reader.problems:
                reader.report(error.slug, error.message)
            break
        located, bad = _learn(reader, passes, key_filter, chain, RowPrints() if prints else None)
        if bad is None:
            return located
        if bad != chain.base:
            break
        files = files.without(bad)
    return _Located((), Positions(np.empty(0, np.int64)), None)


def _learn(
    reader: StoreReader,
    passes: Sequence[RangeFilter | None],
    key_filter: BoundFilter | None,
    chain: Chain,
    prints: RowPrints | None,
) -> tuple[_Located, StoreFile | None]:
    """Return the live rows of a version, and None or the first unreadable file.

    ``prints`` is None, or no prints, to which those of all records are added while each record is
    a put of a key of its own.
    """
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
                    if prints is not None:
                        rows = np.arange(block.count)
                        prints = prints + RowPrints.of(block, rows) if puts.is_distinct else None
            except READ_ERRORS as error:  # noqa: PERF203 - a file takes longer than its try
                reader.note_failure(error, file)
                return _Located(chain.files, puts.finish(), None), file
        parts.append(puts.finish())
    return _Located(chain.files, Positions.join(parts), prints), None
