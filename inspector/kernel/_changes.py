"""List and add up what a version did to the keys that it touched; as ``changes.c``."""

from __future__ import annotations

from typing import Any

import numpy as np

from inspector.kernel._arguments import number, structs, writable
from inspector.kernel.record_layout import (
    BEFORE_WINDOW,
    NO_CLOCK,
    NUMBERS,
    OUTCOMES,
    REBASED,
    ROW,
    SIZES,
    SUMS,
    TIMED,
    TOUCH,
)

_WORD = (1 << 64) - 1


def put_step(step: int, flags: int) -> int:
    """The step that the puts of a version have in the table."""
    return BEFORE_WINDOW if flags & REBASED else step


class Outcome:
    """What a version did to a key; attributes as the columns ``NUMBERS`` and ``OUTCOMES``."""

    def __init__(self, was: Any, now: Any, step: int, flags: int) -> None:
        step_of_puts = put_step(step, flags)
        self.ids, self.key_size = int(was["id"]), int(now["key_size"])
        self.was_size, self.now_size = int(was["size"]), int(now["value_size"])
        self.was_live, self.now_live = bool(was["live"]), bool(now["live"])
        self.was_clock = int(was["clock"]) if self.was_live else NO_CLOCK
        self.written = self.now_live and now["put_step"] == step_of_puts
        self.reborn = self.now_live and now["born_step"] == step_of_puts
        is_same = self.was_live and self.written and now["value_hash"] == was["hash"]
        self.same_state = is_same and self.was_size == self.now_size
        same_clock = not flags & TIMED or now["clock"] == was["clock"]
        self.same_value = self.same_state and same_clock


def _outcomes(table: Any, touched: Any, step: int, flags: int) -> list[Outcome]:
    rows, before = structs(table, ROW, writable=False), structs(touched, TOUCH, writable=False)
    if not all(0 <= key < len(rows) for key in before["id"].tolist()):
        raise ValueError("an id without a row")
    return [Outcome(was, rows[was["id"]], step, flags) for was in before]


def change_columns(  # noqa: PLR0913 - the tables, the version, and two results
    table: Any, touched: Any, step: int, flags: int, first: int, numbers: Any, outcomes: Any
) -> None:
    """List what a version did to the keys that it touched.

    Args:
        table: one :data:`ROW` per key, after the version.
        touched: one :data:`TOUCH` per key that it touched.
        step: number of the version.
        flags: of the version, as :func:`apply` takes them.
        first: entry of the columns at which these keys begin.
        numbers: the columns :data:`NUMBERS`, one after the other; filled from ``first`` on.
        outcomes: the columns :data:`OUTCOMES`, one byte each; likewise.
    """
    step, flags, first = number(step), number(flags), number(first)
    columns, bits = writable(numbers, np.int64), memoryview(outcomes).cast("B")
    length, remainder = divmod(len(bits), len(OUTCOMES))
    count = len(structs(touched, TOUCH, writable=False))
    if remainder or not 0 <= first <= length - count or len(columns) != len(NUMBERS) * length:
        raise ValueError("arrays differ in length")
    for i, outcome in enumerate(_outcomes(table, touched, step, flags), first):
        columns[i::length] = [getattr(outcome, name) for name in NUMBERS]
        bits[i::length] = bytes(bool(getattr(outcome, name)) for name in OUTCOMES)


def tally(table: Any, touched: Any, step: int, flags: int, sums: Any, by_size: Any) -> int:
    """Add up what a version did to the keys that it touched. Sums that overflow wrap.

    Args:
        table: one :data:`ROW` per key, after the version.
        touched: one :data:`TOUCH` per key that it touched.
        step: number of the version.
        flags: of the version, as :func:`apply` takes them.
        sums: one number per name in :data:`SUMS`, which are added to.
        by_size: for each of :data:`SIZES` how many live rows there are more than before, by bytes;
            they are added to. Sizes for which there is no room are left out.

    Returns:
        The largest size of any row that came, went or changed its size: if it is one for which
        there is no room, some were left out.
    """
    step, flags = number(step), number(flags)
    adding = Tally(sums, by_size)
    for outcome in _outcomes(table, touched, step, flags):
        adding.add(outcome)
    adding.close()
    return adding.largest


class Tally:
    """Sums on their way into a caller's arrays."""

    def __init__(self, sums: Any, by_size: Any) -> None:
        self._totals = writable(sums, np.int64).view(np.uint64)
        self._counts = writable(by_size, np.int64)
        if len(self._totals) != len(SUMS) or len(self._counts) % len(SIZES):
            raise ValueError("arrays differ in length")
        self._room = len(self._counts) // len(SIZES)
        self._sums = [0] * len(SUMS)
        self.largest = 0

    def add(self, key: Outcome) -> None:
        was, now, size = key.was_live, key.now_live, key.key_size
        adds = (
            was,
            now,
            now and not was,
            was and not now,
            key.written,
            key.reborn,
            was and key.written and not key.same_value,
            key.same_value,
            was * size,
            now * size,
            was * key.was_size,
            now * key.now_size,
            key.reborn * size,
            key.written * key.now_size,
        )
        self._sums = [sum_ + int(item) for sum_, item in zip(self._sums, adds, strict=True)]
        if was and now and key.was_size == key.now_size:
            return  # as many of every size as before
        if was:
            self._row(size, key.was_size, -1)
        if now:
            self._row(size, key.now_size, 1)

    def _row(self, key: int, value: int, rows: int) -> None:
        for kind, size in enumerate((key, value, key + value)):
            self.largest = max(self.largest, size)
            if 0 <= size < self._room:
                self._counts[kind * self._room + size] += rows

    def close(self) -> None:
        """Add the sums to the caller's."""
        self._totals += np.array([item & _WORD for item in self._sums], np.uint64)
