"""Spark's own hash of the fields of many UnsafeRows; as ``hashes.c``, over whole columns.

The hash of a row is folded over its fields: each is hashed with the result before it as the seed,
and null leaves that as it is (``HashExpression``, ``Murmur3HashFunction``, ``Murmur3_x86_32``; the
same from 2.3 to 4.3). Bytes are hashed word by word, and the last one to three of them each as an
int of its own, unlike in the published algorithm (``hashUnsafeBytes``).
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from inspector.arrays import Bools, Int64s
from inspector.kernel._arguments import checked_spans, integers, writable
from inspector.kernel.programs import BOOLEAN, BYTES, DOUBLE, FIELDS, FLOAT, NOTHING

SEED = 42
"""Of ``HashPartitioning`` and of the SQL function ``hash``."""

MOST_BYTES = 4096
"""Bytes of one field that are hashed: longer ones take a step for each word."""

_WORD = 8  # bytes of a slot, and of a word of null bits
_DEEPEST = 64  # structs within structs

Hashes = npt.NDArray[np.uint32]
Octets = npt.NDArray[np.uint8]

_NARROW: dict[int, Any] = {1: np.int8, 2: np.int16, 4: np.int32}
_LONG = 8


def row_hashes(
    buffer: Any, offsets: Any, lengths: Any, program: Any, hashes: Any, valid: Any
) -> None:
    """Hash the first fields of every UnsafeRow as ``Murmur3Hash(fields, 42)`` of Spark does.

    Args:
        buffer: what the rows lie in.
        offsets: where each row starts.
        lengths: bytes of each row.
        program: the number of fields, the number of the first of them that are hashed, then for
            each of these a word of :mod:`inspector.kernel.programs` with its operands.
        hashes: filled with one signed number of 32 bits per row, 0 where it is not known.
        valid: one byte per row: 1 where the hash is known, 0 where the row does not fit the
            program, or has a field of more than :data:`MOST_BYTES`.
    """
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    result, entry = writable(hashes, np.int64), np.frombuffer(valid, np.uint8)
    if not len(starts) == len(result) == len(entry):
        raise ValueError("arrays differ in length")
    rows = _Rows(np.frombuffer(view, np.uint8), np.ones(len(starts), np.bool_))
    seeds = np.full(len(starts), SEED, np.uint32)
    all_rows = np.arange(len(starts))
    rows.fold(_Program(integers(program).tolist()), _Place(all_rows, starts, sizes), seeds, 0)
    entry[:] = rows.fits
    result[:] = np.where(rows.fits, seeds.view(np.int32), 0)


class _Program:
    """What the fields are hashed as, as numbers; it ends in zeros."""

    def __init__(self, numbers: list[int], at: int = 0) -> None:
        self._numbers, self._at = numbers, at

    def take(self) -> int:
        at, self._at = self._at, self._at + 1
        return self._numbers[at] if at < len(self._numbers) else 0

    def subprogram(self) -> _Program:
        """The program of a struct, behind which this one goes on."""
        length = self.take()
        inner = _Program(self._numbers, self._at)
        beyond = length < 0 or len(self._numbers) - 1 < length
        self._at = len(self._numbers) if beyond else self._at + length
        return inner


class _Place(NamedTuple):
    """Some rows, or structs of theirs: which rows, where each starts, and how long it is."""

    rows: Int64s
    starts: Int64s
    lengths: Int64s

    def only(self, chosen: Bools) -> _Place:
        return _Place(self.rows[chosen], self.starts[chosen], self.lengths[chosen])


class _Rows:
    """Rows in one buffer; ``fits`` is cleared of those that do not fit the program."""

    def __init__(self, data: Octets, fits: Bools) -> None:
        self._data, self.fits = data, fits

    def fold(self, program: _Program, spans: _Place, hashes: Hashes, depth: int) -> None:
        """Fold the hash over the first fields of some rows, as a program says from here on."""
        fields, hashed = program.take(), program.take()
        bits = (fields + 63) // 64 * _WORD
        if fields < 0 or fields > 0x7FFFFFFF or fields < hashed or depth > _DEEPEST:
            self.fits[spans.rows] = False
            return
        inside = spans.lengths >= bits + _WORD * fields
        self.fits[spans.rows[~inside]] = False
        spans = spans.only(inside)
        for ordinal in range(hashed):
            kind = program.take()
            nested = program.subprogram() if kind == FIELDS else None
            null = (self._data[spans.starts + ordinal // 8] >> (ordinal % 8)) & 1 == 1
            entry = spans.only(~null & self.fits[spans.rows])
            slots = entry.starts + bits + _WORD * ordinal
            if nested is not None:
                self.fold(nested, self._regions(entry, slots), hashes, depth + 1)
            else:
                self._field(kind, entry, slots, hashes)

    def _field(self, kind: int, spans: _Place, slots: Int64s, hashes: Hashes) -> None:
        if kind == NOTHING:
            return
        if kind == BYTES:
            regions = self._regions(spans, slots)
            short = regions.lengths <= MOST_BYTES
            self.fits[regions.rows[~short]] = False
            regions = regions.only(short)
            hashes[regions.rows] = self._bytes(regions, hashes[regions.rows])
            return
        raw = np.ascontiguousarray(self._data[slots[:, None] + np.arange(_WORD)])
        hashed = _number(kind, raw, hashes[spans.rows])
        if hashed is None:
            self.fits[spans.rows] = False
        else:
            hashes[spans.rows] = hashed

    def _regions(self, spans: _Place, slots: Int64s) -> _Place:
        """The variable parts that slots refer to; rows in which one lies outside do not fit."""
        raw = np.ascontiguousarray(self._data[slots[:, None] + np.arange(_WORD)])
        words = raw.view("<u8").ravel()
        size = (words & np.uint64(0xFFFFFFFF)).astype(np.int64)
        begin = (words >> np.uint64(32)).astype(np.int64)
        inside = (begin >= _WORD) & (begin + size <= spans.lengths)
        self.fits[spans.rows[~inside]] = False
        starts = spans.starts + begin
        return _Place(spans.rows[inside], starts[inside], size[inside])

    def _bytes(self, spans: _Place, seeds: Hashes) -> Hashes:
        """``Murmur3_x86_32.hashUnsafeBytes``."""
        hashes = seeds.copy()
        words = spans.lengths // 4
        part = np.flatnonzero(words)
        for n in range(int(words.max(initial=0))):
            part = part[words[part] > n]
            raw = self._data[(spans.starts[part] + 4 * n)[:, None] + np.arange(4)]
            word = np.ascontiguousarray(raw).view("<u4").astype(np.uint32).ravel()
            hashes[part] = _mix(hashes[part], word)
        for n in range(3):
            part = np.flatnonzero(spans.lengths % 4 > n)
            last = self._data[spans.starts[part] + 4 * words[part] + n].view(np.int8)
            hashes[part] = _mix(hashes[part], last.astype(np.int32).view(np.uint32))
        return _finish(hashes, spans.lengths.astype(np.uint32))


# --- numbers: 8 bytes of a slot each, and the hash so far ----------------------------------------


def _number(kind: int, slots: Octets, seeds: Hashes) -> Hashes | None:
    if kind in _NARROW:
        width = np.dtype(_NARROW[kind]).newbyteorder("<")
        value = np.ascontiguousarray(slots[:, : width.itemsize]).view(width)
        return _int(value.astype(np.int32).ravel().view(np.uint32), seeds)
    if kind == _LONG:
        return _long(slots, seeds)
    if kind == BOOLEAN:
        return _int((slots[:, 0] != 0).astype(np.uint32), seeds)
    if kind == FLOAT:
        single = np.ascontiguousarray(slots[:, :4]).view("<f4").astype(np.float32).ravel()
        return _int(_canonical(single).view(np.uint32), seeds)
    if kind == DOUBLE:
        value = _canonical(slots.view("<f8").astype(np.float64).ravel())
        return _long(value.astype("<f8").view(np.uint8).reshape(-1, _WORD), seeds)
    return None


def _int(value: Hashes, seeds: Hashes) -> Hashes:
    return _finish(_mix(seeds, value), np.uint32(4))


def _long(slots: Octets, seeds: Hashes) -> Hashes:
    halves = np.ascontiguousarray(slots).view("<u4").astype(np.uint32).reshape(-1, 2)
    return _finish(_mix(_mix(seeds, halves[:, 0]), halves[:, 1]), np.uint32(8))


def _canonical(value: Any) -> Any:
    """``doubleToLongBits`` has one NaN, and Spark takes -0.0 as 0.0."""
    return np.where(np.isnan(value), np.nan, np.where(value == 0, 0, value)).astype(value.dtype)


# --- Murmur3_x86_32 ------------------------------------------------------------------------------


def _mix(hashes: Hashes, value: Hashes) -> Hashes:
    mixed = _rotate(value * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    mixed = _rotate(hashes ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    return cast("Hashes", mixed)


def _finish(hashes: Hashes, length: Hashes | np.uint32) -> Hashes:
    result = hashes ^ length
    result = (result ^ (result >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    result = (result ^ (result >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return cast("Hashes", result ^ (result >> np.uint32(16)))


def _rotate(value: Any, bits: int) -> Any:
    return (value << np.uint32(bits)) | (value >> np.uint32(32 - bits))
