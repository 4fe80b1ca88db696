"""``dropDuplicates`` (``StreamingDeduplicateExec``). Key: the compared columns. Value: a dummy.

A key is removed when the watermark reaches its event-time column, *if* there is one; else never.
"""

from __future__ import annotations

from inspector.operators.rule import OperatorShape, RowPart, StoreRule, watermark_field

NAMES = ("dedupe",)  # names of the operator in Spark's metadata
SOURCE = "StreamingDeduplicateExec"  # Spark class that the rule is from
REWRITES = (
    "this operator writes a key once and never again, so look for what else writes to this "
    "checkpoint; inspector verify checks its files"
)
"""Advice on puts that change nothing: ``StreamingDeduplicateExec`` puts a key only when it is new.
"""


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of a deduplication's store: a key column by the watermark, if any."""
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
