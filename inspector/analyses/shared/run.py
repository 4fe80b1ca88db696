"""What every analysis begins with: the checkpoint, the version, the facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from inspector.analyses.shared.judged import Judged, Subject, thresholds_of
from inspector.analyses.shared.options import Options
from inspector.analyses.shared.second_look import (
    MORE_LOOKS,
    OUTPACED,
    Listings,
    Read,
    gone_from,
    listing_moved,
    newest_whole,
    observed,
    restores,
    version_moved,
)
from inspector.analyses.shared.splitting import bounded, split
from inspector.checkpoint.logfile import MOVED_SLUG, OUTPACED_SLUG
from inspector.checkpoint.logs import Near
from inspector.checkpoint.roots import Selection, resolve_root
from inspector.checkpoint.storage import READ, Storage
from inspector.discovery.checkpoint import (
    Checkpoint,
    checkpoint_at,
    state_file_bytes,
)
from inspector.discovery.listing import listing_problems
from inspector.discovery.tasks import Request
from inspector.discovery.unknown_watermarks import with_unknown_watermarks
from inspector.discovery.user_schemas import UserSchemas
from inspector.discovery.verified_files import RememberedFiles
from inspector.engines.engine import (
    BYTES,
    BatchFunction,
    Engine,
    Measure,
    Merge,
    Reader,
    Work,
)
from inspector.engines.local import stream_tasks
from inspector.engines.shared import SharedEngines
from inspector.exceptions import (
    OUT_OF_MEMORY,
    CheckpointError,
    EngineError,
    NotEnoughMemoryError,
    OutpacedError,
)
from inspector.kernel.loader import PYTHON, kernel_name, slow_kernel_text
from inspector.model import LIMITS_FAULT, Problem
from inspector.providers.registry import classify
from inspector.quantities import short_count_text

if TYPE_CHECKING:
    import pyarrow as pa

    from inspector.discovery.tasks import Task
    from inspector.merge.collect import Facts

from inspector.checkpoint.logfile import DENIED_SLUG, UNSEEN
from inspector.checkpoint.patience import same_reason

_VERBS = {DENIED_SLUG: "refused"}


def folded(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems, each once; of what the storage did not give, the first for each reason.

    Args:
        problems: in the order in which they are reported.
    """
    result: dict[object, list[Problem]] = {}
    for problem in dict.fromkeys(problems):
        unseen = problem.slug in UNSEEN
        key = (problem.slug, same_reason(problem.message)) if unseen else problem
        result.setdefault(key, []).append(problem)
    return tuple(_one(alike) for alike in result.values())


def _one(alike: list[Problem]) -> Problem:
    first = alike[0]
    paths = len({problem.path for problem in alike})
    if paths == 1:
        return first
    more = short_count_text(paths - 1, "other file or folder", "other files and folders")
    message = f"{first.message} (and so {_VERBS.get(first.slug, 'failed')} for {more})"
    same_store = all(problem.store == first.store for problem in alike)
    return replace(first, message=message, store=first.store if same_store else None, version=None)


def judged_by(checkpoint: Checkpoint, options: Options) -> Checkpoint:
    """The checkpoint with the rules that its user gave.

    Raises:
        CheckpointError: one is misspelt, or names what is not there.
    """
    texts = options.event_time_fields, options.operator_rules, options.join_retention
    if not any(texts):
        return checkpoint
    from inspector.discovery.user_rules import with_rules  # noqa: PLC0415 - few give rules
    from inspector.operators.user_rules import UserRules  # noqa: PLC0415 - as above

    try:
        rules = UserRules.parse(*texts)
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    return with_rules(checkpoint, rules)


