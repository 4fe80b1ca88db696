"""What the kernel and its callers agree on: statuses, record layouts, names of columns.

The C files have the same in ``functions.h`` and ``table.h``; a struct is read and written by both.
"""

from __future__ import annotations

import numpy as np

MORE = 0
"""The buffer ends within or right after a record; ``stop`` is where that record starts."""
FULL = 1
"""No room for another record; ``stop`` is where it starts."""
END = 2
"""The end mark was read; ``stop`` is the byte after it."""
BAD_KEY_LENGTH = 3
"""A key length below -1 at ``stop``."""
OVER_LIMIT = 4
"""A key or value length above ``max_length`` at ``stop``."""
BAD_BLOCK = 5
"""A block of a table whose restarts have no room in it."""
BAD_ENTRY = 6
"""An entry of a table whose lengths are impossible."""
BAD_ORDER = 7
"""An entry of a table that is not above the one before it."""

BAD_KIND = 8
"""At ``stop`` begins a record of an unknown kind, or one whose value does not fit its kind."""

KIND_END, KIND_PUT, KIND_REMOVAL, KIND_MERGE = 0x00, 0x01, 0x10, 0x11
"""What a record of a changelog begins with (``RecordType`` of Spark 4.0 and later)."""

SPAN = 4
"""Numbers per record: key offset, key length, value offset, value length (-1 for a removal)."""
ENTRY = 5
"""Columns of the entries of a table: key offset, key length (without the 8 bytes of an internal
key), value offset, value length, and those 8 bytes as a number."""

NO_CLOCK = -(1 << 63)
"""In place of a clock that is null, unreadable or not there."""
BEFORE_WINDOW = -1
"""Step of a put that came before the oldest version that can be restored."""
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
        ("same_state", "?"),
        ("mark", "u1"),
        ("unused", "V1"),
    ]
)
"""What is kept of a key; see :class:`inspector.state.replay.StateMap` for the words.

``touched`` is one more than the step that touched the key last. A row of zeros is that of a key
which no step has touched; ``apply`` makes it :data:`FRESH`, but for its ``mark``, the
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
COUNTS = (
    "puts",
    "inserts",
    "updates",
    "same_value_puts",
    "same_value_put_bytes",
    "removals",
    "absent_removals",
)
"""What ``apply`` counts; see :class:`inspector.state.change.RecordCounts`."""
NUMBERS = ("ids", "key_size", "was_size", "now_size", "was_clock")
"""Columns of numbers of a change; see :class:`inspector.state.change.TouchedKeys`."""
OUTCOMES = ("was_live", "now_live", "written", "reborn", "same_state", "same_value")
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
"""What ``tally`` adds up; see :class:`inspector.state.change.ChangeSums`."""
SIZES = ("key", "value", "row")
"""Of what ``tally`` counts the sizes."""
REBASED = 1
"""Flag of a version: its records are a snapshot's, so that no put is one of this version."""
TIMED = 2
"""Flag of a version: clocks are left out of the hashes, and compared apart."""
