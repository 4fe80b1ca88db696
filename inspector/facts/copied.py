"""Facts about the rows that a copy writes of a store, and about the rows that it evicts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from inspector.arrays import Int64s, UInt64s
from inspector.decode.records import RecordBlock
from inspector.facts.fact import Fact, StoreSum, fact
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.sums import Sums, first_non_zero, sum_by

# factor and bits of rotation that mix the hashes of key and value into one
_MIX, _TURN = np.uint64(0x9E3779B97F4A7C15), np.uint64(31)
_MASK = (1 << 64) - 1  # 64 bits


@fact("row_prints")
@dataclass(frozen=True)
class RowPrints(StoreSum):
    """Prints of the rows of a store: equal sets of rows have equal prints. Adds up."""

    rows: int = 0  # number of rows
    key_bytes: int = 0  # bytes of their keys as UnsafeRows
    value_bytes: int = 0  # bytes of their values as UnsafeRows
    # sum of the rows' hashes modulo 2 to the 64, as a signed number
    print: int = sum_by(lambda print_, added: _to_int64(print_ + added), 0)

    @classmethod
    def of(cls, block: RecordBlock, rows: Int64s) -> RowPrints:
        """Return one sum over some records of a block, all of which are puts.

        ``rows`` has the positions of the records in the block. The result has their number, their
        key and value bytes, and the sum of their row hashes.
        """
        sizes = block.key_length[rows], block.value_length[rows]
        keys = _hashes(block.buffer, block.key_offset[rows], sizes[0])
        values = _hashes(block.buffer, block.value_offset[rows], sizes[1])
        turned = values << _TURN | values >> (np.uint64(64) - _TURN)
        total = int(((keys * _MIX ^ turned) * _MIX).sum(dtype=np.uint64))
        return cls(len(rows), int(sizes[0].sum()), int(sizes[1].sum()), _to_int64(total))

    @classmethod
    def of_rows(cls, rows: Sequence[tuple[bytes, bytes]]) -> RowPrints:
        """Return the prints of rows, each a pair of key and value bytes."""
        block = RecordBlock.of_rows(rows)
        return cls.of(block, block.ordinals)


def _hashes(buffer: bytes, offsets: Int64s, lengths: Int64s) -> UInt64s:
    """Return a 64-bit hash for each span of a buffer."""
    hashes = np.empty(len(offsets), np.uint64)
    starts, sizes = np.ascontiguousarray(offsets), np.ascontiguousarray(lengths)
    kernel().hash64(buffer, starts, sizes, -1, hashes)
    return hashes


def _to_int64(number: int) -> int:
    """Return the lowest 64 bits of a number as a signed number."""
    number &= _MASK
    return number - (1 << 64) if number >> 63 else number


@fact("written_files")
@dataclass(frozen=True)
class WrittenFiles(StoreSum):
    """Files that a copy wrote into a store's folders, checksum files included."""

    files: int = 0  # number of files
    bytes: int = 0  # their bytes


@fact("evicted")
@dataclass(frozen=True)
class Evicted(Sums, Fact):
    """Rows of a store that a copy evicts for one reason. Adds up."""

    # class of leftovers, or the word for rows that the user named
    leftover_class: str = sum_by(first_non_zero, "")
    rows: int = 0  # number of rows
    key_bytes: int = 0  # bytes of their keys
    value_bytes: int = 0  # bytes of their values

    def merge_key(self, _version: int) -> Hashable:
        """Return the class of leftovers: evicted rows of one class add up."""
        return self.leftover_class

    @classmethod
    def of(cls, name: str, block: RecordBlock, rows: Int64s) -> Evicted:
        """Return the number and sizes of some records of a block, evicted for reason ``name``."""
        sizes = int(block.key_length[rows].sum()), int(block.value_length[rows].sum())
        return cls(name, len(rows), *sizes)


@fact("evicted_key")
@dataclass(frozen=True)
class EvictedKey(Fact):
    """A key that a copy evicts, as an example."""

    leftover_class: str  # class of leftovers, or the word for rows that the user named
    key: bytes  # its UnsafeRow
    value_bytes: int  # bytes of its value


@fact("misplaced_row")
@dataclass(frozen=True)
class MisplacedRow(Fact):
    """A row that Spark's hash does not put into its partition, as an example."""

    key: bytes  # its UnsafeRow
    expected_partition: int  # partition by the hash; -1 if the hash is not known


@fact("unwritable_rows")
@dataclass(frozen=True)
class UnwritableRows(Fact):
    """The reason why rows of a store cannot be written in the requested form."""

    reason: str  # message of the error
