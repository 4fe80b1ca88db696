"""The kernel in Python: the definition of what ``_kernel_c`` does faster.

Five operations over spans of one buffer, a span being an offset and a length: find the records,
hash, concatenate, and give equal byte strings equal numbers. Arrays are one-dimensional,
contiguous, 64-bit signed integers (hashes: unsigned) such as ``numpy.int64`` arrays.

No operation raises an error of the format: :func:`scan` tells by its status what it met. Spans
outside of the buffer are a mistake of the caller, hence ``ValueError``.

Record framing, big endian (``HDFSBackedStateStoreProvider``, 2.3 to 4.3)::

    int32 key length | key | int32 value length | value      a put
    int32 key length | key | int32 < 0                       a removal
    int32 -1                                                 the end
"""

from __future__ import annotations

import struct
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

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

SPAN = 4
"""Numbers per record: key offset, key length, value offset, value length (-1 for a removal)."""

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
REBASED = 1
"""Flag of :func:`apply`: the records are a snapshot's, so that no put is one of this version."""
TIMED = 2
"""Flag of :func:`apply`: clocks are left out of the hashes, and compared apart."""

ANY = 0
"""Field of 8 bytes of any content."""
UNUSED = 1
"""Narrow field; operand: its bits, above which the slot is zero."""
RANGE = 2
"""Signed number of 64 bits; operands: the lowest and the highest."""
REGION = 3
"""Offset and size of a variable part."""
STRUCT = 4
"""The same of a struct; operands: how many numbers its program has, then that program."""
DOUBT = 5
"""Field that this check does not know: whatever is there, somebody else has to look."""

_INT32 = struct.Struct(">i")
_SLOT = struct.Struct("<Q")
_WORD = 8  # bytes of a slot of an UnsafeRow, and of a word of its null bits
_HASHED_AWAY = _WORD  # bytes that do not count when ``skip`` is given: one slot
_MOST = (1 << 31) - 1
_DEEPEST = 64  # structs within structs
_OPERANDS = {UNUSED: 1, RANGE: 2}

Int64s = npt.NDArray[np.int64]


def scan(buffer: Any, start: int, spans: Any, max_length: int) -> tuple[int, int, int]:
    """Find whole records from ``start`` on.

    Args:
        buffer: raw bytes of a delta or snapshot.
        start: offset of the first record.
        spans: filled with :data:`SPAN` numbers per record.
        max_length: longest key or value that is accepted.

    Returns:
        A status, the number of records found, and the offset of the first byte not consumed (of
        the offending length for :data:`BAD_KEY_LENGTH` and :data:`OVER_LIMIT`).

    Raises:
        ValueError: ``start`` lies outside of the buffer.
    """
    view = _bytes(buffer)
    table = _writable(spans, np.int64)
    if not 0 <= start <= len(view):
        raise ValueError("start lies outside of the buffer")
    room = len(table) // SPAN
    found: list[int] = []
    status = FULL
    while status == FULL and len(found) < room * SPAN:
        status, start = _record(view, start, max_length, found)
    table[: len(found)] = found
    return status, len(found) // SPAN, start


def _record(view: memoryview, start: int, max_length: int, found: list[int]) -> tuple[int, int]:
    """Append one record and return where the next starts, with FULL; or why there is none."""
    remaining = len(view) - start - _INT32.size
    if remaining < 0:
        return MORE, start
    (key_length,) = _INT32.unpack_from(view, start)
    if key_length == -1:
        return END, start + _INT32.size
    if key_length < -1:
        return BAD_KEY_LENGTH, start
    if key_length > max_length:
        return OVER_LIMIT, start
    remaining -= key_length + _INT32.size
    if remaining < 0:
        return MORE, start
    at = start + _INT32.size + key_length
    value_length = max(_INT32.unpack_from(view, at)[0], -1)
    if value_length > max_length:
        return OVER_LIMIT, at
    if remaining < value_length:
        return MORE, start
    value_offset = at + _INT32.size
    found += (start + _INT32.size, key_length, value_offset, value_length)
    return FULL, value_offset + max(value_length, 0)


def hash64(buffer: Any, offsets: Any, lengths: Any, skip: int, out: Any) -> None:
    """Hash every span by XXH64 with seed 0.

    Args:
        buffer: what the spans lie in.
        offsets: where each span starts.
        lengths: bytes of each span.
        skip: if not negative, the 8 bytes at this offset of each span do not count (a clock that
            moves with every put): what follows them is hashed with the hash of what precedes them
            as seed. Spans that end before do not have such bytes and are hashed whole.
        out: filled with one unsigned hash per span.

    Raises:
        ValueError: a span outside of the buffer, or arrays of different length.
    """
    view, starts, sizes = _spans(buffer, offsets, lengths)
    hashes = _writable(out, np.uint64)
    _same_length(starts, hashes)
    tail = skip + _HASHED_AWAY
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        span = view[start : start + size]
        if skip >= 0 and size >= tail:
            seed = xxhash.xxh64_intdigest(span[:skip])
            hashes[i] = xxhash.xxh64_intdigest(span[tail:], seed)
        else:
            hashes[i] = xxhash.xxh64_intdigest(span)


