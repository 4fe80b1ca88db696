"""Session windows: ``sessionWindowStateStoreSaveExec`` (Spark 3.2 and later).

Key: grouping columns and the session's start. Value: the whole row with ``session_window`` and the
buffers. Append removes the sessions whose end, which is in the *value*, is at or below the
watermark (``SessionWindowStateStoreSaveExec``). Complete never removes; Update is refused.
"""

from __future__ import annotations

from inspector.operators.aggregation import COMPLETE
from inspector.operators.rule import OperatorShape, RowPart, StoreRule, watermark_field

NAMES = ("sessionWindowStateStoreSaveExec",)  # names of the operator in Spark's metadata
# Spark classes that the rule is from
SOURCE = "SessionWindowStateStoreSaveExec, StreamingSessionWindowStateManager"
REWRITES = (
    "Spark writes the sessions of every key that has a row in the batch: filter rows out that "
    "cannot change them before the aggregation, or let a longer trigger interval bring them "
    "in fewer batches"
)
"""Advice on puts that change nothing: ``updateSessions`` puts all sessions of a key that has rows.
"""


def rule(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of a session window's store: the end by the watermark."""
    _, value = shape.schemas[store]
    expiry = watermark_field(value, RowPart.VALUE)
    if expiry is not None:
        advice = "use append mode: complete mode keeps every session for ever"
        return StoreRule(expiry=expiry, advice=advice, doubt=COMPLETE)
    return StoreRule(
        never="the session's time carries no watermark, so no session is ever removed",
        advice="add withWatermark on the event-time column",
    )
