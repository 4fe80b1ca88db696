"""``dropDuplicatesWithinWatermark`` (``StreamingDeduplicateWithinWatermarkExec``, Spark 3.5 on).

Key: the compared columns. Value: ``expiresAtMicros``, event time of the first occurrence plus the
delay. Each batch removes rows with ``expiresAtMicros <= watermark``.
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

NAMES = ("dedupeWithinWatermark",)  # names of the operator in Spark's metadata
SOURCE = "StreamingDeduplicateWithinWatermarkExec"  # Spark class that the rule is from
REWRITES = deduplicate.REWRITES  # advice on puts that change nothing
FIELD = "expiresAtMicros"  # the only field of a value: its expiry time in microseconds


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of the store: :data:`FIELD` by the watermark.

    It is unknown if the value has other fields.
    """
    _, value = shape.schemas[store]
    if [column.name for column in value.fields] != [FIELD]:
        return StoreRule(unknown=f"its value schema is not the one field {FIELD}")
    expiry = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), MICROS_PER_MS, True, FIELD)
    return StoreRule(expiry=expiry)
