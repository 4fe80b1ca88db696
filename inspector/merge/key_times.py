"""Joins whose watermark lies on the join key: both sides go by it, as far as the rows can show.

That the key carries the watermark is an explanation of why nothing is left, never the proof of a
leftover (:mod:`inspector.facts.join_times`).
"""

from __future__ import annotations

from collections.abc import Mapping

from inspector.facts.join_times import KeyTimeVotes, RemovedRows
from inspector.model import StoreName

Path = tuple[int, ...]


def times_with_watermark(
    votes: Mapping[StoreName, Mapping[Path, KeyTimeVotes]], removed: Mapping[StoreName, RemovedRows]
) -> dict[int, Path]:
    """Of each join the time in its key that carries the watermark, where all partitions agree.

    It is the event time of all rows of a side that have one; some of those went when it was due,
    none before or after, and no row of either side is there that should be gone. And it is the only
    such field: of two, Spark's choice is not known.
    """
    result: dict[int, set[Path]] = {}
    covered = {
        (store.operator_id, path)
        for store, by_path in votes.items()
        for path, vote in by_path.items()
        if vote.covered
    }
    for store, by_path in votes.items():
        went = removed.get(store, RemovedRows())
        if not went.on_time or went.off_time:
            continue
        for path, vote in by_path.items():
            if vote.same and not vote.other and (store.operator_id, path) not in covered:
                result.setdefault(store.operator_id, set()).add(path)
    return {operator: paths.pop() for operator, paths in result.items() if len(paths) == 1}


def covered_timed_rows(votes: Mapping[Path, KeyTimeVotes]) -> int:
    """Rows that a time in the key should have removed, which is the event time of all rows."""
    return max((vote.covered for vote in votes.values() if vote.same and not vote.other), default=0)
