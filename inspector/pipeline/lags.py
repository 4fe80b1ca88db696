"""How far the watermark of operators below a join lags behind that of the query.

A join hands on the least of its input watermark and the state watermarks of its sides
(``WatermarkPropagator``, Spark 3.5 and later): the query's watermark less the longest retention.
"""

from __future__ import annotations

from inspector.operators.join import NAMES as JOIN
from inspector.pipeline.collect import Facts
from inspector.pipeline.discovery import Checkpoint

UNKNOWN_MS = 10**15
"""Longer than any retention: nothing can be said of rows below a join that was not read."""


def longest_retention_ms(checkpoint: Checkpoint, facts: Facts) -> int:
    """The furthest that any row of any join lay behind its batch's watermark, at any version."""
    if not any(operator.name in JOIN for operator in checkpoint.operators):
        return UNKNOWN_MS
    behind = [0]
    for versions in facts.retention.values():
        for version, oldest in versions.items():
            clock = checkpoint.clock(version)
            if clock is not None and clock.watermark_ms:
                behind.append(clock.watermark_ms - oldest + 1)
    return max(behind)
