"""Application of records to a table of keys, and lists and sums of their effects.

``apply.c`` and ``changes.c`` do the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.kernel import record_layout as layout
from inspector.kernel._arguments import integers, number, same_length, structs, writable

_WORD = (1 << 64) - 1  # bits of a word, at which sums wrap
_MOST = (1 << 31) - 1  # largest number of 31 bits, at which counters stay


def _put_step(step: int, flags: int) -> int:
    """Return the step to record for a put: BEFORE_WINDOW for records of a snapshot."""
    return layout.BEFORE_WINDOW if flags & layout.REBASED else step


class _Outcome:
    """Effect of a version on a key; attributes are the columns ``NUMBERS`` and ``OUTCOMES``."""

    def __init__(self, was: Any, now: Any, step: int, flags: int) -> None:
        step_of_puts = _put_step(step, flags)
        self.ids, self.key_size = int(was["id"]), int(now["key_size"])
        self.was_size, self.now_size = int(was["size"]), int(now["value_size"])
        self.was_live, self.now_live = bool(was["live"]), bool(now["live"])
        self.was_clock = int(was["clock"]) if self.was_live else layout.NO_CLOCK
        self.written = self.now_live and now["put_step"] == step_of_puts
        self.reborn = self.now_live and now["born_step"] == step_of_puts
        is_same = self.was_live and self.written and now["value_hash"] == was["hash"]
        self.same_state = is_same and self.was_size == self.now_size
        same_clock = not flags & layout.TIMED or now["clock"] == was["clock"]
        self.same_value = self.same_state and same_clock


def _outcomes(table: Any, touched: Any, step: int, flags: int) -> list[_Outcome]:
    """Return the effect on each touched key. ValueError: an id has no row."""
    rows = structs(table, layout.ROW, writable=False)
    touches = structs(touched, layout.TOUCH, writable=False)
    if not all(0 <= key < len(rows) for key in touches["id"].tolist()):
        raise ValueError("an id without a row")
    return [_Outcome(was, rows[was["id"]], step, flags) for was in touches]


def change_columns(  # noqa: PLR0913 - the tables, the version, and two results
    table: Any, touched: Any, step: int, flags: int, first: int, numbers: Any, outcomes: Any
) -> None:
    """Write the effects of a version on the keys that it touched into columns.

    The tables, ``step`` and ``flags`` are as in :func:`tally`. ``numbers`` takes the columns
    :data:`NUMBERS`, one after the other, from entry ``first`` of each on; ``outcomes`` takes the
    columns :data:`OUTCOMES` so, one byte each.
    """
    step, flags, first = number(step), number(flags), number(first)
    columns, bits = writable(numbers, np.int64), memoryview(outcomes).cast("B")
    length, remainder = divmod(len(bits), len(layout.OUTCOMES))
    count = len(structs(touched, layout.TOUCH, writable=False))
    is_whole = not remainder and len(columns) == len(layout.NUMBERS) * length
    if not is_whole or not 0 <= first <= length - count:
        raise ValueError("arrays differ in length")
    for i, outcome in enumerate(_outcomes(table, touched, step, flags), first):
        columns[i::length] = [getattr(outcome, name) for name in layout.NUMBERS]
        bits[i::length] = bytes(bool(getattr(outcome, name)) for name in layout.OUTCOMES)


def tally(table: Any, touched: Any, step: int, flags: int, sums: Any, by_size: Any) -> int:
    """Add up the effects of a version on the keys that it touched. Sums that overflow wrap.

    ``table`` has a :data:`ROW` for each key, after the version; ``touched`` has a :data:`TOUCH` for
    each key that it touched; ``step`` and ``flags`` are as in :func:`apply`. Results are added to
    ``sums``, one number for each name in :data:`SUMS`, and to ``by_size``: for each of
    :data:`SIZES` the change in the number of live rows, by size in bytes, as far as there is room.

    Returns:
        The largest size of any row that was added, removed or changed in size. If it has no room in
            ``by_size``, some rows are left out there.
    """
    step, flags = number(step), number(flags)
    adding = _Tally(sums, by_size)
    for outcome in _outcomes(table, touched, step, flags):
        adding.add(outcome)
    adding.close()
    return adding.largest


class _Tally:
    """Sums that are added to ``sums`` and ``by_size``, version by version."""

    def __init__(self, sums: Any, by_size: Any, versions: int = 1) -> None:
        self._totals = writable(sums, np.int64).view(np.uint64)
        self._counts = writable(by_size, np.int64)
        self._room, remainder = divmod(len(self._counts), len(layout.SIZES))
        if remainder or len(self._totals) != len(layout.SUMS) * versions:
            raise ValueError("arrays differ in length")
        self._sums = [0] * len(layout.SUMS)
        self.largest = 0

    def add(self, key: _Outcome) -> None:
        """Add the effect on one key."""
        was, now, size = key.was_live, key.now_live, key.key_size
        adds = (
            *(was, now, now and not was, was and not now, key.written, key.reborn),
            *(was and key.written and not key.same_value, key.same_value),
            *(was * size, now * size, was * key.was_size, now * key.now_size),
            *(key.reborn * size, key.written * key.now_size),
        )
        self._sums = [sum_ + int(item) for sum_, item in zip(self._sums, adds, strict=True)]
        if was and now and key.was_size == key.now_size:
            return  # as many of every size as before
        if was:
            self._row(size, key.was_size, -1)
        if now:
            self._row(size, key.now_size, 1)

    def _row(self, key: int, value: int, rows: int) -> None:
        """Add ``rows``, which may be negative, to the numbers of rows of these sizes.

        ``key`` and ``value`` are sizes in bytes. The numbers are counted by size of the key, of the
        value, and of both together. A size that has no room is only noted in ``largest``.
        """
        for kind, size in enumerate((key, value, key + value)):
            self.largest = max(self.largest, size)
            if 0 <= size < self._room:
                self._counts[kind * self._room + size] += rows

    def close(self, version: int = 0) -> None:
        """Add the sums so far to the row of a version, and begin again."""
        row = slice(version * len(layout.SUMS), (version + 1) * len(layout.SUMS))
        self._totals[row] += np.array([item & _WORD for item in self._sums], np.uint64)
        self._sums = [0] * len(layout.SUMS)


def apply(  # noqa: PLR0913 - the columns of the records, and four results
    table: Any,  # one :data:`ROW` per key
    ids: Any,  # which key each record names
    key_sizes: Any,  # bytes of the key of each record
    value_sizes: Any,  # of its value; negative for a removal
    hashes: Any,  # of its value
    clocks: Any,  # clock of each record; None to leave the clocks of the table alone
    step: int,  # number of the version, from 0 on; of the first, if there are several
    first_record: int,  # ordinal of the first of these records in its file
    flags: int,  # :data:`REBASED` and :data:`TIMED`
    # filled with one :data:`TOUCH` for each key that the version touches for the first time; room
    # for as many as there are records
    touched: Any,
    counts: Any,  # one number per name in :data:`COUNTS`, which are added to
    # sums, by_size: as of :func:`tally`, of the keys that are touched for the first time, as they
    # are behind that record: those of the version if each record touches another key
    sums: Any,
    by_size: Any,
    # how many records these are up to the end of each of several versions, which have a row of
    # ``counts`` and ``sums`` each. None behind one that has fewer keys than records is applied
    ends: Any = None,
) -> tuple[int, int]:
    """Apply records to a table of keys, one after the other.

    Returns:
        The number of ``touched`` that were filled, and the largest size as :func:`tally`.
    """
    step, first_record, flags = number(step), number(first_record), number(flags)
    rows, all_touched = structs(table, layout.ROW), structs(touched, layout.TOUCH)
    columns = [integers(item) for item in (ids, key_sizes, value_sizes)]
    columns.append(integers(hashes, np.uint64))
    columns.append(columns[0] if clocks is None else integers(clocks))
    stops = [len(columns[0])] if ends is None else integers(ends).tolist()
    adding = _Tally(sums, by_size, len(stops))
    totals = writable(counts, np.int64)
    same_length(*columns)
    if len(totals) != len(layout.COUNTS) * len(stops):
        raise ValueError("arrays differ in length")
    if len(all_touched) < len(columns[0]):
        raise ValueError("no room for every key that may be touched")
    touches = start = 0
    for version, end in enumerate(stops):
        if touches < start:  # the version before has several records of a key
            break
        if not start <= end <= len(columns[0]):
            raise ValueError("a version ends outside of the records")
        work = _Apply(rows, all_touched[start:], step + version, flags)
        records = zip(*(column[start:end].tolist() for column in columns), strict=True)
        for ordinal, (key, key_size, size, value_hash, clock) in enumerate(records, first_record):
            if not 0 <= key < len(rows):
                raise ValueError("an id without a row")
            was = work.touch(key, key_size, ordinal)
            if size < 0:
                work.remove(key)
            else:
                work.put(key, size, value_hash, None if clocks is None else clock)
            if was is not None:
                adding.add(_Outcome(was, rows[key], step + version, flags))
        row = slice(version * len(layout.COUNTS), (version + 1) * len(layout.COUNTS))
        totals[row] += np.array([work.counts[name] for name in layout.COUNTS])
        adding.close(version)
        touches, start = start + work.touches, end
    return touches, adding.largest


class _Apply:
    """Application of the records of one version."""

    def __init__(
        self, rows: npt.NDArray[Any], touched: npt.NDArray[Any], step: int, flags: int
    ) -> None:
        self.rows, self.touched, self.touches = rows, touched, 0
        self.counts = dict.fromkeys(layout.COUNTS, 0)
        self._step, self._flags = step, flags
        self._step_of_puts = _put_step(step, flags)

    def touch(self, key: int, key_size: int, ordinal: int) -> Any:
        """Note a key's previous state and return it; None if the version touched it before."""
        row, was = self.rows[key], None
        if not row["touched"]:
            mark = row["mark"]
            self.rows[key] = layout.FRESH[0]
            row["mark"] = mark
        if row["touched"] != self._step + 1:
            row["touched"] = self._step + 1
            previous_state = (
                key,
                row["value_hash"],
                row["clock"],
                row["value_size"],
                row["live"],
                b"",
            )
            self.touched[self.touches] = previous_state
            was = self.touched[self.touches]
            self.touches += 1
        row["key_size"], row["record"] = key_size, ordinal & _MOST
        return was

    def remove(self, key: int) -> None:
        """Apply a removal."""
        row = self.rows[key]
        self.counts["removals"] += 1
        self.counts["absent_removals"] += not row["live"]
        row["live"] = False

    def put(self, key: int, size: int, value_hash: int, clock: int | None) -> None:
        """Apply a put; a ``clock`` of None leaves the key's clock unchanged."""
        row, step_of_puts = self.rows[key], self._step_of_puts
        clock = int(row["clock"]) if clock is None else clock
        is_same = row["live"] and row["value_hash"] == value_hash and row["value_size"] == size
        if is_same and (not self._flags & layout.TIMED or row["clock"] == clock):
            self.counts["same_value_puts"] += 1
            self.counts["same_value_put_bytes"] += int(row["key_size"]) + size
        self.counts["puts"] += 1
        self.counts["updates" if row["live"] else "inserts"] += 1
        row["born_step"] = row["born_step"] if row["live"] else step_of_puts
        row["put_step"], row["live"] = step_of_puts, True
        row["puts"] = min(int(row["puts"]) + (step_of_puts != layout.BEFORE_WINDOW), _MOST)
        row["value_hash"], row["value_size"], row["clock"] = value_hash, size, clock
