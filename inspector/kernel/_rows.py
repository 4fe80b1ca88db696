"""Look into UnsafeRows: check them against a schema, read their slots; as ``rows.c``.

The layout of a row is in :mod:`inspector.decode.row_columns`.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from inspector.kernel._arguments import checked_spans, integers, writable
from inspector.kernel.programs import ANY, RANGE, REGION, STRUCT, UNUSED

_SLOT = struct.Struct("<Q")
_WORD = 8  # bytes of a slot, and of a word of null bits
_DEEPEST = 64  # structs within structs
_OPERANDS = {UNUSED: 1, RANGE: 2}


def check_rows(buffer: Any, offsets: Any, lengths: Any, program: Any, out: Any) -> int:
    """Find the UnsafeRows that may not fit their schema.

    A row is not in doubt if it has room for its fields and is of whole words, if each field that is
    not null is what the program says, and if the variable parts lie within the row and behind its
    slots and are together no longer than that.

    Args:
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
        program: the number of fields, then for each of them a word of
            :mod:`inspector.kernel.programs` with its operands.
        out: one byte per row, 1 where it is in doubt.

    Returns:
        How many rows are in doubt.
    """
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    numbers = integers(program).tolist()
    doubts = memoryview(out).cast("B")
    if len(doubts) != len(starts):
        raise ValueError("arrays differ in length")
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        doubts[i] = not _Program(numbers).fits(view[start : start + size], 0)
    return sum(doubts)


class _Program:
    """What the fields of a row must be, as numbers; it ends in zeros."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers
        self._at = 0

    def fits(self, row: memoryview, depth: int) -> bool:
        """Whether a row or struct is what the program says from here on."""
        fields = self._take()
        bits = (fields + 63) // 64 * _WORD
        fixed = bits + fields * _WORD
        if fields < 0 or depth > _DEEPEST or len(row) < fixed or len(row) % _WORD:
            return False
        budget = [len(row) - fixed]
        for i in range(fields):
            (slot,) = _SLOT.unpack_from(row, bits + i * _WORD)
            start = self._at
            self._skip()
            behind = self._at
            if not row[i >> 3] >> (i & 7) & 1:
                self._at = start
                if not self._field_fits(row, slot, fixed, budget, depth):
                    return False
                self._at = behind  # where the program says, whatever the struct took of it
        return True

    def _field_fits(
        self, row: memoryview, slot: int, fixed: int, budget: list[int], depth: int
    ) -> bool:
        kind = self._take()
        if kind == ANY:
            return True
        if kind == UNUSED:
            bits = self._take()
            return not 0 <= bits <= 63 or slot >> bits == 0
        if kind == RANGE:
            low, high = self._take(), self._take()
            return low <= _read_int(slot) <= high
        if kind not in (REGION, STRUCT):
            return False
        if kind == STRUCT:
            self._take()
        region = _region(row, slot, fixed)
        if region is None or budget[0] < len(region):
            return False
        budget[0] -= len(region)
        return kind == REGION or self.fits(region, depth + 1)

    def _skip(self) -> None:
        kind = self._take()
        count = self._take() if kind == STRUCT else _OPERANDS.get(kind, 0)
        self._at = len(self._numbers) if count < 0 else self._at + count

    def _take(self) -> int:
        at, self._at = self._at, self._at + 1
        return self._numbers[at] if at < len(self._numbers) else ANY


def _read_int(slot: int) -> int:
    return slot - (slot >> 63 << 64)


def _region(row: memoryview, slot: int, fixed: int) -> memoryview | None:
    """The variable part that a slot refers to, if it lies behind the slots and in the row."""
    offset, size = slot >> 32, slot & 0xFFFFFFFF
    if offset < fixed or len(row) < offset or len(row) - offset < size:
        return None
    return row[offset : offset + size]


def read_slots(buffer: Any, offsets: Any, lengths: Any, path: Any, values: Any, valid: Any) -> None:
    """Read one 64-bit field of every UnsafeRow, also one of a struct within it.

    Args:
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
        path: for the row and each struct on the way, how many fields it has and which is next.
        values: filled with one number per row, 0 where there is none.
        valid: one byte per row: 1 where there is a value, 0 where a null or a row that does not
            fit is in the way.
    """
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    steps = integers(path).tolist()
    pairs = list(zip(steps[::2], steps[1::2], strict=False))
    slots, entry = writable(values, np.int64), memoryview(valid).cast("B")
    if not len(starts) == len(slots) == len(entry):
        raise ValueError("arrays differ in length")
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        slot = _slot_at(view[start : start + size], pairs)
        slots[i], entry[i] = (0, 0) if slot is None else (_read_int(slot), 1)


def _slot_at(row: memoryview, pairs: list[tuple[int, int]]) -> int | None:
    slot: int | None = None
    region: memoryview | None = row
    for i, (fields, ordinal) in enumerate(pairs):
        bits = (fields + 63) // 64 * _WORD
        fixed = bits + fields * _WORD
        if region is None or not 0 <= ordinal < fields:
            return None
        if len(region) < fixed or len(region) % _WORD or region[ordinal >> 3] >> (ordinal & 7) & 1:
            return None
        (slot,) = _SLOT.unpack_from(region, bits + ordinal * _WORD)
        if i + 1 < len(pairs):
            region = _region(region, slot or 0, fixed)
    return slot
