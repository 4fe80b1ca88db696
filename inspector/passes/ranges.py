"""Which records are of the range of keys that a task is about.

The stores of a join are split by the join key, so that a counter is in the range of its rows, and
those of session windows by the grouping columns, which have a second map in Spark.
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.arrays import Int64s
from inspector.discovery.tasks import StoreTask, Task
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.sparktypes import StructType, parse_schema_json
from inspector.state.key_range import RangeFilter, shared_part

_ROWS_OF: Mapping[str, str] = dict(zip(COUNT_STORES, VALUE_STORES, strict=True))


def range_filter(task: Task, store: StoreTask) -> RangeFilter | None:
    """What finds the records of a task's range in a store; None for a task about all keys."""
    if task.key_range is None:
        return None
    masks = _masks(task, store)
    return RangeFilter(task.key_range) if masks is None else RangeFilter(task.key_range, masks)


def _masks(task: Task, store: StoreTask) -> Int64s | None:
    of_rows = _ROWS_OF.get(store.store_name, store.store_name)
    rows = next((one for one in task.stores if one.store_name == of_rows), None)
    is_shared = store.session_fields or store.store_name in (*COUNT_STORES, *VALUE_STORES)
    if rows is None or rows.key_schema is None or not is_shared:
        return None
    schema = parse_schema_json(rows.key_schema)
    own = len(schema.fields) - (store.store_name in COUNT_STORES)
    return shared_part(_fixed(schema), own) if schema.fields else None


def _fixed(schema: StructType) -> list[bool]:
    """Of each field but the last, whether its word is its value."""
    return [field.data_type.fixed_width is not None for field in schema.fields[:-1]]
