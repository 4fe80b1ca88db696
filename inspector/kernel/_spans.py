"""Hash and concatenate spans of one buffer; ``spans.c`` does the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import xxhash

from inspector.kernel._arguments import checked_spans, number, same_length, writable

_HASHED_AWAY = 8  # bytes that do not count with ``skip``: one slot of an UnsafeRow


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
    """
    skip = number(skip)
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    hashes = writable(out, np.uint64)
    same_length(starts, hashes)
    tail = skip + _HASHED_AWAY
    for i, (start, size) in enumerate(zip(starts.tolist(), sizes.tolist(), strict=True)):
        span = view[start : start + size]
        if skip >= 0 and size >= tail:
            seed = xxhash.xxh64_intdigest(span[:skip])
            hashes[i] = xxhash.xxh64_intdigest(span[tail:], seed)
        else:
            hashes[i] = xxhash.xxh64_intdigest(span)


def gather(buffer: Any, offsets: Any, lengths: Any) -> bytes:
    """The bytes of all spans, one after the other."""
    view, starts, sizes = checked_spans(buffer, offsets, lengths)
    pairs = zip(starts.tolist(), sizes.tolist(), strict=True)
    return b"".join([view[start : start + size] for start, size in pairs])
