"""What each stateful operator may emit in a batch in which it gets no rows itself.

A group-state function below an operator that emits by the clock is called for data in batches
without new data of the sources. Read in Spark's source, versions 2.4 to 4.3.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from inspector.operators import (
    aggregation,
    deduplicate,
    deduplicate_within_watermark,
    global_limit,
    group_state,
    join,
    session_window,
)


class Emission(enum.Enum):
    """When an operator emits rows that no row of this batch made."""

    NEVER = "only what comes in"
    BY_WATERMARK = "when the watermark evicts rows"
    BY_TIMEOUT = "when timeouts fire"


EMISSIONS: Mapping[str, Emission] = {
    # StateStoreSaveExec: Append emits what the watermark evicts; Complete emits all, each batch.
    **dict.fromkeys(aggregation.NAMES, Emission.BY_WATERMARK),
    # SessionWindowStateStoreSaveExec: Append emits the sessions that the watermark evicts.
    **dict.fromkeys(session_window.NAMES, Emission.BY_WATERMARK),
    # StreamingSymmetricHashJoinExec: an outer join emits the rows without a partner when they are
    # evicted (onOutputCompletion); that a join is an inner one is not in the checkpoint.
    **dict.fromkeys(join.NAMES, Emission.BY_WATERMARK),
    # FlatMapGroupsWithStateExec: a timed-out call may return rows (processTimedOutState).
    **dict.fromkeys(group_state.NAMES, Emission.BY_TIMEOUT),
    # BaseStreamingDeduplicateExec.doExecute: an input row that is new, or nothing.
    **dict.fromkeys(deduplicate.NAMES, Emission.NEVER),
    **dict.fromkeys(deduplicate_within_watermark.NAMES, Emission.NEVER),
    # StreamingGlobalLimitExec: the first of the input rows.
    **dict.fromkeys(global_limit.NAMES, Emission.NEVER),
}


def fed_by_sources(upstream: Iterable[str]) -> bool:
    """Whether only new data of the sources can reach an operator.

    Args:
        upstream: names of the operators above it; one that is not known may emit at any time.
    """
    return all(EMISSIONS.get(name) is Emission.NEVER for name in upstream)
