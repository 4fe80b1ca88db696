"""The clock of this machine, in the unit of Spark's logs and of file times."""

from __future__ import annotations

import time


def epoch_ms() -> int:
    """Return the present time of this machine in epoch ms."""
    return time.time_ns() // 1_000_000
