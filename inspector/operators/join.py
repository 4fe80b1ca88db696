"""Stream-stream joins: ``symmetricHashJoin``, four stores, or four column families of one store.

``<side>-keyToNumValues`` counts the rows of a join key. ``<side>-keyWithIndexToValue`` has the
rows, each under the key and an index from 0 to count - 1. In state format 4
``<side>-keyWithTsToValues`` has them under the key and their event time. ``<side>-tsWithKey`` has
an entry for each, by which rows are evicted; the times are the same as before.

A side is cleaned by a watermark on the join key, on both sides alike. Otherwise it is cleaned by a
watermark on its own value, with the bound that the join condition gives to a column of the other
side that also has a watermark; else never
(``StreamingSymmetricHashJoinHelper.getStateWatermarkPredicates``,
``StreamingJoinHelper.getStateWatermarkFromLessThenPredicate``).

* Join keys lose their metadata in the schema. A key carries the watermark if the event time of
  every row of a side equals one field of its join key, and rows were removed when the watermark
  reached it. Then no row of either side outlives a batch whose watermark is not below that field:
  late rows are not stored, or are removed in the same batch (``StreamingSymmetricHashJoinExec``).
  So a row that does outlive it is no leftover: it shows that the key carries no watermark, even if
  its field is a copy of the event time.
* Otherwise the condition would have to be known, which is not in the checkpoint. A row below the
  watermark is no evidence. Only the distance of the oldest rows to the watermark can be seen,
  version by version.
"""

from __future__ import annotations

from inspector import model
from inspector.operators.rule import (
    MICROS_PER_MS,
    Clock,
    ExpiryField,
    OperatorShape,
    RowPart,
    StoreRule,
    event_time_field,
    watermark_field,
)
from inspector.sparktypes import AtomicType, StructType, is_window

NAMES = ("symmetricHashJoin",)  # names of the operator in Spark's metadata
# Spark classes that the rule is from
SOURCE = "StreamingSymmetricHashJoinHelper, SymmetricHashJoinStateManager"
REWRITES = (
    "Spark writes the counter of a join key and the rows that it moves whenever rows of that "
    "key come or go: a longer trigger interval, or a narrower time range in the condition, "
    "makes them fewer"
)
"""Advice on puts that change nothing: the counter of a join key is written with every row of it."""

# stores of rows: those of state formats 1 to 3 and then of format 4, left before right
VALUE_STORES = (*model.JOIN_ROW_STORES, *model.JOIN_TIMED_ROW_STORES)
COUNT_STORES = (*model.JOIN_COUNT_STORES, *model.JOIN_INDEX_STORES)
"""Store of counters, or index by time, for each of VALUE_STORES. A join has the stores of one
format.
"""
STORE_SIDES = (*model.JOIN_SIDES, *model.JOIN_SIDES)  # side of each of VALUE_STORES
COUNT = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), 1, True, "value")
"""Field of a counter's value with the number."""

# advice for a join whose rows are never removed
_ADVICE = (
    "bound the event times of both sides, each with withWatermark, by a time range in the join "
    "condition, such as rightTime BETWEEN leftTime AND leftTime + INTERVAL 1 HOUR: a watermark "
    "on a column that the condition does not use removes no row"
)


def match_flag_ordinal(value: StructType) -> int | None:
    """Return the ordinal of the flag in a value that says if the row has found a partner.

    It is the last field from state format 2 on; None if there is none.
    """
    last = len(value.fields) - 1
    if last < 0 or value.fields[last].name != "matched":
        return None
    kind = value.fields[last].data_type
    return last if isinstance(kind, AtomicType) and kind.kind == "boolean" else None


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of one of a join's stores.

    It is never known from the checkpoint when rows are removed, only if none ever is.
    """
    if store in COUNT_STORES:
        reason = (
            "an entry of the index by time goes with its row"
            if store in model.JOIN_INDEX_STORES
            else "a counter goes with the last row of its join key"
        )
        return StoreRule(unknown=reason, needs_none=True)
    timed = not set(model.JOIN_TIMED_ROW_STORES).isdisjoint(shape.schemas)
    row_stores = model.JOIN_TIMED_ROW_STORES if timed else model.JOIN_ROW_STORES
    sides = {name: shape.schemas.get(name) for name in row_stores}  # left before right
    # Without a schema there is no proof that the watermark is absent.
    if not any(
        schemas is None or any(map(event_time_field, schemas)) for schemas in sides.values()
    ):
        return StoreRule(
            # Columns that nothing above the join uses are pruned from its state, event times too.
            never="no column of either side that is in the state carries a watermark, so no row "
            "is ever removed",
            advice=_ADVICE,
        )
    key, value = shape.schemas[store]
    event_time = watermark_field(value, RowPart.VALUE)
    bare = [
        name
        for name, schemas in sides.items()
        if schemas is not None and not event_time_field(schemas[1])
    ]
    if bare and not time_fields(key):
        # A range bounds the rows of one side by the watermark of a column of the other one.
        return StoreRule(
            never=f"no column of the {bare[0].partition('-')[0]} side that is in the state carries "
            "a watermark and the join key holds no time, so no row of either side is ever removed",
            advice=_ADVICE,
        )
    return StoreRule(
        unknown="the time range of the join condition is not in the checkpoint "
        "(--join-retention gives it)",
        advice=_ADVICE,
        event_time=event_time,
        key_times=tuple(key_times(key)),
    )


def columns_beside(store: str) -> int:
    """Return the number of columns in a store's keys in addition to the join key: index, time."""
    if store in (*model.JOIN_TIMED_ROW_STORES, *model.JOIN_INDEX_STORES):
        return 2
    return int(store in model.JOIN_ROW_STORES)


def time_fields(key: StructType) -> list[tuple[int, ...]]:
    """Return the paths of join-key fields that may be event times: timestamps, window ends."""
    result: list[tuple[int, ...]] = []
    for ordinal, column in enumerate(key.fields):
        kind = getattr(column.data_type, "kind", None)
        if isinstance(column.data_type, AtomicType) and kind in ("timestamp", "timestamp_ntz"):
            result.append((ordinal,))
        elif is_window(column.data_type):
            result.append((ordinal, 1))
    return result


def key_times(key: StructType) -> list[ExpiryField]:
    """Return a rule for each time in the join key, by which both sides would be cleaned."""
    result: list[ExpiryField] = []
    for path in time_fields(key):
        name = key.fields[path[0]].name
        called = f"{name}.end" if len(path) > 1 else name
        result.append(ExpiryField(Clock.WATERMARK, RowPart.KEY, path, MICROS_PER_MS, True, called))
    return result