def gather(buffer: Any, offsets: Any, lengths: Any) -> bytes:
    """The bytes of all spans, one after the other.

    Raises:
        ValueError: a span outside of the buffer, or arrays of different length.
    """
    view, starts, sizes = _spans(buffer, offsets, lengths)
    pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
    return b"".join([view[start : start + size] for start, size in pairs])


def apply(
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
    rows, fresh = _structs(table, ROW), _structs(touched, TOUCH)
    columns = [_integers(each) for each in (ids, key_sizes, value_sizes)]
    columns.append(_integers(hashes, np.uint64))
    columns.append(columns[0] if clocks is None else _integers(clocks))
    totals = _writable(counts, np.int64)
    if len(totals) != len(COUNTS) or len({len(column) for column in columns}) != 1:
        raise ValueError("arrays differ in length")
    if len(fresh) < len(columns[0]):
        raise ValueError("no room for every key that may be touched")
    touches = 0
    made = -1 if flags & REBASED else step
    records = zip(*(column.tolist() for column in columns), strict=True)
    for ordinal, (key, key_size, size, value_hash, clock) in enumerate(records, first_record):
        if not 0 <= key < len(rows):
            raise ValueError("an id without a row")
        row = rows[key]
        row["key_size"] = key_size
        if row["touch_step"] != step:
            row["touch_step"] = step
            held = (key, row["value_hash"], row["clock"], row["value_size"], row["live"], b"")
            fresh[touches] = held
            touches += 1
        if size < 0:
            totals[5] += 1
            totals[6] += not row["live"]
            row["live"] = False
            continue
        if clocks is None:
            clock = row["clock"]
        same = row["live"] and row["value_hash"] == value_hash and row["value_size"] == size
        same = same and (not flags & TIMED or row["clock"] == clock)
        totals[0] += 1
        totals[2 if row["live"] else 1] += 1
        if same:
            totals[3] += 1
            totals[4] += key_size + size
        if not row["live"]:
            row["born_step"] = made
        row["put_step"], row["put_record"], row["live"] = made, ordinal & _MOST, True
        row["puts"] = min(int(row["puts"]) + (not flags & REBASED), _MOST)
        row["value_hash"], row["value_size"], row["clock"] = value_hash, size, clock
    return touches


def settle(
    table: Any, touched: Any, made: int, no_clock: int, timed: bool, numbers: Any, flags: Any
) -> None:
    """Tell what became of touched keys.

    Args:
        table: one :data:`ROW` per key, after the version.
        touched: one :data:`TOUCH` per key that it touched.
        made: step that puts of the version have in the table.
        no_clock: in place of the clock before of a key that was not there.
        timed: clocks are left out of the hashes, and compared apart.
        numbers: filled with the columns :data:`NUMBERS`, one after the other.
        flags: filled with the columns :data:`FLAGS`, one byte each.

    Raises:
        ValueError: an id without a row, or arrays of different length.
    """
    rows, before = _structs(table, ROW, writable=False), _structs(touched, TOUCH, writable=False)
    count = len(before)
    columns, bits = _writable(numbers, np.int64), memoryview(flags).cast("B")
    if len(columns) != len(NUMBERS) * count or len(bits) != len(FLAGS) * count:
        raise ValueError("arrays differ in length")
    for i, (key, value_hash, clock, size, was_live, _) in enumerate(before.tolist()):
        if not 0 <= key < len(rows):
            raise ValueError("an id without a row")
        now = rows[key]
        clock = clock if was_live else no_clock
        written = now["live"] and now["put_step"] == made
        same_state = was_live and written and now["value_size"] == size
        same_state = same_state and now["value_hash"] == value_hash
        same_value = same_state and (not timed or now["clock"] == clock)
        columns[i::count] = (key, now["key_size"], size, now["value_size"], clock)
        reborn = now["live"] and now["born_step"] == made
        found = (was_live, now["live"], written, reborn, same_state, same_value)
        bits[i::count] = bytes(map(bool, found))


def check_rows(buffer: Any, offsets: Any, lengths: Any, program: Any, out: Any) -> int:
    """Find the UnsafeRows that may not fit their schema.

    A row is not in doubt if it has room for its fields and is of whole words, if each field that is
    not null is what the program says, and if the variable parts lie within the row and behind its
    slots and are together no longer than that.

    Args:
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
        program: the number of fields, then for each of them :data:`ANY` or one of the words after
            it with its operands.
        out: one byte per row, 1 where it is in doubt.

    Returns:
        How many rows are in doubt.

    Raises:
        ValueError: a row outside of the buffer, or arrays of different length.
    """
    view, starts, sizes = _spans(buffer, offsets, lengths)
    numbers = _integers(program).tolist()
    doubts = memoryview(out).cast("B")
    if len(doubts) != len(starts):
        raise ValueError("arrays differ in length")
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        doubts[i] = not _Program(numbers).fits(view[start : start + size], 0)
    return sum(doubts)


class _Program:
    """What the fields of a row must be, as numbers; it ends in zeros."""

    def __init__(self, numbers: list[int]) -> None:
        self._numbers = numbers
        self._at = 0

    def fits(self, row: memoryview, depth: int) -> bool:
        """Whether a row or struct is what the program says from here on."""
        fields = self._take()
        bits = (fields + 63) // 64 * _WORD
        fixed = bits + fields * _WORD
        if fields < 0 or depth > _DEEPEST or len(row) < fixed or len(row) % _WORD:
            return False
        budget = [len(row) - fixed]
        for i in range(fields):
            (slot,) = _SLOT.unpack_from(row, bits + i * _WORD)
            if row[i >> 3] >> (i & 7) & 1:
                self._skip()
            elif not self._field_fits(row, slot, fixed, budget, depth):
                return False
        return True

    def _field_fits(
        self, row: memoryview, slot: int, fixed: int, budget: list[int], depth: int
    ) -> bool:
        kind = self._take()
        if kind == ANY:
            return True
        if kind == UNUSED:
            bits = self._take()
            return not 0 <= bits <= 63 or slot >> bits == 0
        if kind == RANGE:
            low, high = self._take(), self._take()
            return low <= _signed(slot) <= high
        if kind not in (REGION, STRUCT):
            return False
        if kind == STRUCT:
            self._take()
        region = _region(row, slot, fixed)
        if region is None or budget[0] < len(region):
            return False
        budget[0] -= len(region)
        return kind == REGION or self.fits(region, depth + 1)

    def _skip(self) -> None:
        kind = self._take()
        count = self._take() if kind == STRUCT else _OPERANDS.get(kind, 0)
        self._at = len(self._numbers) if count < 0 else self._at + count

    def _take(self) -> int:
        at, self._at = self._at, self._at + 1
        return self._numbers[at] if at < len(self._numbers) else ANY


def _signed(slot: int) -> int:
    return slot - (slot >> 63 << 64)


def _region(row: memoryview, slot: int, fixed: int) -> memoryview | None:
    """The variable part that a slot refers to, if it lies behind the slots and in the row."""
    offset, size = slot >> 32, slot & 0xFFFFFFFF
    if offset < fixed or len(row) < offset or len(row) - offset < size:
        return None
    return row[offset : offset + size]


def read_slots(
    buffer: Any, offsets: Any, lengths: Any, path: Any, values: Any, valid: Any
) -> None:
    """Read one 64-bit field of every UnsafeRow, also one of a struct within it.

    Args:
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
        path: for the row and each struct on the way, how many fields it has and which is next.
        values: filled with one number per row, 0 where there is none.
        valid: one byte per row: 1 where there is a value, 0 where a null or a row that does not
            fit is in the way.

    Raises:
        ValueError: a row outside of the buffer, or arrays of different length.
    """
    view, starts, sizes = _spans(buffer, offsets, lengths)
    steps = _integers(path).tolist()
    pairs = list(zip(steps[::2], steps[1::2], strict=False))
    found, there = _writable(values, np.int64), memoryview(valid).cast("B")
    if not len(starts) == len(found) == len(there):
        raise ValueError("arrays differ in length")
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        slot = _slot_at(view[start : start + size], pairs)
        found[i], there[i] = (0, 0) if slot is None else (_signed(slot), 1)


def _slot_at(row: memoryview, pairs: list[tuple[int, int]]) -> int | None:
    slot: int | None = None
    region: memoryview | None = row
    for i, (fields, ordinal) in enumerate(pairs):
        bits = (fields + 63) // 64 * _WORD
        fixed = bits + fields * _WORD
        if region is None or not 0 <= ordinal < fields:
            return None
        if len(region) < fixed or len(region) % _WORD or region[ordinal >> 3] >> (ordinal & 7) & 1:
            return None
        (slot,) = _SLOT.unpack_from(region, bits + ordinal * _WORD)
        if i + 1 < len(pairs):
            region = _region(region, slot or 0, fixed)
    return slot


class Interner:
    """Numbers byte strings in order of first appearance: equal bytes, equal number.

    One thread at a time: a second one gets ``RuntimeError``.
    """

    def __init__(self) -> None:
        self._ids: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._bytes = 0
        self._busy = threading.Lock()

    def intern(self, buffer: Any, offsets: Any, lengths: Any, out: Any) -> None:
        """Give every span its number, a new one if its bytes are new.

        Args:
            buffer: what the spans lie in.
            offsets: where each span starts.
            lengths: bytes of each span.
            out: filled with one number per span.

        Raises:
            ValueError: a span outside of the buffer, or arrays of different length.
            RuntimeError: another thread is at work on this interner.
        """
        with _Busy(self._busy):
            view, starts, sizes = _spans(buffer, offsets, lengths)
            numbers = _writable(out, np.int64)
            _same_length(starts, numbers)
            pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
            for i, (start, size) in enumerate(pairs):
                numbers[i] = self._number(bytes(view[start : start + size]))

    def _number(self, key: bytes) -> int:
        number = self._ids.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
            self._bytes += len(key)
        return number

    def __len__(self) -> int:
        with _Busy(self._busy):
            return len(self._keys)

    def find(self, key: Any) -> int:
        """The number of a byte string, -1 if it has none."""
        with _Busy(self._busy):
            return self._ids.get(bytes(_bytes(key)), -1)

    def lengths(self, out: Any) -> None:
        """Fill ``out`` with the length of every byte string, by number.

        Raises:
            ValueError: ``out`` does not have one place per byte string.
        """
        with _Busy(self._busy):
            sizes = _writable(out, np.int64)
            if len(sizes) != len(self._keys):
                raise ValueError("arrays differ in length")
            sizes[:] = [len(key) for key in self._keys]

    def gather(self, ids: Any, offsets: Any) -> bytes:
        """The byte strings of some numbers, one after the other.

        Args:
            ids: the numbers.
            offsets: filled with one place more than there are numbers: string ``i`` lies at
                ``offsets[i]:offsets[i + 1]`` of the result.

        Raises:
            ValueError: a number that was never given, or ``offsets`` of another length.
        """
        with _Busy(self._busy):
            numbers = _integers(ids)
            places = _writable(offsets, np.int64)
            if len(places) != len(numbers) + 1:
                raise ValueError("arrays differ in length")
            if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(self._keys)):
                raise ValueError("a number that was never given")
            parts = [self._keys[number] for number in numbers.tolist()]
            places[0] = 0
            np.cumsum([len(part) for part in parts], out=places[1:])
            return b"".join(parts)

    @property
    def nbytes(self) -> int:
        """Memory that this interner holds, in bytes; an estimate in this kernel."""
        return self._bytes + len(self._keys) * 200


