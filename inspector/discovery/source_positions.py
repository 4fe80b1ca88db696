"""Positions of the sources by batch, read from the offset log one entry after the other.

The range that a batch read of a source ends with its own entry and begins with the entry before.
Batch 0 of a Kafka source begins where ``sources/<n>/0`` says, and a source of files with the first
entry of its log. Records and files are known only where offsets count them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from inspector.checkpoint.log_entries import MOST_SOURCES, OffsetEntry, parse_offsets
from inspector.checkpoint.logfile import json_object, long_field, problem, text_field
from inspector.checkpoint.logs import AT_ONCE, MOST_ENTRIES, OFFSETS
from inspector.checkpoint.names import number
from inspector.checkpoint.source_kinds import (
    EVENT_HUBS,
    FILES,
    KAFKA,
    RATE_MICRO_BATCH,
    Counted,
    Position,
    PositionReader,
    log_number,
    parse_initial,
    parse_position,
)
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.source_logs import SOURCES, source_folders
from inspector.exceptions import DecodeError, InspectorError, LimitError
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import LIMITS, BatchId, Problem

COMPACT = ".compact"  # end of the name of an entry that has the files of all entries before
_LONGEST_LINE = 1 << 20  # bytes of one line of a source log
_INITIAL_BYTES = 1 << 20  # most bytes of the file with the initial offset of a Kafka source


@dataclass(frozen=True)
class SourceFile:
    """A file that a file source has read, as an entry of the source's log names it."""

    path: str  # path of the file, as Spark wrote it
    entry: int  # number of the entry, which an offset of the source names
    modified_ms: int | None  # when the file was last modified, epoch ms; None if not written


class SourceLog:
    """The log of one file source: every entry, whether compacted or not."""

    def __init__(self, storage: Storage, folder: str, *, is_small: bool = False) -> None:
        """Open the log in a folder below the root; ``is_small`` reads no entry above 64 MiB."""
        self.folder = folder
        self._is_small = is_small
        self.problems: list[Problem] = []
        self._storage = storage
        self._counts: dict[int, int] | None = None

    def files(self) -> Iterator[SourceFile]:
        """Yield the files of all entries, oldest entry first.

        The newest compact entry has those of all entries before it. What cannot be read is added
        to ``problems``.
        """
        self.problems = []
        newest, plain = self._listing()
        if newest is not None:
            yield from self._lines(newest, log_number(newest.name))
        compacted = -1 if newest is None else log_number(newest.name)
        for entry, file in sorted(plain.items()):
            if compacted is None or entry > compacted:
                yield from self._lines(file, entry)

    def count(self, start: int | None, end: int) -> int | None:
        """Return the number of files of the entries after ``start`` up to ``end``.

        ``start`` is None for the first batch. Returns None if an entry of these is lost.
        """
        if self._counts is None:
            self._counts = {}
            for file in self.files():
                self._counts[file.entry] = self._counts.get(file.entry, 0) + 1
        first = 0 if start is None else start + 1
        # The log has no empty entries (FileStreamSource.fetchMaxOffset).
        if end - first >= len(self._counts):
            return None
        counts = [self._counts.get(entry) for entry in range(first, end + 1)]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    def _listing(self) -> tuple[Entry | None, dict[int, Entry]]:
        """Return the newest compact entry of the log, and its plain entries by batch.

        The first is None if there is no compact entry. If the folder cannot be listed, the problem
        is added to ``problems``, and both are empty.
        """
        try:
            entries = self._storage.list(self.folder, missing_ok=True)
        except OSError as error:
            self.problems.append(problem(error, self._storage.full_path(self.folder)))
            return None, {}
        files = [entry for entry in entries if entry.is_file]
        plain = {n: file for file in files if (n := number(file.name)) is not None}
        compact = {
            n: file
            for file in files
            if file.name.endswith(COMPACT) and (n := log_number(file.name)) is not None
        }
        return (compact[max(compact)] if compact else None), plain

    def _lines(self, file: Entry, entry: int | None) -> Iterator[SourceFile]:
        """Yield the files in an entry of the log; ``entry`` is its number, None for a compact one.

        What cannot be read is a problem in ``problems``; the files up to it are yielded.
        """
        path = self._storage.full_path(file.path)
        try:
            if self._is_small and file.size > LIMITS.small_file_bytes:
                raise LimitError(f"entry has {file.size} bytes, its files are not counted here")
            lines = _split(self._storage.stream(file.path, size=file.size))
            version = next(lines, b"").strip()
            if version != b"v1":
                raise DecodeError(f"got {version[:40]!r}, expected the version line 'v1'", offset=0)
            for line in lines:
                if line.strip():
                    yield _source_file(line, entry)
        except (InspectorError, OSError) as error:
            self.problems.append(problem(error, path))


