"""The hash that names a redacted row."""

import hashlib

from inspector.decode.row_hash import HASH, SHOWN_DIGITS, hash_digits, row_hash


def test_it_is_the_beginning_of_the_sha_256_of_the_bytes() -> None:
    row = bytes(range(24))
    assert hash_digits(row) == hashlib.sha256(row).hexdigest()
    assert hash_digits(memoryview(b"x" + row)[1:]) == hash_digits(row)
    assert row_hash(row) == HASH + hash_digits(row)[:SHOWN_DIGITS]
    assert len(row_hash(row)) == len("sha256:") + 16
