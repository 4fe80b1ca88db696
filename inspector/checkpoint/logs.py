"""The offset log and the commit log: the plan of each batch, and which batches finished.

Entry N of ``offsets`` is written before batch N runs, entry N of ``commits`` after it. Spark purges
entries older than its retention, and a running query purges while the logs are read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

from inspector.checkpoint.confs import PROVIDER_CLASS, SHUFFLE_PARTITIONS, default_of, full_key
from inspector.checkpoint.log_checks import (
    batches_before_newest,
    conf_checks,
    cross_checks,
    has_equal_gaps,
    offset_checks,
    without_doubtful,
)
from inspector.checkpoint.log_entries import (
    OffsetEntry,
    Positions,
    SourceOffset,
    TopicProgress,
    like_json,
    parse_commit,
    parse_offsets,
    source_offsets,
    topic_progress,
)
from inspector.checkpoint.logfile import VANISHED_SLUG, problem, split_log
from inspector.checkpoint.metadata import LOST_METADATA, QUERY_METADATA, read_query_id
from inspector.checkpoint.names import MAX_BATCH, number
from inspector.checkpoint.roots import STATE
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.trees import Entry
from inspector.exceptions import DecodeError, InspectorError, LimitError
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import BatchClock, BatchId, Problem

T = TypeVar("T")

OFFSETS, COMMITS = "offsets", "commits"  # Folders of the two logs below the root.
MOST_ENTRIES = 10_000  # newest entries of each log that are read; Spark keeps some 100 by default
MAX_FORMAT = 999_999_999  # limit above every format that the first line of an entry can name
PROGRESS_BATCHES = 10  # newest batches over which the partitions of a topic are compared
AT_ONCE = 64  # entries that are in memory at once
# message for an entry that was removed before it was read
_GONE = "the entry was listed, but had been removed when it was read; it is ignored"
NEAR = 10  # entries on each side of a batch that are read if only this batch is asked about


class ConfValue(NamedTuple):
    """Value of a conf for a batch, and the batch in whose entry it was found.

    The entry is that of the nearest batch if the batch's own cannot be read.
    """

    # the value; None if Spark would have used the session's, which is not recorded
    value: str | None
    # ``recorded``, ``nearest`` (in another batch's entry) or ``default`` (the entry lacks the key)
    origin: str
    batch_id: BatchId | None  # batch whose entry was used; None if there are no entries at all


@dataclass(frozen=True)
class Logs:
    """Contents of both logs of a checkpoint."""

    # clocks of all batches, in order
    clocks: Mapping[BatchId, BatchClock] = field(default_factory=dict)
    # recorded confs of the batches whose entry is readable
    confs: Mapping[BatchId, Mapping[str, str]] = field(default_factory=dict)
    # newest batch in ``commits``, whose state is complete; None if there is none
    last_committed: BatchId | None = None
    # newest batch in ``offsets``, which may be unfinished; None if there is none
    last_offset: BatchId | None = None
    has_commits_dir: bool = False  # True if there is a folder ``commits`` (Spark 2.2 on)
    # kind of each control batch; control batches run no data
    control_batches: Mapping[BatchId, str] = field(default_factory=dict)
    # offsets of the sources, of each batch whose offset entry is readable
    sources: Mapping[BatchId, tuple[SourceOffset, ...]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()  # entries that are unreadable, too many, or contradictory
    query_id: str | None = None  # id of the query; None if it cannot be read
    # ids of the checkpoints of each partition's stores (format 2), by committed batch and operator
    unique_ids: Mapping[BatchId, Mapping[int, tuple[frozenset[str], ...]]] = field(
        default_factory=dict
    )
    formats: Mapping[str, int] = field(default_factory=dict)  # log -> format of its newest entry
    # by batch that changed the number of partitions: batch whose state it divided, which is the
    # previous one unless failed batches were given up
    repartitions: Mapping[BatchId, BatchId] = field(default_factory=dict)
    # True if both logs have the same gaps and there is no state, as with asynchronous progress
    # tracking
    is_sparse: bool = False
    topics: tuple[TopicProgress, ...] = ()  # of Kafka sources, in the newest batches
    # log -> batch -> epoch ms when its entry was written; lacks entries whose storage has no times
    written_ms: Mapping[str, Mapping[BatchId, int]] = field(default_factory=dict)

    @property
    def skipped_batches(self) -> frozenset[int]:
        """Batches that failed and that a repartitioning skipped: they made no version."""
        ranges = (range(old + 1, new) for new, old in self.repartitions.items())
        return frozenset(batch for item in ranges for batch in item)

    def conf_for(self, batch_id: int, key: str) -> ConfValue:
        """Return the value of a conf (with or without ``spark.sql.``) for a batch."""
        name = full_key(key)
        batch = BatchId(batch_id)
        origin = "recorded"
        if batch not in self.confs:
            if not self.confs:
                return ConfValue(default_of(name), "default", None)
            # The older of two that are equally near, because an upgrade adds keys and comes later.
            batch = min(self.confs, key=lambda conf: (abs(conf - batch_id), conf))
            origin = "nearest"
        value = self.confs[batch].get(name)
        if value is None:
            return ConfValue(default_of(name), "default", batch)
        return ConfValue(value, origin, batch)

    @property
    def provider_class(self) -> str | None:
        """State store provider by the newest entry that records one; None if no entry does."""
        newest_first = (self.confs[batch].get(PROVIDER_CLASS) for batch in sorted(self.confs)[::-1])
        return next((name for name in newest_first if name is not None), None)


@dataclass(frozen=True)
class Near:
    """Selection of the log entries near one batch, or of the newest ones only."""

    batch_id: int | None = None  # the batch; None for the newest

    def of(self, batches: Sequence[BatchId]) -> set[BatchId]:
        """Return the batches of a log to read: the newest, those near the batch, and batch 0."""
        # Batch 0 shows with what release the query began.
        batch = self.batch_id
        nearby = [b for b in batches if batch is not None and abs(b - batch) <= NEAR]
        return {*batches[-NEAR:], *nearby, *(b for b in batches[:1] if b == 0)}


def read_logs(storage: Storage, max_entries: int = MOST_ENTRIES, near: Near | None = None) -> Logs:
    """Read both logs: of each the newest ``max_entries`` entries, or only those ``near``.

    A log whose folder cannot be listed is a problem, and nothing is known of it. Without the commit
    log every batch before the newest of the offset log counts as committed, because Spark plans a
    batch only after the previous one has committed. Batches whose commit entry is lost count so
    too.
    """
    reader = _Reader(storage, max_entries, near)
    # Commits first: a batch that finishes meanwhile then counts as running, which it was.
    commits = reader.list(COMMITS)
    offsets = reader.list(OFFSETS)
    if commits is not None and batches_before_newest(offsets or ()) - set(commits):
        # Batches may have finished between the listings; an entry that is still absent is lost.
        commits = _Reader(storage, max_entries, near).list(COMMITS)
    entries = dict(reader.parse_entries(commits or {}, parse_commit))
    if near is not None and any(entry.unique_ids for entry in entries.values()):
        # Which files belong to a version is said by its own entry alone (checkpoint format 2).
        return read_logs(storage, max_entries)
    watermarks = {batch: entry.next_watermark_ms for batch, entry in entries.items()}
    planned = _Planned()
    for batch, entry in reader.parse_entries(offsets or {}, parse_offsets):
        planned.add(batch, entry)
    has_commits_dir = bool(commits) or (commits is not None and storage.exists(COMMITS))
    committed = set(commits or ())
    if commits is None or (has_commits_dir and planned.knows_commits):
        committed |= batches_before_newest(offsets or ())
    query_id, problems = read_query_id(storage)
    if query_id is None and commits and not problems:
        # StreamExecution writes it before the first batch, in all releases that log commits.
        message = "the query's metadata is missing: Spark before 4.2 gives it another id"
        problems = (Problem(LOST_METADATA, message, storage.full_path(QUERY_METADATA)),)
    clocks = planned.clocks(sorted({*committed, *(offsets or ())}), committed, watermarks)
    crossed: list[Problem] = []
    is_sparse = False
    if commits is not None and offsets is not None:
        # Spark refuses asynchronous progress tracking for queries with state.
        is_sparse = has_equal_gaps(offsets, commits) and not storage.exists(STATE)
        log_options = {"committed": planned.knows_commits, "is_sparse": is_sparse}
        crossed = [
            replace(result, path=storage.full_path(result.path or ""))
            for result in (
                *cross_checks(offsets, commits, clocks, **log_options),
                *conf_checks(planned.confs, planned.names, clocks, planned.control_batches),
                *offset_checks(planned.like_json),
            )
        ]
    return Logs(
        clocks=without_doubtful(clocks, planned.like_json),
        confs=planned.confs,
        last_committed=max(committed, default=None),
        last_offset=max(offsets or (), default=None),
        has_commits_dir=has_commits_dir or bool(committed),
        control_batches=planned.control_batches,
        sources=planned.sources,
        problems=(*problems, *reader.problems, *crossed),
        query_id=query_id,
        unique_ids={b: entry.unique_ids for b, entry in entries.items() if entry.unique_ids},
        formats=reader.formats,
        repartitions=planned.repartitions,
        is_sparse=is_sparse,
        topics=planned.topics,
        written_ms={
            log: {b: e.modified_ms for b, e in (batches or {}).items() if e.modified_ms is not None}
            for log, batches in ((OFFSETS, offsets), (COMMITS, commits))
            if batches
        },
    )


class _Reader:
    """Reads the entries of both logs, a few at once, and collects problems.

    Attributes:
        problems: problems of listing and reading.
        formats: format of the newest entry, by log.
    """

    def __init__(self, storage: Storage, max_entries: int, near: Near | None) -> None:
        self._storage = storage
        self._most, self._near = max_entries, near
        self.problems: list[Problem] = []
        self.formats: dict[str, int] = {}

    def list(self, folder: str) -> dict[BatchId, Entry] | None:
        """Return the newest entries of a log by batch; None if it cannot be listed.

        Entries that are no files, or whose number is too large, are noted as problems and left out.
        """
        try:
            entries = self._storage.list(folder, missing_ok=True)
        except OSError as error:
            self.problems.append(problem(error, self._storage.full_path(folder)))
            return None
        # Spark takes only names that are a long; "5.compact" and the like are another log's.
        numbers = {BatchId(n): e for e in entries if (n := number(e.name)) is not None}
        location = self._storage.full_path
        folders = [entry for entry in numbers.values() if not entry.is_file]
        self.problems += [entry.not_a_file(location(entry.path)) for entry in folders]
        result = {batch: numbers[batch] for batch in sorted(numbers) if numbers[batch].is_file}
        for batch in [batch for batch in result if batch > MAX_BATCH]:
            message = "got a number that no batch can have; the entry is ignored"
            path = location(result.pop(batch).path)
            self.problems.append(Problem(DecodeError.slug, message, path))
        if len(result) > self._most:
            message = f"got {len(result)} entries, only the newest {self._most} are read"
            self.problems.append(Problem(LimitError.slug, message, location(folder)))
        return dict([*result.items()][-self._most :])

    def parse_entries(
        self, entries: Mapping[BatchId, Entry], parse: Callable[[bytes], T]
    ) -> Iterator[tuple[BatchId, T]]:
        """Yield (batch, content) for the entries that can be read, by the function ``parse``.

        Unreadable entries are noted as problems, except the oldest ones that a purge has removed.
        """
        batches = list(entries)
        if self._near is not None:
            selected = self._near.of(batches)
            batches = [batch for batch in batches if batch in selected]
        oldest: int | None = batches[0] if batches[1:] else None
        for start in range(0, len(batches), AT_ONCE):
            part = batches[start : start + AT_ONCE]
            contents = self._storage.read_many(entries[batch] for batch in part)
            for batch in part:
                content = contents[entries[batch].path]
                path = self._storage.full_path(entries[batch].path)
                if isinstance(content, FileNotFoundError):
                    # A purge takes the oldest; one that overtakes a read is seen by a second look.
                    if batch == oldest:
                        oldest = batch + 1
                    else:
                        self.problems.append(Problem(VANISHED_SLUG, _GONE, path))
                    continue
                try:
                    if not isinstance(content, bytes):
                        raise content
                    result = parse(content)
                except (InspectorError, OSError) as error:
                    self.problems.append(problem(error, path))
                else:
                    yield batch, result
                if batch == batches[-1] and isinstance(content, bytes):
                    with suppress(DecodeError):  # also of one that a later Spark wrote
                        log = entries[batch].path.partition("/")[0]
                        self.formats[log] = split_log(content, MAX_FORMAT)[0]


class _Planned:
    """Contents of the offset log, collected in batch order. Long offsets are not kept."""

    def __init__(self) -> None:
        self.confs: dict[BatchId, Mapping[str, str]] = {}
        self.control_batches: dict[BatchId, str] = {}
        self.sources: dict[BatchId, tuple[SourceOffset, ...]] = {}
        self.names: dict[BatchId, tuple[str, ...]] = {}
        self.like_json: dict[BatchId, Mapping[str, bool]] = {}
        self.repartitions: dict[BatchId, BatchId] = {}
        self._clocks: dict[BatchId, BatchClock] = {}
        self._before: dict[int, OffsetEntry] = {}  # the last one, by its batch
        # Positions of the newest entries, by source, topic and partition.
        self._recent: deque[tuple[BatchId, Positions]] = deque(maxlen=PROGRESS_BATCHES + 1)
        self._planned: dict[tuple[int | None, int | None, int], BatchId] = {}

    @property
    def knows_commits(self) -> bool:
        """True if the query writes a commit log, as 2.2 and later do, which also record confs."""
        return any(self.confs.values())

    def add(self, batch: BatchId, entry: OffsetEntry) -> None:
        """Add the next entry of the offset log."""
        self.confs[batch] = entry.conf
        self.names[batch] = tuple(entry.sources)
        offsets = [(name, offset) for name, offset in entry.sources.items() if offset is not None]
        self.like_json[batch] = {name: like_json(offset) for name, offset in offsets}
        if entry.control is not None:
            self.control_batches[batch] = entry.control
        appended = self._is_appended(batch, entry)
        previous = self._before.get(batch - 1)
        new_data = None if previous is None else previous.sources != entry.sources
        if batch == 0:
            new_data = any(offset is not None for offset in entry.sources.values())
        self._clocks[batch] = BatchClock(
            batch_id=batch,
            timestamp_ms=entry.timestamp_ms,
            watermark_ms=entry.watermark_ms,
            has_new_data=False if appended else new_data,
            appended=appended,
        )
        self.sources[batch] = source_offsets(entry, previous, appended=appended)
        self._before = {batch: entry}
        self._recent.append((batch, entry.positions))

    @property
    def topics(self) -> tuple[TopicProgress, ...]:
        """The topics, and how far their partitions got in the newest batches."""
        if len(self._recent) < PROGRESS_BATCHES + 1:
            return ()
        return tuple(topic_progress(self._recent[0], self._recent[-1]))

    def clocks(
        self,
        batches: Iterable[BatchId],
        committed: Collection[BatchId],
        watermarks: Mapping[BatchId, int | None],
    ) -> dict[BatchId, BatchClock]:
        """Return the clocks of these batches, with the watermarks of the commit log.

        A batch without a readable offset entry has no known time and watermark.
        """
        return {
            batch: replace(
                self._clocks.get(batch, BatchClock(batch)),
                committed=batch in committed,
                next_watermark_ms=watermarks.get(batch),
            )
            for batch in batches
        }

    def _is_appended(self, batch: BatchId, entry: OffsetEntry) -> bool:
        """Return True if a tool appended the batch; note which batch a repartitioning divided.

        It did if the batch is a control batch or repeats an older batch's offsets, watermark and
        time.
        """
        # A repartitioning's entry has the offsets, the watermark and even the time stamp of the
        # batch whose state it resumes from. That is the previous batch. A repartitioning that gives
        # up failed batches (OfflineStateRepartitionRunner.skipUncommittedBatches) copies an older
        # one, and then the number of partitions shows it
        # (OfflineStateRepartitionUtils.isRepartitionBatch).
        sources = hash(frozenset(entry.sources.items()))
        key = entry.timestamp_ms, entry.watermark_ms, sources
        like = None if entry.timestamp_ms is None else self._planned.get(key)
        self._planned[key] = batch
        confs = [self.confs.get(BatchId(n), {}) for n in (batch - 1, batch)]
        old_count, new_count = (conf.get(SHUFFLE_PARTITIONS) for conf in confs)
        divided = None not in (old_count, new_count) and old_count != new_count
        if like is not None and divided:
            self.repartitions[batch] = like
        return entry.control is not None or like == batch - 1 or (like is not None and divided)
