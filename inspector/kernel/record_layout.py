"""Interface of the kernel: statuses, record layouts, names of columns.

The C files have the same in ``functions.h`` and ``table.h``; a struct is read and written by both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from inspector.light_dataclasses import dataclass, fields

MORE = 0  # the buffer ends within or right after a record; ``stop`` is where that record starts
FULL = 1  # no room for another record; ``stop`` is where it starts
END = 2  # the end mark was read; ``stop`` is the byte after it
BAD_KEY_LENGTH = 3  # a key length below -1 at ``stop``
OVER_LIMIT = 4  # a key or value length above ``max_length`` at ``stop``
BAD_BLOCK = 5  # a block of a table whose restarts have no room in it
BAD_ENTRY = 6  # an entry of a table whose lengths are impossible
BAD_ORDER = 7  # an entry of a table that is not above the one before it
BAD_KIND = 8  # at ``stop`` is a record of an unknown kind, or whose value does not fit its kind

KIND_END, KIND_PUT, KIND_REMOVAL, KIND_MERGE = 0x00, 0x01, 0x10, 0x11
"""What a record of a changelog begins with (``RecordType`` of Spark 4.0 and later)."""

SPAN = 4  # numbers per record: key offset, key length, value offset, value length (-1: removal)
ENTRY = 5
"""Columns of the entries of a table: key offset, key length (without the 8 bytes of an internal
key), value offset, value length, and those 8 bytes as a number."""

NO_CLOCK = -(1 << 63)  # in place of a clock that is null, unreadable or not there
BEFORE_WINDOW = -1  # step of a put that came before the oldest version that can be restored
ROW = np.dtype(
    [
        ("value_hash", "<u8"),
        ("clock", "<i8"),
        ("key_size", "<i4"),
        ("value_size", "<i4"),
        ("put_step", "<i4"),
        ("born_step", "<i4"),
        ("touched", "<i4"),
        ("puts", "<i4"),
        ("record", "<i4"),
        ("live", "?"),
        ("put_same_state", "?"),
        ("mark", "u1"),
        ("unused", "V1"),
    ]
)
"""What is kept of a key; see :class:`inspector.state.replay.StateMap` for the words.

``touched`` is one more than the step that touched the key last. A row of zeros is that of a key
which no step has touched; ``apply`` makes it :data:`FRESH`, except for its ``mark``, the
caller's own.
"""
FRESH = np.array(
    [(0, NO_CLOCK, 0, 0, BEFORE_WINDOW, BEFORE_WINDOW, 0, 0, -1, False, False, 0, b"")], ROW
)
"""The row of a key that was never put."""
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


@dataclass
class RecordCounts:
    """Counts over the records of one delta, in their order there."""

    # puts, removals: records of each kind; ``puts == inserts + updates``
    puts: int = 0
    inserts: int = 0  # puts of a key that was absent at that moment
    updates: int = 0  # puts of one that was present
    same_value_puts: int = 0  # updates whose value equals the one that was there
    same_value_put_bytes: int = 0  # key and value bytes that those puts wrote
    removals: int = 0
    absent_removals: int = 0  # removals of a key that was absent; they count in ``removals`` too


COUNTS = tuple(column.name for column in fields(RecordCounts))  # what ``apply`` counts
NUMBERS = ("ids", "key_size", "was_size", "now_size", "was_clock")
"""Columns of numbers of a change; see :class:`inspector.state.change.TouchedKeys`."""
OUTCOMES = ("was_live", "now_live", "written", "reborn", "same_state", "same_value")
"""Its columns of single bytes."""


class ChangeSums(NamedTuple):
    """Sums over the keys that a version touched; bytes are of UnsafeRows."""

    # was_rows, now_rows: those that were live before, and that are live now
    was_rows: int
    now_rows: int
    # new_rows, removed_rows: those of them that did not before, and that no longer do
    new_rows: int
    removed_rows: int
    # written_rows, reborn_rows: rows whose value object is new, and whose key object is
    written_rows: int
    reborn_rows: int
    # changed_rows, same_value_rows: written over with another value, and with an equal one
    changed_rows: int
    same_value_rows: int
    # was_key_bytes, now_key_bytes, was_value_bytes, now_value_bytes: of the live ones
    was_key_bytes: int
    now_key_bytes: int
    was_value_bytes: int
    now_value_bytes: int
    # reborn_key_bytes, written_value_bytes: of those new objects
    reborn_key_bytes: int
    written_value_bytes: int
    # of ``key``, ``value`` and ``row``, by bytes: how many more live rows have one of that size
    # than before, where it is not as many
    more_by_size: Mapping[str, Mapping[int, int]]


SUMS = ChangeSums._fields[:-1]  # what ``tally`` adds up
SIZES = ("key", "value", "row")  # of what ``tally`` counts the sizes
REBASED = 1  # flag of a version: its records are a snapshot's, so no put is one of its own
TIMED = 2  # flag of a version: clocks are left out of the hashes, and compared apart
