"""Streaming aggregation: ``stateStoreSave``; in real-time mode ``StatefulStreamlineAggregate``.

Key: the grouping columns. Value: aggregation buffers (state format 2), or grouping columns and
buffers (format 1). Append and Update remove, after all puts, every key whose event-time column is
at or below the watermark (``StateStoreSaveExec``, ``WatermarkSupport.watermarkPredicateForKeys``);
Complete never removes; the output mode is not in the checkpoint.
"""

from __future__ import annotations

from inspector.operators.rule import OperatorShape, RowPart, StoreRule, watermark_field
from inspector.sparktypes import is_window

STREAMLINE = "StatefulStreamlineAggregate"  # name of the operator in real-time mode
# names of the operator in Spark's metadata
NAMES = ("stateStoreSave", STREAMLINE)
SOURCE = "StateStoreSaveExec, WatermarkSupport"  # Spark classes that the rule is from
UNNAMED = "_groupingexpression"
"""Name of a grouping column for an expression without a name (``PullOutGroupingExpressions``)."""
REWRITES = (
    "Spark writes every group that has a row in the batch, whether its result changes or not: "
    "filter rows out that cannot change it (repeats, values below a maximum) before the "
    "aggregation, or let a longer trigger interval bring them in fewer batches"
)
"""Advice on puts that change nothing: ``StateStoreSaveExec`` puts every group of the batch's rows.
"""

# Doubt about leftovers: the mode may be complete, which keeps every group.
COMPLETE = (
    "the output mode is not in the checkpoint, and complete mode keeps every group, "
    "as does a query that a restart took withWatermark from"
)


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of an aggregation's store: a key column by the watermark.

    Without such a column the rule says that rows are never removed. A global aggregation, which has
    one row, needs no rule (``needs_none``).
    """
    key, _ = shape.schemas[store]
    if not key.fields:
        return StoreRule(
            unknown="a global aggregation has one row, which stays for ever", needs_none=True
        )
    expiry = watermark_field(key, RowPart.KEY)
    if expiry is not None:
        advice = "use append or update mode: complete mode keeps every group for ever"
        return StoreRule(expiry=expiry, advice=advice, doubt=COMPLETE)
    windowed = any(is_window(field.data_type) for field in key.fields)
    return StoreRule(
        never="no grouping column carries a watermark, so no group is ever removed",
        advice="call withWatermark before the groupBy, on the very column that the window is of"
        if windowed
        else "group by a window or an event-time column with withWatermark, "
        "or make sure that the groups are few",
    )
