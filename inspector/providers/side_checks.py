"""Checksum files beside the state files, each checked in the read that its file gets anyway."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from inspector.checkpoint.logfile import problem
from inspector.decode.side_sums import HadoopSum, SideSum, SparkSum
from inspector.exceptions import InspectorError
from inspector.model import FileKind, StoreFile
from inspector.providers.common_names import main_path
from inspector.providers.options import Report

SLUG = "file-checksum"
"""A checksum file that does not match; the file itself may well be readable."""


class SideChecks:
    """The checksum files of one store.

    Args:
        read: gives the bytes of one.
        sides: all of the store; those whose main file is not there are left out.
        report: where problems go.

    Attributes:
        passed: checksum files that hold the checksum of their file.
        vouched: paths of the files that one of them vouches for.
    """

    def __init__(
        self, read: Callable[[StoreFile], bytes], sides: Iterable[StoreFile], report: Report
    ) -> None:
        self._read, self._report = read, report
        self._sides: dict[str, list[StoreFile]] = {}
        for side in sides:
            self._sides.setdefault(main_path(side), []).append(side)
        self._done: set[str] = set()
        self.passed = 0
        self.vouched: set[str] = set()

    def sides_of(self, file: StoreFile) -> Sequence[StoreFile]:
        """The checksum files of a file."""
        return self._sides.get(file.path, ())

    def watch(self, file: StoreFile, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Pass on the chunks of a file and sum them; compared when the last one has passed."""
        sums = [] if file.path in self._done else list(self._open(file))
        for chunk in chunks:
            for _, each in sums:
                each.update(chunk)
            yield chunk
        self._done.add(file.path)
        for side, each in sums:
            mismatch = each.finish()
            if mismatch is None:
                self.passed += 1
                self.vouched.add(file.path)
            else:
                name = side.path.rsplit("/", 1)[-1]
                self._report(SLUG, f"{name}: {mismatch.message}", file, mismatch.offset)

    def rest(self, files: Iterable[StoreFile]) -> Iterator[StoreFile]:
        """Those files that have checksums and that nobody has read to their end."""
        for file in files:
            if file.path in self._sides and file.path not in self._done:
                yield file

    def _open(self, file: StoreFile) -> Iterator[tuple[StoreFile, SideSum]]:
        for side in self.sides_of(file):
            kind = HadoopSum if side.kind is FileKind.HADOOP_CHECKSUM else SparkSum
            try:
                yield side, kind(self._read(side))
            except FileNotFoundError:
                continue  # cleaned up since it was listed
            except InspectorError as error:
                self._report(SLUG, error.message, side, None)
            except OSError as error:
                # It may be as it should be: that it cannot be seen says nothing of it.
                found = problem(error, side.path)
                self._report(found.slug, found.message, side, None)
