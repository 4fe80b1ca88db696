"""Number byte strings; ``interner.c`` does the same."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from inspector.kernel._arguments import checked_spans, integers, octets, same_length, writable


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
            view, starts, sizes = checked_spans(buffer, offsets, lengths)
            numbers = writable(out, np.int64)
            same_length(starts, numbers)
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
            return self._ids.get(bytes(octets(key)), -1)

    def lengths(self, out: Any) -> None:
        """Fill ``out`` with the length of every byte string, by number.

        Raises:
            ValueError: ``out`` does not have one place per byte string.
        """
        with _Busy(self._busy):
            sizes = writable(out, np.int64)
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
            numbers = integers(ids)
            places = writable(offsets, np.int64)
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
