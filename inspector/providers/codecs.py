"""The codec of a state file: what the offset log records, held against the file's first bytes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from inspector.decode.frames import codec_of, inflate, sniff
from inspector.exceptions import DecodeError
from inspector.model import StoreFile
from inspector.providers.provider import ReadOptions, Report

DEFAULT_CODEC = "lz4"
"""What Spark assumes where no codec is recorded (``StateStoreConf``, all versions)."""


def inflated(
    file: StoreFile, chunks: Iterator[bytes], options: ReadOptions, report: Report
) -> Iterator[bytes]:
    """The raw bytes of a file; by its first bytes where the log says something else.

    Raises:
        DecodeError: as :func:`inspector.decode.frames.inflate`.
    """
    head = next(chunks, b"")
    recorded = options.codecs.get(file.version or 0, DEFAULT_CODEC)
    seen = sniff(head)
    codec = _codec(recorded, seen)
    if seen is not None and seen != codec:
        report(
            "codec-mismatch",
            f"the bytes are {seen}, though the offset log records {codec}; read as {seen}",
            file,
            0,
        )
        codec = seen
    return inflate(chain([head] if head else [], chunks), codec)


def _codec(recorded: str, seen: str | None) -> str:
    """The codec that a conf means; for a class that is not Spark's own the bytes decide."""
    try:
        return codec_of(recorded)
    except DecodeError:
        if seen is None:
            raise
        return seen
