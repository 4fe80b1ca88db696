"""Where a sequence of keys stops to ascend.

Spark sorts the rows of a batch by their grouping columns, ascending, nulls first, before it calls a
group-state function (``FlatMapGroupsWithStateExecBase.requiredChildOrdering``); keys whose timers
have run out follow in the order of the hash map. So within a delta, whatever stands at or behind
the first descent was not written on behalf of new data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.decode.records import RecordBlock
from inspector.decode.rows import RowDecoder
from inspector.sparktypes import StructType

Bools = npt.NDArray[np.bool_]


class KeyOrder:
    """Compares neighbouring keys of a block as Spark's sort does.

    Keys of types whose order is not that of their Arrow values (arrays, maps, intervals) never
    descend: without a comparison there is no evidence.
    """

    def __init__(self, key: StructType) -> None:
        self._decoder = RowDecoder(key)

    def descends(self, block: RecordBlock) -> Bools:
        """For each record, whether its key is below that of the record before it in the block."""
        below = np.zeros(block.count, np.bool_)
        if block.count > 1:
            decoded = self._decoder.decode(block.buffer, block.key_offset, block.key_length)
            if not decoded.misfits:
                below[1:] = _below(decoded.array)
        return below


def _below(keys: Any) -> Bools:
    below = np.zeros(len(keys) - 1, np.bool_)
    undecided = ~below
    for column in _columns(keys):
        order = _order(column)
        if order is None:
            return below
        less, equal = order
        below |= undecided & less
        undecided &= equal
    return below


def _columns(array: Any) -> list[Any]:
    if not pa.types.is_struct(array.type):
        return [array]
    return [leaf for child in array.flatten() for leaf in _columns(child)]


def _order(column: Any) -> tuple[Bools, Bools] | None:
    """Of each neighbouring pair: the second is below the first; both are equal."""
    simple = pa.types.is_primitive(column.type) or pa.types.is_decimal(column.type)
    if not (simple or pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return None
    import pyarrow.compute as pc  # noqa: PLC0415 - slow to import, and few commands need it

    before, after = column.slice(0, len(column) - 1), column.slice(1)
    was_null, is_null = _mask(before.is_null()), _mask(after.is_null())
    less = _mask(pc.fill_null(pc.less(after, before), False)) | (is_null & ~was_null)
    equal = _mask(pc.fill_null(pc.equal(after, before), False)) | (is_null & was_null)
    return less, equal


def _mask(array: Any) -> Bools:
    mask: Bools = array.to_numpy(zero_copy_only=False).astype(np.bool_)
    return mask
