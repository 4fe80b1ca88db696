"""Simulation of a store's rows under another clock or another deadline, version by version.

A row exists from the version that puts it to the next version that puts or removes it. A removal by
the operator's rule is undone: the row is removed by the first batch whose clock reaches its changed
deadline. A row whose changed deadline had been reached before its put is late and never appears.
Versions of batches whose clock is not known are left out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

import numpy as np

from inspector.arrays import Bools, Int64s, distinct, weigh
from inspector.facts.expiring import expiry_ms
from inspector.facts.fact import Fact, fact
from inspector.facts.join_rows import number_rows, without_index
from inspector.kernel.loader import kernel
from inspector.light_dataclasses import dataclass
from inspector.model import NO_TIMEOUT, BatchClock, BatchId, TimeoutKind
from inspector.operators.rule import Clock, ExpiryField, Scenario
from inspector.sparktypes import StructType
from inspector.state.change import Change, TouchedKeys
from inspector.state.replay import NO_CLOCK, StateMap
from inspector.sums import Sums, first_non_zero, sum_by

_NEVER = int(np.iinfo(np.int64).max)  # deadline of rows that never expire
_COLUMNS = 7  # numbers that are kept of each open row: the positions below
_START, _DEADLINE, _KEY, _VALUE, _REAL, _JOINED, _GONE = range(_COLUMNS)
"""Columns of a row: the step that put it (-1: none), its deadline as changed, its key and value
size, its real deadline, the number of its join key, and 1 if its operator's rule has removed it.
"""
_NO_JOIN = -1  # number of the join key for rows without one


@fact("simulated")
@dataclass(frozen=True)
class SimulatedRows(Sums, Fact):
    """Rows that a version of a store would have under the changed conditions. Adds up."""

    rows: int = 0  # live rows
    key_bytes: int = 0  # bytes of their keys
    value_bytes: int = 0  # bytes of their values
    stores: int = 0  # partitions that were simulated
    # partitions with all rows. Others may lack rows removed before the oldest readable version, or
    # within a batch of real-time mode
    whole: int = 0
    # clock that timers were assumed to follow; None without timers
    timeout_kind: TimeoutKind | None = sum_by(first_non_zero, None)
    join_keys: int = 0  # join keys that would have a counter, for a store of a join's rows
    join_key_bytes: int = 0  # bytes of these keys
    put_rows: int = 0  # rows that the version would have put; rows that expire at once do not count
    put_key_bytes: int = 0  # bytes of their keys
    put_value_bytes: int = 0  # bytes of their values
    seen: int = 0  # for a deduplication: puts in all versions
    seen_again: int = 0  # of these, puts of keys that had been put before

    def merge_key(self, version: int) -> Hashable:
        """Return version and clock: facts with equal ones add up."""
        return version, self.timeout_kind


class Simulation:
    """Simulates one store of one partition under a scenario.

    It takes 56 bytes for each key, and 24 more for each row of a join.
    """

    def __init__(
        self,
        scenario: Scenario,  # what is changed
        expiry: ExpiryField | None,  # the rule that the rows go by, if there is one
        clocks: Iterable[BatchClock],  # of the batches
        # schema of the keys, from which rows that change theirs have their join key
        key: StructType | None = None,
    ) -> None:
        self._scenario, self._expiry = scenario, expiry
        self._batches = {clock.batch_id: clock for clock in clocks}
        self._key = key if scenario.moved else None
        self._join_keys = kernel().Interner()
        self._sizes: dict[int, int] = {}  # of the join keys, by number
        self._ended: list[Int64s] = []  # of a join: number of the key, begin and end of each row
        self._open = np.full((_COLUMNS, 0), -1, np.int64)
        self._removed: list[Int64s] = []  # where rows move: those that the rule removed
        self._clocks: list[int] = []  # of each version, as it was
        self._versions: list[int] = []
        self._busy: list[bool] = []  # whether a version put rows
        # Rows, key bytes and value bytes that begin with a version, less those that end.
        self._more = np.zeros((3, 1), np.int64)
        self._put = np.zeros((3, 1), np.int64)  # those that begin
        self._from_empty = self._real_time = False
        self._seen = self._seen_again = 0  # puts of a deduplication, and those of keys put before

    def update(self, change: Change, state: StateMap) -> None:
        """Apply one version's real change; ``state`` is the map after it."""
        step = len(self._versions)
        self._clocks.append(self._clock(change.version))
        self._versions.append(change.version)
        self._busy.append(False)
        self._more = np.hstack((self._more, np.zeros((3, 1), np.int64)))
        self._put = np.hstack((self._put, np.zeros((3, 1), np.int64)))
        if len(state) > self._open.shape[1]:
            room = len(state) + (len(state) >> 3) - self._open.shape[1]
            self._open = np.hstack((self._open, np.full((_COLUMNS, room), -1, np.int64)))
        if change.rebased:
            self._close_all(step)
            self._from_empty = False
            ids = np.flatnonzero(state.live[: len(state)])
        else:
            self._from_empty |= change.version == 1
            touched = state.list_touched_keys()
            if self._scenario.moved:
                self._follow(touched, state, step)
                return
            removed = touched.ids[~touched.now_live & touched.was_live]
            follows_rule = self._open[_REAL, removed] <= self._clocks[step]
            self._open[_GONE, removed[follows_rule]] = 1
            self._close(removed[~follows_rule], step)
            ids = touched.ids[touched.written & touched.now_live]
        self._busy[step] = len(ids) > 0
        if self._scenario.first_put and not change.rebased:
            self._seen += len(ids)
            self._seen_again += int((self._open[_START, ids] >= 0).sum())
            if step:
                ids = ids[~self._is_there(ids, step)]
        self._close(ids, step)
        self._open[:, ids] = self._rows(ids, state, step, came=not change.rebased)

    def _follow(self, touched: TouchedKeys, state: StateMap, step: int) -> None:
        """Apply a version of a store whose rows change their keys (``scenario.moved``).

        Keys are freed for other rows when the rule removes a row. Rows of one deadline and size are
        interchangeable.
        """
        # Rows of one deadline and one size count the same, whichever of them is which.
        old_ids = touched.ids[touched.was_live]
        new_ids = touched.ids[touched.written & touched.now_live]
        old, new = self._open[:, old_ids], self._rows(new_ids, state, step, came=True)
        same_old, same_new = _pairs(old[_KEY:_GONE], new[_KEY:_GONE])
        new[:_KEY, same_new] = old[:_KEY, same_old]
        ended = np.delete(old, same_old, axis=1)
        follows_rule = ended[_REAL] <= self._clocks[step]
        ended[_GONE] = follows_rule
        self._removed.append(ended[:, follows_rule])
        self._end(ended[:, ~follows_rule], step)
        self._open[_START, old_ids] = -1
        self._open[:, new_ids] = new

    def _is_there(self, ids: Int64s, step: int) -> Bools:
        """Return a mask of the rows that would still exist while a batch is processed.

        A batch removes expired rows at its end.
        """
        clock = self._clocks[step - 1] + self._scenario.clock_shift_ms
        there: Bools = (self._open[_START, ids] >= 0) & (self._open[_DEADLINE, ids] > clock)
        return there

    def observe(self) -> Iterator[tuple[int, SimulatedRows]]:
        """Yield (version, simulated rows) for each version whose batch has a known clock."""
        self._close_all(len(self._versions))
        totals = np.cumsum(np.vstack((self._more, self._counters())), axis=1).T[:-1]
        totals = np.hstack((totals, self._put.T[:-1]))
        shift = self._scenario.clock_shift_ms
        # What went before the first version had a deadline that its clock had reached; the first
        # clock that is known is not before it.
        first = next(filter(None, self._clocks), 0)
        later = self._scenario.after_put_ms or max(0, self._scenario.field_shift_ms)
        clocked = self._from_empty and None not in map(self._reading, self._versions)
        if self._scenario.after_put_ms is not None:
            self._from_empty = clocked
        # It is not known whether older rows would have been late.
        not_late = clocked or shift <= 0 or self._scenario.event_before_ms is None
        for step, (version, total) in enumerate(zip(self._versions, totals, strict=True)):
            if self._reading(version) is None:
                continue
            reached = first > 0 and self._clocks[step] + shift >= first + later
            is_whole = self._from_empty or (shift >= 0 and not later) or reached
            is_whole &= not self._real_time and not_late
            rows, keys, values, *counters = map(int, total)
            kind = self._scenario.kind
            counters += (self._seen, self._seen_again)
            yield version, SimulatedRows(rows, keys, values, 1, int(is_whole), kind, *counters)

    def _counters(self) -> Int64s:
        """Return two rows by step: join keys that begin minus those that end, and their bytes."""
        # A counter is there from the first row of its key to the last; one batch may remove a row
        # and put another.
        more = np.zeros((2, self._more.shape[1]), np.int64)
        rows = np.hstack([np.zeros((3, 0), np.int64), *self._ended])
        rows = rows[:, (rows[0] != _NO_JOIN) & (rows[1] < rows[2])]
        if not rows.size:
            return more
        number, start, end = rows[:, np.lexsort((rows[1], rows[0]))]
        # Ends of one key never pass the begin of the next one, if each has a range of its own.
        span = more.shape[1]
        reach = np.maximum.accumulate(number * span + end)
        first = np.ones(len(number), np.bool_)
        first[1:] = number[1:] * span + start[1:] > reach[:-1]
        begins = np.flatnonzero(first)
        last = np.append(begins[1:], len(number)) - 1
        sizes = np.array([self._sizes[key] for key in number[begins].tolist()], np.int64)
        for steps, sign in ((start[begins], 1), (reach[last] - number[last] * span, -1)):
            for row, weights in zip(more, (np.ones(len(steps)), sizes), strict=True):
                row += sign * weigh(steps, weights, span)
        return more

    def _join_numbers(self, ids: Int64s, state: StateMap) -> Int64s:
        """Return the number of the join key of each given row; _NO_JOIN without one."""
        numbers = np.full(len(ids), _NO_JOIN, np.int64)
        if self._key is None or not len(ids):
            return numbers
        order = np.argsort(ids)
        for alike, words, _ in without_index(state, ids, self._key):
            if words is not None:
                word_numbers = number_rows(self._join_keys, words)
                numbers[order[np.searchsorted(ids, alike, sorter=order)]] = word_numbers
                size = words.shape[1] * words.itemsize
                self._sizes |= dict.fromkeys(distinct(word_numbers).tolist(), size)
        return numbers

    def _clock(self, version: int) -> int:
        """Return the clock in the batch of a version, in ms, which never goes back.

        It is the previous batch's clock if the batch's own clock is unknown or lower; 0 if there is
        neither.
        """
        return max(self._reading(version) or 0, self._clocks[-1] if self._clocks else 0)

    def _reading(self, version: int) -> int | None:
        """Return the recorded clock of a version's batch in ms, without the shift.

        The scenario names the clock: the watermark or the batch's time stamp. Returns None if the
        log has no entry for the batch, or the entry does not record that clock.
        """
        batch = self._batches.get(BatchId(version - 1))
        scenario = self._scenario
        return None if batch is None else scenario.clock.time_ms(batch, scenario.kind)

    def _rows(self, ids: Int64s, state: StateMap, step: int, *, came: bool) -> Int64s:
        """Return the columns of rows that a version put, with their real and changed deadlines.

        ``came`` is True if their events arrived in the version's batch, so that they may be late.
        """
        real = np.full(len(ids), _NEVER, np.int64)
        if self._expiry is not None and state.tracking.clock is not None:
            clock = state.clock[ids]
            timed = clock != NO_CLOCK
            if self._expiry.clock is Clock.TIMEOUT:
                timed &= clock != NO_TIMEOUT
            real[timed] = expiry_ms(clock[timed], self._expiry)
        deadline, timed = real.copy(), real != _NEVER
        change, early = self._scenario, self._scenario.event_before_ms
        if change.after_put_ms is None:
            deadline[timed] += change.field_shift_ms
        else:
            deadline[:] = self._clocks[step] + change.after_put_ms
        if early is not None and came and step:  # late by the watermark of the batch before
            late = real - early <= self._clocks[step - 1] + change.clock_shift_ms
            deadline[late & timed] = 0
        if self._expiry is not None and self._expiry.clock is Clock.PROCESSING_TIME:
            self._real_time |= self._put_between_clocks(distinct(real[real != _NEVER]), step)
        rows = np.zeros((_COLUMNS, len(ids)), np.int64)
        rows[_START], rows[_DEADLINE], rows[_REAL] = step, deadline, real
        rows[_KEY], rows[_VALUE] = state.key_size[ids], state.value_size[ids]
        rows[_VALUE] += change.more_bytes
        rows[_JOINED] = self._join_numbers(ids, state)
        return rows

    def _put_between_clocks(self, expiries: Int64s, step: int) -> bool:
        """Return True if values of one TTL were put at no batch's start, as in real-time mode."""
        # There a value expires by its executor's clock, while its batch runs (seen of 4.3), and
        # what comes and goes within a batch is in no version. The newest of a version has the TTL;
        # older ones are those of a list that is written again.
        puts = expiries - expiries[-1:] + self._clocks[step]
        puts = puts[puts >= next(filter(None, self._clocks), 0)]
        return not np.isin(puts, self._clocks).all()

    def _close_all(self, step: int) -> None:
        """End all rows at a step, those that the rule has removed included."""
        self._close(np.arange(self._open.shape[1]), step)
        for rows in self._removed:
            self._end(rows, step)
        self._removed.clear()

    def _close(self, ids: Int64s, step: int) -> None:
        """End the rows of some ids at a step; ids without a row are passed over."""
        ids = ids[self._open[_START, ids] >= 0]
        self._end(self._open[:, ids], step)
        self._open[_START, ids] = -1

    def _end(self, rows: Int64s, step: int) -> None:
        """Count rows as ended at a step, or at their changed deadline if that comes first."""
        start, deadline, keys, values, real, joined, gone = rows
        clocks = np.asarray(self._clocks)
        changed = clocks + self._scenario.clock_shift_ms
        if self._scenario.behind:
            changed = np.maximum.accumulate(np.append(0, np.where(self._busy, changed, 0)[:-1]))
        ends = np.maximum(np.searchsorted(changed, deadline), start)
        if self._scenario.after_put_ms is None:
            # Rows that stayed past their own deadline would stay past another one. Some operators
            # evict by the watermark of the batch before.
            due = np.searchsorted(clocks, real) + 1
            ends = np.where((gone == 0) & (due < step), step, ends)
        ends = np.minimum(ends, step)
        if self._key is not None:
            self._ended.append(np.vstack((joined, start, ends)))
        for steps, sign in ((start, 1), (ends, -1)):
            for row, weights in zip(self._more, (np.ones(len(start)), keys, values), strict=True):
                row += sign * weigh(steps, weights, len(row))
        come = ends > start
        for row, weights in zip(self._put, (come, come * keys, come * values), strict=True):
            row += weigh(start, weights, len(row))


def _pairs(old: Int64s, new: Int64s) -> tuple[Int64s, Int64s]:
    """Return the positions of columns that occur in both tables, each column once."""
    _, kinds = np.unique(np.hstack((old, new)), axis=1, return_inverse=True)
    kinds, size = kinds.reshape(-1), len(kinds.reshape(-1))
    columns = old.shape[1]

    def codes(part: Int64s) -> Int64s:
        """Return numbers that tell apart equal entries by their order of occurrence."""
        order = np.argsort(part, kind="stable")
        ranks = np.empty(len(part), np.int64)
        ranks[order] = np.arange(len(part)) - np.searchsorted(part[order], part[order])
        return part * size + ranks

    _, same_old, same_new = np.intersect1d(
        codes(kinds[:columns]), codes(kinds[columns:]), assume_unique=True, return_indices=True
    )
    return same_old.astype(np.int64), same_new.astype(np.int64)
