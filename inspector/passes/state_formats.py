"""Rows of state format 1 as rows of format 2: aggregations and group state.

Format 1 of an aggregation has the grouping columns before the buffers in each value; format 2 has
the buffers alone (``StreamingAggregationStateManager``). Format 1 of group state has the fields of
the state in each value, and then the timer; format 2 has them as one struct, which can be null
(``FlatMapGroupsWithStateExecHelper``). Spark changes neither: a query keeps the format of its first
batch.
"""

from __future__ import annotations

import enum

import numpy as np

from inspector.arrays import Int64s
from inspector.decode.composed_rows import Column, Rows, columns_of, compose_rows
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask
from inspector.exceptions import NoSchemaError, RowError
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.operators.group_state import timeout_ordinal
from inspector.sparktypes import StructType
from inspector.sparktypes.schema_json import parse_schema_json


class FormatOne(enum.Enum):
    """Kind of operator whose values are of state format 1."""

    AGGREGATION = "aggregation"
    GROUP_STATE = "group_state"


@dataclass(frozen=True)
class Converter:
    """Conversion of the values of one store from format 1 to format 2."""

    kind: FormatOne  # kind of the operator
    key: StructType  # schema of the keys
    value: StructType  # schema of the values in format 1

    @classmethod
    def of_store(cls, kind: FormatOne, store: StoreTask) -> Converter:
        """Return the conversion for the store of an operator in format 1.

        NoSchemaError: its schemas are not known.
        """
        if store.key_schema is None or store.value_schema is None:
            raise NoSchemaError("a store without a schema has no values that can be converted")
        return cls(kind, parse_schema_json(store.key_schema), parse_schema_json(store.value_schema))

    def convert(self, block: RecordBlock, rows: Int64s) -> RecordBlock:
        """Return some puts of a block, with values of format 2 and the same keys.

        RowError: a value is none of format 1, or its format 2 is not known.
        """
        offsets, lengths = block.value_offset[rows], block.value_length[rows]
        types = [field.data_type for field in self.value.fields]
        columns = columns_of(block.buffer, offsets, lengths, types)
        if self.kind is FormatOne.AGGREGATION:
            values = self._without_key(block, rows, columns)
        else:
            values = self._as_struct(block, columns, len(rows))
        sizes = block.key_length[rows]
        keys = bytes(kernel().gather(block.buffer, block.key_offset[rows], sizes))
        starts = np.cumsum(sizes) - sizes
        return RecordBlock(
            *(keys + values.data, 0, 0, starts, sizes),
            *(values.offsets + len(keys), values.lengths),
            puts_only=True,
        )

    def _without_key(self, block: RecordBlock, rows: Int64s, columns: list[Column]) -> Rows:
        """Return the values of an aggregation without the grouping columns at their beginning."""
        count = len(self.key.fields)
        made = compose_rows(block.buffer, columns[:count], len(rows))
        keys = kernel().gather(block.buffer, block.key_offset[rows], block.key_length[rows])
        if made.data != bytes(keys):
            message = "the value of a row does not begin with the grouping columns of its key"
            raise RowError(message, offset=int(block.value_offset[rows][0]))
        return compose_rows(block.buffer, columns[count:], len(rows))

    def _as_struct(self, block: RecordBlock, columns: list[Column], count: int) -> Rows:
        """Return the values of group state with the fields of the state in one struct."""
        fields, timers = columns, list[Column]()
        if timeout_ordinal(self.value) is not None:
            fields, timers = columns[:-1], columns[-1:]
        nulls = np.ones(count, np.bool_)
        for column in fields:
            nulls &= column.null
        if nulls.any():
            raise RowError(
                "all fields of a state are null, so that it is not known whether the function had "
                "removed the state: let the query call the function for this key first",
                offset=0,
            )
        states = compose_rows(block.buffer, fields, count)
        sizes = states.lengths.astype(np.uint64)
        struct = Column(sizes, np.zeros(count, np.bool_), states.offsets, states.lengths)
        return compose_rows(states.data, [struct, *timers], count)
