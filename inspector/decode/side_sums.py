"""Checksums in files beside a state file, held against its bytes while they pass.

:mod:`inspector.decode.checksums` has the formats. Each kind of sum takes the chunks of the main
file one after the other and says at the end what does not match, in words.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Protocol

from inspector.decode.checksums import crc32c, hadoop_sums, parse_spark_checksum


@dataclass(frozen=True)
class Mismatch:
    """A main file and its checksums disagree.

    Attributes:
        message: got and expected; and when that proves nothing.
        offset: of the first part of the main file that is not as summed; None for the whole.
    """

    message: str
    offset: int | None = None


class SideSum(Protocol):
    """What a checksum file says, on the way through its main file."""

    def update(self, chunk: bytes) -> None:
        """Take the next bytes of the main file."""

    def finish(self) -> Mismatch | None:
        """What does not match; call it after the last chunk."""


class HadoopSum:
    """``.NAME.crc`` of Hadoop's ``ChecksumFileSystem``: a CRC-32 for each part of the file.

    Raises:
        DecodeError: the side file is not one.
    """

    def __init__(self, side: bytes) -> None:
        self._part, self._expected = hadoop_sums(side)
        self._found: list[int] = []
        self._sum, self._filled = 0, 0

    def update(self, chunk: bytes) -> None:
        """Take the next bytes; only their sums are kept, however long a part claims to be."""
        rest = memoryview(chunk)
        while rest:
            some = rest[: self._part - self._filled]
            self._sum = zlib.crc32(some, self._sum)
            self._filled += len(some)
            rest = rest[len(some) :]
            if self._filled == self._part:
                self._close()

    def finish(self) -> Mismatch | None:
        """The first part that is not as summed, parts that only one of the files has included."""
        if self._filled:
            self._close()
        found, expected = self._found, self._expected
        common = min(len(found), len(expected))
        bad = [i for i in range(common) if found[i] != expected[i]]
        bad += range(common, max(len(found), len(expected)))
        if not bad:
            return None
        return Mismatch(
            f"{len(bad)} of {max(len(found), len(expected))} parts of {self._part} bytes differ "
            "from Hadoop's checksum file, this is the first: the file was changed, or the checksum "
            "file was left behind by another of its name; Spark on a local disk fails to read it",
            bad[0] * self._part,
        )

    def _close(self) -> None:
        self._found.append(self._sum)
        self._sum, self._filled = 0, 0


class SparkSum:
    """``NAME.crc`` of Spark 4.1: the CRC32C of the whole file.

    Raises:
        DecodeError: the side file is not one.
    """

    def __init__(self, side: bytes) -> None:
        self._recorded = parse_spark_checksum(side)
        self._sum, self._size = 0, 0

    def update(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._sum, _ = crc32c((chunk,), self._sum)
        self._size += len(chunk)

    def finish(self) -> Mismatch | None:
        """Whether the file is the one that was summed; another algorithm is passed over."""
        recorded = self._recorded
        if recorded.algorithm != "CRC32C":
            return None
        if recorded.value == self._sum and recorded.size in (None, self._size):
            return None
        return Mismatch(
            f"got CRC32C {self._sum:08x} over {self._size} bytes, Spark's checksum file records "
            f"{recorded.value:08x} over {recorded.size} bytes: the file was changed; that proves "
            "nothing if a Spark that writes no such files (other than 4.1) wrote it anew since"
        )
