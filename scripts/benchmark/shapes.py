"""What the made checkpoints hold: the rows of one operator each, as Spark writes them, in numpy.

A shape takes its metadata, schemas and logs from a fixture that Spark wrote. A key and its value
follow from a number, the *id* of the row, and from the version that puts it. All clocks of rows lie
80 days ahead of the watermark, so that nothing is overdue. Users, sums and clocks vary as real
ones do, so that the data compress no better than those.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from inspector.arrays import Int64s, UInt8s

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "4.3.0"
BASE_US = 1_704_067_200_000_000
AHEAD_US = 80 * 86_400_000_000
BATCH_US = 10_000_000
WINDOW_US = 20_000_000
GAP_US = 12_000_000
ROWS_OF_A_WINDOW = 50_000

Column = Int64s | UInt8s | int | None
"""A field of rows: slots; the bytes of strings or of nested rows, one line each; one value for all
rows; null in all of them."""


class Store(NamedTuple):
    """The rows of one state store.

    Attributes:
        key: keys by id, a line each.
        value: values by id, version that puts them, and chance, a line each.
        folder: below that of the partition; empty for an operator's only store.
    """

    key: Callable[[Int64s], UInt8s]
    value: Callable[[Int64s, int, np.random.Generator], UInt8s]
    folder: str = ""


class Shape(NamedTuple):
    """The state of one operator.

    Attributes:
        name: what people call it.
        case: the fixture that its metadata come from.
        stores: all of it.
        key: schema of the first store's keys, by whose hash all rows find their partition.
        hashed: first fields of it that Spark hashes.
        updated: whether later versions put a key again.
        sides: what Spark's ``statestore`` source is asked for, one after the other: its
            ``joinSide``.
    """

    name: str
    case: str
    stores: tuple[Store, ...]
    key: str
    hashed: int
    updated: bool = True
    sides: tuple[str, ...] = ("none",)

    @property
    def fixture(self) -> Path:
        """The small checkpoint of the same operator, written by Spark."""
        return FIXTURES / self.case / "checkpoint"


# --- rows ------------------------------------------------------------------------------------


def unsafe_rows(count: int, *columns: Column) -> UInt8s:
    """UnsafeRows, a line each: a bit for each null, a slot for each field, then what varies."""
    bits = -(-len(columns) // 64) * 8
    location = bits + 8 * len(columns)
    rows = np.zeros((count, location + sum(_padded(_length(item)) for item in columns)), np.uint8)
    slots = rows.view("<i8")[:, bits // 8 :]
    for number, column in enumerate(columns):
        length = _length(column)
        if column is None:
            rows[:, number // 8] |= 1 << number % 8
        elif not length:
            slots[:, number] = column
        else:
            slots[:, number] = location << 32 | length
            rows[:, location : location + length] = column
            location += _padded(length)
    return rows


def _length(column: Column) -> int:
    """Bytes of a column's values behind the slots."""
    return column.shape[1] if isinstance(column, np.ndarray) and column.ndim == 2 else 0


def _padded(length: int) -> int:
    return length + -length % 8


def _spread(ids: Int64s) -> Int64s:
    """Another number for each id: neighbours do not look alike."""
    return ids * 7919 % 99_999_999_977


def _text(prefix: bytes, numbers: Int64s, digits: int) -> UInt8s:
    """Strings of a prefix and a number with leading zeros."""
    start = len(prefix)
    text = np.empty((len(numbers), start + digits), np.uint8)
    text[:, :start] = np.frombuffer(prefix, np.uint8)
    for item in reversed(range(start, start + digits)):
        numbers, text[:, item] = np.divmod(numbers, 10)
    text[:, start:] += ord("0")
    return text


def _user(ids: Int64s) -> UInt8s:
    return _text(b"u", _spread(ids), 11)


def _window_start(ids: Int64s) -> Int64s:
    """A clock ahead of the watermark, in microseconds: windows one after the other."""
    return BASE_US + AHEAD_US + ids // ROWS_OF_A_WINDOW * WINDOW_US


