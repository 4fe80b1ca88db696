"""The checksums of blocks (``ComputeBuiltinChecksumWithLastByte``), all of 32 bits.

=====  =========  ================================================================================
type   name       over a block and the byte that names its compression
=====  =========  ================================================================================
0      none       not verified
1      CRC32C     of both, masked: rotated right by 15 bits, plus 0xa282ead8
2      xxHash     XXH32 of both
3      xxHash64   the lower half of XXH64 of both
4      XXH3       the lower half of XXH3-64 of the block, XOR the last byte times 0x6b9083d9
=====  =========  ================================================================================

From format_version 6 on a number is added that depends on the place of the block in the file
(``ChecksumModifierForContext``), so that a block which lies elsewhere does not match.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import google_crc32c
import xxhash

NO_CHECKSUM = 0
_MASK = 0xFFFFFFFF
_CRC_DELTA = 0xA282EAD8
_LAST_BYTE = 0x6B9083D9

Checksum = Callable[[memoryview, int], int]
"""Takes a block and its last byte."""


def _crc32c(block: memoryview, last: int) -> int:
    crc: int = google_crc32c.value(bytes(block) + bytes((last,)))
    return ((crc >> 15 | crc << 17) + _CRC_DELTA) & _MASK


def _xxh32(block: memoryview, last: int) -> int:
    return int(xxhash.xxh32_intdigest(bytes(block) + bytes((last,))))


def _xxh64(block: memoryview, last: int) -> int:
    return int(xxhash.xxh64_intdigest(bytes(block) + bytes((last,)))) & _MASK


def _xxh3(block: memoryview, last: int) -> int:
    return (xxhash.xxh3_64_intdigest(block) ^ last * _LAST_BYTE) & _MASK


_FUNCTIONS: Mapping[int, Checksum] = {1: _crc32c, 2: _xxh32, 3: _xxh64, 4: _xxh3}
CHECKSUMS = (NO_CHECKSUM, *_FUNCTIONS)
"""The types that a footer may name."""


def checksum(kind: int, block: bytes | memoryview, last: int) -> int:
    """The checksum of a block.

    Args:
        kind: one of :data:`CHECKSUMS`, but for the one that is none.
        block: its bytes.
        last: the byte behind it.
    """
    return _FUNCTIONS[kind](memoryview(block), last)


def context(base: int, offset: int) -> int:
    """What is added to the checksum of a block at an offset; 0 where ``base`` is."""
    return base ^ ((offset + (offset >> 32)) & _MASK) if base else 0
