"""The map that records make: which keys are live, their sizes, and when they were last put.

Spark keeps a ``ConcurrentHashMap<UnsafeRow, UnsafeRow>`` for each version
(``HDFSBackedStateStoreMap``). A :class:`StateMap` keeps a dense id and a few numbers for every
distinct key; of a value only size and hash are kept. So its memory grows with the distinct keys and
never with the number of versions, and one pass gives every version's facts.

Identity is Spark's: a put of a present key keeps the *key object* and replaces the *value object*
(``ConcurrentHashMap.put``). A key that was removed and put again has new objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, GrowingArray, Int32s, Int64s, UInt8s, UInt64s, longer, rows_of
from inspector.decode.records import RecordBlock
from inspector.exceptions import LimitError
from inspector.kernel import record_layout as layout
from inspector.kernel.loader import kernel
from inspector.kernel.record_layout import BEFORE_WINDOW, NO_CLOCK, ChangeSums, RecordCounts
from inspector.light_dataclasses import dataclass, replace
from inspector.model import NO_TIMEOUT
from inspector.state.change import NO_LATER, Adder, Change, Changes, Moves, TouchedKeys
from inspector.state.key_range import RangeFilter

if TYPE_CHECKING:
    from inspector.kernel.loader import Interner

__all__ = ["BEFORE_WINDOW", "NO_CLOCK", "StateMap", "Tracking"]


@dataclass(frozen=True)
class Tracking:
    """Fields to read from every record in addition to its sizes."""

    # returns the clock of each record (its operator's expiry field), NO_CLOCK for null and for
    # removals; None if the operator has none
    clock: Callable[[RecordBlock], Int64s] | None = None
    # byte offset in the value of an 8-byte clock that does not count when values are compared: the
    # timer of a group state, so that "same state, new timer" is seen; -1 for none
    clock_slot: int = -1
    # returns a mask of the records whose key is below the previous one; None if the order is not
    # needed
    descends: Callable[[RecordBlock], Bools] | None = None
    keys: RangeFilter | None = None  # the keys that are kept; None for all
    # returns a number below 256 for the keys of the records at some indexes of a block; it is
    # called when a key is met first. None if keys have no marks
    mark: Callable[[RecordBlock, Int64s], UInt8s] | None = None
    # True to keep a hash of 16 bytes instead of each key, so that its bytes are not known later
    hashed: bool = False
    most_bytes: int = 0  # bytes of memory that the keys may take; 0 for no limit


_MOST_RECORD = (1 << 31) - 1  # bits of a record's position that are kept
_WORD = 8  # bytes of a word

_PORTION = 1 << 14  # keys of a portion: 768 KiB of the table

_LARGEST_KEPT = 1 << 24
"""Bytes of the largest array of a version that malloc is to keep; it keeps twice that in all."""


def id_of(placeholder: bytes) -> int:
    """Return the id of a key that is not kept, from the bytes that stand for it."""
    return int.from_bytes(placeholder, "little")


class StateMap:
    """Keys of one store and their state at the version that was replayed last.

    The columns are views into one table of :data:`~inspector.kernel.record_layout.ROW`, so that all
    numbers of a key are next to each other. They are indexed by key id; ``[:len(state)]`` of each
    is valid.

    Attributes:
        tracking: fields that are read from every record.
        versions: version of each step.
        rows: live rows; ``key_bytes`` and ``value_bytes`` are their bytes.
        born: rows at the beginning of the window, and keys that appeared since; a key that is
            removed and put again counts again.
        base_step: first step of the unbroken history.
        records: number of records of the last version, kept or not.
        inherited: number of first steps that are of other partitions
            (:mod:`inspector.facts.inherited`).
        interner: gives each distinct key its id.
    """

    live: Bools  # True if the key is in the map
    key_size: Int32s  # UnsafeRow bytes of the key
    value_size: Int32s  # UnsafeRow bytes of the value; of a removed key, of its last one
    value_hash: UInt64s  # XXH64 of the value, without the clock slot of the tracking
    # step (index in ``versions``) of the last put; BEFORE_WINDOW if a snapshot brought it
    put_step: Int32s
    # step of the put that made the key object; BEFORE_WINDOW if a snapshot brought it
    born_step: Int32s
    puts: Int32s  # puts since the version of ``base_step``
    clock: Int64s  # the expiry field; NO_CLOCK if none is tracked
    record: Int32s  # position of the last record, put or removal, in its delta
    # with a clock slot only: clock that the last put replaced, of the previous version or of an
    # earlier record of the same version
    put_over_clock: Int64s
    # with a clock slot only: True if the version left the rest of the value unchanged
    put_same_state: Bools
    mark: UInt8s  # number that ``tracking.mark`` gave for the key

    def __init__(self, tracking: Tracking | None = None) -> None:
        self.tracking = tracking or Tracking()
        self.versions: list[int] = []
        # born: rows where the window begins, and those that came since: a key that went and comes
        # again is one more
        self.rows = self.key_bytes = self.value_bytes = self.born = 0
        self.base_step = self.records = 0
        self._touched: list[npt.NDArray[Any]] = []
        self._kernel = kernel()
        self._adder = Adder()
        # glibc learns from freed sizes how much memory to keep. Otherwise it would give back the
        # arrays of every version and get them again, zeroed page by page: an eighth of an audit's
        # time.
        np.empty(_LARGEST_KEPT, np.uint8)
        self._clear()

    def __len__(self) -> int:
        """Return the number of distinct keys seen, live or not."""
        return self._keys

    def _clear(self) -> None:
        """Forget all keys."""
        self.inherited = self._passed = self._passed_before = 0
        self._appeared: Int64s = np.empty(0, np.int64)
        self.interner: Interner = self._kernel.Interner(self.tracking.hashed)
        self._keys = 0
        self._rows, self._over = GrowingArray(layout.ROW), GrowingArray(np.int64)
        self._use(np.empty(0, layout.ROW), np.empty(0, np.int64))

    def _use(self, table: npt.NDArray[Any], put_over_clock: Int64s) -> None:
        """Let the columns be views into this table."""
        self._table = table
        self.put_over_clock = put_over_clock
        for name in layout.ROW.names or ():
            setattr(self, name, table[name])

    def _count_keys(self) -> None:
        """Make room for the interner's new keys. LimitError: they take too much memory."""
        old_keys, self._keys = self._keys, len(self.interner)
        if self._keys > len(self._table):
            self._reserve(self._keys)
        self.put_over_clock[old_keys : self._keys] = NO_CLOCK
        max_bytes = self.tracking.most_bytes
        if max_bytes and self.memory > max_bytes:
            raise LimitError(
                f"{self._keys:,} keys take {self.memory / 1e6:,.0f} MB, more than the "
                f"{max_bytes / 1e6:,.0f} MB that the memory limit leaves them: the keys of this "
                "part of the partition do not fit, raise --memory-limit or lower --workers"
            )

    @property
    def memory(self) -> int:
        """Bytes that the keys take."""
        item = layout.ROW.itemsize + (_WORD if self.tracking.clock_slot >= 0 else 0)
        rows = self._keys * item + self._appeared.nbytes
        return self.interner.nbytes + rows + sum(part.nbytes for part in self._touched)

    def _reserve(self, room: int) -> None:
        """Lengthen the tables by zeros, without a copy if no other object uses their columns."""
        empty = np.empty(0, np.int64)
        self._use(np.empty(0, layout.ROW), empty)  # no view of ours remains
        table = self._rows.reserve(room)  # it has room for more, and so have the clocks
        timed = self.tracking.clock_slot >= 0
        self._use(table, self._over.reserve(len(table)) if timed else empty)

    def begin(self, version: int, *, rebase: bool = False, ordered: bool = True) -> None:
        """Start a version; with ``rebase`` from an empty map, into which a snapshot is loaded.

        ``ordered``: its records are in the order in which the batch wrote them.
        """
        self._ordered = ordered
        if rebase:
            self._clear()
            self.base_step = len(self.versions)
        self.versions.append(version)
        self._flags = layout.REBASED * rebase | layout.TIMED * (self.tracking.clock_slot >= 0)
        self._counts = np.zeros(len(layout.COUNTS), np.int64)
        self.records = 0
        self._first_descent: int | None = None
        self._earliest_put: int | None = None
        self._latest_removal: int | None = None
        self._touched = []
        self._again: dict[int, int] = {}
        self._touched_keys: TouchedKeys | None = None
        self._adder.clear()

    def apply_ahead(
        self,
        block: RecordBlock,  # all of them. The map keeps all keys.
        ends: Int64s,  # how many records these are up to the end of each version
        versions: Sequence[int],  # that they make
        # called for each version while the map is that version's; the change that it gets has no
        # numbers
        follow: Callable[[Change], None] | None = None,
    ) -> Changes:
        """Apply the records of several next versions, close each of them, and return their changes.

        The map must keep all keys.
        """
        ids, hashes, clocks = self._read(block)
        touched_steps = record_steps = ends.searchsorted(np.arange(len(ids)), "right")
        touched = np.empty(len(ids), layout.TOUCH)
        # Of each row of `touched` that is filled.
        filled, key_size = np.ones(len(ids), np.bool_), block.key_length.copy()
        now_size, removed = block.value_length.copy(), block.value_length < 0
        counts = np.zeros((len(versions), len(layout.COUNTS)), np.int64)
        totals = np.zeros((len(versions), len(layout.SUMS)), np.int64)
        timed = self.tracking.clock_slot >= 0
        self.begin(versions[0])
        self.versions.pop()
        batch_versions = 1 if timed or follow is not None else len(versions)
        stops, i = [0, *ends.tolist()], 0
        while i < len(versions):
            first, upto = stops[i], min(i + batch_versions, len(versions))
            span, steps = slice(first, stops[upto]), slice(i, upto)
            self.versions.append(versions[i])
            sizes = block.key_length[span], block.value_length[span]
            columns = ids[span], *sizes, hashes[span], None if clocks is None else clocks[span]
            results = counts[steps], totals[steps], ends[steps] - first
            done = first + self._apply(columns, 0, touched[span], *results)
            # The last one that was applied: behind it the map stands, and it may lack touches.
            last = min(int(np.searchsorted(ends, done, "right")), upto - 1)
            self.versions += versions[i + 1 : last + 1]
            i, first, end = last + 1, stops[last], stops[last + 1]
            part, noted, self.records = slice(first, end), slice(first, done), end - first
            self._touched, self._touched_keys = [touched[noted]] if done > first else [], None
            self._again = {}
            if done < end:  # a key has several records
                self._add_again(totals[last])
                keys = touched["id"][noted]
                removed[noted] = np.isin(keys, ids[part][removed[part]])
                now_size[noted] = np.where(self.live[keys], self.value_size[keys], -1)
                key_size[noted], filled[done:end] = self.key_size[keys], False
                if clocks is not None and timed:
                    put = block.value_length[part] >= 0
                    self._note_again(ids[part], np.where(put, clocks[part], NO_CLOCK), None)
            if timed:
                self._note_timers()
            if follow is not None:
                follow(Change(versions[last], first_descent=self._descent(block.select(part))))
        if not filled.all():
            touched_steps, key_size, now_size = (
                touched_steps[filled],
                key_size[filled],
                now_size[filled],
            )
            removed, touched = removed[filled], touched[filled]
        sums = ChangeSums._make([*totals.T, {}])
        live = self._totals(sums)
        earliest, latest = np.full(len(ends), NO_LATER), np.full(len(ends), NO_CLOCK)
        if clocks is not None:
            put = (clocks != NO_CLOCK) & (clocks != NO_TIMEOUT)
            np.minimum.at(earliest, record_steps[put], clocks[put])
            np.maximum.at(latest, touched_steps[removed], touched["clock"][removed])
        return Changes(
            np.array(versions, np.int64),
            sums,
            RecordCounts(*counts.T),
            *live,
            earliest,
            latest,
            Moves.of(touched_steps, key_size, touched, now_size),
        )

    def apply(self, block: RecordBlock, *, kept: bool = False) -> None:
        """Apply one block of records of the version that has begun, in file order.

        With ``kept`` all records have keys that this map keeps and has met before.
        """
        if not block.count:
            return
        self.records += block.count
        if self._ordered and self._first_descent is None:
            self._first_descent = self._descent(block)
        block = block if kept else self._records_in_memory(block)
        if not block.count:
            return
        ids, hashes, clocks = self._read(block)
        if clocks is not None:
            self._note_clocks(block, ids, clocks)
        timed = self.tracking.clock_slot >= 0
        earlier = self._clocks_put(ids) if timed and self._touched else None
        touched = np.empty(block.count, layout.TOUCH)
        columns = ids, block.key_length, block.value_length, hashes, clocks
        first, sums = block.first_record, self._adder.sums
        count = self._apply(columns, first, touched, self._counts, sums)
        if block.chosen is not None:
            self.record[ids] = block.ordinals & _MOST_RECORD
        if clocks is not None and timed and count < block.count:
            self._note_again(ids, np.where(block.value_length < 0, NO_CLOCK, clocks), earlier)
        self._touched.append(touched if count == block.count else touched[:count].copy())

    def _apply(
        self, columns: Any, first: int, touched: Any, counts: Any, sums: Any, *ends: Int64s
    ) -> int:
        """Apply records to the table, and return how many rows of ``touched`` were filled.

        ``first`` is the position of the first record; counts and sums are added to the given
        arrays.
        """
        apply: Callable[..., tuple[int, int]] = self._kernel.apply
        position = len(self.versions) - 1, first, self._flags
        results = touched, counts, sums, self._adder.by_size
        count, largest = apply(self._table[: self._keys], *columns, *position, *results, *ends)
        self._adder.note_largest(largest)
        return count

    def end(self) -> Change:
        """Close the version: update the totals, and return its change."""
        counts = RecordCounts(*self._counts.tolist())
        if counts.puts + counts.removals > sum(map(len, self._touched)):
            self._add_again(self._adder.sums)  # a key has several records
        if self.tracking.clock_slot >= 0:
            self._note_timers()
        change = Change(
            version=self.versions[-1],
            rebased=bool(self._flags & layout.REBASED),
            sums=self._adder.finish(self.list_touched_keys),
            counts=counts,
            ordered=self._ordered,
            first_descent=self._first_descent,
            earliest_put=self._earliest_put,
            latest_removal=self._latest_removal,
        )
        if change.rebased:
            self.rows = self.key_bytes = self.value_bytes = 0
        self._totals(change.sums)
        if change.rebased:
            self.born = self.rows
        return change

    def list_touched_keys(self) -> TouchedKeys:
        """Return the effect of the last version on each key that it touched."""
        if self._touched_keys is None:
            table, step = self._table[: self._keys], len(self.versions) - 1
            touched = TouchedKeys.of(table, self._touched, step, self._flags)
            if self._again:
                again = np.flatnonzero(np.isin(touched.ids, list(self._again)))
                touched.was_clock[again] = [self._again[key] for key in touched.ids[again].tolist()]
                touched = replace(touched, again=again)
            self._touched_keys = touched
        return self._touched_keys

    def keys(self, ids: Int64s) -> list[bytes]:
        """Return the bytes of some keys; of keys that are not kept, bytes for :func:`id_of`."""
        data, ends = self.join_keys(ids)
        return [data[a:b] for a, b in pairwise(ends.tolist())]

    def join_keys(self, ids: Int64s) -> tuple[bytes, Int64s]:
        """Return the joined bytes of some keys, and the start of each with the end of the last.

        If the map keeps only hashes of keys, 8 bytes that stand for the key's id take the place of
        each key (:func:`id_of`).
        """
        if self.tracking.hashed:
            return ids.astype("<i8").tobytes(), np.arange(len(ids) + 1, dtype=np.int64) * _WORD
        ends = np.zeros(len(ids) + 1, np.int64)
        return self.interner.gather(np.ascontiguousarray(ids, np.int64), ends), ends

    def row_size(self, keys: Int64s | slice) -> Int64s:
        """Return the key and value bytes of some ids; of a removed key, those of its last value."""
        return np.add(self.key_size[keys], self.value_size[keys], dtype=np.int64)

    def appearance(self, ids: Int64s) -> Int64s:
        """Return numbers that order keys by their first appearance.

        Their order is the same for all keys of a partition, whatever range of them a map keeps.
        """
        return ids if self.tracking.keys is None else self._appeared[ids]

    def portions(self) -> Iterator[slice]:
        """Yield slices of all ids, in portions whose rows the processor's caches hold.

        A column is a stride through the table. To read several columns portion by portion reads the
        table once, and not once for each column.
        """
        for start in range(0, self._keys, _PORTION):
            yield slice(start, min(start + _PORTION, self._keys))

    def where(self, holds: Callable[[slice], Bools]) -> Int64s:
        """Return the ids for which ``holds`` is True; it is called with one portion at a time."""
        result = [np.flatnonzero(holds(portion)) + portion.start for portion in self.portions()]
        return np.concatenate(result) if result else np.empty(0, np.int64)

    def holds(self, block: RecordBlock) -> tuple[RecordBlock, Int64s, Bools]:
        """Return a block's records of kept keys, their ids, and a mask of equal live rows.

        New keys get an id and are not live.
        """
        old_keys = self._keys
        block = self._records_in_memory(block)
        ids, hashes, clocks = self._read(block)
        marks = self.mark[old_keys : self._keys].copy()
        self._table[old_keys : self._keys] = layout.FRESH  # no record of a version names them
        self.mark[old_keys : self._keys] = marks
        is_same = self.live[ids] & (self.value_hash[ids] == hashes)
        is_same &= self.value_size[ids] == block.value_length
        if self.tracking.clock_slot >= 0:
            is_same &= self.clock[ids] == clocks
        return block, ids, is_same

    def _records_in_memory(self, block: RecordBlock) -> RecordBlock:
        """Return the records of a block whose keys this map keeps, and count all of them."""
        keys = self.tracking.keys
        if keys is None:
            return block
        self._passed_before, self._passed = self._passed, self._passed + block.count
        return keys.of(block)

    def _note_new_keys(self, block: RecordBlock, ids: Int64s, known_keys: int) -> None:
        """Note the mark of each new key, and the number of records before its first one."""
        if self._keys == known_keys or (block.chosen is None and self.tracking.mark is None):
            return
        (first,) = (ids >= known_keys).nonzero()
        if len(first) > self._keys - known_keys:  # some of the new keys have several records
            highest = np.maximum.accumulate(ids[first])
            first = first[np.flatnonzero(np.diff(highest, prepend=known_keys - 1))]
        if self.tracking.mark is not None:
            self.mark[known_keys : self._keys] = self.tracking.mark(block, first)
        if block.chosen is not None:
            if self._keys > len(self._appeared):
                self._appeared = longer(self._appeared, self._keys + (self._keys >> 3))
            self._appeared[known_keys : self._keys] = block.chosen[first] + self._passed_before

    def _read(self, block: RecordBlock) -> tuple[Int64s, UInt64s, Int64s | None]:
        """Return the ids of a block's keys, new ones included, and hashes and clocks of its values.

        The clocks are None if none are tracked.
        """
        ids = np.empty(block.count, np.int64)
        old_keys = self._keys
        self.interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        self._count_keys()
        self._note_new_keys(block, ids, old_keys)
        hashes = np.empty(block.count, np.uint64)
        offsets, sizes = block.value_offset, block.value_length
        if not block.puts_only:
            offsets, sizes = np.where(sizes >= 0, offsets, 0), np.maximum(sizes, 0)
        self._kernel.hash64(block.buffer, offsets, sizes, self.tracking.clock_slot, hashes)
        clock = self.tracking.clock
        return ids, hashes, None if clock is None else clock(block)

    def _descent(self, block: RecordBlock) -> int | None:
        """Return the file position of the first record whose key is below the previous one.

        Returns None if the keys of the block ascend, or if ``tracking.descends`` is None and so the
        order is not compared.
        """
        descends = self.tracking.descends
        descending = [] if descends is None else np.flatnonzero(descends(block)).tolist()
        return block.first_record + descending[0] if descending else None

    def _note_clocks(self, block: RecordBlock, ids: Int64s, clocks: Int64s) -> None:
        """Note the least clock that a block puts, and the greatest that it removes."""
        minimum = int(clocks.min())
        if minimum <= NO_TIMEOUT:  # one that is none, or before 1970
            put = clocks[(clocks != NO_CLOCK) & (clocks != NO_TIMEOUT)]
            minimum = int(put.min()) if len(put) else NO_CLOCK
        if minimum != NO_CLOCK:
            previous = self._earliest_put
            self._earliest_put = minimum if previous is None else min(previous, minimum)
        if not block.puts_only:
            # A key's last clock stays in the table when the key goes.
            rows = self._table[ids[block.value_length < 0]]
            removed = rows["clock"][(rows["clock"] != NO_CLOCK) & (rows["touched"] > 0)]
            if len(removed):
                maximum = int(removed.max())
                previous = self._latest_removal
                self._latest_removal = maximum if previous is None else max(previous, maximum)

    def _note_timers(self) -> None:
        """Note by put key the replaced clock, and if the rest of its value is unchanged."""
        touched = self.list_touched_keys()
        columns = touched.ids, touched.was_clock, touched.same_state
        ids, old_clocks, same_state = rows_of(columns, touched.written)
        self.put_over_clock[ids], self.put_same_state[ids] = old_clocks, same_state

    def _clocks_put(self, ids: Int64s) -> Int64s:
        """Return the clocks that earlier blocks of the version put for keys; NO_CLOCK if none."""
        put = self._table["touched"][ids] == len(self.versions)
        clocks: Int64s = np.where(put & self.live[ids], self.clock[ids], NO_CLOCK)
        return clocks

    def _note_again(self, ids: Int64s, clocks: Int64s, earlier: Int64s | None) -> None:
        """Note for keys with several records in the version the clock that the last one replaced.

        ``clocks`` are those that a block's records put, ``earlier`` those that :meth:`_clocks_put`
        gave before the block; None for the first block.
        """
        if earlier is not None:
            put_ids = np.flatnonzero(earlier != NO_CLOCK)
            self._again |= zip(ids[put_ids].tolist(), earlier[put_ids].tolist(), strict=True)
        order = np.argsort(ids, kind="stable")
        first, second = order[:-1], order[1:]
        is_repeated = (ids[first] == ids[second]) & (clocks[first] != NO_CLOCK)
        keys, replaced = ids[second[is_repeated]], clocks[first[is_repeated]]
        self._again |= zip(keys.tolist(), replaced.tolist(), strict=True)

    def _add_again(self, sums: Int64s) -> None:
        """Compute the sums of the version again from its touched keys, each counted once."""
        self._adder.clear()
        sums[:] = 0
        table = self._table[: self._keys]
        version_sums = len(self.versions) - 1, self._flags, sums, self._adder.by_size
        for part in self._touched:
            self._adder.note_largest(self._kernel.tally(table, part, *version_sums))

    def _totals(self, sums: Any) -> tuple[Int64s, Int64s, Int64s]:
        """Add the sums of versions, and return rows, key and value bytes after each of them."""
        rows = self.rows + np.cumsum(sums.now_rows - sums.was_rows)
        key_bytes = self.key_bytes + np.cumsum(sums.now_key_bytes - sums.was_key_bytes)
        value_bytes = self.value_bytes + np.cumsum(sums.now_value_bytes - sums.was_value_bytes)
        self.rows, self.key_bytes = int(rows[-1]), int(key_bytes[-1])
        self.value_bytes = int(value_bytes[-1])
        self.born += int(np.sum(sums.new_rows))
        return rows, key_bytes, value_bytes
