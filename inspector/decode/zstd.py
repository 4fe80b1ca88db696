"""Zstandard frames, Spark's codec ``zstd``: one or more, without content size or checksum."""

from __future__ import annotations

import io
from collections.abc import Iterator

from inspector.decode._source import Source
from inspector.exceptions import FrameError, TruncatedError
from inspector.model import Limits

MAGIC = b"\x28\xb5\x2f\xfd"  # first bytes of a frame


def inflate(source: Source, limits: Limits) -> Iterator[bytes]:
    """Yield the decompressed bytes, in pieces of up to 1 MiB.

    The first bytes are checked here, because the library also accepts frames of formats before 1.0,
    which differ by a bit or two. The library bounds what a frame may request: a window of 128 MiB
    (``ZSTD_WINDOWLOG_LIMIT``). TruncatedError: the file ends within a frame. FrameError: corrupt
    data, with an offset at or after the damage.
    """
    import pyarrow as pa  # noqa: PLC0415 - not to recognise a codec

    source.expect(MAGIC, "a Zstandard frame")
    reader = _Reader(source, MAGIC)
    stream = pa.CompressedInputStream(pa.PythonFile(reader, mode="r"), "zstd")
    while True:
        try:
            block = stream.read(min(1 << 20, limits.frame_bytes))
        except (OSError, pa.ArrowException) as error:
            if error is reader.failure:
                raise
            if "Truncated" in str(error):  # pyarrow has one class of error for both
                text = "the Zstandard frame is cut short"
                raise TruncatedError(text, offset=source.offset) from error
            raise FrameError(f"Zstandard frame: {error}", offset=source.offset) from error
        if not block:
            return
        yield block


class _Reader(io.RawIOBase):
    """File object from which pyarrow reads: ``prefix``, then the ``source``.

    Attributes:
        failure: error of the storage, not of the format; None without one.
    """

    def __init__(self, source: Source, prefix: bytes) -> None:
        super().__init__()
        self._source, self._taken = source, prefix
        self.failure: OSError | None = None  # of the storage beneath, not of the format

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes of the stream, at most ``size`` of them; empty only at the end.

        A negative size reads to the end. Otherwise the first call returns the whole ``prefix``,
        whatever ``size`` is.
        """
        if size < 0:
            return self.readall()
        if self._taken:
            prefix, self._taken = self._taken, b""
            return prefix
        try:
            return bytes(self._source.next_bytes(size))
        except OSError as error:
            self.failure = error
            raise
