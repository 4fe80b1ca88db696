"""The biggest, most often put and oldest live keys of a store, exact."""

from __future__ import annotations

import enum
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from inspector.arrays import Int64s
from inspector.facts.fact import Fact, Observed, fact
from inspector.light_dataclasses import dataclass, replace
from inspector.state.replay import BEFORE_WINDOW, StateMap

_SHORT = 1024  # most bytes of a key that is sampled for comparison; longer keys are not spelled out
# stands for the step of the last put of a key of more than ``_SHORT`` bytes; below all steps
_LONG = BEFORE_WINDOW - 1


class TopBy(enum.Enum):
    """Ranking of keys. Oldest: by the last put, with keys of the base snapshot first."""

    KEY_BYTES = "key_bytes"  # bytes of the key
    VALUE_BYTES = "value_bytes"  # bytes of the value
    ROW_BYTES = "row_bytes"  # bytes of key and value
    PUTS = "puts"  # puts in the window
    OLDEST = "oldest"  # age of the last put
    NUMBER = "join_rows"  # number in the value, such as a join's counter of rows


@fact("top")
@dataclass(frozen=True)
class TopKey(Fact):
    """A live key that ranks high in its partition. Never added up; see :func:`merge_top`."""

    by: TopBy  # the ranking
    amount: int  # the amount by which it ranks; the highest comes first
    key: bytes  # its UnsafeRow
    key_bytes: int  # bytes of the key
    value_bytes: int  # bytes of the value
    puts: int  # puts of the key in the window
    # version of the last put; None if that was before the window
    last_put_version: int | None = None
    # number that orders the keys of a partition if a task has a range of them; else 0
    appeared: int = 0


@fact("sampled_key")
@dataclass(frozen=True)
class SampledKey(Fact):
    """One of the keys of a partition that were put last. Never added up."""

    key: bytes  # its UnsafeRow
    order: int  # rank: later puts have higher numbers
    version: int | None  # version of its last put; None if that was before the window


def newest_keys(state: StateMap, max_keys: int) -> Iterator[SampledKey]:
    """Yield the live keys of at most _SHORT bytes that were put last, ``max_keys`` at most."""

    def steps(keys: slice) -> Int64s:
        """Return the step of each key's last put; _LONG for keys that are too long."""
        steps = state.put_step[keys].astype(np.int64)
        steps[state.key_size[keys] > _SHORT] = _LONG
        return steps

    ids, put = _first(state, max_keys, steps)
    ids, put = ids[put != _LONG], put[put != _LONG]
    orders = (put << 40) - state.appearance(ids)
    versions = [None if step < 0 else state.versions[step] for step in put.tolist()]
    yield from map(SampledKey, state.keys(ids), orders.tolist(), versions)


def top_keys(state: StateMap, ranking: TopBy, most: int) -> Iterator[TopKey]:
    """Yield the first ``most`` live keys by a ranking; ties are ordered by key id."""
    ids, amounts = _first(state, most, partial(_AMOUNTS[ranking], state))
    ranged = state.tracking.keys is not None
    appeared = state.appearance(ids) if ranged else np.zeros(len(ids), np.int64)
    columns = ids.tolist(), amounts.tolist(), state.keys(ids), appeared.tolist()
    for key_id, amount, key, number in zip(*columns, strict=True):
        put = int(state.put_step[key_id])
        yield TopKey(
            *(ranking, amount, key, int(state.key_size[key_id]), int(state.value_size[key_id])),
            *(int(state.puts[key_id]), None if put < 0 else state.versions[put], number),
        )


def _first(
    state: StateMap, max_keys: int, amounts_of: Callable[[slice], Int64s]
) -> tuple[Int64s, Int64s]:
    """Return the ids and amounts of the first ``max_keys`` live keys, highest amount first.

    ``amounts_of`` gives the amounts of a portion of the map. Ties are ordered by id.
    """
    # Portion by portion: columns of all keys would be the most memory of a task.
    ids = amounts = np.empty(0, np.int64)
    for portion in state.portions():
        theirs, live = amounts_of(portion), state.live[portion]
        (larger,) = (live & (theirs > amounts[-1]) if len(ids) == max_keys else live).nonzero()
        if len(larger):
            ids = np.concatenate([ids, larger + portion.start])
            amounts = np.concatenate([amounts, theirs[larger]])
            order = np.argsort(-amounts, kind="stable")[:max_keys]
            ids, amounts = ids[order], amounts[order]
    return ids, amounts


def first_keys(keys: Iterable[TopKey], max_keys: int) -> list[TopKey]:
    """Return the first ``max_keys`` keys of a partition from the top keys of its ranges.

    All keys are of one ranking; ties are ordered by first appearance.
    """
    first = heapq.nsmallest(max_keys, keys, key=lambda key: (-key.amount, key.appeared))
    return [replace(key, appeared=0) for key in first]


def merge_top(ranked_keys: Iterable[Observed[TopKey]], max_keys: int) -> list[Observed[TopKey]]:
    """Return the first ``max_keys`` keys of the top keys of several partitions, by one ranking."""
    return heapq.nsmallest(
        max_keys,
        ranked_keys,
        key=lambda observation: (-observation.fact.amount, observation.fact.key),
    )


# Functions that give the amounts of the keys of a portion of a map, by ranking.
_AMOUNTS: Mapping[TopBy, Callable[[StateMap, slice], Int64s]] = {
    TopBy.KEY_BYTES: lambda state, keys: state.key_size[keys].astype(np.int64),
    TopBy.VALUE_BYTES: lambda state, keys: state.value_size[keys].astype(np.int64),
    TopBy.ROW_BYTES: StateMap.row_size,
    TopBy.PUTS: lambda state, keys: state.puts[keys].astype(np.int64),
    TopBy.OLDEST: lambda state, keys: -state.put_step[keys].astype(np.int64),
    TopBy.NUMBER: lambda state, keys: np.maximum(state.clock[keys], 0),
}
