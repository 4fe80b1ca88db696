"""Open a checkpoint and its version, and distinguish damage from a query that runs.

Spark's cleanup removes files while they are listed and read, and a query that restarts writes some
files again. So if a file is gone, or a listing is incomplete, the checkpoint is listed again, and
the files in doubt are read again. Damage is reported only if two attempts show it.

If the judged version can no longer be restored, the newest complete version replaces it, and all
files are read again, so that every number of a report is of one version. If cleanup is faster than
two attempts, the last attempts read only the files of that version, which stay longest. If cleanup
is faster than these attempts, too, the report says so and names no damage.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

from inspector.analyses.shared.judged import Subject, thresholds_of
from inspector.analyses.shared.options import Options
from inspector.checkpoint.logfile import DENIED_SLUG, DOUBTFUL, MOVED_SLUG, OUTPACED_SLUG, UNSEEN
from inspector.checkpoint.logs import Near
from inspector.checkpoint.patience import same_reason
from inspector.checkpoint.roots import Selection, resolve_root
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.verified_files import RememberedFiles
from inspector.discovery.checkpoint import Checkpoint, checkpoint_at, state_file_bytes, with_rules
from inspector.discovery.listing import listing_problems
from inspector.discovery.unknown_watermarks import with_unknown_watermarks
from inspector.discovery.user_schemas import UserSchemas
from inspector.engines.choose import SharedEngines
from inspector.engines.engine import Engine, Reader
from inspector.exceptions import (
    CheckpointError,
    EngineError,
    MissingVersionError,
    NotACheckpointError,
    OutpacedError,
)
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import LIMITS_FAULT, Problem
from inspector.operators.user_rules import UserRules
from inspector.providers.registry import classify
from inspector.quantities import short_count_text
from inspector.render.report import Report
from inspector.sums import group_by

if TYPE_CHECKING:
    from inspector.analyses.shared.report_cache import ReportCache

OpenedT = TypeVar("OpenedT", bound="Opened")  # :class:`Opened` or a subclass

MORE_LOOKS = 3  # number of further attempts to list and read a checkpoint, at most

# clause on why a version cannot be read
OUTPACED = "the query removes versions faster than they can be read"
# message if every attempt to read a version failed
OUTPACED_AGAIN = (
    f"{OUTPACED}: different files had disappeared each of the {MORE_LOOKS + 1} times that the "
    "checkpoint was listed and read"
)

# message if only the second listing was complete
_LISTED_AGAIN = (
    "files changed while they were being listed; they were listed again, and the report is complete"
)


def fold_problems(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems without repetitions, in the order of their first occurrence.

    Problems with files and folders that the storage did not show, for the same reason, become one
    problem.
    """

    def cause(problem: Problem) -> object:
        unseen = problem.slug in UNSEEN
        return (problem.slug, same_reason(problem.message)) if unseen else problem

    return tuple(map(_merge_problems, group_by(dict.fromkeys(problems), cause).values()))


def _merge_problems(alike: list[Problem]) -> Problem:
    """Return one problem for several alike: the first, with the number of other files it is about.

    It is unchanged if all are about one path.
    """
    first = alike[0]
    paths = len({problem.path for problem in alike})
    if paths == 1:
        return first
    others = short_count_text(paths - 1, "other file or folder", "other files and folders")
    verb = "refused" if first.slug == DENIED_SLUG else "failed"
    message = f"{first.message} (and so {verb} for {others})"
    same_store = all(problem.store == first.store for problem in alike)
    return replace(first, message=message, store=first.store if same_store else None, version=None)


def with_user_rules(checkpoint: Checkpoint, options: Options) -> Checkpoint:
    """Return the checkpoint with the expiry rules that the user gave in the options.

    It is the checkpoint itself if there are none. Raises CheckpointError if a rule is misspelt.
    """
    texts = options.event_time_fields, options.operator_rules, options.join_retention
    if not any(texts):
        return checkpoint
    try:
        rules = UserRules.parse(*texts)
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    return with_rules(checkpoint, rules)


