"""What can be done about updates that write the value that is there already, by operator.

Spark's own operators decide themselves what they put; only the function of a group state is its
user's. Read in Spark's source, versions 2.4 to 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.operators import (
    aggregation,
    deduplicate,
    deduplicate_within_watermark,
    global_limit,
    group_state,
    join,
    session_window,
    transform_with_state,
)

_ADVICE: Mapping[str, str] = {
    # StateStoreSaveExec puts every group that a row of the batch belongs to.
    **dict.fromkeys(
        aggregation.NAMES,
        "Spark writes every group that has a row in the batch, whether its result changes or not: "
        "filter rows out that cannot change it (repeats, values below a maximum) before the "
        "aggregation, or let a longer trigger interval bring them in fewer batches",
    ),
    # StreamingSessionWindowStateManager.updateSessions puts all sessions of a key that has rows.
    **dict.fromkeys(
        session_window.NAMES,
        "Spark writes the sessions of every key that has a row in the batch: filter rows out that "
        "cannot change them before the aggregation, or let a longer trigger interval bring them "
        "in fewer batches",
    ),
    # StreamingDeduplicateExec puts a key once, when it is new: it never updates one.
    **dict.fromkeys(
        (*deduplicate.NAMES, *deduplicate_within_watermark.NAMES),
        "this operator writes a key once and never again, so look for what else writes to this "
        "checkpoint; inspector verify checks its files",
    ),
    # FlatMapGroupsWithStateExec.InputProcessor.onIteratorCompletion puts after update().
    **dict.fromkeys(
        group_state.NAMES,
        "call state.update() only when the value has changed",
    ),
    # ValueStateImpl.update puts whatever it is given; with TTL the new expiry is a change.
    **dict.fromkeys(
        transform_with_state.NAMES,
        "call update, put or updateValue only when the value has changed",
    ),
    # SymmetricHashJoinStateManager writes the counter of a join key with every row of it.
    **dict.fromkeys(
        join.NAMES,
        "Spark writes the counter of a join key and the rows that it moves whenever rows of that "
        "key come or go: a longer trigger interval, or a narrower time range in the condition, "
        "makes them fewer",
    ),
    # StreamingGlobalLimitExec puts how many rows it let through.
    **dict.fromkeys(
        global_limit.NAMES,
        "a limit has one row, which costs nothing; nothing has to be done",
    ),
}

UNKNOWN = "see what inspector sharing says of each version, and which keys inspector top lists"


def rewrite_advice(operator_name: str) -> str:
    """What the user of an operator can do."""
    return _ADVICE.get(operator_name, UNKNOWN)
