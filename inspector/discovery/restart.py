"""Restart of a query from a checkpoint: the first batch, and the files that Spark reads for it.

* The newest entries of the logs decide (``MicroBatchExecution.populateStartOffsets``, 2.3 to 4.3):
  batch N + 1 where N is committed, else N once more; the entry of N - 1 is read in both cases
  (``validateOffsetLogAndGetPrevOffset``).
* Batch N loads state version N of every store of every partition: the newest snapshot at or below
  it and each delta after that (``HDFSBackedStateStoreProvider.loadMap``, ``RocksDB.load``). What
  lies below that snapshot, or is a delta that it covers, is not read.
* Where that snapshot cannot be read, Spark 4.2 and later load an older one, or begin with the empty
  version 0 (``AutoSnapshotLoader``, on by default), if at most 500 versions lie between; older
  releases fail. RocksDB up to 3.4 loads the zip of the very version, as it writes no changelogs.
* RocksDB opens the tables of a snapshot without reading their blocks of rows: one that is damaged
  is no reason to go back to an older snapshot, and stops the batch that reads it, if any does.
* RocksDB opens a snapshot with its own files, ``CURRENT`` and ``MANIFEST``, which have to be whole
  and of the tables that are there. One that it refuses is as one that cannot be read. Tables that
  its MANIFEST does not list it deletes, and the query restarts without their rows.
* With checkpoint format 2, Spark 4.0 gives a zip the number v2, which later releases refuse
  (``RocksDBCheckpointMetadata.readFromFile``).
* Without ``metadata`` a query gets another id; from 4.2 on it does not start, if there are entries
  of a log (``StreamingQueryCheckpointMetadata``). Without both logs it begins at batch 0 and writes
  over the state that is there; from 4.1 on it does not start.
* A query that keeps state does not start without ``state``, and since 4.0 neither without one of
  its operators (``OperatorStateMetadataValidator``): which it has the files do not show.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from inspector.checkpoint.layout import StoreLayout
from inspector.checkpoint.log_checks import CONTRADICTION, LOST_ENTRY
from inspector.checkpoint.logfile import UNSEEN, VANISHED_SLUG
from inspector.checkpoint.logs import COMMITS, OFFSETS
from inspector.checkpoint.metadata import LOST_METADATA, QUERY_METADATA
from inspector.discovery.batch_times import is_real_time
from inspector.discovery.checkpoint import CONF, Checkpoint, Operator
from inspector.discovery.listing import MISSING_OPERATOR, UNFINISHED_ERROR, is_repartitioning
from inspector.discovery.lost_files import LOST_SCHEMA
from inspector.discovery.partition_shape import SHIFT_ENDS, SinglePartition
from inspector.discovery.placement import partition_count, partition_counts, was_left
from inspector.discovery.restart_conditions import (
    SCHEMA_PATHS,
    conditions_of,
    foreign_schemas,
    needs_async_progress,
    refusals_of,
    restart_partition_count,
)
from inspector.discovery.restart_reasons import Condition, Doubt, Refusal
from inspector.discovery.source_conditions import judge_sources
from inspector.discovery.source_logs import SourceFolders, source_folders
from inspector.exceptions import (
    REFUSES,
    FrameError,
    LimitError,
    NoSchemaError,
    RecordError,
    RefusedSnapshotError,
    RowError,
)
from inspector.light_dataclasses import dataclass, replace
from inspector.model import READABLE, UNLISTED, BatchId, FileKind, Problem, StoreFile, StoreId
from inspector.providers.chain import FileNames, StoreFiles
from inspector.quantities import short_count_text
from inspector.time_text import time_ms_text

REPAIRS = "4.2"  # first release that goes back to an older snapshot where the newest cannot be read
_TRIED = 20  # versions, restorable by name, whose files are all compared with what is damaged
MOST_REPLAYED = 500  # versions that it goes back (conf ``stateStore.maxChangeFileReplay``)
# a conf that offset entries record since Spark 4.2
RECORDED_SINCE_4_2 = f"{CONF}stateStore.rowChecksum.enabled"
_LOG_ERROR = "IllegalStateException"  # Spark's error at a missing or unreadable entry of its logs
# Spark's error class at a state file that it cannot read
_UNREADABLE = "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED"
_UNPARSED = ("truncated", "undecodable")
"""Slugs of metadata and schemas that end early, or are no JSON: Spark reads each at the start
(``StreamMetadata.read``, ``StateSchemaCompatibilityChecker``). Spark 4.3 does without metadata of
an operator that is cut."""
_ABSENT = (VANISHED_SLUG, LOST_ENTRY)  # slugs of problems: a file or log entry that is not there
_NO_VERDICT = (*UNSEEN, LimitError.slug, RowError.slug)  # Spark may read more or less of these


@dataclass(frozen=True)
class Obstacle:
    """Reason why Spark does not restart: often a file that is missing, unreadable or refused."""

    name: str  # of the file: ``3.delta``, ``offsets/12``
    error: str  # Spark's error class
    store: StoreId | None = None  # whose file it is; None for an entry of the logs
    instead_of: str = ""  # the snapshot that cannot be read, so that the file is needed; or no text
    missing: bool = True  # it is not there, rather than unreadable
    verb: str = "needs"  # what Spark does with it
    since: str = ""  # the first release of which this holds; no text if it holds of all
    files: int = 1  # how many of its store are missing or unreadable, this one among them
    about: str = ""  # the rule of ``preflight`` about it; no text for that on missing files
    details: tuple[str, str] = ("", "")  # what the checkpoint has, and what the restart needs
    operator_id: int | None = None  # the operator that it is about, if ``store`` is None
    to_do: str = ""  # what the user can do; "" for what its finding says
    words: str = ""  # RocksDB's message, if RocksDB refuses the file

    @property
    def is_listed(self) -> bool:
        """True for a state file or log entry; the loss of one is a problem of its own."""
        # Or a living query has removed it since the names were listed.
        return self.store is not None or self.error == _LOG_ERROR

    def __str__(self) -> str:
        """Return the obstacle as a clause, such as ``partition 1 lacks 1.delta (ERROR)``.

        Without a partition the clause begins with ``it``.
        """
        return self.clause("it")

    @property
    def is_lacking(self) -> bool:
        """True if Spark needs something that is not there."""
        return self.verb == "needs" and self.missing and not self.words

    def clause(self, subject: str) -> str:
        """Return what stands in the way, as a clause such as ``partition 1 lacks 1.delta``.

        ``subject`` begins the clause, unless the obstacle is in a partition.
        """
        if self.store is not None:
            subject = f"partition {self.store.partition_id}"
        if self.words and not self.instead_of:
            return f"{subject} {self.verb} {self.name}, which RocksDB refuses ({self.words})"
        state = "" if self.missing else ", which cannot be read"
        reason = f", as {self.instead_of} cannot be read" if self.instead_of else ""
        if self.words:
            reason = f", as RocksDB refuses {self.instead_of} ({self.words})"
        elif self.is_lacking and self.instead_of:
            reason = f", which it needs as {self.instead_of} cannot be read"
        error = self.error.removesuffix(".UNCATEGORIZED").rpartition(".")[2]
        named = f" ({error})" if error else ""
        verb = "lacks" if self.is_lacking else self.verb
        return f"{subject} {verb} {self.name}{reason}{state}{named}"


@dataclass(frozen=True)
class Load:
    """Snapshot and deltas from which Spark loads one store."""

    store: StoreId  # the store that is loaded
    base: int  # version of the snapshot; 0 for the empty state
    deltas: int  # number of deltas after the snapshot
    skipped: str = ""  # name of a newer snapshot that cannot be read; Spark before 4.2 fails at it


@dataclass(frozen=True)
class Restart:
    """Judgement of a restart: the first batch, the files that it loads, and what prevents it."""

    batch: int  # the one that runs first; it loads the state version of the same number
    again: bool  # it was planned before, and has no commit
    planned_ms: int | None  # when it was planned, epoch; None if it was not, or without clock
    committed: int | None  # newest committed batch; None if there is none
    loads: tuple[Load, ...]  # of the stores that Spark can load
    obstacles: tuple[Obstacle, ...]  # to the others, in the newest batch's release
    unknown: int  # files that it reads and that could not be judged here
    names: FileNames  # names of state files of the checkpoint's provider
    # stores that only releases from :data:`REPAIRS` on load, if an older one may run it
    needs_repair: tuple[Load, ...] = ()
    wrote: bool | None = None  # some store has files of a batch that runs again; None: no store
    silent: str = ""  # partitions without such files, where others have some, in words
    later: tuple[Obstacle, ...] = ()  # to releases from which that batch may be older
    # operators whose state schemas are read from another checkpoint, with the root of that one
    foreign_schemas: tuple[tuple[int, str], ...] = ()
    has_state: bool = True  # whether there is a folder for state, as a query without state has none
    back: int | None = None  # the newest batch as of which a copy restarts, if this does not
    # least and greatest newest version of the partitions, if the state was copied before the logs
    ends: tuple[int, int] | None = None
    unfinished_text: str = ""  # ``batch 4 was planned ...``: of one that runs again, in words
    block: str = ""  # the first table file that it loads with a damaged block
    conditions: tuple[Condition, ...] = ()  # options without which it does not restart
    # why the files do not tell whether it restarts
    doubts: tuple[Doubt, ...] = ()
    # whether the query runs in real-time mode, which does not run a batch again; None if unknown
    real_time: bool | None = False
    assumption: str = ""  # what the answer assumes, as a clause; "" for nothing

    @property
    def possible(self) -> bool | None:
        """True if Spark of the newest release restarts, with the options of :attr:`conditions`.

        None if a file could not be judged, or for the reasons of :attr:`doubts`.
        """
        if self.obstacles:
            return False
        return None if self.unknown or self.doubts else True

    @property
    def is_plain(self) -> bool:
        """True if nothing stands in its way, it needs no option, and no batch runs again."""
        is_free = not self.by_release and not self.conditions
        return self.possible is True and not self.again and is_free

    @property
    def is_moved(self) -> bool:
        """True if only the path keeps Spark from the restart, as after a move or in a backup."""
        return bool(self.obstacles) and all(o.about == SCHEMA_PATHS for o in self.obstacles)

    @property
    def by_release(self) -> bool:
        """True if only some releases of Spark can restart from the checkpoint."""
        return bool(self.needs_repair or self.later)

    @property
    def sentence(self) -> str:
        """Verdict as one sentence.

        ``Restarts from batch 12: yes, from 12.snapshot.``; or it names the first obstacle, the
        reason why it is unknown, or the options and releases that it needs.
        """
        if self.obstacles:
            return self._refusal_text()
        begin = f"Restarts from batch {self.batch}"
        if self.again and self.real_time:
            begin += ", which real-time mode plans anew because it has no commit"
        elif self.again:
            begin += ", which is run again because "
            later = self.committed is not None and self.committed > self.batch
            begin += "no later one is in offsets" if later else "it has no commit"
        if why := self._unknown_reason():
            return f"{begin}: unknown, because {why}."
        if self.needs_repair:
            load = self.needs_repair[0]
            return (
                f"{begin}: with Spark {REPAIRS} or later, which goes back to an older version as "
                f"{load.skipped} of partition {load.store.partition_id} cannot be read; older "
                "releases fail."
            )
        if self.later:
            release = self.later[0].since
            return (
                f"{begin}: yes with Spark before {release}{self._files()}; no with Spark {release} "
                f"or later: {self.later[0]}."
            )
        if self.conditions:
            options = " and ".join(map(str, self.conditions))
            loaded = self._files() if self.has_state else ""
            return (
                f"{begin}: yes, with {options}{loaded}; without it, {self.conditions[0].without}."
            )
        assumed = f" This assumes that {self.assumption}." if self.assumption else ""
        if not self.has_state:
            yes = "yes if the query keeps no state; else no, as it needs state."
            return f"{begin}: {yes}{assumed}"
        return f"{begin}: yes{self._files()}.{assumed}"

    def _refusal_text(self) -> str:
        """Return the sentence where something stands in the way: the batch and the first obstacle.

        ``Cannot restart (batch 24): partition 2 lacks 5.delta.``
        """
        batch, obstacle = f"batch {self.batch}", self.obstacles[0]
        if self.again:
            is_last = self.committed is not None and self.committed > self.batch
            batch += ", the last in offsets" if is_last else ", which has no commit"
        further = sum(obstacle.files for obstacle in self.obstacles) - 1
        remainder = f", and {short_count_text(further, 'more file')}" if further else ""
        if self.ends is not None:
            first, last = self.ends
            copied = f"every partition end at version {first:,}, as in a copy whose logs are"
            remainder += f"; the files of {copied} newer than its state"
            if first < last:
                copied = f"partitions end at versions {first:,} to {last:,}, as in a copy made"
                remainder = f"; the files of {copied} while the query ran"
        clause = obstacle.clause("the checkpoint" if obstacle.is_lacking else "Spark")
        where = " at this path" if self.is_moved else ""
        return f"Cannot restart{where} ({batch}): {clause}{remainder}."

    def _unknown_reason(self) -> str:
        """Clause that says why the restart cannot be judged; empty if it can."""
        if self.block:
            return (
                f"a block of {self.block} is damaged: RocksDB loads the table and fails when it "
                "reads that block"
            )
        if self.unknown:
            files = "1 file" if self.unknown == 1 else f"{self.unknown:,} files"
            return f"{files} that it loads could not be read here"
        return self.doubts[0].reason if self.doubts else ""

    def loads_without(self, problem: Problem) -> bool:
        """Return whether every release of Spark restarts in spite of a problem."""
        # Never where a file that it loads could not be read here: of its rows nothing is known.
        if self.unknown and problem.slug in _NO_VERDICT:
            return False
        if self.block and problem.slug == FrameError.slug:
            return False
        if problem.slug == UNLISTED:
            return not self._loads_snapshot(problem)
        if problem.store is None:
            folder = (problem.path or "").split("/")[-2:-1]
            is_log_problem = problem.slug == LOST_ENTRY or (
                problem.slug in _UNPARSED and folder in ([OFFSETS], [COMMITS], ["_metadata"])
            )
            starts = self.possible is True and not self.by_release
            return starts and (is_log_problem or problem.slug == LOST_METADATA)
        location = problem.store.operator_id, problem.store.partition_id
        stores = [o.store for o in self.obstacles if o.store is not None]
        stores += [load.store for load in self.needs_repair]
        blocked = {(store.operator_id, store.partition_id) for store in stores}
        loaded = {(load.store.operator_id, load.store.partition_id) for load in self.loads}
        return location in loaded and location not in blocked

    def _loads_snapshot(self, problem: Problem) -> bool:
        """Return whether a restart loads the snapshot that a problem is about."""
        partition = problem.store and (problem.store.operator_id, problem.store.partition_id)
        return any(
            (load.store.operator_id, load.store.partition_id) == partition
            and load.base == problem.version
            for load in self.loads
        )

    def remedy(self, name: str) -> str:
        """Return what to do about a lost log, or an entry of ``offsets`` that a restart needs.

        ``name`` is a path below the root (``offsets``, ``offsets/12``). No text for any other file,
        and for an entry whose batch has written state.
        """
        if name == OFFSETS and not self.batch:
            return (
                "restore offsets and commits; without them begin a new checkpoint, or empty this "
                "one, as nothing says up to where the sources have been read"
            )
        stops = any(obstacle.name == name for obstacle in self.obstacles)
        if stops and self.wrote is False and name == f"{OFFSETS}/{self.batch}":
            # OffsetSeqLog.add comes before anything of the batch runs.
            return (
                f"remove {name} and its checksum file while the query is stopped: nothing was "
                f"written for batch {self.batch}, and Spark plans it again"
            )
        return ""

    def _files(self) -> str:
        """Return the words ``, from 12.snapshot and 2 deltas`` on what the stores are loaded from.

        ``, with an empty state`` if no store is loaded.
        """
        if not self.loads:
            return ", with an empty state"
        bases = {load.base for load in self.loads}
        counts = {load.deltas for load in self.loads}
        highest = max(counts)
        upto = "up to " if len(counts) > 1 else ""
        deltas = f"{upto}{short_count_text(highest, self.names.delta_noun)}" if highest else ""
        snapshot = self.names.snapshot.format(max(bases)) if len(bases) == 1 else "snapshots"
        return ", from " + " and ".join(filter(None, ("" if bases == {0} else snapshot, deltas)))


def restart_of(
    checkpoint: Checkpoint, problems: Iterable[Problem] = (), restart_path: str | None = None
) -> Restart:
    """Judge the restart from the newest entries of the logs, and return the judgement.

    Only the stores of an opened part are judged. ``problems`` are those found by reading files;
    without them the answer rests on file names. ``restart_path`` is the path from which Spark will
    read the checkpoint if it is not the opened path: a finished copy is moved to its final name.
    """
    # Without the problems of the state the answer goes by the names of its files.
    problems = tuple({*checkpoint.problems, *problems})
    logs = checkpoint.logs
    planned = -1 if logs.last_offset is None else int(logs.last_offset)
    again = planned >= 0 and logs.last_committed != planned
    batch = planned if again else planned + 1
    clock = logs.clocks.get(BatchId(planned)) if again else None
    damage = _Damage.of(problems)
    stores = [
        result
        for operator in (checkpoint.operators if batch else ())
        for result in _stores(checkpoint, operator, batch, damage)
    ]
    refusals = tuple(refusals_of(checkpoint, planned, restart_path))
    folders = _source_folders(checkpoint, planned, damage)
    source_reasons = [*judge_sources(checkpoint, planned, folders)]
    obstacles = [
        *_in_logs(checkpoint, planned, damage, folders),
        *(_obstacle_of(result) for result in source_reasons if isinstance(result, Refusal)),
        *_in_metadata(checkpoint, damage),
        *(_obstacle_of(refusal) for refusal in refusals if isinstance(refusal, Refusal)),
        *(result for result in stores if isinstance(result, Obstacle)),
    ]
    files = checkpoint.store_files.values()
    back = _earlier_batch(checkpoint, obstacles, damage) if obstacles else None
    ends = _ends(checkpoint, batch)
    # A batch that failed leaves them one version apart.
    torn = ends is not None and ends[1] - ends[0] > 1
    copied = ends is not None and (torn or ends == ((back or 0) + 1,) * 2)
    # Whether the release that ran the newest batch goes back to older snapshots.
    repairs = logs.conf_for(planned, RECORDED_SINCE_4_2).origin == "recorded"
    loads = tuple(result for result in stores if isinstance(result, Load))
    restart = Restart(
        wrote=any(store.newest > batch for store in files) if files else None,
        silent=next(_silent(checkpoint, batch), "") if again else "",
        batch=batch,
        again=again,
        planned_ms=clock.timestamp_ms if clock else None,
        committed=logs.last_committed,
        loads=loads,
        obstacles=tuple(obstacle for obstacle in obstacles if repairs or not obstacle.since),
        later=() if repairs else tuple(obstacle for obstacle in obstacles if obstacle.since),
        unknown=damage.doubted,
        block=damage.block and checkpoint.storage.relative(damage.block),
        doubts=(
            *(refusal for refusal in refusals if isinstance(refusal, Doubt)),
            *(result for result in source_reasons if isinstance(result, Doubt)),
            *_partition_doubts(checkpoint, batch),
            *(_sink_doubts(checkpoint, batch) if again else ()),
        ),
        assumption=folders.assumption or _describe_assumption(checkpoint),
        names=checkpoint.provider.names,
        needs_repair=() if repairs else tuple(load for load in loads if load.skipped),
        has_state=checkpoint.layout.has_state or not batch,
        back=back,
        ends=ends if copied and back is not None else None,
        conditions=tuple(conditions_of(checkpoint, planned)),
        real_time=is_real_time(checkpoint) if again else False,
        foreign_schemas=tuple(foreign_schemas(checkpoint, restart_path)),
    )
    return replace(restart, unfinished_text=_text(checkpoint, restart)) if again else restart


def _obstacle_of(refusal: Refusal) -> Obstacle:
    """Return a refusal as an obstacle."""
    return Obstacle(
        refusal.name,
        refusal.error,
        verb=refusal.verb,
        about=refusal.about,
        details=refusal.details,
        operator_id=refusal.operator_id,
        to_do=refusal.to_do,
    )


def _source_folders(checkpoint: Checkpoint, planned: int, damage: _Damage) -> SourceFolders:
    """Return the folders of the newest batch's sources; their logs count as doubted if unlisted."""
    try:
        return source_folders(checkpoint, planned)
    except OSError:
        damage.doubted += 1
        return SourceFolders({})