def _event(ids: Int64s) -> Int64s:
    """A clock ahead of the watermark, in microseconds: to the millisecond, within the window."""
    return _window_start(ids) + _spread(ids) % (WINDOW_US // 1000) * 1000


def _seen(count: int, version: int, chance: np.random.Generator) -> Int64s:
    """When rows of a version were seen, in microseconds, to the millisecond."""
    return BASE_US + version * BATCH_US + chance.integers(0, BATCH_US // 1000, count) * 1000


# --- windowed count --------------------------------------------------------------------------


def _window_key(ids: Int64s) -> UInt8s:
    start = _window_start(ids)
    window = unsafe_rows(len(ids), start, start + WINDOW_US)
    return unsafe_rows(len(ids), window, _user(ids))


def _window_value(ids: Int64s, version: int, chance: np.random.Generator) -> UInt8s:
    """Count, sum, max."""
    sums = chance.integers(0, 5_000 * version, len(ids))
    return unsafe_rows(len(ids), version, sums, _seen(len(ids), version, chance))


WINDOWED_COUNT = Shape(
    name="windowed count",
    case="agg_update",
    stores=(Store(_window_key, _window_value),),
    key="window struct<start: timestamp, end: timestamp>, user string",
    hashed=2,
)


# --- deduplication ---------------------------------------------------------------------------


def _event_key(ids: Int64s) -> UInt8s:
    return unsafe_rows(len(ids), _user(ids), _event(ids))


def _nothing(ids: Int64s, _version: int, _chance: np.random.Generator) -> UInt8s:
    return unsafe_rows(len(ids), None)


DEDUPLICATION = Shape(
    name="deduplication",
    case="dedup_event_time",
    stores=(Store(_event_key, _nothing),),
    key="user string, ts timestamp",
    hashed=2,
    updated=False,
)


# --- session windows -------------------------------------------------------------------------


def _session_key(ids: Int64s) -> UInt8s:
    """Two sessions of each user, 80 days apart."""
    return unsafe_rows(len(ids), _user(ids // 2), _session_start(ids))


def _session_start(ids: Int64s) -> Int64s:
    return _event(ids) + ids % 2 * AHEAD_US


def _session_value(ids: Int64s, version: int, chance: np.random.Generator) -> UInt8s:
    """Session, user, count, sum: a session lasts longer with each version that puts it."""
    start, count = _session_start(ids), len(ids)
    end = start + GAP_US + version * GAP_US // 2 + chance.integers(0, GAP_US // 2000, count) * 1000
    session = unsafe_rows(count, start, end)
    sums = chance.integers(0, 5_000 * version, count)
    return unsafe_rows(count, session, _user(ids // 2), version, sums)


SESSION_WINDOWS = Shape(
    name="session windows",
    case="session_window",
    stores=(Store(_session_key, _session_value),),
    key="user string, sessionStartTime timestamp",
    hashed=1,
)


# --- group state with timers -----------------------------------------------------------------


def _group_key(ids: Int64s) -> UInt8s:
    return unsafe_rows(len(ids), _user(ids))


def _group_value(ids: Int64s, version: int, chance: np.random.Generator) -> UInt8s:
    """User, visits, when seen last, timeouts; and the timer that each visit sets anew."""
    count = len(ids)
    seen_ms = _seen(count, version, chance) // 1000
    state = unsafe_rows(count, _user(ids), version, seen_ms, 0)
    return unsafe_rows(count, state, seen_ms + AHEAD_US // 1000)


GROUP_STATE = Shape(
    name="group state with timers",
    case="fmgws_event_rearm",
    stores=(Store(_group_key, _group_value),),
    key="value string",
    hashed=1,
)


# --- stream-stream join ----------------------------------------------------------------------


def _join_key(ids: Int64s) -> UInt8s:
    return unsafe_rows(len(ids), _spread(ids))


def _one(ids: Int64s, _version: int, _chance: np.random.Generator) -> UInt8s:
    return unsafe_rows(len(ids), 1)


def _row_key(ids: Int64s) -> UInt8s:
    """The join key, and the first row of it."""
    return unsafe_rows(len(ids), _spread(ids), 0)


def _impression(ids: Int64s, _version: int, _chance: np.random.Generator) -> UInt8s:
    """Ad, time, site, matched: both rows of a key come in one batch, and each is put once."""
    site = _text(b"site-", _spread(ids) % 1000, 3)
    return unsafe_rows(len(ids), _spread(ids), _event(ids), site, 1)


def _click(ids: Int64s, _version: int, _chance: np.random.Generator) -> UInt8s:
    """Ad, time, cost, matched."""
    cost = (_spread(ids) % 1000 / 100).view(np.int64)
    return unsafe_rows(len(ids), _spread(ids), _event(ids), cost, 1)


JOIN = Shape(
    name="stream-stream join",
    case="join_left_outer",
    stores=(
        Store(_join_key, _one, "left-keyToNumValues"),
        Store(_row_key, _impression, "left-keyWithIndexToValue"),
        Store(_join_key, _one, "right-keyToNumValues"),
        Store(_row_key, _click, "right-keyWithIndexToValue"),
    ),
    key="field0 bigint",
    hashed=1,
    updated=False,
    sides=("left", "right"),
)

SHAPES = (WINDOWED_COUNT, GROUP_STATE, JOIN, SESSION_WINDOWS, DEDUPLICATION)
"""The operators that are compared with each other."""
