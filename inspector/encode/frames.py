"""Compression of state files in the codecs that Spark writes.

The framings are those of :mod:`inspector.decode`. The zstd frame is made by streaming, as Spark's
is, so that it has no content size.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping

import pyarrow as pa
import xxhash

BLOCK_BYTES = 32 << 10
"""Raw bytes of a block of lz4 and snappy (default of ``spark.io.compression.*.blockSize``)."""
_LZF_CHUNK = 65535  # most raw bytes of an lzf chunk
_LZF_FAR = 1 << 13  # bytes back below which lzf can copy
_LZF_LONGEST = 264  # most bytes of one copy
_CHECKSUM_SEED = 0x9747B28C  # seed of the checksums of lz4-java's LZ4BlockOutputStream
_RAW, _LZ4 = 0x10, 0x20  # Methods of a block: stored or compressed.


def compress_blocks(blocks: Iterable[bytes], codec: str) -> Iterator[bytes]:
    """Yield the compressed blocks of a state file in a codec, from raw bytes cut anywhere."""
    return _CODECS[codec](blocks)


def _blocks(blocks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield bytes in blocks of one size; the last block may be shorter."""
    remainder = b""
    for block in blocks:
        data = remainder + block if remainder else block
        whole_bytes = len(data) - len(data) % size
        for start in range(0, whole_bytes, size):
            yield data[start : start + size]
        remainder = data[whole_bytes:]
    if remainder:
        yield remainder


def lz4(blocks: Iterable[bytes], block_size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield a stream as lz4-java's ``LZ4BlockOutputStream`` writes it."""
    level = max(0, (block_size - 1).bit_length() - 10)
    for block in _blocks(blocks, block_size):
        yield lz4_block(block, level)
    yield lz4_header(_RAW | level, 0, 0, 0)


def lz4_block(raw: bytes, level: int) -> bytes:
    """Return one block with its header, compressed if that makes it smaller."""
    payload, method = pa.Codec("lz4_raw").compress(raw, asbytes=True), _LZ4
    if len(payload) >= len(raw):
        payload, method = raw, _RAW
    checksum = xxhash.xxh32_intdigest(raw, _CHECKSUM_SEED) & 0x0FFFFFFF
    return lz4_header(method | level, len(payload), len(raw), checksum) + payload


def lz4_header(token: int, compressed_size: int, size: int, checksum: int) -> bytes:
    """Return the header of a block; ``token`` is method and level, ``size`` the raw bytes."""
    return struct.pack("<8sBiiI", b"LZ4Block", token, compressed_size, size, checksum)


def snappy(blocks: Iterable[bytes], block_size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Yield a stream as snappy-java's ``SnappyOutputStream`` writes it."""
    yield b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for block in _blocks(blocks, block_size):
        payload = pa.Codec("snappy").compress(block, asbytes=True)
        yield struct.pack(">i", len(payload)) + payload


def zstd(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield one Zstandard frame, at the end."""
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for block in blocks:
            stream.write(block)
    yield sink.getvalue().to_pybytes()


def lzf(blocks: Iterable[bytes], chunk_size: int = _LZF_CHUNK) -> Iterator[bytes]:
    """Yield chunks as compress-lzf writes them."""
    return map(lzf_chunk, _blocks(blocks, chunk_size))


def lzf_chunk(raw: bytes) -> bytes:
    """Return one chunk, compressed if that makes it smaller."""
    payload = lzf_data(raw)
    if len(payload) + 2 >= len(raw):
        return b"ZV\x00" + struct.pack(">H", len(raw)) + raw
    return b"ZV\x01" + struct.pack(">HH", len(payload), len(raw)) + payload


def lzf_data(raw: bytes) -> bytes:
    """Return raw bytes as LZF instructions.

    Each copy is the longest one from the last position where the next 3 bytes occurred.
    """
    output, literals, position = bytearray(), bytearray(), 0
    last: dict[bytes, int] = {}
    while position < len(raw):
        source = last.get(raw[position : position + 3], -1)
        last[raw[position : position + 3]] = position
        back = position - source - 1
        if source < 0 or back >= _LZF_FAR or position + 3 > len(raw):
            literals.append(raw[position])
            position += 1
            continue
        output += _lzf_literals(literals)
        literals.clear()
        size = 3
        while (
            size < _LZF_LONGEST
            and position + size < len(raw)
            and raw[position + size] == raw[source + size]
        ):
            size += 1
        output += _lzf_copy(size - 2, back)
        position += size
    return bytes(output + _lzf_literals(literals))


def _lzf_literals(literals: bytes | bytearray) -> bytes:
    """Return the instructions for literal bytes."""
    parts = [literals[start : start + 32] for start in range(0, len(literals), 32)]
    return b"".join(bytes([len(part) - 1]) + part for part in parts)


def _lzf_copy(length: int, back: int) -> bytes:
    """Return the instruction for a copy of ``length`` + 2 bytes from ``back`` + 1 bytes before."""
    if length < 7:
        return bytes([length << 5 | back >> 8, back & 0xFF])
    return bytes([7 << 5 | back >> 8, length - 7, back & 0xFF])


# writers by the short name of the codec
_CODECS: Mapping[str, Callable[[Iterable[bytes]], Iterator[bytes]]]
_CODECS = {"lz4": lz4, "lzf": lzf, "snappy": snappy, "zstd": zstd}