def _partition_doubts(checkpoint: Checkpoint, batch: int) -> Iterator[Doubt]:
    """Yield a doubt for each operator that has only partition 0 and no row."""
    for operator in checkpoint.operators if batch else ():  # batch 0 loads no state
        if operator.shape.single is SinglePartition.UNKNOWN:
            yield Doubt(
                f"operator {operator.operator_id} has partition 0 alone and no row: without keys "
                "or as a limit it needs no other one, else its partitions are lost"
            )


def _sink_doubts(checkpoint: Checkpoint, batch: int) -> Iterator[Doubt]:
    """Yield a doubt if a batch that runs again may be in its sink, and state has unique ids.

    A sink that stores batch ids skips a batch that it has. No task runs then, and Spark finds no
    ids of the state to commit: "CheckpointInfo length: 0, numPartitions: 2"
    (``MicroBatchExecution.updateStateStoreCkptId``) [seen with Spark 4.3.0 and a file sink].
    """
    if checkpoint.logs.unique_ids and _have_written(checkpoint, batch):
        yield Doubt(
            f"all partitions have written their state of batch {batch}: with checkpoint format 2 "
            f"Spark fails (CheckpointInfo length: 0) if the sink has batch {batch} already, as a "
            "file sink or Delta Lake may, and restarts if not",
            is_of_sink=True,
        )


