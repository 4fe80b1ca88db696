"""The part of the kernel that keeps a table of keys: what each record and version does to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.decode._arguments import integers, structs, writable

ROW = np.dtype(
    [
        ("value_hash", "<u8"),
        ("clock", "<i8"),
        ("key_size", "<i4"),
        ("value_size", "<i4"),
        ("put_step", "<i4"),
        ("born_step", "<i4"),
        ("touch_step", "<i4"),
        ("puts", "<i4"),
        ("put_record", "<i4"),
        ("live", "?"),
        ("same_state", "?"),
        ("unused", "V2"),
    ]
)
"""What is kept of a key; see :class:`inspector.state.replay.StateMap` for the words."""
TOUCH = np.dtype(
    [
        ("id", "<i8"),
        ("hash", "<u8"),
        ("clock", "<i8"),
        ("size", "<i4"),
        ("live", "?"),
        ("unused", "V3"),
    ]
)
"""What the version before held of a key that this version touches."""
COUNTS = (
    "puts",
    "inserts",
    "updates",
    "same_value_puts",
    "same_value_put_bytes",
    "removals",
    "absent_removals",
)
"""What :func:`apply` counts; see :class:`inspector.state.replay.RecordCounts`."""
NUMBERS = ("ids", "key_size", "was_size", "now_size", "was_clock")
"""Columns of numbers that :func:`settle` fills; see :class:`inspector.state.replay.Change`."""
FLAGS = ("was_live", "now_live", "written", "reborn", "same_state", "same_value")
"""Its columns of single bytes."""
SUMS = (
    "was_rows",
    "now_rows",
    "new_rows",
    "removed_rows",
    "written_rows",
    "reborn_rows",
    "changed_rows",
    "same_value_rows",
    "was_key_bytes",
    "now_key_bytes",
    "was_value_bytes",
    "now_value_bytes",
    "reborn_key_bytes",
    "written_value_bytes",
)
"""What :func:`tally` adds up; see :class:`inspector.state.replay.ChangeSums`."""
SIZES = ("key", "value", "row")
"""Of what :func:`tally` counts the sizes."""
REBASED = 1
"""Flag of :func:`apply`: the records are a snapshot's, so that no put is one of this version."""
TIMED = 2
"""Flag of :func:`apply`: clocks are left out of the hashes, and compared apart."""

_MOST = (1 << 31) - 1


def apply(  # noqa: PLR0913 - the columns of the records
    table: Any,
    ids: Any,
    key_sizes: Any,
    value_sizes: Any,
    hashes: Any,
    clocks: Any,
    step: int,
    first_record: int,
    flags: int,
    touched: Any,
    counts: Any,
) -> int:
    """Apply records to a table of keys, one after the other.

    Args:
        table: one :data:`ROW` per key.
        ids: which key each record names.
        key_sizes: bytes of the key of each record.
        value_sizes: of its value; negative for a removal.
        hashes: of its value.
        clocks: clock of each record; None to leave the clocks of the table alone.
        step: number of the version.
        first_record: ordinal of the first of these records in its file.
        flags: :data:`REBASED` and :data:`TIMED`.
        touched: filled with one :data:`TOUCH` for each key that the version touches for the first
            time; room for as many as there are records.
        counts: one number per name in :data:`COUNTS`, which are added to.

    Returns:
        How many of ``touched`` were filled.

    Raises:
        ValueError: an id without a row, arrays of different length, or no room in ``touched``.
    """
    work = _Apply(structs(table, ROW), structs(touched, TOUCH), step, flags)
    columns = [integers(each) for each in (ids, key_sizes, value_sizes)]
    columns.append(integers(hashes, np.uint64))
    columns.append(columns[0] if clocks is None else integers(clocks))
    totals = writable(counts, np.int64)
    if len(totals) != len(COUNTS) or len({len(column) for column in columns}) != 1:
        raise ValueError("arrays differ in length")
    if len(work.touched) < len(columns[0]):
        raise ValueError("no room for every key that may be touched")
    records = zip(*(column.tolist() for column in columns), strict=True)
    for ordinal, (key, key_size, size, value_hash, clock) in enumerate(records, first_record):
        if not 0 <= key < len(work.rows):
            raise ValueError("an id without a row")
        work.touch(key, key_size)
        if size < 0:
            work.remove(key)
        else:
            work.put(key, ordinal, size, value_hash, None if clocks is None else clock)
    totals += np.array([work.counts[name] for name in COUNTS])
    return work.touches


