"""The grouping keys of rows in several stores of one operator, as ids that are the same in all.

The stores of a transformWithState hold the grouping key in different places: a value has it as its
key, an entry of a list with an index behind it, an entry of a map and a timer as the first field of
their key. Its bytes are the same in all of them: a struct within an UnsafeRow is an UnsafeRow.
"""

from __future__ import annotations

import enum
from itertools import pairwise

import numpy as np

from inspector.arrays import Int64s
from inspector.facts.joins import least_size, without_index
from inspector.kernel.loader import kernel
from inspector.sparktypes import StructType
from inspector.state.replay import StateMap

NOBODY = -1
"""In place of an id: the row is not of its schema."""

_WORD = 8
_AT_ONCE = 1 << 16


class KeyPlace(enum.Enum):
    """Where a row's key has the grouping key: all of it, all but the last field, the first field.

    The names are those of tasks.
    """

    WHOLE = "whole"
    INDEXED = "indexed"
    FIRST = "first"


class GroupingKeys:
    """Numbers grouping keys, in the order in which they are met."""

    def __init__(self) -> None:
        self._interner = kernel().Interner()

    def __len__(self) -> int:
        """Distinct keys so far."""
        return len(self._interner)

    def owners(self, state: StateMap, place: KeyPlace, schema: StructType) -> Int64s:
        """Of every row that the map knows, live or not, the id of its grouping key.

        Args:
            state: of one store.
            place: where its keys have it.
            schema: of its keys.
        """
        found = np.full(len(state), NOBODY, np.int64)
        every = np.arange(len(state), dtype=np.int64)
        if place is KeyPlace.INDEXED:
            sizes = state.key_size[every]
            every = every[np.argsort(sizes, kind="stable")]
            cuts = np.flatnonzero(np.diff(state.key_size[every])) + 1
            groups = np.split(every, cuts)
        else:
            groups = [every]
        for group in groups:
            for start in range(0, len(group), _AT_ONCE):
                some = group[start : start + _AT_ONCE]
                found[some] = self._numbers(state, some, place, schema)
        return found

    def keys(self, ids: Int64s) -> list[bytes]:
        """The UnsafeRows of some ids."""
        ends = np.zeros(len(ids) + 1, np.int64)
        data = self._interner.gather(np.ascontiguousarray(ids, np.int64), ends)
        return [data[a:b] for a, b in pairwise(ends.tolist())]

    def _numbers(
        self, state: StateMap, some: Int64s, place: KeyPlace, schema: StructType
    ) -> Int64s:
        data, ends = state.joined_keys(some)
        starts, lengths = ends[:-1], np.diff(ends)
        if place is KeyPlace.INDEXED:
            numbers = np.empty(len(some), np.int64)
            for size in np.unique(lengths).tolist():
                mine = np.flatnonzero(lengths == size)
                part = data if len(mine) == len(some) else state.joined_keys(some[mine])[0]
                numbers[mine] = self._indexed(part, size, len(mine), schema)
            return numbers
        if place is KeyPlace.FIRST:
            return self._first(data, starts, lengths, schema)
        return self._intern(data, starts, lengths)

    def _intern(self, data: bytes, starts: Int64s, lengths: Int64s) -> Int64s:
        numbers = np.empty(len(starts), np.int64)
        self._interner.intern(
            data, np.ascontiguousarray(starts), np.ascontiguousarray(lengths), numbers
        )
        return numbers

    def _indexed(self, data: bytes, size: int, count: int, schema: StructType) -> Int64s:
        """Of rows of one size each, all but their last field."""
        if not schema.fields or size % _WORD or size < least_size(schema):
            return np.full(count, NOBODY, np.int64)
        words = np.frombuffer(data, "<i8").reshape(count, size // _WORD)
        keys, _ = without_index(words, schema)
        length = keys.shape[1] * _WORD
        starts = np.arange(count, dtype=np.int64) * length
        return self._intern(keys.tobytes(), starts, np.full(count, length, np.int64))

    def _first(self, data: bytes, starts: Int64s, lengths: Int64s, schema: StructType) -> Int64s:
        """The struct in the first field of each row."""
        numbers = np.full(len(starts), NOBODY, np.int64)
        least = least_size(schema)
        whole = (lengths >= least) & (lengths % _WORD == 0)
        if not schema.fields or not whole.any():
            return numbers
        if not whole.all():
            numbers[whole] = self._first(
                b"".join(
                    data[a : a + n]
                    for a, n in zip(starts[whole].tolist(), lengths[whole].tolist(), strict=True)
                ),
                np.cumsum(lengths[whole]) - lengths[whole],
                lengths[whole],
                schema,
            )
            return numbers
        words = np.frombuffer(data, "<i8")
        bits = (len(schema.fields) + 63) // 64
        slot = words[starts // _WORD + bits]
        offset, size = slot >> 32, slot & 0xFFFFFFFF
        good = (words[starts // _WORD] & 1 == 0) & (offset >= least) & (size % _WORD == 0)
        good &= (size > 0) & (offset % _WORD == 0) & (size <= lengths - offset)
        numbers[good] = self._intern(data, (starts + offset)[good], size[good])
        return numbers