def _describe_assumption(checkpoint: Checkpoint) -> str:
    """Return a clause on what the answer assumes of an operator's partitions; "" for nothing."""
    for operator in checkpoint.operators:
        if operator.shape.single is SinglePartition.LIKELY:
            return (
                f"operator {operator.operator_id} is a limit, which has partition 0 alone: its "
                "only key is null"
            )
    return ""


def _text(checkpoint: Checkpoint, restart: Restart) -> str:
    """Return the sentences on an unfinished batch that a restart runs again.

    They say when it was planned, which entries name its files, and which partitions wrote its
    state.
    """
    batch, planned_ms, committed = restart.batch, restart.planned_ms, restart.committed
    planned = "" if planned_ms is None else f" at {time_ms_text(planned_ms)}"
    again = "a restart runs it again"
    if restart.real_time:
        again = "in real-time mode a restart removes its entry and plans it anew"
    elif restart.real_time is None:
        again += ", or in real-time mode removes its entry and plans it anew"
    reason = "nothing" if committed is None else f"nothing after batch {committed}"
    text = (
        f"batch {batch} was planned{planned} and has no commit, as it runs or failed: "
        f"{again}; {reason} has been committed."
    )
    if _have_written(checkpoint, batch):
        text += " All partitions have written their state of it: "
        text += "what failed, if it did, came after."
    # Not the files: their names may hold what is nobody's business.
    entries = _entries_of_batch(checkpoint, batch)
    if entries:
        names = "names" if len(entries) == 1 else "name"
        text += f" It reads the files that {' and '.join(entries[:_NAMED])} {names}."
    if restart.silent:
        text += f" {restart.silent} of it."
    if restart.wrote is False:
        text += (
            " No task has written state for it: a change of the query that Spark refuses looks so, "
            "too (inspector explain LOG PATH)."
        )
    return text