@dataclass
class Listings:
    """State of the repeated listings of one run, with their doubts.

    A doubt is a problem that a further listing may not confirm, because a running query and Spark's
    cleanup can cause it for a moment.
    """

    doubts: list[Problem] = field(default_factory=list)  # doubts of the newest listing
    whole: bool = False  # True if one of the listings could restore the version judged now
    # checkpoint by the newest listing; the reference keeps the tasks made of it alive
    newest: Checkpoint | None = None
    _seen: set[object] = field(default_factory=set)  # identities of the doubts of all listings

    def add(self, problems: Iterable[Problem], *, whole: bool) -> list[Problem]:
        """Record a listing's problems, and return its doubts that no earlier listing had.

        ``whole`` is True if the listing can restore the judged version. If an earlier one could and
        this one cannot, doubts about missing versions are returned in any case.
        """
        self.doubts = doubts(problems)
        gone = (MissingVersionError.slug,) if self.whole and not whole else ()
        new = [d for d in self.doubts if _identity(d) not in self._seen or d.slug in gone]
        self._seen |= set(map(_identity, self.doubts))
        self.whole |= whole
        return new


# returns (slug, path, message) of a problem; equal ones are the same problem in two listings
_identity = attrgetter("slug", "path", "message")


def newest_whole(checkpoint: Checkpoint) -> int | None:
    """Return the newest committed version that every store can restore; None if there is none."""
    committed = (v for v in checkpoint.restorable_versions if v <= checkpoint.newest_version)
    return max(committed, default=None)


