"""Compressed bytes to raw bytes, for each of the codecs that Spark writes state with.

The codec is named by ``spark.sql.streaming.stateStore.compression.codec`` (3.1+; before, it is
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

    magic: bytes
    inflate: Callable[[Source, Limits], Iterator[bytes]]
    spark_class: str  # the class in ``org.apache.spark.io`` that the conf may name in full
    # whether its blocks carry checksums of their raw bytes, as Spark writes them
    has_checksums: bool = False


_CODECS: Mapping[str, _Codec] = {
    "lz4": _Codec(lz4block.MAGIC, lz4block.inflate, "LZ4CompressionCodec", True),
    "lzf": _Codec(lzf.MAGIC, lzf.inflate, "LZFCompressionCodec"),
    "snappy": _Codec(snappy_java.MAGIC, snappy_java.inflate, "SnappyCompressionCodec"),
    "zstd": _Codec(zstd.MAGIC, zstd.inflate, "ZStdCompressionCodec"),
}
CODECS = tuple(_CODECS)  # short names, as in the conf
DEFAULT_CODEC = "lz4"  # what Spark assumes where none is recorded (``StateStoreConf``)


def codec_of(conf_value: str) -> str:
    """The codec of a conf: a short name in any case, or a class of Spark's; else DecodeError."""
    name = conf_value.strip()
    if name.lower() in CODECS:
        return name.lower()
    for codec, framing in _CODECS.items():
        if framing.spark_class == name.removeprefix("org.apache.spark.io."):
            return codec
    raise DecodeError(f"unknown codec {conf_value[:120]!r}, expected {', '.join(CODECS)}")


def has_checksums(codec: str) -> bool:
    """Return whether files of a codec have checksums; only lz4-java writes them."""
    return codec in _CODECS and _CODECS[codec].has_checksums


def sniff(head: bytes) -> str | None:
    """The codec of a file from its first bytes (8 are enough); None if it is none of ours."""
    for name, codec in _CODECS.items():
        if head.startswith(codec.magic):
            return name
    return None


def inflate(chunks: Iterable[bytes], codec: str, limits: Limits = LIMITS) -> Iterator[bytes]:
    """Raw bytes of a file as it arrives, block by block, one chunk and one block at a time.

    ``limits``: ``frame_bytes`` bounds a block, ``ratio`` the whole. A file of snappy, lzf or zstd
    cut exactly between two blocks is noticed only by the missing end mark of its records.

    Raises: TruncatedError: the file is empty or ends too early. FrameError: the bytes are not what
    the codec writes. LimitError: a block is larger than the limit, or the file is nothing but
    repetition. DecodeError: no such codec.
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
