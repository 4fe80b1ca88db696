"""Apply records to a table of keys; ``apply.c`` does the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from inspector.kernel._arguments import integers, number, structs, writable
from inspector.kernel._changes import Outcome, Tally, put_step
from inspector.kernel.record_layout import BEFORE_WINDOW, COUNTS, FRESH, ROW, TIMED, TOUCH

_MOST = (1 << 31) - 1


def apply(  # noqa: PLR0913 - the columns of the records, and four results
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
    sums: Any,
    by_size: Any,
) -> tuple[int, int]:
    """Apply records to a table of keys, one after the other.

    Args:
        table: one :data:`ROW` per key.
        ids: which key each record names.
        key_sizes: bytes of the key of each record.
        value_sizes: of its value; negative for a removal.
        hashes: of its value.
        clocks: clock of each record; None to leave the clocks of the table alone.
        step: number of the version, from 0 on.
        first_record: ordinal of the first of these records in its file.
        flags: :data:`REBASED` and :data:`TIMED`.
        touched: filled with one :data:`TOUCH` for each key that the version touches for the first
            time; room for as many as there are records.
        counts: one number per name in :data:`COUNTS`, which are added to.
        sums: as of :func:`tally`, of the keys that are touched for the first time, as they are
            behind that record. So they are those of the version if each of its records touches
            another key; else :func:`tally` gives them.
        by_size: likewise.

    Returns:
        How many of ``touched`` were filled, and the largest size, as :func:`tally`.
    """
    step, first_record, flags = number(step), number(first_record), number(flags)
    work = _Apply(structs(table, ROW), structs(touched, TOUCH), step, flags)
    tally = Tally(sums, by_size)
    columns = [integers(item) for item in (ids, key_sizes, value_sizes)]
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
        was = work.touch(key, key_size, ordinal)
        if size < 0:
            work.remove(key)
        else:
            work.put(key, size, value_hash, None if clocks is None else clock)
        if was is not None:
            tally.add(Outcome(was, work.rows[key], step, flags))
    totals += np.array([work.counts[name] for name in COUNTS])
    tally.close()
    return work.touches, tally.largest


class _Apply:
    """One call of :func:`apply`."""

    def __init__(
        self, rows: npt.NDArray[Any], touched: npt.NDArray[Any], step: int, flags: int
    ) -> None:
        self.rows, self.touched, self.touches = rows, touched, 0
        self.counts = dict.fromkeys(COUNTS, 0)
        self._step, self._flags = step, flags
        self._step_of_puts = put_step(step, flags)

    def touch(self, key: int, key_size: int, ordinal: int) -> Any:
        """Note a key as it was, and return that; None if the version has touched it before."""
        row, was = self.rows[key], None
        if not row["touched"]:
            mark = row["mark"]
            self.rows[key] = FRESH[0]
            row["mark"] = mark
        if row["touched"] != self._step + 1:
            row["touched"] = self._step + 1
            held = (key, row["value_hash"], row["clock"], row["value_size"], row["live"], b"")
            self.touched[self.touches] = held
            was = self.touched[self.touches]
            self.touches += 1
        row["key_size"], row["record"] = key_size, ordinal & _MOST
        return was

    def remove(self, key: int) -> None:
        row = self.rows[key]
        self.counts["removals"] += 1
        self.counts["absent_removals"] += not row["live"]
        row["live"] = False

    def put(self, key: int, size: int, value_hash: int, clock: int | None) -> None:
        row, step_of_puts = self.rows[key], self._step_of_puts
        clock = int(row["clock"]) if clock is None else clock
        is_same = row["live"] and row["value_hash"] == value_hash and row["value_size"] == size
        if is_same and (not self._flags & TIMED or row["clock"] == clock):
            self.counts["same_value_puts"] += 1
            self.counts["same_value_put_bytes"] += int(row["key_size"]) + size
        self.counts["puts"] += 1
        self.counts["updates" if row["live"] else "inserts"] += 1
        row["born_step"] = row["born_step"] if row["live"] else step_of_puts
        row["put_step"], row["live"] = step_of_puts, True
        row["puts"] = min(int(row["puts"]) + (step_of_puts != BEFORE_WINDOW), _MOST)
        row["value_hash"], row["value_size"], row["clock"] = value_hash, size, clock