def doubts(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems that a second listing may not confirm, by their slugs in DOUBTFUL."""
    return [problem for problem in problems if problem.slug in DOUBTFUL]


def restores(checkpoint: Checkpoint, version: int) -> bool:
    """Return True if a version is committed and every store can restore it.

    Also True for a committed version of a checkpoint without state files.
    """
    has_it = version in checkpoint.restorable_versions or not checkpoint.store_files
    return has_it and version <= checkpoint.newest_version


def missing_files(checkpoint: Checkpoint, paths: Iterable[str]) -> set[str]:
    """Return the paths that neither the listing nor a new request to the storage finds."""
    listed = {file.path for store in checkpoint.layout.stores for file in store.files}
    storage = checkpoint.storage
    return {p for p in paths if p not in listed and storage.stat(storage.relative(p)) is None}


def version_problem(previous: int, version: int) -> Problem:
    """Return the problem that ``version`` is judged instead of ``previous``, which was removed."""
    gone = f"files of batch {previous - 1} were removed while they were being read"
    return Problem(MOVED_SLUG, f"{gone}; the newest batch, {version - 1}, is judged instead")


@dataclass
class Opened:
    """A checkpoint opened at a version, for one analysis.

    It holds the state of its newest listing, and can list again.
    """

    checkpoint: Checkpoint  # checkpoint by the newest listing that the run uses
    version: int  # judged state version
    options: Options  # options of the run
    # problems of the listing, and of versions that were removed meanwhile
    listed: tuple[Problem, ...]
    engine: Engine  # engine that reads state files
    # opens the checkpoint again by a new listing; None if it is listed only once
    reopen: Callable[[], Checkpoint] | None = None
    listings: Listings = field(default_factory=Listings)  # listings so far
    cache: ReportCache | None = None  # keeps the report for later runs; None if no cache is used

    def __repr__(self) -> str:
        """Return a text with the class, the checkpoint and the version."""
        return f"<{type(self).__name__} of {self.checkpoint.root!r} at version {self.version}>"

    @classmethod
    def start(
        cls: type[OpenedT],
        path: str | Opened,  # path of the checkpoint, or of a part of it; or an opened run
        options: Options | None,
        engines: SharedEngines | None = None,  # engines of several runs; None: the run has its own
        *,
        whole_logs: bool = True,  # read every entry of the logs, not only those next to the batch
        is_root: bool = False,  # the path is known to be a root: nothing is listed to find it
        cache: ReportCache | None = None,
    ) -> OpenedT:
        """Open a checkpoint, choose the version and the engine, and return the run.

        An opened run is returned as it is, or as one of this class. Listings repeat while they have
        new gaps. Raises CheckpointError if there is no such part or version, or a rule or threshold
        is wrong, and EngineError if the engine cannot be had.
        """
        if isinstance(path, Opened):
            return path if isinstance(path, cls) else cls(**vars(path))
        if LIMITS_FAULT:
            raise EngineError(LIMITS_FAULT)
        options = options or Options()
        thresholds_of(options)
        # An engine that cannot be had is an error before anything is read.
        engines = engines or SharedEngines(options.engine, options.workers, shared=False)
        engine = engines.requested
        batch = options.batch
        if batch is None and options.state_version is not None:
            batch = options.state_version - 1
        near = None if whole_logs else Near(batch)
        reader = engine.reader if engine else None
        place = (path, Selection()) if is_root and reader is None else None
        reopen = opener_of(path, options, reader, near, place, cache)
        checkpoint = reopen()
        checkpoint.check_selection()
        version = checkpoint.version_of(options.batch, options.state_version)
        chosen = engine or engines.choose(state_file_bytes(checkpoint))
        run = replace(cls.at(checkpoint, version, options, chosen), reopen=reopen, cache=cache)
        run._confirm_listing()
        return run

    @classmethod
    def at(
        cls: type[OpenedT], checkpoint: Checkpoint, version: int, options: Options, engine: Engine
    ) -> OpenedT:
        """Return a run on a version of an opened checkpoint, with the problems of its listing.

        The rules of the options are applied. The run cannot list the checkpoint again.
        """
        checkpoint = with_unknown_watermarks(with_user_rules(checkpoint, options), version)
        listed = fold_problems((*checkpoint.problems, *listing_problems(checkpoint, version)))
        return cls(checkpoint, version, options, listed, engine)

    @property
    def is_of_chosen_version(self) -> bool:
        """True if the user chose the version, so that no other version may replace it."""
        selected = self.checkpoint.selection.version
        return (self.options.batch, self.options.state_version, selected) != (None, None, None)

    def list_again(self) -> Checkpoint:
        """Return the checkpoint by a new listing; the run keeps the listing that it has.

        Call it only if ``reopen`` is set.
        """
        assert self.reopen is not None
        checkpoint = with_user_rules(self.reopen(), self.options)
        self.listings.newest = checkpoint
        return with_unknown_watermarks(checkpoint, self.version)

    def gone(self, paths: Collection[str]) -> set[str]:
        """Return those of ``paths`` that neither a new listing nor a request to the storage finds.

        Without paths nothing is listed.
        """
        return missing_files(self.list_again(), paths) if paths else set()

    def look_again(self) -> bool:
        """List and open the checkpoint again; return True if another version is judged now.

        The run takes over the new listing and its problems. A version that the user chose always
        stays. Another version stays if every store can still restore it; otherwise the newest
        version replaces it. If the new listing has doubts that no earlier one had, the run changes
        to the newest version that every store can restore, if there is one. New doubts that are
        left are replaced by the problem that the query removes files faster than they can be read.
        """
        assert self.reopen is not None
        checkpoint, previous = self.reopen(), self.version
        moved = [problem for problem in self.listed if problem.slug == MOVED_SLUG]
        new = self._go_over(checkpoint)
        newest = newest_whole(checkpoint)
        if new and not self.is_of_chosen_version and newest not in (None, self.version):
            # What the same listing shows again is not confirmed by that.
            newest_doubts = self._go_over(checkpoint, newest)
            new = [doubt for doubt in self.listings.doubts if doubt in (*new, *newest_doubts)]
        if new:
            kept = (listed for listed in self.listed if listed not in new)
            self.listed = (*kept, self.outpaced_problem())
        self.listed = (*self.listed, *moved)
        return self.version != previous

    def _go_over(self, checkpoint: Checkpoint, version: int | None = None) -> list[Problem]:
        """Take over the listing of ``checkpoint`` and its problems; return its new doubts.

        These are doubts that no earlier listing had. ``version`` becomes the judged version. If it
        is None, the judged version stays if it can be restored or the user chose it; otherwise the
        newest version replaces it.
        """
        if version is None and not self.is_of_chosen_version:
            kept = restores(checkpoint, self.version)
            version = self.version if kept else checkpoint.newest_version
        if version not in (None, self.version):
            self.version, self.listings.whole = version or 0, False
        again = self.at(checkpoint, self.version, self.options, self.engine)
        self.checkpoint, self.listed = again.checkpoint, again.listed
        return self.listings.add(self.listed, whole=restores(checkpoint, self.version))

    def check_lasting(self) -> None:
        """Raise OutpacedError if the query removes files faster than they can be listed.

        The listing then has that problem, because each repeated listing lacked other files.
        """
        for problem in self.listed:
            if problem.slug == OUTPACED_SLUG:
                raise OutpacedError(problem.message, problem.path)

    def begin_anew(self, error: OutpacedError) -> None:
        """List again and change to the newest version if the judged one cannot be restored.

        A change is noted as a problem. Raises ``error`` if the user chose the version.
        """
        if self.is_of_chosen_version:
            raise error
        previous = self.version
        if self.look_again():
            self.note(version_problem(previous, self.version))

    def outpaced_problem(self) -> Problem:
        """Return the problem that files were removed faster than they could be read.

        If the user chose the version, it says that this version is gone.
        """
        message = f"{OUTPACED_AGAIN}; what depends on them is missing from the report"
        was_there = self.listings.whole or not restores(self.checkpoint, self.version)
        if self.is_of_chosen_version and was_there:
            message = (
                f"batch {self.version - 1} is no longer there: the query removed its files while "
                "they were being read"
            )
        return Problem(OUTPACED_SLUG, message, self.checkpoint.root)

    def note(self, problem: Problem) -> None:
        """Add a problem as the last one of the listing; an equal one is removed before."""
        self.listed = (*(listed for listed in self.listed if listed != problem), problem)

    def _confirm_listing(self) -> None:
        """List again while the listing has doubts, until no doubt is new.

        It is listed again at most ``MORE_LOOKS`` times. If the doubts are gone, a problem that is
        no fault says that the checkpoint was listed again.
        """
        self.listings.add(self.listed, whole=restores(self.checkpoint, self.version))
        for look in range(MORE_LOOKS):
            earlier = self.listings.doubts
            if not earlier:
                if look:
                    self.note(Problem(MOVED_SLUG, _LISTED_AGAIN))
                return
            self.look_again()
            if self.listings.doubts and all(doubt in earlier for doubt in self.listings.doubts):
                return

    def subject(self, problems: Iterable[Problem] = ()) -> Subject:
        """Return the subject of a report without facts, with ``problems`` after the listing's."""
        listed = [*self.listed, *problems]
        return Subject(self.checkpoint, self.version, listed, self.options)


@dataclass(frozen=True)
class Recalled:
    """A checkpoint whose report is already known, used in place of an opened one."""

    report: Report  # report of the checkpoint, which is still true
    options: Options  # options of the run
    # True if it is from the cache; False if another process of this run made it
    is_kept: bool = True


def begin(
    path: str, options: Options, engines: SharedEngines | None = None, *, is_root: bool = False
) -> Opened | Recalled:
    """Open a checkpoint (:meth:`Opened.start`), or return its report if the cache has it.

    Raises the errors of :meth:`Opened.start`. If the path is no checkpoint, its entry is removed
    from the cache.
    """
    if options.cache is None:
        return Opened.start(path, options, engines, is_root=is_root)
    from inspector.analyses.shared.report_cache import ReportCache  # noqa: PLC0415 - for few

    cache = ReportCache(path, options, is_root=is_root)
    try:
        report = cache.recall()
        if report is not None:
            return Recalled(report, options)
        return Opened.start(path, options, engines, is_root=cache.is_root, cache=cache)
    except NotACheckpointError:
        # Otherwise every search would end here, and find no checkpoint in the folders below.
        cache.forget()
        raise


def opener_of(
    path: str,
    options: Options,
    reader: Reader | None = None,
    near: Near | None = None,
    place: tuple[str, Selection] | None = None,
    cache: ReportCache | None = None,
) -> Callable[[], Checkpoint]:
    """Return a function that opens a checkpoint by new listings each time it is called.

    The function keeps the bytes of logs, metadata and schemas for the next call. ``reader`` opens
    the path by Spark's file systems; None for fsspec. ``near`` limits which entries of the logs are
    read. ``place`` is the root and the part, if they are known. Raises CheckpointError if the path
    is no checkpoint, and EngineError for ``storage_options`` with a reader.
    """
    selection = Selection(options.operator_id, options.partition_id, options.store_name)
    narrowed = selection, UserSchemas.parse(options.key_schemas, options.value_schemas)
    if reader is not None:
        if options.storage_options:
            raise EngineError(
                "--storage-option is for fsspec; with --io hadoop the session's own settings count,"
                " such as --conf spark.hadoop.fs.s3a.endpoint=..."
            )
        form = options.provider_format
        return lambda: checkpoint_at(*reader.open(path), *narrowed, provider_format=form)
    root, meant = place or resolve_root(path, options.storage_options, classify)
    if cache is not None:
        cache.is_root = root == path
    small = RememberedFiles(Storage(root, options.storage_options))

    def open_it() -> Checkpoint:
        storage = Storage(root, options.storage_options)
        small.look_again(None if cache is None else cache.look(storage))
        return checkpoint_at(
            storage, meant, *narrowed, small, near=near, provider_format=options.provider_format
        )

    return open_it
