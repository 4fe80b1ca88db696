"""``dropDuplicates`` (``StreamingDeduplicateExec``). Key: the columns compared. Value: a dummy.

A key goes when its event-time column is at or below the watermark, *if* there is one; else never.
"""

from __future__ import annotations

from inspector.operators.rule import OperatorShape, RowPart, StoreRule, watermark_field

NAMES = ("dedupe",)
SOURCE = "StreamingDeduplicateExec"
REWRITES = (
    "this operator writes a key once and never again, so look for what else writes to this "
    "checkpoint; inspector verify checks its files"
)
"""``StreamingDeduplicateExec`` puts a key once, when it is new."""


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """The expiry rule of a deduplication's store."""
    key, _ = shape.schemas[store]
    expiry = watermark_field(key, RowPart.KEY)
    if expiry is not None:
        return StoreRule(expiry=expiry)
    return StoreRule(
        never="none of the columns of dropDuplicates carries a watermark, so no key is ever "
        "removed",
        advice="use dropDuplicatesWithinWatermark (Spark 3.5), "
        "or put the event time among the columns of dropDuplicates. The changed query needs a new "
        "checkpoint. For the unchanged query a copy can leave out keys that you name "
        "(inspector explain leaked-keys)",
    )