@dataclass
class Run:
    """One analysis of one checkpoint.

    What it knows of the checkpoint is what it has seen last: :meth:`facts` looks again at what
    moves while it is read (:mod:`inspector.analyses.shared.second_look`).

    Attributes:
        checkpoint: what was found. version: the judged state version.
        options: of its user. listed: what is wrong by the listing alone, and what moved.
        engine: where the tasks run.
        reopen: lists the checkpoint again; None for one that is looked at once.
        listings: what they showed so far.
    """

    checkpoint: Checkpoint
    version: int
    options: Options
    listed: tuple[Problem, ...]
    engine: Engine
    reopen: Callable[[], Checkpoint] | None = None
    listings: Listings = field(default_factory=Listings)

    def __repr__(self) -> str:
        """One line: what was found of a checkpoint is long."""
        return f"<Run of {self.checkpoint.root!r} at version {self.version}>"

    @classmethod
    def start(
        cls,
        path: str | Run,
        options: Options | None,
        engines: SharedEngines | None = None,
        *,
        whole_logs: bool = True,
    ) -> Run:
        """Open a checkpoint and choose the version; a run that is open is taken as it is.

        Args:
            path: of the checkpoint, or of a part of it.
            options: of its user.
            engines: those that several runs share; by default each has its own.
            whole_logs: read every entry of the logs, not only those next to the batch.

        Raises:
            CheckpointError: there is no such part or version.
        """
        if isinstance(path, Run):
            return path
        if LIMITS_FAULT:
            raise EngineError(LIMITS_FAULT)
        options = options or Options()
        thresholds_of(options)
        # An engine that cannot be had is an error before anything is read.
        engines = engines or SharedEngines(options.engine, options.workers, shared=False)
        engine = engines.requested
        selection = Selection(options.operator_id, options.partition_id, options.store_name)
        schemas = UserSchemas.parse(options.key_schemas, options.value_schemas)

        near = None if whole_logs else Near(_batch(options))
        reopen = _opening(
            path, options, engine.reader if engine else None, (selection, schemas), near
        )
        checkpoint = reopen()
        checkpoint.check_selection()
        version = checkpoint.version_of(options.batch, options.state_version)
        chosen = engine or engines.choose(state_file_bytes(checkpoint))
        run = replace(cls.at(checkpoint, version, options, chosen), reopen=reopen)
        run._confirm_listing()
        return run

    @classmethod
    def at(cls, checkpoint: Checkpoint, version: int, options: Options, engine: Engine) -> Run:
        """A version of a checkpoint that is open."""
        checkpoint = with_unknown_watermarks(judged_by(checkpoint, options), version)
        listed = folded((*checkpoint.problems, *listing_problems(checkpoint, version)))
        return cls(checkpoint, version, options, listed, engine)

    @property
    def can_look_again(self) -> bool:
        """Whether the checkpoint can be opened again."""
        return self.reopen is not None

    @property
    def is_of_chosen_version(self) -> bool:
        """Whether its user chose the version, so that no other may take its place."""
        selected = self.checkpoint.selection.version
        return (self.options.batch, self.options.state_version, selected) != (None, None, None)

    def reopened(self) -> Checkpoint:
        """The checkpoint as it lies there now; the run goes on with what it has."""
        assert self.reopen is not None
        checkpoint = judged_by(self.reopen(), self.options)
        return with_unknown_watermarks(checkpoint, self.version)

    def gone(self, paths: Collection[str]) -> set[str]:
        """The files of some paths that are not there now."""
        return gone_from(self.reopened(), paths) if paths else set()

    def look_again(self) -> bool:
        """Open the checkpoint again; whether another version is judged now.

        It is the same one as long as every store can restore it, or if its user chose it; else the
        newest, or where that is not whole either, though no earlier listing lacked the same of it,
        the newest whole one.
        """
        assert self.reopen is not None
        checkpoint, before = self.reopen(), self.version
        moved = [problem for problem in self.listed if problem.slug == MOVED_SLUG]
        new = self._go_over(checkpoint)
        whole = newest_whole(checkpoint)
        if new and not self.is_of_chosen_version and whole not in (None, self.version):
            new = self._go_over(checkpoint, whole)
        if new:
            self.listed = (*(one for one in self.listed if one not in new), self.outpaced())
        self.listed = (*self.listed, *moved)
        return self.version != before

    def _go_over(self, checkpoint: Checkpoint, version: int | None = None) -> list[Problem]:
        """Go over to a new listing, and to a version; the doubts that it has for the first time."""
        if version is None and not self.is_of_chosen_version:
            kept = restores(checkpoint, self.version)
            version = self.version if kept else checkpoint.newest_version
        if version not in (None, self.version):
            self.version, self.listings.whole = version or 0, False
        again = self.at(checkpoint, self.version, self.options, self.engine)
        self.checkpoint, self.listed = again.checkpoint, again.listed
        return self.listings.add(self.listed, whole=restores(checkpoint, self.version))

    def check_lasting(self) -> None:
        """Refuse to begin with a version that went while it was listed.

        Raises:
            OutpacedError: no listing was whole.
        """
        for problem in self.listed:
            if problem.slug == OUTPACED_SLUG:
                raise OutpacedError(problem.message, problem.path)

    def begin_anew(self, error: OutpacedError) -> None:
        """Go over to the newest version, because the query has removed this one.

        Raises:
            OutpacedError: the one that is given, if the user chose the version.
        """
        if self.is_of_chosen_version:
            raise error
        before = self.version
        if self.look_again():
            self.note(version_moved(before, self.version))

    def outpaced(self) -> Problem:
        """That the query was faster than every look; of a version that is gone, that it is."""
        batch = self.version - 1
        was_there = self.listings.whole or not restores(self.checkpoint, self.version)
        if self.is_of_chosen_version and was_there:
            message = (
                f"batch {batch} is no longer there: the query removed its files while they were "
                "being read"
            )
        else:
            message = (
                f"{OUTPACED}: different files had disappeared each of the {MORE_LOOKS + 1} times "
                f"that the checkpoint was listed and read"
                "; what depends on them is missing from the report"
            )
        return Problem(OUTPACED_SLUG, message, self.checkpoint.root)

    def note(self, problem: Problem) -> None:
        """Add to what is said of the listing, once."""
        self.listed = (*(one for one in self.listed if one != problem), problem)

    def _confirm_listing(self) -> None:
        """List again as long as a listing has gaps that the one before did not have."""
        self.listings.add(self.listed, whole=restores(self.checkpoint, self.version))
        for look in range(MORE_LOOKS):
            before = self.listings.doubts
            if not before:
                if look:
                    self.note(listing_moved())
                return
            self.look_again()
            if self.listings.doubts and all(doubt in before for doubt in self.listings.doubts):
                return

    def facts(self, request: Request = Request()) -> Facts:  # noqa: B008 - frozen
        """The facts of all versions."""

        def read(tasks: Sequence[Task]) -> Iterator[pa.RecordBatch]:
            return self._fact_batches(tasks, partitions=request.partitions)

        return self._facts(lambda: split(self.tasks(request), self), read)

    def facts_by(self, function: BatchFunction, tasks_of: Callable[[], Iterable[Task]]) -> Facts:
        """The facts that a function of the passes makes of tasks.

        Args:
            function: emits facts.
            tasks_of: the tasks, by what the run knows of the checkpoint when it is called.
        """
        return self._facts(lambda: split(tasks_of(), self), lambda tasks: self.map(function, tasks))

    def _facts(self, tasks_of: Callable[[], Iterable[Task]], read: Read) -> Facts:
        from inspector.merge.collect import Facts  # noqa: PLC0415 - as in inspector.api

        return Facts(observed(self, tasks_of, read))

    def tasks(self, request: Request) -> list[Task]:
        """The tasks that make the facts of a request."""
        from inspector.discovery.plan import plan  # noqa: PLC0415 - as above

        request = replace(request, timeout_kind=self.options.timeout_kind)
        return plan(self.checkpoint, self.version, request)

    def _fact_batches(self, tasks: Sequence[Task], *, partitions: bool) -> Iterator[pa.RecordBatch]:
        from inspector.merge.ranges import KEYS, MANY, combining  # noqa: PLC0415 - as above
        from inspector.passes.run import files_ahead, run_tasks  # noqa: PLC0415
        from inspector.providers.task_files import upcoming  # noqa: PLC0415 - for readers

        tasks = bounded(tasks, self)
        files = sum(len(store.files) for task in tasks for store in task.stores)
        few = partitions or files <= MANY
        merge = None if few else Merge(KEYS, combining(self.version))
        ahead = files_ahead(tasks) if self.engine.in_process else ()
        with upcoming(self.checkpoint.storage, ahead):
            yield from self.map(run_tasks, tasks, merge)

    def map(
        self, function: BatchFunction, tasks: Iterable[Task], merge: Merge | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Facts of tasks, by a function of the passes, on the engine of the run."""
        return self.map_work(function, [work_of(task) for task in tasks], merge)

    def map_work(
        self, function: BatchFunction, work: Sequence[Work], merge: Merge | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The same of tasks of another kind."""
        from inspector.facts.registry import facts_schema  # noqa: PLC0415 - as above

        batches = self.engine.map(function, facts_schema(), work, merge)
        read = _reading(sum(each.weight for each in work))
        return self._watched(batches, lambda: self.engine.measure() or read())

    def stream(
        self, function: BatchFunction, specs: Sequence[str], file_bytes: int = 0
    ) -> Iterator[pa.RecordBatch]:
        """Batches of tasks one after the other, in this process: for outputs that are written here.

        Args:
            function: as :meth:`inspector.engines.engine.Engine.map` takes it.
            specs: tasks as JSON, of this run's checkpoint or of another that is open.
            file_bytes: of their files; 0 if that is unknown.
        """
        reader = self.engine.reader
        batches = stream_tasks(reader.on_driver(function) if reader else function, specs)
        return self._watched(batches, _reading(file_bytes))

    def _watched(
        self, batches: Iterable[pa.RecordBatch], measure: Callable[[], Measure]
    ) -> Iterator[pa.RecordBatch]:
        """Batches of tasks, while the user is told how far they are."""
        engine = self.options.engine
        if measure().unit == BYTES and kernel_name() == PYTHON:
            engine.notify(f"engine: {slow_kernel_text()}")
        with engine.watch(measure):
            try:
                yield from batches
            except MemoryError:
                raise self._out_of_memory(measure()) from None

    def _out_of_memory(self, so_far: Measure) -> NotEnoughMemoryError:
        """The error that the keys do not fit, and what had been read when it happened."""
        of_all = f" of {so_far.total:,}" if so_far.total else ""
        return NotEnoughMemoryError(
            f"{OUT_OF_MEMORY}. Of this checkpoint {so_far.done:,}{of_all} {so_far.unit} had been "
            "read, and nothing was reported of it",
            self.checkpoint.root,
        )

    def problems(self, facts: Facts) -> tuple[Problem, ...]:
        """All that is wrong, by the listing and by the files."""
        return folded((*self.listed, *facts.problems))

    def subject(self, problems: Iterable[Problem] = ()) -> Subject:
        """What was listed, for a report without facts; with more problems than the listing has."""
        listed = [*self.listed, *problems]
        return Subject(self.checkpoint, self.version, listed, self.options)

    def judge(self, facts: Facts) -> Judged:
        """What facts of this version are judged by."""
        problems = list(self.problems(facts))
        return Judged(self.checkpoint, self.version, problems, self.options, facts=facts)


def work_of(task: Task) -> Work:
    """A task as an engine takes it."""
    return Work(task.to_json(), task.file_bytes, in_python=task.has_small_files)


def _reading(file_bytes: int) -> Callable[[], Measure]:
    """How far this process is with files of so many bytes."""
    before = READ.bytes
    return lambda: Measure(READ.bytes - before, file_bytes, BYTES)


def _batch(options: Options) -> int | None:
    """The batch that the user chose; None for the newest."""
    if options.batch is not None or options.state_version is None:
        return options.batch
    return options.state_version - 1


def _opening(
    path: str,
    options: Options,
    reader: Reader | None,
    narrowed: tuple[Selection, UserSchemas],
    near: Near | None,
) -> Callable[[], Checkpoint]:
    """What opens a checkpoint, again and again: each time by new listings.

    The bytes of logs, metadata and schemas are kept: whoever reads a hundred log entries anew at
    each look is too slow for a query that keeps few batches.
    """
    if reader is not None:
        if options.storage_options:
            raise EngineError(
                "--storage-option is for fsspec; with --io hadoop the session's own settings count,"
                " such as --conf spark.hadoop.fs.s3a.endpoint=..."
            )
        return lambda: checkpoint_at(*reader.open(path), *narrowed)
    root, meant = resolve_root(path, options.storage_options, classify)
    small = RememberedFiles(Storage(root, options.storage_options))

    def open_it() -> Checkpoint:
        small.look_again()
        storage = Storage(root, options.storage_options)
        return checkpoint_at(storage, meant, *narrowed, small, near=near)

    return open_it
