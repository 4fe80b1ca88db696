"""Writer of schema files of format v2; ``checkpoint.state_schema`` reads them."""

from __future__ import annotations

import struct

_VERSION = "v2"
# UTF-16 units in a chunk: a unit has at most three bytes, and a chunk less than 65,536
_CHUNK_UNITS = 20_000
_UNIT_BYTES = 2  # bytes of a UTF-16 unit


def schema_file(key: str, value: str) -> bytes:
    """Return the content of a schema file, from the JSON of the key and value schemas."""
    return _utf(_units_of(_VERSION)) + _chunked(key) + _chunked(value)


def _chunked(text: str) -> bytes:
    """Return a text as a count of chunks, and the chunks."""
    units = _units_of(text)
    chunks = [units[n : n + _CHUNK_UNITS] for n in range(0, len(units), _CHUNK_UNITS)]
    return struct.pack(">i", len(chunks)) + b"".join(map(_utf, chunks))


def _units_of(text: str) -> list[str]:
    """Return the UTF-16 units of a text; a character beyond U+FFFF is two surrogates."""
    data = text.encode("utf-16-be", "surrogatepass")
    pairs = zip(data[::_UNIT_BYTES], data[1::_UNIT_BYTES], strict=True)
    return [chr(high << 8 | low) for high, low in pairs]


def _utf(units: list[str]) -> bytes:
    """Return units as Java's ``DataOutputStream.writeUTF`` writes them."""
    data = "".join(units).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    return struct.pack(">H", len(data)) + data
