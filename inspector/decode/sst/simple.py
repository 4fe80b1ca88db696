"""The entries of a block that is not of data: metaindex, properties, index."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from inspector.decode.sst.varints import Varints
from inspector.exceptions import RecordError

_UINT32 = struct.Struct("<I")


def block_entries(block: bytes, offset: int) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a block, in its order.

    Args:
        block: its bytes.
        offset: in the file, for errors.

    Raises:
        RecordError: its lengths are impossible.
    """
    varints = Varints(content(block, offset), offset)
    key = b""
    while varints.left:
        start = varints.place
        shared, rest = varints.next("shared key"), varints.next("rest of a key")
        length = varints.next("length of a value")
        if shared > len(key):
            raise RecordError("an entry shares more than the key before", offset=offset + start)
        key = key[:shared] + varints.bytes(rest, "key")
        yield key, varints.bytes(length, "value")


def content(block: bytes, offset: int) -> bytes:
    """The entries of a block, without the restarts behind them.

    Raises:
        RecordError: it has no room for its restarts.
    """
    left = len(block) - _UINT32.size
    restarts = _UINT32.unpack_from(block, left)[0] if left >= 0 else 0
    if left < restarts * _UINT32.size:
        raise RecordError(f"a block of {len(block)} bytes, {restarts} restarts", offset=offset)
    return block[: left - restarts * _UINT32.size]