class _Busy:
    """Holds an interner's lock, or refuses at once if another thread does."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is using this interner")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _bytes(buffer: Any) -> memoryview:
    view = memoryview(buffer)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def _structs(array: Any, dtype: np.dtype[Any], *, writable: bool = True) -> npt.NDArray[Any]:
    view = memoryview(array)
    if (writable and view.readonly) or not view.c_contiguous:
        raise TypeError("expected a writable contiguous buffer")
    return np.ndarray((view.nbytes // dtype.itemsize,), dtype, array)


def _integers(array: Any, dtype: Any = np.int64) -> npt.NDArray[Any]:
    view = np.asarray(memoryview(array))
    if view.dtype != dtype or not view.flags.c_contiguous:
        raise TypeError("expected a contiguous array of 64-bit integers")
    return view.reshape(-1)


def _writable(array: Any, dtype: Any) -> npt.NDArray[Any]:
    view = np.asarray(memoryview(array))
    if view.dtype != dtype or not view.flags.c_contiguous or not view.flags.writeable:
        raise TypeError("expected a writable contiguous array of 64-bit integers")
    return view.reshape(-1)


def _spans(buffer: Any, offsets: Any, lengths: Any) -> tuple[memoryview, Int64s, Int64s]:
    """The checked arguments of an operation over spans."""
    view, starts, sizes = _bytes(buffer), _integers(offsets), _integers(lengths)
    _same_length(starts, sizes)
    # In this order, nothing can overflow: a length is compared with what remains.
    inside = (starts >= 0) & (starts <= len(view)) & (sizes >= 0) & (sizes <= len(view) - starts)
    if not bool(inside.all()):
        raise ValueError("a span lies outside of the buffer")
    return view, starts, sizes


def _same_length(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
    if len(one) != len(other):
        raise ValueError("arrays differ in length")
