"""Hash by which a redacted row is named, the same in every report, file and command."""

from __future__ import annotations

import hashlib

HASH = "sha256:"  # beginning of a hash in a report; the first digits of the row's SHA-256 follow
SHOWN_DIGITS = 16  # hex digits in reports: among a billion keys two share them once in 37 times


def hash_digits(row: bytes | memoryview) -> str:
    """Return all 64 hex digits of the SHA-256 of an UnsafeRow's bytes, without salt."""
    return hashlib.sha256(row).hexdigest()


def row_hash(row: bytes | memoryview) -> str:
    """Return the name of a row in reports that hide it: ``sha256:`` and SHOWN_DIGITS hex digits."""
    return HASH + hash_digits(row)[:SHOWN_DIGITS]
