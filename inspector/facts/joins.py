"""A join's counters held against its rows: for each join key, the indices 0 to count - 1.

``SymmetricHashJoinStateManager`` keeps both in step. Rows that no counter knows are never joined
and never removed; a counter without rows keeps its key for ever.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from inspector.arrays import Int64s
from inspector.facts.fact import StoreSum, fact
from inspector.kernel.loader import kernel
from inspector.sparktypes import StructType
from inspector.state.replay import StateMap

if TYPE_CHECKING:
    from inspector.kernel.loader import Interner

_WORD = 8
_ROWS_AT_ONCE = 1 << 16
_NO_OWNER = np.iinfo(np.int64).max
"""In place of the id of a join key: none has it."""


@fact("join_check")
@dataclass(frozen=True)
class JoinCheck(StoreSum):
    """What is wrong between the two stores of one side of a join. Adds; the zero is empty.

    Attributes:
        missing_rows: indices below a counter that no row has.
        counters_without_rows: counters above zero of keys without any row.
        dangling_rows: rows at or above their key's counter, or of keys without one.
        rows: live rows.
    """

    missing_rows: int = 0
    counters_without_rows: int = 0
    dangling_rows: int = 0
    rows: int = 0


@fact("matched")
@dataclass(frozen=True)
class MatchedRows(StoreSum):
    """Live rows of a join's side by whether they have found a partner. Adds; the zero is empty.

    The rows have the flag in state format 2 (``SymmetricHashJoinStateManager``, Spark 3.0 and
    later).

    Attributes:
        matched, unmatched: rows that have, and that have not.
    """

    matched: int = 0
    unmatched: int = 0


def compare_side(counters: StateMap, rows: StateMap, row_key: StructType) -> JoinCheck:
    """Hold one side's counters against its rows, at the version that was replayed last.

    Args:
        counters: ``keyToNumValues``; its clock is the number.
        rows: ``keyWithIndexToValue``.
        row_key: key schema of the rows: the join key's fields and the index.
    """
    keys = kernel().Interner()
    ids = np.flatnonzero(counters.live[: len(counters)])
    _intern(keys, counters, ids)
    counts = np.maximum(counters.clock[ids], 0)
    have = np.zeros(len(ids), np.int64)
    dangling = total = 0
    all_ids = np.flatnonzero(rows.live[: len(rows)])
    for owners, indices in _join_keys(keys, rows, all_ids, row_key):
        is_known = owners < len(ids)
        good = is_known.copy()
        good[is_known] = (indices[is_known] >= 0) & (indices[is_known] < counts[owners[is_known]])
        np.add.at(have, owners[good], 1)
        dangling += int((~good).sum())
        total += len(owners)
    return JoinCheck(
        missing_rows=int((counts - have).sum()),
        counters_without_rows=int(((counts > 0) & (have == 0)).sum()),
        dangling_rows=dangling,
        rows=total,
    )


def compare_index(index: StateMap, rows: StateMap) -> JoinCheck:
    """Hold the index of a side in state format 4 against its rows: each has an entry of its key.

    Args:
        index: ``tsWithKey``, with the place of each value.
        rows: ``keyWithTsToValues``, likewise.
    """
    keys = kernel().Interner()
    entries = np.flatnonzero(index.live[: len(index)])
    _intern(keys, index, entries)
    all_ids = np.flatnonzero(rows.live[: len(rows)])
    result = 0
    for start in range(0, len(all_ids), _ROWS_AT_ONCE):
        before = len(keys)
        chunk = all_ids[start : start + _ROWS_AT_ONCE]
        _intern(keys, rows, chunk)
        result += len(chunk) - (len(keys) - before)
    return JoinCheck(
        missing_rows=len(entries) - result, dangling_rows=len(all_ids) - result, rows=len(all_ids)
    )


def _intern(keys: Interner, state: StateMap, ids: Int64s) -> None:
    for start in range(0, len(ids), _ROWS_AT_ONCE):
        chunk = ids[start : start + _ROWS_AT_ONCE]
        data, ends = state.joined_keys(chunk)
        keys.intern(data, ends[:-1], np.diff(ends), np.empty(len(chunk), np.int64))


def _join_keys(
    keys: Interner, rows: StateMap, ids: Int64s, schema: StructType
) -> Iterator[tuple[Int64s, Int64s]]:
    """Of some rows each: the id of the join key, and the index."""
    order = ids[np.argsort(rows.key_size[ids], kind="stable")]
    sizes = rows.key_size[order]
    cuts = np.flatnonzero(np.diff(sizes)) + 1
    for of_size in np.split(order, cuts):
        for start in range(0, len(of_size), _ROWS_AT_ONCE):
            chunk = of_size[start : start + _ROWS_AT_ONCE]
            size = int(rows.key_size[chunk[0]])
            if not schema.fields or size % _WORD or size < least_size(schema):
                # No row of this schema: it belongs to no join key.
                yield np.full(len(chunk), _NO_OWNER), np.zeros(len(chunk), np.int64)
                continue
            data, _ = rows.joined_keys(chunk)
            words = np.frombuffer(data, "<i8").reshape(len(chunk), size // _WORD)
            join_keys, indices = without_index(words, schema)
            raw, length = join_keys.tobytes(), join_keys.shape[1] * _WORD
            owners = np.empty(len(chunk), np.int64)
            at = np.arange(len(chunk), dtype=np.int64)
            keys.intern(raw, at * length, np.full(len(chunk), length, np.int64), owners)
            yield owners, indices


def least_size(schema: StructType) -> int:
    """Bytes of the null bits and slots of a row."""
    fields = len(schema.fields)
    return ((fields + 63) // 64 + fields) * _WORD


def without_index(words: Int64s, schema: StructType) -> tuple[Int64s, Int64s]:
    """Key rows less their last field, as Spark writes them without it; and that field.

    Args:
        words: a row in each line, all of one size.
        schema: of the rows; the last field is a long.
    """
    fields = len(schema.fields)
    old_bits, new_bits = (fields + 63) // 64, (fields - 1 + 63) // 64
    slots = words[:, old_bits : old_bits + fields - 1].copy()
    shift = np.int64((old_bits - new_bits + 1) * _WORD) << np.int64(32)
    for ordinal, column in enumerate(schema.fields[:-1]):
        if column.data_type.fixed_width is None:
            # A slot without an offset is a null; one with it moves with its bytes.
            moved = slots[:, ordinal] >> 32 != 0
            slots[moved, ordinal] -= shift
    indices = words[:, old_bits + fields - 1]
    rest = words[:, old_bits + fields :]
    return np.ascontiguousarray(np.hstack([words[:, :new_bits], slots, rest])), indices
