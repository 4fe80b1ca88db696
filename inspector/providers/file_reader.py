"""Base of the readers of state files: checksums, counts, and blocks of records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import ClassVar

from inspector.checkpoint.logfile import problem
from inspector.checkpoint.names import main_path
from inspector.decode.frames import DEFAULT_CODEC, codec_of, has_checksums, inflate, sniff
from inspector.decode.records import RecordBlock, SmallDeltas
from inspector.decode.side_sums import HadoopSum, SideSum, SparkSum
from inspector.exceptions import DecodeError, InspectorError, TailError
from inspector.light_dataclasses import dataclass
from inspector.model import FileKind, StoreFile
from inspector.providers.reader_options import ReadOptions, Report
from inspector.providers.task_files import ReadAhead, TaskFiles, check_identity
from inspector.sums import group_by


def inflate_file(
    file: StoreFile, chunks: Iterator[bytes], options: ReadOptions, report: Report, summed: set[str]
) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file in blocks.

    If the first bytes show another codec than the log, it is used and reported. The path is added
    to ``summed`` if blocks have checksums. Raises DecodeError.
    """
    head = next(chunks, b"")
    recorded = options.codecs.get(file.version or 0, DEFAULT_CODEC)
    seen = sniff(head)
    try:
        codec = codec_of(recorded)
    except DecodeError:  # a class that is not Spark's own: the bytes decide
        if seen is None:
            raise
        codec = seen
    if seen is not None and seen != codec:
        words = f"the bytes are {seen}, though the offset log records {codec}; read as {seen}"
        report("codec-mismatch", words, file, 0)
        codec = seen
    if has_checksums(codec):
        summed.add(file.path)
    return inflate(chain([head] if head else [], chunks), codec)


@dataclass(frozen=True)
class Checked:
    """Counts of contents that a reader read to the end and found right."""

    files: int  # files
    file_checksums: int  # checksum files that match
    row_checksums: int  # records that match their own checksum


class FileReader(ABC):
    """Reader of the state files of one store; a provider's subclass decodes them by :meth:`decode`.

    Attributes:
        raw_bytes: decompressed bytes of the last file, counted by :meth:`raw_blocks` or
            :meth:`decode`; 0 for a file that another store's reader has decompressed.
    """

    other_cause: ClassVar[str] = ""  # other cause of wrong row checksums, for the message

    def __init__(
        self,
        storage: TaskFiles,  # opened at the checkpoint's root, as the task reads it
        options: ReadOptions,  # how the files were written
        files: Iterable[StoreFile],  # all state files of the store
        side_files: Iterable[StoreFile],  # checksum files that their main files are compared with
        report: Report,  # takes the problems of files that can be read all the same
    ) -> None:
        self._storage, self._options, self._report = storage, options, report
        self._files = tuple(files)
        # decompressed bytes of the file read last, counted by :meth:`raw_blocks` or else by
        # :meth:`decode`; 0 of one that another store's reader has decompressed
        self.raw_bytes = 0
        self._ahead = ReadAhead(storage)
        self._checks = SideChecks(self._ahead.whole, side_files, report)
        self._decoded: dict[str, int] = {}
        self._summed: set[str] = set()

    @property
    def checks(self) -> Checked:
        """Counts of the files and checksums that were right so far, each file once."""
        row_checksums = sum(self._decoded.values()) if self._options.row_checksum else 0
        return Checked(len(self._decoded), self._checks.passed, row_checksums)

    @property
    def paths_without_sums(self) -> frozenset[str]:
        """Paths of files that were decoded to the end and have no checksum of any kind."""
        if self._options.row_checksum:
            return frozenset()
        return frozenset(self._decoded.keys() - self._summed - self._checks.vouched)

    def expect(self, files: Iterable[StoreFile]) -> None:
        """Announce the files that will be read next, in order, to request them ahead."""
        sides = self._checks.sides_of
        self._ahead.expect(item for file in files for item in (*sides(file), file))

    def blocks(self, file: StoreFile) -> Iterator[RecordBlock]:
        """Yield the records of a file in blocks; the last one only after its end is verified.

        DecodeError: the file is damaged; it has path and offset. OSError: it cannot be read, or is
        not the file that was listed. Wrong row checksums are reported.
        """
        self.raw_bytes = records = 0
        wrong: list[tuple[int, int]] = []
        try:
            for block in self.decode(file):
                mismatches = block.checksum_mismatches
                records += block.count
                wrong.extend((block.first_record + i, block.raw_place(i)) for i in mismatches)
                yield block
        except TailError as error:
            # Every record was read, and is what Spark reads.
            check_identity(self._storage, file)
            self._report(error.slug, error.message, file, error.offset)
        except DecodeError as error:
            check_identity(self._storage, file)
            raise error.at(file.path) from None
        self._decoded[file.path] = records - len(wrong)
        if wrong:
            record, location = wrong[0]
            self._report(
                "row-checksum",
                f"records whose checksum is not that of their bytes: {len(wrong)}, the first is "
                f"record {record} (the offset is that of its key after decompression); the file "
                f"was changed after Spark wrote it{self.other_cause}",
                file,
                location,
            )

    def read_together(
        self, files: Sequence[StoreFile]
    ) -> tuple[Sequence[bytes], SmallDeltas | None]:
        """Read small deltas at once; return their bytes, and the records of the good first ones.

        The base class reads none. :meth:`note` must be called for the files that are used.
        """
        # Nothing is noted of these files before note(). By default no file is read so.
        return (), None

    def note(
        self, files: Sequence[StoreFile], contents: Sequence[bytes], records: Sequence[int]
    ) -> None:
        """Count files that were read together as read, and verify their checksum files.

        ``contents`` has the bytes of each file, and ``records`` its number of records. A mismatch
        is reported, not raised. The contents are not kept.
        """
        paths = [file.path for file in files]
        self._decoded.update(zip(paths, records, strict=True))
        self._summed.update(paths)
        for file, content in zip(files, contents, strict=False) if self._checks.sides else ():
            for _ in self._checks.watch(file, iter((content,))):
                pass

    def resume_from(self, earlier: FileReader) -> None:  # noqa: B027 - most have nothing to take over
        """Take over what another reader of the store knows; the base class does nothing."""

    def snapshot_rows(self, file: StoreFile) -> int | None:
        """Return the row count that a snapshot records for its stores; None if it has none."""
        return None

    def family(self, file: StoreFile) -> int | None:
        """Return the number of the store's column family in a file; None if the store has none.

        The base class returns None. A subclass may return NO_FAMILY if snapshots show that the
        family does not exist. It raises DecodeError if no snapshot shows the number, and OSError if
        a snapshot cannot be read.
        """
        return None

    def files_to_check(self, files: Iterable[StoreFile]) -> Iterator[StoreFile]:
        """Yield the files that have checksum files and were not read to their end."""
        checks = self._checks
        return (f for f in files if f.path in checks.sides and f.path not in checks.done)

    def check(self, file: StoreFile) -> None:
        """Compare a file with its checksums without decoding it. OSError: it cannot be read."""
        for _ in self.chunks(file):
            pass

    # -- for the readers of a provider -------------------------------------------------------

    @abstractmethod
    def decode(self, file: StoreFile) -> Iterator[RecordBlock]:
        """Yield a file's records in blocks, in order; a :class:`DecodeError` may lack the path."""

    def raw_blocks(self, file: StoreFile) -> Iterator[bytes]:
        """Yield the decompressed blocks of a file in a codec of Spark, and count their bytes."""
        blocks = inflate_file(file, self.chunks(file), self._options, self._report, self._summed)
        for block in blocks:
            self.raw_bytes += len(block)
            yield block

    def chunks(self, file: StoreFile) -> Iterator[bytes]:
        """Yield the stored bytes of a file and compare them with its checksum files at the end.

        A checksum that does not match is reported, not raised.
        """
        return self._checks.watch(file, self._ahead.chunks(file))