def _split(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file that is read in chunks; DecodeError for a line that is too long."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
        if len(rest) > _LONGEST_LINE:
            raise DecodeError(
                f"got a line of more than {_LONGEST_LINE:,} bytes, expected the JSON of one file"
            )
    if rest:
        yield rest


def _source_file(line: bytes, entry: int | None) -> SourceFile:
    """Return the file that a line names; DecodeError if the line is not of such a log.

    ``entry`` is the number of the entry if the line has none; without both it is 0.
    """
    fields = json_object(line.decode("utf-8", "replace"))
    number_of_entry = long_field(fields, "batchId")
    if number_of_entry is None:
        number_of_entry = entry
    modified_ms = long_field(fields, "timestamp")
    return SourceFile(text_field(fields, "path"), number_of_entry or 0, modified_ms)


@dataclass(frozen=True)
class SourceRange:
    """What one batch read of one source: the positions at its beginning and its end."""

    batch_id: BatchId  # batch that read the range
    source: str  # its place among the sources, from 0, or its name
    start: Position | None  # None if the entry before is not there, or the source was new
    end: Position | None  # None as long as the source has no offset
    is_first: bool  # True if the source begins with this batch
    timestamp_ms: int | None  # ``batchTimestampMs`` of the batch, epoch ms; None if not written
    committed: bool  # True if the batch has an entry in the commit log

    @property
    def kind(self) -> str:
        """Name of the kind of source; "unknown" if the source has no offset yet."""
        return "unknown" if self.end is None else self.end.kind.name


@dataclass
class SourcePositions:
    """Reads where the sources of a checkpoint are, batch by batch, newest first."""

    checkpoint: Checkpoint
    is_small: bool = False  # True if no large entry of a source's log is to be read
    # Entries that could not be read.
    problems: list[Problem] = field(default_factory=list)
    _logs: dict[str, SourceLog] = field(default_factory=dict)
    _folders: Mapping[str, str] | None = None
    _listed: Mapping[int, Entry] | None = None

    @property
    def entries(self) -> Mapping[int, Entry]:
        """Entries of the offset log by batch, oldest first, the newest 10,000 at most."""
        if self._listed is None:
            numbers = {}
            for entry in self.checkpoint.storage.list(OFFSETS, missing_ok=True):
                batch = number(entry.name)
                if batch is not None and entry.is_file:
                    numbers[batch] = entry
            self._listed = {n: numbers[n] for n in sorted(numbers)[-MOST_ENTRIES:]}
        return self._listed

    def ranges(self, newest: int | None = None) -> Iterator[SourceRange]:
        """Yield what each batch read, newest batch first, from batch ``newest`` down."""
        later: tuple[int, OffsetEntry] | None = None
        reader = PositionReader()
        later_positions: dict[str, Position] = {}
        for batch, entry in self._parsed(newest):
            positions = {
                name: reader.read(offset, entry.providers.get(name, ""))
                for name, offset in _few(entry)
                if offset is not None
            }
            if later is not None:
                is_previous = later[0] == batch + 1 or self.checkpoint.logs.is_sparse
                starts = positions if is_previous else {}
                yield from self._ranges_of(*later, starts, later_positions, is_known=is_previous)
            later, later_positions = (batch, entry), positions
        if later is not None:
            yield from self._ranges_of(*later, {}, later_positions, is_known=False)

    def batch_ranges(self, batch: int) -> tuple[SourceRange, ...]:
        """Return what one batch read; nothing if it has no entry that can be read."""
        ranges = []
        for source_range in self.ranges(batch):
            if source_range.batch_id != batch:
                break
            ranges.append(source_range)
        return tuple(ranges)

    def log(self, source: str) -> SourceLog:
        """Return the log of a file source."""
        if source not in self._logs:
            folder = f"{SOURCES}/{self.folders.get(source, source)}"
            self._logs[source] = SourceLog(self.checkpoint.storage, folder, is_small=self.is_small)
        return self._logs[source]

    @property
    def folders(self) -> Mapping[str, str]:
        """Names of the sources and of their folders, if known."""
        if self._folders is None:
            self._folders = {}
            newest = self.checkpoint.logs.last_offset
            with suppress(InspectorError, OSError):
                if newest is not None:
                    self._folders = source_folders(self.checkpoint, newest).folders
        return self._folders

    def count(self, item: SourceRange, unit: Counted) -> int | None:
        """Return how many records, or files, a batch read of a source; None if not known."""
        start, end = item.start, item.end
        if end is None or end.kind.counted is not unit:
            return None
        if end.kind is FILES:
            if start is None and not item.is_first:
                return None
            if start is not None and start.kind is not FILES:
                return None
            orders = [None if p is None else p.parts[0].order for p in (start, end)]
            first, last = (None if order is None else order[0] for order in orders)
            return None if last is None else self.log(item.source).count(first, last)
        return None if start is None else end.read_since(start)

    def all_problems(self) -> list[Problem]:
        """Return what could not be read, of the offset log and of the logs of the sources."""
        return [*self.problems, *(p for log in self._logs.values() for p in log.problems)]

    def _parsed(self, newest: int | None) -> Iterator[tuple[int, OffsetEntry]]:
        """Yield each batch with its entry of the offset log, newest first.

        The first batch is ``newest``; None begins with the newest of all. What cannot be read is
        added to ``problems``, but not the oldest entries if they are gone: Spark purges them.
        """
        storage = self.checkpoint.storage
        batches = [b for b in reversed([*self.entries]) if newest is None or b <= newest]
        size = 2  # a reader of the newest batches reads few entries
        start = 0
        purged: list[Problem] = []  # entries that are gone; Spark purges the oldest ones
        while start < len(batches):
            chunk = batches[start : start + size]
            contents = storage.read_many(self.entries[batch] for batch in chunk)
            for batch in chunk:
                path = self.entries[batch].path
                content = contents[path]
                if isinstance(content, FileNotFoundError):
                    purged.append(problem(content, storage.full_path(path)))
                    continue
                self.problems += purged
                purged.clear()
                try:
                    if not isinstance(content, bytes):
                        raise content
                    yield batch, parse_offsets(content)
                except (InspectorError, OSError) as error:
                    self.problems.append(problem(error, storage.full_path(path)))
            start, size = start + size, min(2 * size, AT_ONCE)

    def _ranges_of(
        self,
        batch: int,
        entry: OffsetEntry,
        starts: Mapping[str, Position],
        ends: Mapping[str, Position],
        *,
        is_known: bool,
    ) -> Iterator[SourceRange]:
        """Yield what a batch read of each source of its entry.

        ``starts`` has the positions by source after the batch before, ``ends`` those after this
        one. ``is_known`` is True if the entry of the batch before was read.
        """
        clock = self.checkpoint.logs.clocks.get(BatchId(batch))
        for name, _ in _few(entry):
            end, start = ends.get(name), starts.get(name)
            # A source that had no offset in the entry before begins with this batch.
            is_first = start is None and (batch == 0 or is_known)
            if is_first and end is not None:
                start = self._initial(name, end)
            yield SourceRange(
                BatchId(batch),
                name,
                start,
                end,
                is_first,
                entry.timestamp_ms,
                clock is not None and clock.committed,
            )

    def _initial(self, source: str, end: Position) -> Position | None:
        """Return where a source began, if the checkpoint or its format says that."""
        if end.kind is RATE_MICRO_BATCH:
            # RatePerMicroBatchStream.initialOffset
            return parse_position('{"offset":0,"timestamp":0}')
        if end.kind not in (KAFKA, EVENT_HUBS):
            return None
        path = f"{SOURCES}/{self.folders.get(source, source)}/0"
        with suppress(InspectorError, OSError):
            initial = parse_initial(self.checkpoint.storage.read(path, _INITIAL_BYTES))
            return None if initial is None else replace(parse_position(initial), kind=end.kind)
        return None


def _few(entry: OffsetEntry) -> Iterator[tuple[str, str | None]]:
    """Yield the sources of an entry, 64 at most."""
    for index, (name, offset) in enumerate(entry.sources.items()):
        if index >= MOST_SOURCES:
            return
        yield name, offset
