"""Numbering of byte strings; ``interner.c`` does the same."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from inspector.kernel._arguments import check_spans, integers, octets, same_length, writable


@contextmanager
def _busy(lock: threading.Lock) -> Iterator[None]:
    """Hold an interner's lock. RuntimeError: another thread holds it."""
    if not lock.acquire(blocking=False):
        raise RuntimeError("another thread is using this interner")
    try:
        yield
    finally:
        lock.release()


class Interner:
    """Numbers byte strings in order of first appearance; equal bytes have equal numbers.

    Only one thread may use it at a time; a second one gets ``RuntimeError``. With ``hashed`` no
    byte string is kept but 12 bytes of a hash of 16, under a secret that is drawn for each
    interner. The chance that two of ``n`` strings get one number is then at most ``n * n / 2**96``,
    whoever chose them.
    """

    def __init__(self, hashed: bool = False) -> None:
        self._secret = os.urandom(32) if hashed else None
        self._ids: dict[bytes, int] = {}
        self._keys: list[bytes] = []
        self._bytes = 0
        self._busy = threading.Lock()

    def intern(self, buffer: Any, offsets: Any, lengths: Any, output: Any) -> None:
        """Write the number of each span into ``output``, a new one if its bytes are new.

        ValueError: a span is outside of the buffer, or arrays differ in length.
        """
        with _busy(self._busy):
            view, starts, sizes = check_spans(buffer, offsets, lengths)
            numbers = writable(output, np.int64)
            same_length(starts, numbers)
            pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
            for i, (start, size) in enumerate(pairs):
                key = self._form_in_memory(bytes(view[start : start + size]))
                numbers[i] = self._ids.setdefault(key, len(self._keys))
                if numbers[i] == len(self._keys):
                    self._keys.append(key)
                    self._bytes += len(key)

    def _form_in_memory(self, key: bytes) -> bytes:
        """Return the bytes that are kept of a byte string: itself, or its hash."""
        if self._secret is None:
            return key
        return hashlib.blake2b(key, digest_size=12, key=self._secret).digest()

    def __len__(self) -> int:
        with _busy(self._busy):
            return len(self._keys)

    def find(self, key: Any) -> int:
        """Return the number of a byte string; -1 if it has none."""
        with _busy(self._busy):
            return self._ids.get(self._form_in_memory(bytes(octets(key))), -1)

    def gather(self, ids: Any, offsets: Any) -> bytes:
        """Return the byte strings of some numbers, joined.

        String ``i`` is at ``offsets[i]:offsets[i + 1]``, so ``offsets`` has one entry more than
        ``ids``. ValueError: a number was never given, ``offsets`` has another length, or the
        strings are not kept.
        """
        with _busy(self._busy):
            if self._secret is not None:
                raise ValueError("the byte strings are not kept")
            numbers = integers(ids)
            positions = writable(offsets, np.int64)
            if len(positions) != len(numbers) + 1:
                raise ValueError("arrays differ in length")
            if len(numbers) and not (numbers.min() >= 0 and numbers.max() < len(self._keys)):
                raise ValueError("a number that was never given")
            parts = [self._keys[number] for number in numbers.tolist()]
            positions[0] = 0
            np.cumsum([len(part) for part in parts], out=positions[1:])
            return b"".join(parts)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that this interner takes; an estimate in this kernel."""
        return self._bytes + len(self._keys) * 200
