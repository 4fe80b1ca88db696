"""The hash by which a redacted row is named: the same in every report, file and command."""

from __future__ import annotations

import hashlib

HASH = "sha256:"  # how a hash in a report begins; the first digits of the row's SHA-256 follow
SHOWN_DIGITS = 16  # hex digits of reports: two of a billion keys share them once in 37 times


def hash_digits(row: bytes | memoryview) -> str:
    """All 64 hex digits of the SHA-256 of an UnsafeRow's bytes; unsalted: equal rows are equal."""
    return hashlib.sha256(row).hexdigest()


def row_hash(row: bytes | memoryview) -> str:
    """A row as reports name it that hide it: ``sha256:`` and :data:`SHOWN_DIGITS` digits."""
    return HASH + hash_digits(row)[:SHOWN_DIGITS]
