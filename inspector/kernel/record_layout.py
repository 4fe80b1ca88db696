"""Interface of the kernel: statuses, record layouts, names of columns.

The C files have the same in ``functions.h`` and ``table.h``; both read and write the structs.
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
"""First byte of a record of a changelog (``RecordType`` of Spark 4.0 and later)."""

SPAN = 4  # numbers per record: key offset, key length, value offset, value length (-1: removal)
ENTRY = 5
"""Columns of the entries of a table: key offset, key length (without the 8 bytes of an internal
key), value offset, value length, and those 8 bytes as a number."""

NO_CLOCK = -(1 << 63)  # stands for a clock that is null, unreadable or missing
BEFORE_WINDOW = -1  # step of a put that is older than the oldest version that can be restored
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
"""State of a key; :class:`inspector.state.replay.StateMap` describes the columns.

``touched`` is one more than the step that touched the key last. A row of zeros belongs to a key
that no step has touched; ``apply`` makes it :data:`FRESH`, except for its ``mark``, the caller's
own.
"""
FRESH = np.array(
    [(0, NO_CLOCK, 0, 0, BEFORE_WINDOW, BEFORE_WINDOW, 0, 0, -1, False, False, 0, b"")], ROW
)
"""Row of a key that was never put."""
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
"""Previous state of a key that a version touches: id, and hash, clock and size of its value."""


@dataclass
class RecordCounts:
    """Counts over the records of one delta, in their order there."""

    puts: int = 0  # records that put a key: ``inserts + updates``
    inserts: int = 0  # puts of a key that was absent at that moment
    updates: int = 0  # puts of a key that was present at that moment
    same_value_puts: int = 0  # updates whose value equals the previous one
    same_value_put_bytes: int = 0  # key and value bytes that those puts wrote
    removals: int = 0  # records that remove a key
    absent_removals: int = 0  # removals of a key that was absent; they count in ``removals`` too


# names of the numbers that ``apply`` counts
COUNTS = tuple(column.name for column in fields(RecordCounts))
NUMBERS = ("ids", "key_size", "was_size", "now_size", "was_clock")
"""Columns of numbers of a change; :class:`inspector.state.change.TouchedKeys` describes them."""
OUTCOMES = ("was_live", "now_live", "written", "reborn", "same_state", "same_value")
"""Columns of single bytes of a change, described there too."""


class ChangeSums(NamedTuple):
    """Sums over the keys that a version touched; bytes are of UnsafeRows."""

    was_rows: int  # touched keys that were live before the version
    now_rows: int  # touched keys that are live after it
    new_rows: int  # keys that are live now and were not before
    removed_rows: int  # keys that were live before and are not now
    written_rows: int  # live rows whose value object is new
    reborn_rows: int  # live rows whose key object is new
    changed_rows: int  # rows that were written over with another value
    same_value_rows: int  # rows that were written over with an equal value
    was_key_bytes: int  # key bytes of the touched keys that were live before
    now_key_bytes: int  # key bytes of the touched keys that are live now
    was_value_bytes: int  # value bytes of the touched keys that were live before
    now_value_bytes: int  # value bytes of the touched keys that are live now
    reborn_key_bytes: int  # bytes of the new key objects
    written_value_bytes: int  # bytes of the new value objects
    # for ``key``, ``value`` and ``row``, the change in the number of live rows by size in bytes;
    # sizes without a change are left out
    more_by_size: Mapping[str, Mapping[int, int]]


SUMS = ChangeSums._fields[:-1]  # names of the numbers that ``tally`` adds up
SIZES = ("key", "value", "row")  # kinds of sizes by which ``tally`` counts rows
REBASED = 1  # flag of a version: its records are a snapshot's, so no put is its own
TIMED = 2  # flag of a version: clocks do not count in hashes and are compared apart
