"""``dropDuplicatesWithinWatermark`` (``StreamingDeduplicateWithinWatermarkExec``, Spark 3.5 on).

Key: the columns compared. Value: ``expiresAtMicros``, event time of the first occurrence plus the
delay. Removed when ``expiresAtMicros <= watermark``, each batch.
"""

from __future__ import annotations

from inspector.operators import deduplicate
from inspector.operators.rule import (
    MICROS_PER_MS,
    Clock,
    ExpiryField,
    OperatorShape,
    RowPart,
    StoreRule,
)

NAMES = ("dedupeWithinWatermark",)
SOURCE = "StreamingDeduplicateWithinWatermarkExec"
REWRITES = deduplicate.REWRITES
FIELD = "expiresAtMicros"


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """The expiry rule of a deduplication within the watermark."""
    _, value = shape.schemas[store]
    if [column.name for column in value.fields] != [FIELD]:
        return StoreRule(unknown=f"its value schema is not the one field {FIELD}")
    expiry = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), MICROS_PER_MS, True, FIELD)
    return StoreRule(expiry=expiry)
