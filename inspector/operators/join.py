"""Stream-stream joins: ``symmetricHashJoin``, four stores on this provider.

``<side>-keyToNumValues`` counts the rows of a join key; ``<side>-keyWithIndexToValue`` holds them.
A side is cleaned by a watermark on the join key, or by one on its value with the bound that the
join condition gives (``StreamingSymmetricHashJoinHelper.getStateWatermarkPredicates``). Join keys
lose their metadata in the schema, and the condition is not in the checkpoint; so a row below the
watermark is no evidence.
"""

from __future__ import annotations

from inspector.operators.rule import OperatorShape, StoreRule, event_time_field

NAMES = ("symmetricHashJoin",)
SOURCE = "StreamingSymmetricHashJoinHelper, SymmetricHashJoinStateManager"
VALUE_STORES = ("left-keyWithIndexToValue", "right-keyWithIndexToValue")
COUNT_STORES = ("left-keyToNumValues", "right-keyToNumValues")


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """The expiry rule of one of a join's stores."""
    if store in COUNT_STORES:
        reason = "a counter goes with the last row of its join key"
        return StoreRule(unknown=reason, source=SOURCE)
    if not any(_has_watermark(shape, name) for name in VALUE_STORES):
        return StoreRule(
            never="neither side carries a watermark, so no row is ever removed",
            advice="add withWatermark on both sides and a time range to the join condition",
            source=SOURCE,
        )
    return StoreRule(
        unknown="the time range of the join condition is not in the checkpoint", source=SOURCE
    )


def _has_watermark(shape: OperatorShape, store: str) -> bool:
    schemas = shape.schemas.get(store)
    # Without a schema there is no proof that the watermark is absent.
    return schemas is None or any(event_time_field(schema) for schema in schemas)
