"""Identity of a table file, by which RocksDB notices another table.

A MANIFEST records the unique id of each table. RocksDB opens a table only if its properties make
the same id (``GetSstInternalUniqueId``, ``BlockBasedTable::Open``)::

    session   20 characters of base 36: upper, 8 or so, and lower, 12, as numbers
    first     the lower two bits of upper << 62 | the lower 62 bits of lower
    second    upper half of XXH3-128 of the database's identity, seeded with upper >> 2,
              XOR the number that the table had when it was made
"""

from __future__ import annotations

from collections.abc import Mapping

import xxhash

from inspector.decode.sst.footer import Varints
from inspector.exceptions import DecodeError

_DATABASE = "rocksdb.creating.db.identity"  # property with the identity of the database
_SESSION = "rocksdb.creating.session.identity"  # property with the identity of the session
# property with the number that the table had when it was made
_NUMBER = "rocksdb.original.file.number"
_LOWER_CHARACTERS = 12  # characters of the lower part of a session's identity
_SESSION_CHARACTERS = range(13, 25)  # lengths of a session's identity that RocksDB takes apart
_LOWER_BITS = 62  # bits of the lower part


def unique_id(stored: Mapping[str, bytes]) -> tuple[int, int] | None:
    """Return the unique id that the properties of a table make; None if one of them is missing."""
    database, session = stored.get(_DATABASE), stored.get(_SESSION, b"")
    if not database or len(session) not in _SESSION_CHARACTERS or not session.isalnum():
        return None
    try:
        upper = int(session[:-_LOWER_CHARACTERS], 36)
        lower = int(session[-_LOWER_CHARACTERS:], 36)
        number = Varints(stored.get(_NUMBER, b""), 0).next("number of a table")
    except (DecodeError, ValueError):
        return None
    if not number or session != session.upper():
        return None
    first = (upper & 3) << _LOWER_BITS | lower & ((1 << _LOWER_BITS) - 1)
    hashed: int = xxhash.xxh3_128_intdigest(database, seed=upper >> 2)
    return first, hashed >> 64 ^ number