def _entries_of_batch(checkpoint: Checkpoint, batch: int) -> list[str]:
    """Return the entries of source logs that a batch reads up to; none if they cannot be listed."""
    sources = checkpoint.logs.sources.get(BatchId(batch), ())
    moved = [source for source in sources if source.moved and source.log_entry is not None]
    try:
        folders = source_folders(checkpoint, batch)
    except OSError:
        return []
    # A source that is used twice has two lines and one log.
    return list(dict.fromkeys(f"{folders.folder(each)}/{each.log_entry}" for each in moved))


def _ends(checkpoint: Checkpoint, batch: int) -> tuple[int, int] | None:
    """Return the least and the greatest newest version of the partitions.

    None if every partition has files of the version ``batch`` or a newer one.
    """
    newest = [
        checkpoint.store_files[store.directory].newest
        for operator in checkpoint.layout.operators
        for partition in operator.partitions
        if not was_left(checkpoint, partition, batch)
        for store in partition.stores
    ]
    return (min(newest), max(newest)) if newest and min(newest) < batch else None


def _silent_partitions(
    checkpoint: Checkpoint, batch: int
) -> Iterator[tuple[Operator, list[int], int]]:
    """Yield (operator, partitions without files of a batch, partition count) per operator."""
    # A task commits its stores even if it had no rows, so that each has a file then.
    for operator in checkpoint.operators:
        newest: dict[int, int] = {}
        for folder in operator.layout.folders:
            files, partition = checkpoint.store_files[folder.directory], folder.store.partition_id
            newest[partition] = max(newest.get(partition, 0), files.newest)
        silent = sorted(partition for partition, version in newest.items() if version <= batch)
        yield operator, silent, len(newest)


