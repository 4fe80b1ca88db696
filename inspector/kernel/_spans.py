"""Hashes and copies of spans of one buffer, and selection of keys in a range.

``spans.c`` and ``ranges.c`` do the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xxhash

from inspector.kernel._arguments import check_spans, integers, number, same_length, writable

_WORD = 8  # bytes of a slot of an UnsafeRow, which do not count with ``skip``
_HALF = 32  # upper bits of a hash that decide the range
_MOST = 1 << 31  # most ranges
_ALL_BITS = (1 << 64) - 1  # 64 bits


def hash64(buffer: Any, offsets: Any, lengths: Any, skip: int, output: Any) -> None:
    """Write the XXH64 of every span, with seed 0, into the unsigned numbers of ``output``.

    If ``skip`` is not negative, the 8 bytes at this offset of each span do not count (a clock that
    changes with every put): the bytes after them are hashed with the hash of the bytes before as
    seed. Spans that end before are hashed whole.
    """
    skip = number(skip)
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    hashes = writable(output, np.uint64)
    same_length(starts, hashes)
    tail = skip + _WORD
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        span = view[start : start + size]
        if skip >= 0 and size >= tail:
            seed = xxhash.xxh64_intdigest(span[:skip])
            hashes[i] = xxhash.xxh64_intdigest(span[tail:], seed)
        else:
            hashes[i] = xxhash.xxh64_intdigest(span)


def gather(buffer: Any, offsets: Any, lengths: Any) -> bytes:
    """Return the bytes of all spans, joined."""
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
    return b"".join([view[start : start + size] for start, size in pairs])


def rows_of_range(  # noqa: PLR0913 - spans, how they are hashed, which are wanted
    buffer: Any,
    offsets: Any,
    lengths: Any,
    masks: Any,
    seed: int,
    ranges: int,
    range_: int,
    rows: Any,
) -> int:
    """Find the keys whose hash is in range ``range_``, from 0 on, of ``ranges`` of equal width.

    The hash is XXH64; its seed is chosen at random, so that keys cannot be made for one range.
    ``masks`` are the bits of the first words of a key that count. A word without any is passed
    over, so that keys with the same other words have one hash. Words after these count whole.

    Returns:
        The number of keys found; ``rows`` takes their indexes, ascending, and has room for all
            keys.
    """
    if not 0 <= range_ < ranges <= _MOST:
        raise ValueError("no such range")
    view, starts, sizes = check_spans(buffer, offsets, lengths)
    words = [mask & _ALL_BITS for mask in integers(masks).tolist()]
    result = writable(rows, np.int64)
    same_length(starts, result)
    count = 0
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        upper = _hash(view[start : start + size], words, seed & _ALL_BITS) >> _HALF
        if upper * ranges >> _HALF == range_:
            result[count] = i
            count += 1
    return count


def _hash(key: memoryview, masks: list[int], seed: int) -> int:
    """Return the hash of a key by its masked first words and the bytes after them."""
    offset = 0
    for mask in masks:
        if len(key) - offset < _WORD:
            break
        if mask:
            word = int.from_bytes(key[offset : offset + _WORD], "little") & mask
            seed = xxhash.xxh64_intdigest(word.to_bytes(_WORD, "little"), seed)
        offset += _WORD
    return xxhash.xxh64_intdigest(key[offset:], seed)
