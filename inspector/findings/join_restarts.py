"""Null rows of a join that stop a restart: rows that a counter counts and that are not there.

Spark reads the rows of a key by the key's counter, and fails at a row that is not there (NULL_VALUE
in 4.3, a NullPointerException before), unless ``skipNullsForStreamStreamJoins`` is set. A side that
evicts rows by their values reads all of its rows in every batch (``evictByValueCondition``, a join
with a time range). A side that evicts by its keys reads those of the keys that expire, and any side
those of the keys for which rows arrive (``getJoinedRows``). Restarted on 4.3.0: with a time range
the next batch failed, without one the next batch that had data for the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.restart import Obstacle, Restart
from inspector.discovery.restart_conditions import JOIN_NULLS, SKIP_NULLS
from inspector.discovery.restart_reasons import Doubt
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.join_side import JoinSides
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.quantities import count_text

# Spark's error class when a join reads a row that its counter counts and that is not stored
NULL_VALUE = "STREAM_STREAM_JOIN_INCONSISTENT_STATE"


def with_null_rows(restart: Restart, checkpoint: Checkpoint, version: int, facts: Facts) -> Restart:
    """Return a copy of ``restart`` with the obstacles and doubts from null rows of joins.

    A null row is a row that a counter of the join counts and that is not stored. It is an obstacle
    if the first batch surely reads it and so fails; otherwise it is a doubt. ``facts`` are those
    that were collected from the state at ``version``.
    """
    obstacles, doubts = [*restart.obstacles], [*restart.doubts]
    for operator in CheckpointView(checkpoint, version, facts).operators:
        for reason in _null_rows(JoinSides(operator)):
            if isinstance(reason, Obstacle):
                obstacles.append(reason)
            else:
                doubts.append(reason)
    return replace(restart, obstacles=tuple(obstacles), doubts=tuple(doubts))


def _null_rows(join: JoinSides) -> Iterator[Obstacle | Doubt]:
    """Yield an obstacle or a doubt for each side of a join that has null rows.

    It is an obstacle if every batch reads all rows of the side, so that the first batch fails.
    Otherwise it is a doubt.
    """
    for side in join.sides:
        if side.check is None or not side.check.missing_rows:
            continue
        store, operator_id = side.store.store_name, side.store.operator_id
        rows = count_text(side.check.missing_rows, "null row")
        if join.reads_all_rows(side):
            yield Obstacle(
                f"{rows} of {store}, unless {SKIP_NULLS} is true",
                NULL_VALUE,
                verb="fails in its first batch at",
                about=JOIN_NULLS,
                operator_id=operator_id,
            )
        else:
            reason = (
                f"{store} of operator {operator_id} has {rows}: with a time range in the "
                f"join condition the first batch fails ({NULL_VALUE}), without one the first that "
                f"has data for the key, or expires it, unless {SKIP_NULLS} is true"
            )
            yield Doubt(reason, JOIN_NULLS, operator_id=operator_id)