def _silent(checkpoint: Checkpoint, batch: int) -> Iterator[str]:
    """Yield a clause for each operator with files of a batch in only some of its partitions."""
    for operator, silent, partitions in _silent_partitions(checkpoint, batch):
        if 0 < len(silent) < partitions:
            words = f"Partition {silent[0]}"
            if len(silent) > 1:
                words = f"{len(silent):,} of {partitions:,} partitions"
            if 1 < len(silent) <= _NAMED:
                words = f"Partitions {', '.join(map(str, silent))}"
            has_many = len(checkpoint.operators) > 1
            operator_text = f" of operator {operator.operator_id}" if has_many else ""
            yield f"{words}{operator_text} wrote nothing"


def _have_written(checkpoint: Checkpoint, batch: int) -> bool:
    """Return whether every expected partition of every operator has files of a batch."""
    # Of a first batch nobody knows which operators and partitions there are to be.
    for operator, silent, partitions in _silent_partitions(checkpoint, batch):
        count = 1 if operator.single_partition else partition_count(checkpoint, batch + 1)
        if silent or partitions < count:
            return False
    return bool(batch and checkpoint.operators)


_NAMED = 4  # partitions that are named one by one


def _earlier_batch(
    checkpoint: Checkpoint, obstacles: Iterable[Obstacle], damage: _Damage
) -> int | None:
    """Return the newest batch from which a copy as of that batch restarts; None if there is none.

    Also None if something other than a state file or log entry prevents the restart. At most
    ``_TRIED`` versions are tried.
    """
    logs, committed = checkpoint.logs, checkpoint.logs.last_committed
    if committed is None or not all(obstacle.is_listed for obstacle in obstacles):
        return None
    for version in sorted(checkpoint.restorable_versions, reverse=True)[:_TRIED]:
        batch = version - 1
        entries = {batch, batch - 1} - {-1}
        commit = checkpoint.storage.full_path(f"{COMMITS}/{batch}")
        if batch > committed or not entries <= logs.confs.keys() or commit in damage.paths:
            continue
        trial = replace(damage, doubted=0)
        loads = (
            isinstance(result, Load)
            for operator in checkpoint.operators
            for result in _stores(checkpoint, operator, version, trial)
        )
        if all(loads) and not trial.doubted:
            return batch
    return None


