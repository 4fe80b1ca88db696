"""A checkpoint whose query goes on: looked at again and again, and only what is new is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from time import monotonic, sleep

from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run, work_of
from inspector.analyses.shared.second_look import (
    MORE_LOOKS,
    OUTPACED,
    Listings,
    newest_whole,
    restores,
)
from inspector.checkpoint.logfile import STORAGE_SLUG
from inspector.checkpoint.roots import Selection, resolve_root
from inspector.checkpoint.storage import Storage
from inspector.discovery.checkpoint import Checkpoint, checkpoint_at
from inspector.discovery.tasks import Request
from inspector.discovery.user_schemas import UserSchemas
from inspector.discovery.verified_files import RememberedFiles
from inspector.engines.local import LocalEngine
from inspector.exceptions import OutpacedError
from inspector.facts.registry import facts_schema
from inspector.merge.collect import Facts, collect
from inspector.passes.follow import Followed
from inspector.providers.chain import restorable_versions
from inspector.providers.registry import classify

FACTS = Request()

PATIENCE = 5
"""Looks in a row at a storage that does not answer, or at a query that is too fast, until it is an
error."""


@dataclass(frozen=True)
class Pace:
    """How often to look, and when to end.

    Attributes:
        interval: seconds between two looks.
        until: end after this batch; None for never.
        ends: when to end, by the monotonic clock in seconds; None for never.
    """

    interval: float
    until: int | None = None
    ends: float | None = None

    def reached(self, batch: int | None) -> bool:
        """Whether a batch is the last one to be seen, or newer."""
        return self.until is not None and batch is not None and batch >= self.until

    def wait(self) -> bool:
        """Wait for the next look; False, at once, if there is none."""
        left = self.interval if self.ends is None else self.ends - monotonic()
        if left > 0:
            sleep(min(self.interval, left))
        return left > 0


@dataclass(frozen=True)
class BatchSeen:
    """A committed batch, judged as if it were the newest.

    Attributes:
        run: the checkpoint at the batch's version. facts: of all versions up to it.
        notes: what happened to the query, or the storage, since the batch before.
    """

    run: Run
    facts: Facts
    notes: tuple[str, ...] = ()

    @property
    def batch_id(self) -> int:
        """Which batch."""
        return self.run.version - 1


@dataclass
class Following:
    """Follows the committed batches of a query, each once.

    Args:
        path: of the checkpoint, or of a part of it.
        options: of its user.
        last: batches that were there before the first look, and are seen nevertheless, if every
            store can restore them.

    Raises:
        CheckpointError: there is no such part.
        NotACheckpointError, OSError: nothing is there, or it cannot be listed.
    """

    path: str
    options: Options
    last: int = 1
    _seen: int | None = None
    _query: str | None = None
    _read: bool = False
    _failures: int = 0
    _outpaced: OutpacedError | None = None
    _notes: list[str] = field(default_factory=list)
    _followed: Followed = field(default_factory=Followed)
    _doubts: Listings = field(default_factory=Listings)

    def __post_init__(self) -> None:
        root, self._meant = resolve_root(self.path, self.options.storage_options, classify)
        self._storage = Storage.open(root, self.options.storage_options)
        self._small = RememberedFiles(self._storage)
        options = self.options
        self._part = Selection(options.operator_id, options.partition_id, options.store_name)
        self._schemas = UserSchemas.parse(options.key_schemas, options.value_schemas)
        self._engine = LocalEngine(options.workers)

    def batches(self, pace: Pace) -> Iterator[BatchSeen]:
        """Every batch that is committed, until the pace ends; waits for the next one.

        Raises:
            NotACheckpointError, FileNotFoundError: the checkpoint is gone.
            OSError: the storage did not answer :data:`PATIENCE` times in a row.
            OutpacedError: so often the query removed what was to be read, or when the pace ended.
        """
        while True:
            for seen in self._look_patiently():
                yield seen
                if pace.reached(seen.batch_id):
                    return
            if pace.reached(self._seen) or not pace.wait():
                if self._outpaced is not None:
                    raise self._outpaced
                return

    def _look_patiently(self) -> Iterator[BatchSeen]:
        try:
            for seen in self.look():
                self._failures = 0
                yield seen
        except FileNotFoundError:
            raise
        except (OSError, OutpacedError) as error:
            self._failures += 1
            if self._failures >= PATIENCE:
                raise
            if isinstance(error, OutpacedError):
                self._outpaced = error
            else:
                self._notes.append(f"the storage did not answer, and was asked again: {error}")
        else:
            self._failures, self._outpaced = 0, None

    def look(self) -> Iterator[BatchSeen]:
        """The batches that were committed since the last look, oldest first.

        Raises:
            NotACheckpointError, FileNotFoundError: the checkpoint is gone.
            OSError: the storage does not answer; the next look begins where this one ended.
            OutpacedError: the query removed what was to be read, at :data:`MORE_LOOKS` listings
                more; so does the next look.
        """
        looks = MORE_LOOKS
        checkpoint = self._listed()
        while self._seen is not None and self._seen < checkpoint.newest_version - 1:
            seen = self._judged(checkpoint, self._seen + 1)
            if self._is_sure(seen):
                self._seen, self._notes, looks = seen.batch_id, [], MORE_LOOKS
                self._doubts.whole = False  # that was said of this batch
                yield seen
            elif looks:
                looks -= 1
                checkpoint = self._listed()
                self._pass_over(checkpoint)
            else:
                raise OutpacedError(
                    f"{OUTPACED}: at each of {MORE_LOOKS + 1} looks, each by a new listing, other "
                    "files were gone than before",
                    checkpoint.root,
                )

    def _listed(self) -> Checkpoint:
        """The checkpoint by a new listing."""
        self._small.look_again()
        checkpoint = checkpoint_at(
            self._storage, self._meant, self._part, self._schemas, self._small
        )
        for problem in checkpoint.problems:
            if problem.slug == STORAGE_SLUG:  # what was not seen is neither there nor gone
                raise OSError(f"{problem.path}: {problem.message}")
        checkpoint.check_selection()
        newest = checkpoint.newest_version - 1
        self._note_changes(checkpoint, newest)
        if self._seen is None:
            self._seen = min(newest, max(newest - self.last, _oldest_batch(checkpoint) - 1))
        return checkpoint

    def _is_sure(self, seen: BatchSeen) -> bool:
        """Whether a batch has no doubt, but for those that a look before had too.

        What was replayed of it else counts for nothing: the next look reads it anew.
        """
        whole = restores(seen.run.checkpoint, seen.run.version)
        if not self._doubts.add(seen.run.problems(seen.facts), whole=whole):
            return True
        self._followed = Followed()
        return False

    def _pass_over(self, checkpoint: Checkpoint) -> None:
        """Go on with the newest batch that is whole, if the next one no longer is."""
        assert self._seen is not None
        first, whole = self._seen + 1, newest_whole(checkpoint)
        if restores(checkpoint, first + 1) or whole is None or whole - 1 <= first:
            return
        last = whole - 2
        gone = (
            f"batch {first} was removed before it"
            if last == first
            else f"batches {first} to {last} were removed before they"
        )
        self._notes.append(
            f"{gone} could be read here: batch {whole - 1} is the newest that is whole"
        )
        self._seen = last

    def _note_changes(self, checkpoint: Checkpoint, newest: int) -> None:
        """Begin anew if it is another query, or the same one at an older batch."""
        query, self._query = self._query, checkpoint.logs.query_id
        if self._seen is None:
            return
        if None not in (query, self._query) and query != self._query:
            self._followed, self._seen = Followed(), -1
            self._notes.append(f"another query has begun here: {self._query}, it was {query}")
        elif newest < self._seen:
            self._notes.append(
                f"the query was set back from batch {self._seen} to batch {newest}; batches that "
                "it runs again are shown again"
            )
            self._seen = newest

    def _judged(self, checkpoint: Checkpoint, batch: int) -> BatchSeen:
        run = Run.at(checkpoint, batch + 1, self.options, self._engine)
        tasks = run.tasks(FACTS)
        if self._read:
            # A few deltas: how many bytes all files have would say nothing of the progress.
            work = [work_of(task) for task in tasks]
            found = self._engine.map(self._followed, facts_schema(), work)
        else:
            found = run.map(self._followed, tasks)
        facts, self._read = collect(found), True
        return BatchSeen(run, facts, tuple(self._notes))


def _oldest_batch(checkpoint: Checkpoint) -> int:
    """The oldest batch whose version every store can restore that can restore any."""
    restorable = (restorable_versions(files) for files in checkpoint.store_files.values())
    return max((versions[0] - 1 for versions in restorable if versions), default=0)
