"""The map that records make: which keys live, how large they are, when they were last put.

Spark keeps a ``ConcurrentHashMap<UnsafeRow, UnsafeRow>`` per version
(``HDFSBackedStateStoreMap``). A :class:`StateMap` keeps, for every distinct key, a dense id and a
few numbers; values are reduced to size and hash as they pass. So its memory grows with the
distinct keys and never with the number of versions, and one pass tells every version's facts.

Identity is Spark's: a put of a present key keeps the *key object* and replaces the *value object*
(``ConcurrentHashMap.put``); a key that was removed and put again has new objects.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from inspector.decode.kernel import Interner, kernel
from inspector.decode.records import RecordBlock

Int64s = npt.NDArray[np.int64]
UInt64s = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

NO_CLOCK = int(np.iinfo(np.int64).min)
"""In place of a clock that is null, unreadable or not there."""

BEFORE_WINDOW = -1
"""Step of a put that came before the oldest version that can be restored."""


@dataclass(frozen=True)
class Tracking:
    """What is read from every record beside its sizes.

    Attributes:
        clock: gives each record's clock value (its operator's expiry field), NO_CLOCK where it is
            null or where the record is a removal; None if the operator has none.
        clock_slot: byte offset in the value row of an 8-byte clock that is left out when values
            are compared (the timer of a group state, so that "same state, new timer" is seen);
            -1 for none.
        descends: tells of each record of a block whether its key is below the one before; None
            where the order of records is of no interest.
    """

    clock: Callable[[RecordBlock], Int64s] | None = None
    clock_slot: int = -1
    descends: Callable[[RecordBlock], Bools] | None = None


class _Records(NamedTuple):
    """One block of records in order of key id, ties in file order, with what each one met."""

    ids: Int64s
    ordinals: Int64s
    is_put: Bools
    value_sizes: Int64s
    value_hashes: UInt64s
    clocks: Int64s
    first: Bools
    last: Bools
    met_live: Bools
    met_same: Bools


@dataclass
class RecordCounts:
    """Counts over the records of one delta, in the order in which they stand in it.

    Attributes:
        puts, removals: records of each kind; ``puts == inserts + updates``.
        inserts: puts of a key that was absent at that moment; updates: of one that was present.
        same_value_puts: updates whose value equals the one that was there.
        absent_removals: removals of a key that was absent; they count in ``removals`` too.
        same_value_put_bytes: key and value bytes that those puts wrote.
    """

    puts: int = 0
    inserts: int = 0
    updates: int = 0
    same_value_puts: int = 0
    removals: int = 0
    absent_removals: int = 0
    same_value_put_bytes: int = 0


@dataclass(frozen=True)
class Change:
    """What one version changed, per touched key; arrays run parallel to ``ids``.

    Attributes:
        version: the version that it made.
        rebased: the map was loaded from a snapshot, so that nothing is known of the change.
        ids: every key that a record of the version names, once.
        was_live, was_size, was_clock: in the version before (NO_CLOCK where there was none).
        now_live: in this version.
        written: put at least once, so that the value object is new.
        reborn: absent at some moment before its put, so that the key object is new too.
        same_value: lives before and after, was written, and its value is equal.
        counts: over the records.
        first_descent: position of the first record whose key is below the one before it in its
            block; None if the keys ascend, or were not compared.
    """

    version: int
    rebased: bool
    ids: Int64s
    was_live: Bools
    was_size: Int64s
    was_clock: Int64s
    now_live: Bools
    written: Bools
    reborn: Bools
    same_value: Bools
    counts: RecordCounts = field(default_factory=RecordCounts)
    first_descent: int | None = None


_COLUMNS: dict[str, tuple[Any, int]] = {
    "live": (np.bool_, 0),
    "key_size": (np.int32, 0),
    "value_size": (np.int32, 0),
    "value_hash": (np.uint64, 0),
    "put_step": (np.int32, BEFORE_WINDOW),
    "born_step": (np.int32, BEFORE_WINDOW),
    "touch_step": (np.int32, -2),
    "puts": (np.int32, 0),
}
_CLOCK_COLUMNS: dict[str, tuple[Any, int]] = {"clock": (np.int64, NO_CLOCK)}
_TIMER_COLUMNS: dict[str, tuple[Any, int]] = {
    "put_over_clock": (np.int64, NO_CLOCK),
    "put_same_state": (np.bool_, 0),
    "put_record": (np.int32, -1),
}


class StateMap:
    """The live keys of one store at the version that was replayed last.

    Columns, one value per key id (``[:len(state)]`` of each is valid):

    * ``live``: the key is in the map.
    * ``key_size``, ``value_size``: UnsafeRow bytes; of a removed key, its last.
    * ``value_hash``: XXH64 of the value, without the clock slot of the tracking.
    * ``put_step``, ``born_step``: number of the step (see ``versions``) of the last put, and of
      the put that made the key object; BEFORE_WINDOW when a snapshot brought it.
    * ``puts``: puts since the version of ``base_step``, the first step of an unbroken history.
    * ``clock``: the expiry field; ``put_over_clock``: the clock that the last put replaced, as it
      was in the version before; ``put_same_state``: that put left the rest of the value as it was;
      ``put_record``: its position in its delta.
    """

    live: Bools
    key_size: npt.NDArray[np.int32]
    value_size: npt.NDArray[np.int32]
    value_hash: UInt64s
    put_step: npt.NDArray[np.int32]
    born_step: npt.NDArray[np.int32]
    touch_step: npt.NDArray[np.int32]
    puts: npt.NDArray[np.int32]
    clock: Int64s
    put_over_clock: Int64s
    put_same_state: Bools
    put_record: npt.NDArray[np.int32]

    def __init__(self, tracking: Tracking | None = None) -> None:
        self.tracking = tracking or Tracking()
        self.versions: list[int] = []
        self.rows = 0
        self.key_bytes = 0
        self.value_bytes = 0
        self.base_step = 0
        self._dtypes = dict(_COLUMNS)
        if self.tracking.clock is not None:
            self._dtypes |= _CLOCK_COLUMNS
        if self.tracking.clock_slot >= 0:
            self._dtypes |= _TIMER_COLUMNS
        self._kernel = kernel()
        self._scratch = np.empty(0, np.int32)
        self._clear()

    def __len__(self) -> int:
        """Distinct keys seen, live or not."""
        return len(self.interner)

    def _clear(self) -> None:
        self.interner: Interner = self._kernel.Interner()
        for name, (dtype, _) in self._dtypes.items():
            setattr(self, name, np.empty(0, dtype))

    def _reserve(self, keys: int) -> None:
        """Make room for ``keys`` ids; by an eighth more than needed, so that growth stays cheap."""
        have = len(self.live)
        if keys <= have:
            return
        room = max(1024, keys + (keys >> 3))
        for name, (dtype, fill) in self._dtypes.items():
            grown = np.empty(room, dtype)
            grown[:have] = getattr(self, name)
            grown[have:] = fill
            setattr(self, name, grown)

    # -- one version -------------------------------------------------------------------------

    def begin(self, version: int, *, rebase: bool = False) -> None:
        """Start a version; with ``rebase`` from nothing, for a snapshot to be loaded."""
        if rebase:
            self._clear()
            self.base_step = len(self.versions)
        self.versions.append(version)
        self._rebased = rebase
        self._counts = RecordCounts()
        self._first_descent: int | None = None
        self._touched: list[tuple[Any, ...]] = []

    def apply(self, block: RecordBlock) -> None:
        """Apply one block of records of the version, in file order."""
        if not block.count:
            return
        if self.tracking.descends is not None and self._first_descent is None:
            below = np.flatnonzero(self.tracking.descends(block))
            self._first_descent = block.first_record + int(below[0]) if len(below) else None
        records = self._meet(block)
        step = len(self.versions) - 1
        self._log_first_touch(records, step)
        self._count(records)
        ids, is_put = records.ids, records.is_put
        inserted = ids[is_put & ~records.met_live]
        self.born_step[inserted] = BEFORE_WINDOW if self._rebased else step
        written = ids[is_put]
        self.put_step[written] = BEFORE_WINDOW if self._rebased else step
        if not self._rebased:
            np.add.at(self.puts, written, 1)
        last = records.last
        self.live[ids[last]] = is_put[last]
        final = last & is_put
        self.value_size[ids[final]] = records.value_sizes[final]
        self.value_hash[ids[final]] = records.value_hashes[final]
        if self.tracking.clock is not None:
            self.clock[ids[final]] = records.clocks[final]
        if self.tracking.clock_slot >= 0:
            self.put_record[ids[final]] = records.ordinals[final]

    def end(self) -> Change:
        """Close the version: update the totals and tell what it changed."""
        step = len(self.versions) - 1
        ids, was_live, was_size, was_hash, was_clock = self._touched_arrays()
        now_live = self.live[ids]
        put_step = BEFORE_WINDOW if self._rebased else step
        written = now_live & (self.put_step[ids] == put_step)
        reborn = now_live & (self.born_step[ids] == put_step)
        same_state = was_live & written & (self.value_hash[ids] == was_hash)
        same_state &= self.value_size[ids] == was_size
        same_value = same_state
        if self.tracking.clock_slot >= 0:
            same_value = same_state & (self.clock[ids] == was_clock)
            self.put_over_clock[ids[written]] = was_clock[written]
            self.put_same_state[ids[written]] = same_state[written]
        change = Change(
            version=self.versions[-1],
            rebased=self._rebased,
            ids=ids,
            was_live=was_live,
            was_size=was_size,
            was_clock=was_clock,
            now_live=now_live,
            written=written,
            reborn=reborn,
            same_value=same_value,
            counts=self._counts,
            first_descent=self._first_descent,
        )
        self._total(change)
        return change

    def keys(self, ids: Int64s) -> list[bytes]:
        """The key bytes of some ids."""
        ends = np.zeros(len(ids) + 1, np.int64)
        data = self.interner.gather(np.ascontiguousarray(ids, np.int64), ends)
        return [data[a:b] for a, b in pairwise(ends.tolist())]

    # -- parts -------------------------------------------------------------------------------

    def holds(self, block: RecordBlock) -> tuple[Int64s, Bools]:
        """The key ids of a block's puts, and whether the map holds each with an equal value."""
        ids, sizes, hashes, clocks = self._read(block)
        same = self.live[ids] & (self.value_hash[ids] == hashes) & (self.value_size[ids] == sizes)
        if self.tracking.clock_slot >= 0:
            same &= self.clock[ids] == clocks
        return ids, same

    def _read(self, block: RecordBlock) -> tuple[Int64s, Int64s, UInt64s, Int64s]:
        """Ids of the keys, made where they are new; sizes, hashes and clocks of the values."""
        ids = np.empty(block.count, np.int64)
        known = len(self.interner)
        self.interner.intern(block.buffer, block.key_offset, block.key_length, ids)
        self._reserve(len(self.interner))
        if len(self.interner) > known:
            self.key_size[ids] = block.key_length
        sizes = np.maximum(block.value_length, 0)
        hashes = np.zeros(block.count, np.uint64)
        offsets = np.where(block.value_length >= 0, block.value_offset, 0)
        self._kernel.hash64(block.buffer, offsets, sizes, self.tracking.clock_slot, hashes)
        clock = self.tracking.clock
        clocks = np.full(block.count, NO_CLOCK) if clock is None else clock(block)
        return ids, sizes, hashes, clocks

    def _meet(self, block: RecordBlock) -> _Records:
        """Read a block and work out what each record finds in the map when it is applied."""
        ids, sizes, hashes, clocks = self._read(block)
        is_put = block.value_length >= 0
        ordinals = np.arange(block.first_record, block.first_record + block.count)
        order = self._order(ids)
        if order is not None:
            ids, ordinals, is_put = ids[order], ordinals[order], is_put[order]
            sizes, hashes, clocks = sizes[order], hashes[order], clocks[order]
        met = self._met(ids, is_put, sizes, hashes, clocks, order is not None)
        return _Records(ids, ordinals, is_put, sizes, hashes, clocks, *met)

    def _order(self, ids: Int64s) -> Int64s | None:
        """A stable order by id if a key occurs twice in the block, else None: no need to sort."""
        position = np.arange(len(ids))
        if len(self._scratch) < len(self.live):
            self._scratch = np.empty(len(self.live), np.int32)
        self._scratch[ids] = position
        if bool((self._scratch[ids] == position).all()):
            return None
        return np.argsort(ids, kind="stable")

    def _met(
        self,
        ids: Int64s,
        is_put: Bools,
        sizes: Int64s,
        hashes: UInt64s,
        clocks: Int64s,
        repeated: bool,
    ) -> tuple[Bools, Bools, Bools, Bools]:
        """First and last record of its key in the block; met the key, met it with this value."""
        met_live, met_size = self.live[ids], self.value_size[ids].astype(np.int64)
        met_hash = self.value_hash[ids]
        has_clock = self.tracking.clock is not None
        met_clock = self.clock[ids] if has_clock else clocks
        first = last = np.ones(len(ids), np.bool_)
        if repeated:
            again = np.flatnonzero(ids[1:] == ids[:-1]) + 1
            first, last = first.copy(), last.copy()
            first[again], last[again - 1] = False, False
            met_live[again], met_size[again] = is_put[again - 1], sizes[again - 1]
            met_hash[again] = hashes[again - 1]
            if has_clock:
                met_clock[again] = clocks[again - 1]
        met_same = is_put & met_live & (met_hash == hashes) & (met_size == sizes)
        if self.tracking.clock_slot >= 0:
            met_same &= met_clock == clocks
        return first, last, met_live, met_same

    def _log_first_touch(self, records: _Records, step: int) -> None:
        """Keep what the version before held of every key that this version touches."""
        fresh = records.ids[records.first]
        fresh = fresh[self.touch_step[fresh] != step]
        self.touch_step[fresh] = step
        clock = self.clock[fresh] if self.tracking.clock is not None else None
        self._touched.append(
            (fresh, self.live[fresh], self.value_size[fresh], self.value_hash[fresh], clock)
        )

    def _touched_arrays(self) -> tuple[Int64s, Bools, Int64s, UInt64s, Int64s]:
        def column(index: int, dtype: Any) -> Any:
            parts = [part[index] for part in self._touched if part[index] is not None]
            return np.concatenate(parts).astype(dtype, copy=False) if parts else np.empty(0, dtype)

        was_live: Bools = column(1, np.bool_)
        was_clock: Int64s = column(4, np.int64)
        if len(was_clock):
            was_clock = np.where(was_live, was_clock, NO_CLOCK)
        return column(0, np.int64), was_live, column(2, np.int64), column(3, np.uint64), was_clock

    def _count(self, records: _Records) -> None:
        counts, is_put, met_live = self._counts, records.is_put, records.met_live
        puts, updates = int(is_put.sum()), int((is_put & met_live).sum())
        counts.puts += puts
        counts.updates += updates
        counts.inserts += puts - updates
        counts.removals += len(is_put) - puts
        counts.absent_removals += int((~is_put & ~met_live).sum())
        same = records.met_same
        counts.same_value_puts += int(same.sum())
        counts.same_value_put_bytes += int(records.value_sizes[same].sum())
        counts.same_value_put_bytes += int(self.key_size[records.ids[same]].sum(dtype=np.int64))

    def _total(self, change: Change) -> None:
        if change.rebased:
            self.rows = self.key_bytes = self.value_bytes = 0
        ids, was, now = change.ids, change.was_live, change.now_live
        keys = self.key_size[ids].astype(np.int64)
        values = self.value_size[ids].astype(np.int64)
        self.rows += int(now.sum()) - int(was.sum())
        self.key_bytes += int(keys[now].sum()) - int(keys[was].sum())
        self.value_bytes += int(values[now].sum()) - int(change.was_size[was].sum())