@dataclass
class _Damage:
    """Damaged files by path, and by (operator, partition, version) of a snapshot.

    The second finds what a snapshot shares with others, such as table files of RocksDB.
    """

    paths: Mapping[str, Problem]  # problem of each damaged file, by path
    # problem of each damaged snapshot, by operator, partition and version
    versions: Mapping[tuple[int, int, int], Problem]
    # number of needed files that could not be judged, counted while they are judged
    doubted: int = 0
    block: str = ""  # path of the first table file with a damaged block
    without_schema: Collection[str] = ()  # paths of lost schemas of state

    @classmethod
    def of(cls, problems: Collection[Problem]) -> _Damage:
        """Group problems by path, and by operator, partition and version.

        Problems that do not keep Spark from reading the file are left out.
        """
        # Spark holds no entry of a log against another: those that contradict it can read.
        sound = (*READABLE, NoSchemaError.slug, CONTRADICTION)
        read = [p for p in problems if p.slug not in sound]
        paths = {p.path: p for p in read if p.path is not None}
        shared = {
            (p.store.operator_id, p.store.partition_id, p.version): p
            for p in read
            if p.store is not None and p.version is not None and p.slug != "missing-version"
        }
        lost = [p.path for p in problems if p.slug == LOST_SCHEMA and p.path is not None]
        return cls(paths, shared, without_schema=lost)

    def lacks_schema(self, file: StoreFile) -> bool:
        """Return True if a schema is lost without which the rows of a file cannot be told apart.

        RocksDB's rows are encoded as the schema says. Spark takes it from the query.
        """
        operators = [
            path.partition("/_metadata/")[0].rpartition("/")[0] for path in self.without_schema
        ]
        return any(file.path.startswith(f"{operator}/") for operator in operators)

    def refusal(self, path: str) -> str:
        """Return RocksDB's words on a snapshot or table that it refuses; no text on others."""
        problem = self.paths.get(path)
        if problem is None or problem.slug != RefusedSnapshotError.slug:
            return ""
        return problem.message.partition(REFUSES)[2]

    def spoils(self, file: StoreFile, store: StoreId, listed_paths: Collection[str]) -> str:
        """Return the path of the damage that keeps Spark from reading a file; no text without any.

        No text either where that cannot be judged: it is counted in ``doubted``.
        """
        # A snapshot cannot be read either where a file is damaged, or is not there, that it shares
        # with others, which is none of those beside it. Where it is not known it counts as doubted:
        # RocksDB opens a table whose block is damaged, and fails only when it reads that block.
        problem = self.paths.get(file.path)
        if problem is None and file.kind is FileKind.SNAPSHOT:
            location = (store.operator_id, store.partition_id, file.version or 0)
            shared = self.versions.get(location)
            problem = shared if shared and shared.path not in listed_paths else None
        if problem is not None and problem.slug in _NO_VERDICT:
            self.doubted += 1
            return ""
        if problem and problem.slug == RecordError.slug and self.lacks_schema(file):
            self.doubted += 1
            return ""
        if problem and problem.slug == FrameError.slug and problem.path not in listed_paths:
            self.doubted += 1
            self.block = self.block or problem.path or file.path
            return ""
        return "" if problem is None else problem.path or file.path


