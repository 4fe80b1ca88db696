"""Rows compared with their schema on their way into a map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from inspector.arrays import Int64s, lengths_of
from inspector.decode.field_sizes import RowBytes, measure_rows
from inspector.decode.records import RecordBlock, SmallDeltas
from inspector.decode.row_columns import count_flags
from inspector.decode.row_programs import row_check
from inspector.exceptions import LimitError
from inspector.model import StoreFile
from inspector.operators.join import match_flag_ordinal
from inspector.operators.rule import RowPart
from inspector.passes.store_reader import StoreReader
from inspector.sparktypes import StructType

# rows of one file that are reported one by one if they do not fit; further rows are only counted
MISFITS_LISTED = 3
SAMPLE_ROWS, SAMPLED_BYTES = 64, 512
"""First rows of a file whose columns are measured, and the mean bytes of a row above which they
are.
"""
# most files of a store whose rows are measured; a hundred columns take 5 ms in each file
MOST_SAMPLES = 16


class Fit:
    """Checks every row against the schema of its store, and measures samples of large rows.

    Spark checks only the first row of a partition (``UnsafeRowUtils.validateStructuralIntegrity``).
    """

    def __init__(
        self, key: StructType | None, value: StructType | None, reader: StoreReader
    ) -> None:
        # bytes by column of large keys and values, in the measured rows
        self.sampled: dict[RowPart, RowBytes] = {}
        self._samples = 0
        sides = {RowPart.KEY: key, RowPart.VALUE: value}
        self._schemas = {side: schema for side, schema in sides.items() if schema is not None}
        self._checks = {side: row_check(schema) for side, schema in self._schemas.items()}
        self._reader = reader
        self._flag = None if value is None else match_flag_ordinal(value)
        # rows of a join's side that had a partner when they were put, and that had none; None of
        # other stores, and of rows without the flag
        self.partners = None if self._flag is None else np.zeros(2, np.int64)

    def check(self, file: StoreFile, blocks: Iterable[RecordBlock]) -> Iterator[RecordBlock]:
        """Yield the blocks of a file unchanged.

        Rows that do not fit their schema are reported to the reader.
        """
        misfits = 0
        for number, block in enumerate(blocks):
            for side in self._checks:
                misfits += self._of_block(file, block, side, misfits)
            if not number and not misfits:
                self._sample(block)
            self._count_partners(block)
            yield block
        if misfits > MISFITS_LISTED:
            text = f"{misfits} rows of the file do not fit their schema"
            self._reader.report("bad-row", text, file)

    def fits(self, small: SmallDeltas) -> bool:
        """Return True if all rows of some small deltas fit their schemas and none of them is large.

        Large rows have to be measured, so their files are read one by one. If True is returned, the
        rows are counted by their match flag; nothing is reported here.
        """
        block, records = small.block, lengths_of(small.ends)
        if self._samples < MOST_SAMPLES:
            fewest = np.minimum(SAMPLE_ROWS, records) if block.puts_only else records > 0
            if (lengths_of(small.raw_ends) > SAMPLED_BYTES * fewest)[records > 0].any():
                return False
        try:
            for side, check in self._checks.items():
                if check.misfits(block.buffer, *_part_of(block, side)[1:]):
                    return False
        except LimitError:  # of all of them; each has fewer values
            return False
        self._count_partners(block)
        return True

    def _count_partners(self, block: RecordBlock) -> None:
        """Add the rows of a block to ``partners``, by their match flag."""
        if self.partners is not None and self._flag is not None:
            schema, spans = self._schemas[RowPart.VALUE], puts_of(block)[1:]
            self.partners += count_flags(schema, self._flag, block.buffer, *spans)

    def _sample(self, block: RecordBlock) -> None:
        """Measure the columns of the first rows of a block if these are large.

        Does nothing after MOST_SAMPLES files, or if the mean size of a row is at most
        SAMPLED_BYTES.
        """
        fewest = min(SAMPLE_ROWS, len(block.key_length)) if block.puts_only else 1
        if len(block.buffer) <= SAMPLED_BYTES * fewest or self._samples == MOST_SAMPLES:
            return  # most files, at no cost
        self._samples += 1
        for side, schema in self._schemas.items():
            _, starts, lengths = _part_of(block, side)
            starts, lengths = starts[:SAMPLE_ROWS], lengths[:SAMPLE_ROWS]
            if lengths.sum() > SAMPLED_BYTES * len(lengths):
                measured = measure_rows(schema, block.buffer, starts, lengths)
                self.sampled[side] = self.sampled.get(side, RowBytes()) + measured

    def _of_block(self, file: StoreFile, block: RecordBlock, side: RowPart, old_rows: int) -> int:
        """Return how many keys or values of a block do not fit their schema; report the first.

        ``old_rows`` is the number of misfits that were found in the file before.
        """
        rows, offsets, lengths = _part_of(block, side)
        misfits = self._checks[side].misfits(block.buffer, offsets, lengths)
        for index, message in misfits[: max(0, MISFITS_LISTED - old_rows)]:
            record = block.first_record + (index if rows is None else int(rows[index]))
            raw = block.raw_offset + int(offsets[index])
            text = f"{side.value} of record {record} at raw byte {raw}: {message}"
            self._reader.report("bad-row", text, file)
        return len(misfits)


_Part = tuple[Int64s | None, Int64s, Int64s]
"""Indexes of records (None for all), and for each the offset and length of its key or value."""


def _part_of(block: RecordBlock, side: RowPart) -> _Part:
    """Return the keys of a block, or the values of its puts."""
    is_value = side is RowPart.VALUE
    return puts_of(block) if is_value else (None, block.key_offset, block.key_length)


def puts_of(block: RecordBlock) -> _Part:
    """Return indexes, value offsets and value lengths of the records that have a value.

    The indexes are None if every record has a value.
    """
    if block.puts_only:
        return None, block.value_offset, block.value_length
    rows = np.flatnonzero(block.value_length >= 0)
    return rows, block.value_offset[rows], block.value_length[rows]
