"""Decompression of state files, for each of the codecs that Spark writes.

The codec is named by ``spark.sql.streaming.stateStore.compression.codec`` (3.1+; before that it is
always lz4) and recognised by the first bytes of a file. Uncompressed files do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from inspector.decode import lz4block, lzf, snappy_java, zstd
from inspector.decode._source import Source
from inspector.exceptions import DecodeError, TruncatedError
from inspector.model import LIMITS, Limits, above_limit


class _Codec(NamedTuple):
    """Compression codec: magic bytes, decoder, and Spark's class."""

    magic: bytes  # first bytes of a file
    inflate: Callable[[Source, Limits], Iterator[bytes]]  # yields the decompressed blocks
    spark_class: str  # class in ``org.apache.spark.io`` that the conf may name in full
    # True if its blocks have checksums of their raw bytes, as Spark writes them
    has_checksums: bool = False


# codecs by their short names
_CODECS: Mapping[str, _Codec] = {
    "lz4": _Codec(lz4block.MAGIC, lz4block.inflate, "LZ4CompressionCodec", True),
    "lzf": _Codec(lzf.MAGIC, lzf.inflate, "LZFCompressionCodec"),
    "snappy": _Codec(snappy_java.MAGIC, snappy_java.inflate, "SnappyCompressionCodec"),
    "zstd": _Codec(zstd.MAGIC, zstd.inflate, "ZStdCompressionCodec"),
}
CODECS = tuple(_CODECS)  # short names, as in the conf
DEFAULT_CODEC = "lz4"  # codec that Spark assumes if none is recorded (``StateStoreConf``)


def codec_of(conf_value: str) -> str:
    """Return the short name of the codec in a conf, which may also be one of Spark's classes.

    DecodeError: the codec is not known.
    """
    name = conf_value.strip()
    if name.lower() in CODECS:
        return name.lower()
    for codec, framing in _CODECS.items():
        if framing.spark_class == name.removeprefix("org.apache.spark.io."):
            return codec
    raise DecodeError(f"unknown codec {conf_value[:120]!r}, expected {', '.join(CODECS)}")


def has_checksums(codec: str) -> bool:
    """Return True if files of a codec have checksums of their blocks; only lz4 files do."""
    return codec in _CODECS and _CODECS[codec].has_checksums


def sniff(head: bytes) -> str | None:
    """Return the codec of a file from its first 8 bytes; None if they are of no codec."""
    for name, codec in _CODECS.items():
        if head.startswith(codec.magic):
            return name
    return None


def inflate(chunks: Iterable[bytes], codec: str, limits: Limits = LIMITS) -> Iterator[bytes]:
    """Yield the decompressed blocks of a file as its chunks arrive, one chunk and block at a time.

    ``limits.frame_bytes`` bounds a block, ``limits.ratio`` the whole. A file of snappy, lzf or zstd
    that was cut exactly between two blocks is noticed only by the missing end mark of its records.

    Raises TruncatedError: the file is empty or ends too early. FrameError: the codec writes no such
    bytes. LimitError: a block is too large, or the file is only repetition. DecodeError: no such
    codec.
    """
    framing = _CODECS[codec_of(codec)]
    source = Source(chunks)
    if source.at_end():
        raise TruncatedError("the file is empty", offset=0)
    raw = 0
    for block in framing.inflate(source, limits):
        raw += len(block)
        if raw > max(limits.ratio_from_bytes, limits.ratio * source.offset):
            text = f"{raw:,} raw bytes from {source.offset:,} compressed ones"
            raise above_limit("ratio", text, limits, source.offset)
        yield block