def _in_logs(
    checkpoint: Checkpoint, planned: int, damage: _Damage, sources: SourceFolders
) -> Iterator[Obstacle]:
    """Yield the obstacles in the offset and commit logs and the logs of sources.

    Needed entries that cannot be judged are counted in ``damage.doubted``.
    """
    logs = checkpoint.logs
    needed = [f"{OFFSETS}/{planned}"] if planned >= 0 else []
    if planned > 0 and not needs_async_progress(checkpoint, planned):
        needed.append(f"{OFFSETS}/{planned - 1}")
        unread = checkpoint.storage.full_path(needed[-1]) in damage.paths
        if planned - 1 not in logs.confs and not unread:
            yield Obstacle(needed.pop(), _LOG_ERROR)
    if logs.last_committed is not None:
        needed.append(f"{COMMITS}/{logs.last_committed}")
    for name in needed:
        problem = damage.paths.get(checkpoint.storage.full_path(name))
        if problem is None or (problem.slug == LOST_ENTRY and name.startswith(COMMITS)):
            continue  # of commits Spark reads the newest that is there
        if problem.slug in _NO_VERDICT:
            damage.doubted += 1
        else:
            yield Obstacle(name, _LOG_ERROR, missing=problem.slug in _ABSENT)
    yield from _lost_ids(checkpoint, planned, damage)
    yield from [Obstacle(name, "") for name in sources.lost]
    yield from _absent_logs(checkpoint, planned)
    if is_repartitioning(checkpoint):
        yield Obstacle(f"{COMMITS}/{planned}", UNFINISHED_ERROR)


def _lost_ids(checkpoint: Checkpoint, planned: int, damage: _Damage) -> Iterator[Obstacle]:
    """Yield an obstacle if the newest commit lost the unique ids that name the state's files.

    Only checkpoint format 2 has such ids. Spark takes those of an older commit instead, or none.
    """
    committed = checkpoint.logs.last_committed
    batch = planned - 1 if committed is None else int(committed)
    name = f"{COMMITS}/{batch}"
    problem = damage.paths.get(checkpoint.storage.full_path(name))
    if batch in checkpoint.logs.unique_ids or (problem and problem.slug != LOST_ENTRY):
        return
    for files in checkpoint.store_files.values():
        written = (files.deltas.get(batch + 1), files.snapshots.get(batch + 1))
        if any(file is not None and checkpoint.provider.unique_id(file) for file in written):
            yield Obstacle(name, files.names.absent)
            return


def _absent_logs(checkpoint: Checkpoint, planned: int) -> Iterator[Obstacle]:
    """Yield obstacles for logs without the entries that the other log or the state implies."""
    committed = checkpoint.logs.last_committed
    if planned < 0 and committed is not None:
        yield Obstacle("the entries of offsets", "")
    elif planned < 0 and any(store.newest for store in checkpoint.store_files.values()):
        error = "STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY"
        yield Obstacle("the state that is there", error, verb="refuses", since="4.1")
    if committed is not None and committed > planned >= 0:
        # Spark takes the batch, which runs again though its commit is there, for another query's.
        yield Obstacle(f"{OFFSETS}/{committed}", "CONCURRENT_STREAM_LOG_UPDATE")


def _in_metadata(checkpoint: Checkpoint, damage: _Damage) -> Iterator[Obstacle]:
    """Yield obstacles in metadata and schemas, for missing operators, and for 4.0 snapshots."""
    for path, problem in damage.paths.items():
        name = checkpoint.storage.relative(path)
        read_first = name == QUERY_METADATA or name.endswith("/_metadata/schema")
        if problem.slug in _UNPARSED and read_first:
            yield Obstacle(name, "", missing=False)
        if problem.slug == MISSING_OPERATOR:
            error = "STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
            if checkpoint.operators:
                have_metadata = any(operator.metadata for operator in checkpoint.operators)
                error = "STREAMING_STATEFUL_OPERATOR_NOT_MATCH_IN_STATE_METADATA" * have_metadata
            yield Obstacle("the operators in state", error)
        if problem.slug in (LOST_METADATA, LOST_SCHEMA) and _is_needed(checkpoint, name):
            yield Obstacle(name, "")
    logs = checkpoint.logs
    has_logs = logs.last_offset is not None or logs.last_committed is not None
    if has_logs and QUERY_METADATA not in checkpoint.layout.root_names:
        yield Obstacle(QUERY_METADATA, "STREAMING_CHECKPOINT_MISSING_METADATA_FILE", since="4.2")
    if checkpoint.newest_snapshot_format > 1:
        snapshots, error = "the snapshots of Spark 4.0", "CANNOT_READ_CHECKPOINT"
        yield Obstacle(snapshots, error, verb="refuses", since="4.1")


