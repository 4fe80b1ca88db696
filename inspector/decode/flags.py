"""A boolean field of many rows, counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.clocks import fixed_slot_offset
from inspector.sparktypes import SLOT_BYTES, StructType


def count_flags(
    schema: StructType, ordinal: int, buffer: Any, offsets: Int64s, lengths: Int64s
) -> tuple[int, int]:
    """How many rows have true, and false, in a boolean field; null and misfits are neither.

    Args:
        schema: of the rows.
        ordinal: of the field.
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
    """
    slot = fixed_slot_offset(schema, ordinal)
    starts = offsets[lengths >= slot + SLOT_BYTES]
    data = np.frombuffer(buffer, np.uint8)
    null = (data[starts + ordinal // 8] >> (ordinal % 8)) & 1 == 1
    flags = data[starts + slot][~null]
    return int((flags == 1).sum()), int((flags == 0).sum())
