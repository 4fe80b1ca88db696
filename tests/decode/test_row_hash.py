"""The hash that names a redacted row."""

import hashlib

from inspector.decode.row_hash import HASH, SHOWN_DIGITS, hash_digits, row_hash


def test_row_hash_is_a_prefix_of_the_sha_256() -> None:
    row = bytes(range(24))
    assert hash_digits(row) == hashlib.sha256(row).hexdigest()
    assert hash_digits(memoryview(b"x" + row)[1:]) == hash_digits(row)
    assert row_hash(row) == HASH + hash_digits(row)[:SHOWN_DIGITS]
    assert len(row_hash(row)) == len("sha256:") + 16
