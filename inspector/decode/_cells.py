"""Positions of values within a buffer of UnsafeRows, many at a time.

A :class:`Cells` has one cell for each value of one column (of all rows, or of all elements of all
arrays). Every position in it was checked before, so the readers need no further test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s
from inspector.exceptions import LimitError
from inspector.light_dataclasses import dataclass, replace
from inspector.sparktypes import AtomicType, DataType, DecimalType, storage_type

WORD = 8  # bytes of a slot, and of a word of null bits

_RESERVED = 16  # bytes that a row reserves for a value of these types
# kinds of types, in addition to wide decimals, for which a row reserves bytes
_RESERVING = ("interval", "timestamp_nanos", "timestamp_ntz_nanos")

MOST_CELLS = 1 << 27
"""Most values decoded by one call, nulls included: a forged schema or row must not fill the memory.
"""


def bitset_bytes(fields: int) -> int:
    """Return the bytes of the null bits of a number of fields (``calculateBitSetWidthInBytes``)."""
    return (fields + 63) // 64 * WORD


def size_of_fixed_part(fields: int) -> int:
    """Return the bytes of an UnsafeRow before its variable part: null bits and slots."""
    return bitset_bytes(fields) + fields * WORD


def bytes_to_reserve(data_type: DataType) -> int:
    """Return the bytes that a row, but no array, reserves for any value of a type, null included.

    It is 0 for most types.
    """
    # So that it can grow in place (UnsafeRowWriter.write(Decimal), write(CalendarInterval)).
    kind = storage_type(data_type)
    if isinstance(kind, DecimalType):
        return 0 if kind.slot_width else _RESERVED
    return _RESERVED if isinstance(kind, AtomicType) and kind.kind in _RESERVING else 0


def numbers_at(buffer: Any, kind: str, offsets: Int64s) -> npt.NDArray[Any]:
    """Return the numbers of a numpy dtype at these offsets of a buffer, aligned or not."""
    dtype = np.dtype(kind)
    count = len(buffer) - dtype.itemsize + 1
    if not offsets.size or count <= 0:
        return np.zeros(offsets.size, dtype)
    view: npt.NDArray[Any] = np.ndarray((count,), dtype, buffer, 0, (1,))
    return view[offsets]


class Page:
    """Buffer that one call decodes, and what was found out about its rows.

    Attributes:
        buffer: the bytes.
        bad: True for each row that does not fit its schema.
    """

    def __init__(self, buffer: Any, rows: int) -> None:
        view = memoryview(buffer)
        self.buffer = view if view.format == "B" and view.ndim == 1 else view.cast("B")
        # which rows do not fit their schema, and the first reason for each
        self.bad: Bools = np.zeros(rows, np.bool_)
        self._reason: Int64s = np.zeros(rows, np.int64)
        self._reasons: list[str] = []
        self._cells = 0

    def flag(self, rows: Int64s, reason: str) -> None:
        """Mark rows as misfits for a reason; the first reason of a row counts."""
        fresh = rows[~self.bad[rows]]
        if not fresh.size:
            return
        self._reason[fresh] = len(self._reasons)
        self._reasons.append(reason)
        self.bad[fresh] = True

    def misfits(self) -> tuple[tuple[int, str], ...]:
        """Return (row, first reason) for each row that does not fit its schema, in order."""
        rows = np.flatnonzero(self.bad).tolist()
        return tuple((row, self._reasons[int(self._reason[row])]) for row in rows)

    def numbers(self, kind: str, offsets: Int64s) -> npt.NDArray[Any]:
        """Return the numbers of a numpy dtype at these offsets of the buffer."""
        return numbers_at(self.buffer, kind, offsets)

    def spend(self, cells: int) -> None:
        """Count decoded values. LimitError: more than :data:`MOST_CELLS`."""
        self._cells += cells
        if self._cells > MOST_CELLS:
            raise LimitError(f"rows of more than {MOST_CELLS} values, decode fewer at once")


@dataclass(frozen=True, slots=True)
class Containers:
    """Rows or arrays that contain cells."""

    base: Int64s  # where each starts; the offsets within it count from there
    size: Int64s  # bytes of each
    fixed: Int64s  # bytes before its variable part
    # bytes of its variable part that no cell has claimed yet. Values never share bytes, so a claim
    # beyond it is a forgery that could multiply the output
    budget: Int64s


@dataclass(frozen=True, slots=True)
class _Values:
    """Values of one column, with the rows that they belong to."""

    present: Bools  # True if there is a value: neither null nor within a missing container
    row: Int64s  # row of the call that it is part of, for misfits
    path: str  # name of the column, for misfits

    def __len__(self) -> int:
        return len(self.present)

    def live(self) -> Int64s:
        """Return the indexes of the cells that have a value."""
        return np.flatnonzero(self.present)


@dataclass(frozen=True, slots=True)
class Cells(_Values):
    """Values of one column as positions of their slots."""

    at: Int64s  # where each value's slot starts; in an array of narrow values, where the value is
    owner: Int64s  # index of its container in ``within``
    within: Containers  # the rows or arrays that contain the slots
    slotted: bool = True  # True if a narrow value has a slot of 8 bytes of its own


@dataclass(frozen=True, slots=True)
class Regions(_Values):
    """Variable parts that cells refer to, one for each cell."""

    start: Int64s  # where each starts; 0 without a value
    size: Int64s  # bytes of each; 0 without a value

    def require(self, page: Page, fits: Bools, reason: str) -> Regions:
        """Return the regions with those masked out by ``fits``, whose rows become misfits."""
        wrong = self.present & ~fits
        if not wrong.any():
            return self
        page.flag(self.row[wrong], f"{self.path}: {reason}")
        valid = self.present & fits
        start, size = np.where(valid, self.start, 0), np.where(valid, self.size, 0)
        return replace(self, start=start, size=size, present=valid)

    def part(self, start: Int64s, size: Int64s, name: str) -> Regions:
        """Return regions within these, named ``name``; without a value they are empty."""
        start, size = np.where(self.present, start, 0), np.where(self.present, size, 0)
        return replace(self, start=start, size=size, path=f"{self.path}.{name}")


def regions(page: Page, cells: Cells) -> Regions:
    """Return the regions that the slots of variable fields refer to; bad ones become misfits.

    A slot is ``offset << 32 | size``, with the offset from the start of the container.
    """
    live = cells.live()
    slots = page.numbers("<u8", cells.at[live])
    offset = (slots >> np.uint64(32)).astype(np.int64)
    size = (slots & np.uint64(0xFFFFFFFF)).astype(np.int64)
    owner, containers = cells.owner[live], cells.within
    region_size = containers.size[owner]
    inside = (
        (offset >= containers.fixed[owner])
        & (offset <= region_size)
        & (size <= region_size - offset)
    )
    page.flag(cells.row[live[~inside]], f"{cells.path}: lies outside of what contains it")
    live, offset, size, owner = live[inside], offset[inside], size[inside], owner[inside]
    np.subtract.at(containers.budget, owner, size)
    alone = containers.budget[owner] >= 0
    page.flag(cells.row[live[~alone]], f"{cells.path}: shares bytes with another value")
    live, owner = live[alone], owner[alone]
    starts, sizes = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int64)
    present: Bools = np.zeros(len(cells), np.bool_)
    starts[live], sizes[live] = containers.base[owner] + offset[alone], size[alone]
    present[live] = True
    return Regions(present, cells.row, cells.path, starts, sizes)


def null_bits(page: Page, base: Int64s, index: Int64s | int) -> Bools:
    """Return a mask of the null bits that are set, by the start of the null bits and an index."""
    index = np.asarray(index, np.int64)
    bits = page.numbers("u1", base + (index >> 3))
    return (bits >> (index & 7).astype(np.uint8) & 1).astype(np.bool_)
