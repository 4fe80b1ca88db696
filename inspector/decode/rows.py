"""UnsafeRows to Arrow, by their schema, many rows at a time.

The layout is in :mod:`inspector.decode.rows_nested`, the Arrow types in
:mod:`inspector.decode.arrow_types`. A row that does not fit its schema becomes null and is reported
as a misfit, with a reason; the rows around it are decoded. A misfit is what would read outside of
the row, and what Spark's own check refuses (``UnsafeRowUtils.validateStructuralIntegrity``, 3.1+),
except that a null may keep an offset in its slot: Spark writes that itself (calendar intervals,
nanosecond timestamps, in 3.1 wide decimals).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from inspector.arrays import Bools, Int64s
from inspector.decode._cells import WORD, Page, Regions, fixed_bytes
from inspector.decode._columns import Array
from inspector.decode.arrow_types import arrow_type
from inspector.decode.clocks import Int64Path, check_spans, fixed_slot_offset
from inspector.decode.rows_nested import struct_fields
from inspector.model import LIMITS, Limits
from inspector.sparktypes import StructType

__all__ = ["DecodedRows", "Int64Path", "RowDecoder", "fixed_slot_offset"]

_DUMMY_BYTES = 16
_DUMMY_NULLS = 1


@dataclass(frozen=True)
class DecodedRows:
    """Rows as Arrow.

    Attributes:
        array: one struct per row; null for a misfit.
        misfits: index of each row that does not fit the schema, and why, in order.
    """

    array: Array
    misfits: tuple[tuple[int, str], ...] = ()


class RowDecoder:
    """Decodes the rows of one schema.

    Attributes:
        schema: their fields.
        arrow_type: the struct type of the result; repeated names are numbered.
    """

    def __init__(self, schema: StructType, *, limits: Limits = LIMITS) -> None:
        """Prepare a schema.

        Raises:
            DecodeError: it has a type whose layout is unknown.
        """
        self.schema = schema
        self.arrow_type = arrow_type(schema, limits)
        self._fixed = fixed_bytes(len(schema.fields))

    def decode(self, buffer: Any, offsets: Int64s, lengths: Int64s) -> DecodedRows:
        """Decode rows.

        Args:
            buffer: what the rows lie in.
            offsets: where each row starts.
            lengths: bytes of each row.

        Raises:
            ValueError: a row outside of the buffer.
            LimitError: more values than one call decodes.
        """
        every: Bools = np.ones(len(offsets), np.bool_)
        page = Page(buffer, len(offsets))
        check_spans(page, offsets, lengths)
        array = self._decode(page, offsets, lengths, every)
        misfits = page.misfits
        if misfits.bad.any():
            # Again without them: what remains was read whole, so that no field of a valid row
            # carries what a damaged one left behind (such as a null key of a map).
            array = self._decode(Page(buffer, len(offsets)), offsets, lengths, ~misfits.bad)
        return DecodedRows(array, misfits.reasons())

    def _decode(self, page: Page, offsets: Int64s, lengths: Int64s, chosen: Bools) -> Array:
        row = np.arange(len(offsets), dtype=np.int64)
        rows = Regions(offsets, lengths, chosen, row, "")
        dummy = self._dummies(page, rows)
        fits = (lengths >= self._fixed) & (lengths % WORD == 0)
        reason = f"a row too short for {len(self.schema.fields)} fields, or not of whole words"
        rows = rows.require(page, fits | dummy, reason)
        return struct_fields(page, self.schema, rows, rows.present & ~dummy, self.arrow_type)

    def _dummies(self, page: Page, rows: Regions) -> Bools:
        """Which rows stand for nothing.

        Deduplication before 3.2 declares the whole input row as its value and stores one null
        field (``StreamingDeduplicateExec``): 16 bytes, whatever the schema.
        """
        dummy: Bools = rows.present & (rows.size == _DUMMY_BYTES) & (self._fixed > _DUMMY_BYTES)
        live = np.flatnonzero(dummy)
        nulls = page.numbers("<i8", rows.start[live])
        slot = page.numbers("<i8", rows.start[live] + WORD)
        dummy[live] = (nulls == _DUMMY_NULLS) & (slot == 0)
        return dummy
