"""Who: the biggest, hottest and oldest live keys of a store, exact."""

from __future__ import annotations

import enum
import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from inspector.arrays import Int64s
from inspector.state.replay import StateMap


class TopBy(enum.Enum):
    """What keys are ranked by.

    Bytes are UnsafeRow bytes; puts are counted over the window that can be replayed; oldest ranks
    by the version of the last put, and whoever came with the base snapshot is oldest of all. The
    number of a join's counter is how many rows its join key has.
    """

    KEY_BYTES = "key_bytes"
    VALUE_BYTES = "value_bytes"
    ROW_BYTES = "row_bytes"
    PUTS = "puts"
    OLDEST = "oldest"
    NUMBER = "join_rows"


class Ranked(NamedTuple):
    """A key id and the amount that it ranks by: more comes first."""

    key_id: int
    amount: int


def top_keys(state: StateMap, by: TopBy, most: int) -> list[Ranked]:
    """The first ``most`` live keys by an amount; ties by key id, so that a run repeats itself."""
    ids = np.flatnonzero(state.live[: len(state)])
    amounts = _amounts(state, by, ids)
    if len(ids) > most:
        # The threshold first: a full sort of millions of keys is for nothing.
        least = np.partition(amounts, len(amounts) - most)[len(amounts) - most]
        ids, amounts = ids[amounts >= least], amounts[amounts >= least]
    order = np.lexsort((ids, -amounts))[:most]
    return [Ranked(int(ids[i]), int(amounts[i])) for i in order]


def merge_top(rows: Iterable[Mapping[str, Any]], most: int) -> Iterator[Mapping[str, Any]]:
    """The first ``most`` of the tops of several partitions; rows have ``amount`` and ``key``."""
    return iter(heapq.nsmallest(most, rows, key=lambda row: (-row["amount"], row["key"])))


def _amounts(state: StateMap, by: TopBy, ids: Int64s) -> Int64s:
    if by is TopBy.PUTS:
        return state.puts[ids].astype(np.int64)
    if by is TopBy.NUMBER:
        return np.maximum(state.clock[ids], 0)
    if by is TopBy.OLDEST:
        return -state.put_step[ids].astype(np.int64)
    keys = state.key_size[ids].astype(np.int64)
    values = state.value_size[ids].astype(np.int64)
    return {
        TopBy.KEY_BYTES: keys,
        TopBy.VALUE_BYTES: values,
        TopBy.ROW_BYTES: keys + values,
    }[by]
