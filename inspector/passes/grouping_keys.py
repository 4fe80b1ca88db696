"""Grouping keys in the keys of transformWithState; each kind of store has them in another place."""

from __future__ import annotations

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.composed_rows import Rows, columns_of, compose_rows
from inspector.operators.transform_with_state import GroupingKey
from inspector.sparktypes import StructType


def grouping_keys(
    buffer: bytes, offsets: Int64s, lengths: Int64s, schema: StructType, grouping: GroupingKey
) -> Rows:
    """Return the grouping key within each given key of a store, as UnsafeRows in the same order.

    A key is a span of ``buffer`` with the struct ``schema``; ``grouping`` says which of its fields
    are the grouping key. Keys of the same group have equal rows in every store. RowError: a key
    does not fit the schema.
    """
    for ordinal in grouping.path:
        types = [field.data_type for field in schema.fields]
        column = columns_of(buffer, offsets, lengths, types)[ordinal]
        inner = schema.fields[ordinal].data_type
        assert column.offsets is not None
        assert isinstance(inner, StructType)
        offsets, lengths, schema = column.offsets, column.slots.astype(np.int64), inner
    if grouping.fields == len(schema.fields):
        return Rows(buffer, offsets, lengths)
    types = [field.data_type for field in schema.fields]
    columns = columns_of(buffer, offsets, lengths, types)
    return compose_rows(buffer, columns[: grouping.fields], len(offsets))
