"""Checksum of RocksDB's logs and of tables with CRC32C."""

from __future__ import annotations

_ADDED = 0xA282EAD8  # number that RocksDB adds to the rotated checksum (crc32c::Mask)


def rocksdb_crc32c(content: bytes) -> int:
    """Return the CRC32C of bytes as RocksDB stores it: rotated by 15 bits, with a number added."""
    import google_crc32c  # noqa: PLC0415 - only for state of RocksDB

    crc: int = google_crc32c.value(content)
    return ((crc >> 15 | crc << 17) + _ADDED) & 0xFFFFFFFF
