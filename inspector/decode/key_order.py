"""Where a sequence of keys stops to ascend.

Spark sorts the rows of a batch by their grouping columns, ascending, nulls first, before it calls a
group-state function (``FlatMapGroupsWithStateExecBase.requiredChildOrdering``); keys whose timers
have run out follow in the order of the hash map. So within a delta, whatever stands at or behind
the first descent was not written on behalf of new data.

Keys of whole numbers, times, text and bytes are compared where they lie
(``UTF8String.compareTo`` and ``ByteArray.compareBinary`` compare unsigned bytes); all others are
decoded first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from inspector.decode.kernel import kernel
from inspector.decode.records import RecordBlock
from inspector.decode.row_check import RowCheck
from inspector.decode.rows import RowDecoder
from inspector.sparktypes import AtomicType, DataType, StringType, StructType, storage_type

Bools = npt.NDArray[np.bool_]

_WIDTHS: Mapping[str, int] = {
    "byte": 1,
    "short": 2,
    "integer": 4,
    "date": 4,
    "long": 8,
    "timestamp": 8,
    "timestamp_ntz": 8,
    "binary": 0,
}
"""Atomic types that the kernel compares, see :func:`inspector.decode._rows_py.descents`."""


class KeyOrder:
    """Compares neighbouring keys of a block as Spark's sort does.

    Keys of types whose order is not that of their Arrow values (arrays, maps, intervals) never
    descend: without a comparison there is no evidence.
    """

    def __init__(self, key: StructType) -> None:
        """Prepare a schema.

        Raises:
            DecodeError: it has a type whose layout is unknown.
        """
        self._decoder = RowDecoder(key)
        self._check = RowCheck(key)
        widths = [_width(field.data_type) for field in key.fields]
        plain = [width for width in widths if width is not None]
        self._widths = np.array(plain, np.int64) if len(plain) == len(widths) else None

    def descends(self, block: RecordBlock) -> Bools:
        """For each record, whether its key is below that of the record before it in the block."""
        below = np.zeros(block.count, np.bool_)
        if block.count < 2:
            return below
        spans = (block.buffer, block.key_offset, block.key_length)
        found = -1 if self._widths is None else kernel().descents(*spans, self._widths, below)
        if found < 0:
            decoded = self._decoder.decode(*spans)
            below[0] = False
            below[1:] = False if decoded.misfits else _below(decoded.array)
        elif found and self._check.misfits(*spans):
            below[:] = False
        return below


def _width(data_type: DataType) -> int | None:
    """Of a field for the kernel; None if it cannot compare the type."""
    data_type = storage_type(data_type)
    if isinstance(data_type, StringType):
        return 0
    return _WIDTHS.get(data_type.kind) if isinstance(data_type, AtomicType) else None


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
