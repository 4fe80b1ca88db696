"""Fields that a pass reads from every record of a store, and the key range of a task.

The stores of a join are split by the join key, so that a counter is in the range of its rows, and
those of session windows by the grouping columns, which have a second map in Spark.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from inspector.arrays import Int64s, UInt8s
from inspector.decode.records import RecordBlock
from inspector.decode.row_columns import Int64Path, slot_offset
from inspector.decode.row_programs import KeyOrder, RowHash
from inspector.discovery.tasks import StoreTask, Task
from inspector.facts.misplaced import marks_of
from inspector.light_dataclasses import replace
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import Clock, ExpiryField, RowPart
from inspector.passes.fit import puts_of
from inspector.sparktypes import StructType, widen_timeout
from inspector.sparktypes.schema_json import parse_schema_json
from inspector.state.key_range import RangeFilter, common_part
from inspector.state.replay import NO_CLOCK, Tracking


def task_tracking(task: Task, store: StoreTask, *, hashed: bool) -> Tracking:
    """Return what a task tracks of every record of a store: clock, key range, and kept keys."""
    return replace(
        tracking(store),
        keys=range_filter(task, store),
        mark=_marks(task, store) if task.request.fit else None,
        hashed=hashed,
        most_bytes=task.key_memory,
    )


def _marks(task: Task, store: StoreTask) -> Callable[[RecordBlock, Int64s], UInt8s] | None:
    """Return a function that marks keys of another partition; None if the hash is not known."""
    key, _ = schemas(store)
    if key is None or not task.partitions:
        return None
    hashed = RowHash.of(key, store.hashed_fields)
    return None if hashed is None else partial(marks_of, hashed, task.partitions, task.partition_id)


def schemas(store: StoreTask) -> tuple[StructType | None, StructType | None]:
    """Return the key schema and the value schema of a store as its rows are laid out.

    A schema is None if it is not known. The timer of group state of format 1 is 64 bits wide,
    although declared ``integer``.
    """
    key = None if store.key_schema is None else parse_schema_json(store.key_schema)
    value = None if store.value_schema is None else parse_schema_json(store.value_schema)
    return key, None if value is None else widen_timeout(value)


def tracking(store: StoreTask) -> Tracking:
    """Return what has to be read from every record to judge it by the store's expiry rule."""
    expiry = store.expiry or store.event_time or store.number or store.unmarked
    schema = schema_of_field(store, expiry)
    if expiry is None or schema is None:
        return Tracking()
    clock = _clock_reader(expiry, schema)
    if expiry.clock is not Clock.TIMEOUT:
        return Tracking(clock)
    key, _ = schemas(store)
    descends = None if key is None else KeyOrder(key).descends
    return Tracking(clock, slot_offset(schema, expiry.path[0]), descends)


def schema_of_field(store: StoreTask, field: ExpiryField | None) -> StructType | None:
    """Return the schema of the row that has a field: of the key or of the value.

    None without a field, or if the schema is not known.
    """
    key, value = schemas(store)
    return None if field is None else (key if field.part is RowPart.KEY else value)


def _clock_reader(expiry: ExpiryField, schema: StructType) -> Any:
    """Return a function that gives, by record of a block, the time in its key or value.

    The time is NO_CLOCK for removals and for null.
    """
    field = Int64Path(schema, expiry.path)
    is_key = expiry.part is RowPart.KEY

    def read(block: RecordBlock) -> Int64s:
        rows, offsets, lengths = puts_of(block)
        if is_key:
            offsets, lengths = block.key_offset, block.key_length
            if rows is not None:
                offsets, lengths = offsets[rows], lengths[rows]
        values, valid = field.read(block.buffer, offsets, lengths)
        if not valid.all():
            values[~valid] = NO_CLOCK
        if rows is None:
            return values
        clocks = np.full(block.count, NO_CLOCK)
        clocks[rows] = values
        return clocks

    return read


# names of a join's stores of rows, by the names of its stores of counters
_ROWS_OF = dict(zip(COUNT_STORES, VALUE_STORES, strict=True))


def range_filter(task: Task, store: StoreTask) -> RangeFilter | None:
    """Return a filter for the records of a task's key range; None for a task about all keys."""
    if task.key_range is None:
        return None
    row_store = _ROWS_OF.get(store.store_name, store.store_name)
    rows = next((item for item in task.stores if item.store_name == row_store), None)
    is_shared = store.session_fields or store.store_name in (*COUNT_STORES, *VALUE_STORES)
    key, _ = (None, None) if rows is None or not is_shared else schemas(rows)
    if key is None or not key.fields:
        return RangeFilter(task.key_range)
    # for each field but the last: True if its word is its value
    fixed = [field.data_type.slot_width is not None for field in key.fields[:-1]]
    masks = common_part(fixed, len(key.fields) - (store.store_name in COUNT_STORES))
    return RangeFilter(task.key_range, masks)