def _is_needed(checkpoint: Checkpoint, name: str) -> bool:
    """Return whether a lost schema or metadata file stops Spark 4.3, which rewrites others."""
    # Metadata of format 2 it reads, and the schemas that those of transformWithState name.
    for operator in checkpoint.operators:
        if name.startswith(f"{operator.layout.directory}/_stateSchema/"):
            return operator.processor is not None
        if name.startswith(f"{operator.layout.directory}/_metadata/"):
            return operator.layout.has_state_schema
    return False


def _stores(
    checkpoint: Checkpoint, operator: Operator, version: int, damage: _Damage
) -> Iterator[Load | Obstacle]:
    """Yield for each store what Spark loads at ``version``, or the obstacle to that.

    Partitions and stores that are expected and not there are obstacles, too. Partitions left from
    an older count or query are left out.
    """
    names = checkpoint.provider.names
    present = {partition.partition_id for partition in operator.layout.partitions}
    count = 1 if operator.single_partition else restart_partition_count(checkpoint, version)
    selected = checkpoint.selection.partition_id is not None
    missing = [] if selected else sorted(set(range(count)) - present)
    if operator.shape.single is SinglePartition.UNKNOWN:
        missing = []  # a doubt of its own
    older = min(partition_counts(checkpoint), default=0) if missing else 0
    for partition_id in missing:
        store, absent = StoreId(operator.operator_id, "", partition_id), names.delta.format(1)
        if partition_id >= older > 0:
            entry = f"offsets/{version - 1}"
            absent += f", as {entry} has {count} partitions where an older entry has {older}"
        release = SHIFT_ENDS if operator.shape.first else ""
        yield Obstacle(absent, names.absent, store, since=release)
    for partition in operator.layout.partitions:
        if was_left(checkpoint, partition, version):
            continue
        stores = {store.directory: store for store in reversed(partition.stores)}
        is_ambiguous = len(stores) > 1 or not partition.stores
        for directory, layout in stores.items():
            result = _store(checkpoint.store_files[directory], layout, version, damage)
            if is_ambiguous and isinstance(result, Obstacle):
                result = replace(result, name=f"{result.name} of {layout.store.store_name}")
            yield result
        have = {store.store.store_name for store in partition.stores}
        expected = {*operator.layout.expected_stores} if is_ambiguous else set()
        for name in sorted(expected - have):
            store = StoreId(operator.operator_id, name, partition.partition_id)
            store_text = f" of {name}" if len(expected) > 1 else ""
            yield Obstacle(f"{names.delta.format(1)}{store_text}", names.absent, store)


def _store(
    files: StoreFiles, layout: StoreLayout, version: int, damage: _Damage
) -> Load | Obstacle:
    """Return the snapshot and deltas that Spark loads for a version, or the first file it lacks.

    Files that cannot be judged count as good and are counted in ``damage.doubted``.
    """
    store, names = layout.store, files.names
    skipped, culprit, missing, words = "", "", False, ""
    listed_paths = {file.path for file in (*files.deltas.values(), *files.snapshots.values())}
    for base in (*sorted((v for v in files.snapshots if v <= version), reverse=True), 0):
        snapshot = files.snapshots.get(base)
        path = "" if snapshot is None else damage.spoils(snapshot, store, listed_paths)
        if not path:
            break
        if not skipped:
            skipped = culprit = names.snapshot.format(base)
            words = damage.refusal(path)
            if path not in listed_paths:
                missing = all(file.path != path for file in layout.files)
                culprit = f"{path.rpartition(f'{layout.directory}/')[2]} of {skipped}"
    # A store with snapshots alone had one of this version, and no delta.
    has_snapshots_only = files.compares and files.snapshots and not files.deltas
    if skipped and (version - base > MOST_REPLAYED or (has_snapshots_only and base < version)):
        return Obstacle(culprit, _UNREADABLE, store, missing=missing, words=words)
    chain = range(base + 1, version + 1)
    if has_snapshots_only and chain:
        return Obstacle(names.snapshot.format(version), names.absent, store)
    absent = [delta for delta in chain if delta not in files.deltas]
    read = (files.deltas[delta] for delta in chain if delta in files.deltas)
    unread = [file.version or 0 for file in read if damage.spoils(file, store, listed_paths)]
    if not absent and not unread:
        return Load(store, base, version - base, skipped)
    first = min([*absent, *unread])
    return Obstacle(
        names.delta.format(first),
        *(names.absent if first in absent else _UNREADABLE, store, skipped),
        missing=first in absent,
        files=len(absent) + len(unread),
        words=words,
    )