class _Apply:
    """One call of :func:`apply`."""

    def __init__(
        self, rows: npt.NDArray[Any], touched: npt.NDArray[Any], step: int, flags: int
    ) -> None:
        self.rows, self.touched, self.touches = rows, touched, 0
        self.counts = dict.fromkeys(COUNTS, 0)
        self._step, self._flags = step, flags

    def touch(self, key: int, key_size: int) -> None:
        row = self.rows[key]
        row["key_size"] = key_size
        if row["touch_step"] != self._step:
            row["touch_step"] = self._step
            held = (key, row["value_hash"], row["clock"], row["value_size"], row["live"], b"")
            self.touched[self.touches] = held
            self.touches += 1

    def remove(self, key: int) -> None:
        row = self.rows[key]
        self.counts["removals"] += 1
        self.counts["absent_removals"] += not row["live"]
        row["live"] = False

    def put(self, key: int, ordinal: int, size: int, value_hash: int, clock: int | None) -> None:
        row, rebased = self.rows[key], bool(self._flags & REBASED)
        made = -1 if rebased else self._step
        clock = int(row["clock"]) if clock is None else clock
        same = row["live"] and row["value_hash"] == value_hash and row["value_size"] == size
        if same and (not self._flags & TIMED or row["clock"] == clock):
            self.counts["same_value_puts"] += 1
            self.counts["same_value_put_bytes"] += int(row["key_size"]) + size
        self.counts["puts"] += 1
        self.counts["updates" if row["live"] else "inserts"] += 1
        row["born_step"] = row["born_step"] if row["live"] else made
        row["put_step"], row["put_record"], row["live"] = made, ordinal & _MOST, True
        row["puts"] = min(int(row["puts"]) + (not rebased), _MOST)
        row["value_hash"], row["value_size"], row["clock"] = value_hash, size, clock


def settle(  # noqa: PLR0913 - the tables, what a put looks like, and two results
    table: Any,
    touched: Any,
    made: int,
    no_clock: int,
    timed: bool,
    first: int,
    numbers: Any,
    flags: Any,
) -> None:
    """Tell what became of touched keys.

    Args:
        table: one :data:`ROW` per key, after the version.
        touched: one :data:`TOUCH` per key that it touched.
        made: step that puts of the version have in the table.
        no_clock: in place of the clock before of a key that was not there.
        timed: clocks are left out of the hashes, and compared apart.
        first: entry of the columns at which these keys begin.
        numbers: the columns :data:`NUMBERS`, one after the other; filled from ``first`` on.
        flags: the columns :data:`FLAGS`, one byte each; likewise.

    Raises:
        ValueError: an id without a row, or arrays of different length.
    """
    rows, before = structs(table, ROW, writable=False), structs(touched, TOUCH, writable=False)
    columns, bits = writable(numbers, np.int64), memoryview(flags).cast("B")
    length, rest = divmod(len(bits), len(FLAGS))
    if rest or not 0 <= first <= length - len(before) or len(columns) != len(NUMBERS) * length:
        raise ValueError("arrays differ in length")
    for i, (key, value_hash, clock, size, was_live, _) in enumerate(before.tolist(), first):
        if not 0 <= key < len(rows):
            raise ValueError("an id without a row")
        now = rows[key]
        clock = clock if was_live else no_clock
        written = now["live"] and now["put_step"] == made
        same_state = was_live and written and now["value_size"] == size
        same_state = same_state and now["value_hash"] == value_hash
        same_value = same_state and (not timed or now["clock"] == clock)
        columns[i::length] = (key, now["key_size"], size, now["value_size"], clock)
        reborn = now["live"] and now["born_step"] == made
        found = (was_live, now["live"], written, reborn, same_state, same_value)
        bits[i::length] = bytes(map(bool, found))


def tally(numbers: Any, flags: Any, sums: Any, by_size: Any) -> int:
    """Add up what became of touched keys. Sums that overflow wrap.

    Args:
        numbers: the columns :data:`NUMBERS`, as :func:`settle` fills them.
        flags: the columns :data:`FLAGS`.
        sums: one number per name in :data:`SUMS`, which are added to.
        by_size: for each of :data:`SIZES` how many live rows there are more than before, by bytes;
            they are added to. Sizes for which there is no room are left out.

    Returns:
        The largest size, as unsigned number, of any row that came, went or changed its size: if it
        is one for which there is no room, some were left out.

    Raises:
        ValueError: arrays of different length.
    """
    columns, totals = integers(numbers).view(np.uint64), writable(sums, np.int64).view(np.uint64)
    bits, counts = np.asarray(memoryview(flags)).reshape(-1), writable(by_size, np.int64)
    if len(totals) != len(SUMS) or len(counts) % len(SIZES) or len(bits) % len(FLAGS):
        raise ValueError("arrays differ in length")
    length = len(bits) // len(FLAGS)
    if len(columns) != len(NUMBERS) * length:
        raise ValueError("arrays differ in length")
    _, key, before, value, _ = columns.reshape(len(NUMBERS), length)
    was, now, written, reborn, _, same = bits.reshape(len(FLAGS), length) != 0
    moved = ~(was & now & (before == value))
    masks = (was, now, now & ~was, was & ~now, written, reborn, was & written & ~same, same)
    found = [np.count_nonzero(mask) for mask in masks]
    weighed = (key, was), (key, now), (before, was), (value, now), (key, reborn), (value, written)
    totals += np.array([*found, *(sizes[mask].sum() for sizes, mask in weighed)], np.uint64)
    largest, room = 0, len(counts) // len(SIZES)
    for rows, values, mask in ((-1, before, was & moved), (1, value, now & moved)):
        for kind, sizes in enumerate((key[mask], values[mask], (key + values)[mask])):
            largest = max(largest, int(sizes.max(initial=0)))
            fitting = sizes[sizes < room].astype(np.int64)
            np.add.at(counts, kind * room + fitting, rows)
    return largest