# slug of the problem that a checksum file does not match; the file itself may be readable
SLUG = "file-checksum"


class SideChecks:
    """Comparison of files with their checksum files.

    Attributes:
        sides: checksum files by the path of their file.
        done: paths of files that were read to their end.
        passed: number of checksum files that matched.
        vouched: paths of files that matched a checksum file.
    """

    def __init__(
        self, read: Callable[[StoreFile], bytes], sides: Iterable[StoreFile], report: Report
    ) -> None:
        self._read, self._report = read, report
        self.sides = group_by(sides, main_path)
        self.done: set[str] = set()  # paths of files that were read to their end
        self.passed = 0
        self.vouched: set[str] = set()

    def sides_of(self, file: StoreFile) -> Sequence[StoreFile]:
        """Return the checksum files of a file."""
        return self.sides.get(file.path, ())

    def watch(self, file: StoreFile, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the chunks of a file unchanged; at its end report checksums that do not match."""
        sums = [] if file.path in self.done else list(self._open(file))
        for chunk in chunks:
            for _, item in sums:
                item.update(chunk)
            yield chunk
        self.done.add(file.path)
        for side, item in sums:
            mismatch = item.finish()
            if mismatch is None:
                self.passed += 1
                self.vouched.add(file.path)
            else:
                name = side.path.rsplit("/", 1)[-1]
                self._report(SLUG, f"{name}: {mismatch.message}", file, mismatch.offset)

    def _open(self, file: StoreFile) -> Iterator[tuple[StoreFile, SideSum]]:
        """Yield each checksum file of a file with its sum; report those that cannot be read."""
        for side in self.sides_of(file):
            kind = HadoopSum if side.kind is FileKind.HADOOP_CHECKSUM else SparkSum
            try:
                yield side, kind(self._read(side))
            except FileNotFoundError:
                continue  # cleaned up since it was listed
            except InspectorError as error:
                self._report(SLUG, error.message, side, None)
            except OSError as error:
                # The state file may be right: an unreadable checksum file says nothing about it.
                result = problem(error, side.path)
                self._report(result.slug, result.message, side, None)
