"""``watch``: follows a running query, a line for each batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import monotonic, sleep
from typing import Annotated, Any

from inspector.analyses.shared import opening
from inspector.analyses.shared import options as o
from inspector.analyses.shared.conclusion import findings_of, metrics_of, verdict_of
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import batch_columns, values_of_fields
from inspector.analyses.shared.run import Run, work_of
from inspector.checkpoint.logfile import STORAGE_SLUG
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Request
from inspector.engines.engine import Job
from inspector.engines.local import LocalEngine
from inspector.exceptions import NotACheckpointError, OutpacedError
from inspector.facts.registry import facts_schema
from inspector.findings.finding import Finding
from inspector.findings.verdict import level_of
from inspector.light_dataclasses import dataclass, field
from inspector.merge.collect import Facts, collect
from inspector.operators.user_rules import parse_duration
from inspector.passes.follow import Followed
from inspector.providers.chain import restorable_versions
from inspector.render import tabular as t
from inspector.render.plain import fields_of, finding_row
from inspector.render.report import Report

# facts (results of reading state files) that the command requests of its tasks: those of each
# version, and when the live rows expire
FACTS = Request(expiring=True)

# number of failed attempts in a row at which the watch ends with the error; an attempt fails if the
# storage does not answer, or if the query removes files faster than they can be read
PATIENCE = 5


@dataclass(frozen=True)
class Pace:
    """Time between the listings of a watched checkpoint, and the end of the watch."""

    interval: float  # seconds between two listings
    until: int | None = None  # batch after which the watch ends; None for no such end
    # time of the monotonic clock, in s, at which the watch ends; None for no such end
    ends: float | None = None

    def reached(self, batch: int | None) -> bool:
        """Return True if ``batch`` is the last batch to watch, or a later one.

        False if ``batch`` is None, because there is none yet, or if no batch ends the watch.
        """
        return self.until is not None and batch is not None and batch >= self.until

    def wait(self) -> bool:
        """Wait for the next listing and return True; return False at once if the time is over.

        It waits for the interval, or until the watch ends if that is sooner.
        """
        left = self.interval if self.ends is None else self.ends - monotonic()
        if left > 0:
            sleep(min(self.interval, left))
        return left > 0


@dataclass(frozen=True)
class BatchSeen:
    """A committed batch with its facts, judged as the newest one."""

    run: Run  # run on the batch's version
    facts: Facts  # facts of the version: results of reading its state files
    notes: tuple[str, ...] = ()  # sentences on what happened to the query since the batch before

    @property
    def batch_id(self) -> int:
        """Number of the batch."""
        return self.run.version - 1


@dataclass
class Following:
    """Follower of a running query, which yields each of its committed batches once.

    It begins with the ``last`` restorable batches before the first listing.
    """

    path: str  # path of the checkpoint
    options: o.Options  # options of the run
    last: int = 1  # number of batches shown that were committed before the first listing
    # number of the batch before the next one to show; None before the first listing
    _seen: int | None = None
    _query: str | None = None  # id of the query by the newest listing; None if it is not known
    _read: bool = False  # True if the state was replayed once
    _failures: int = 0  # failed attempts in a row
    # error of the last attempt; None if it did not fail
    _last_error: OSError | OutpacedError | None = None
    _notes: list[str] = field(default_factory=list)  # notes for the next batch
    # replay that is continued from batch to batch, so that only new files are read
    _followed: Followed = field(default_factory=Followed)
    # problems of the listings so far that another listing may not confirm
    _doubts: opening.Listings = field(default_factory=opening.Listings)

    def __post_init__(self) -> None:
        """Prepare to open the checkpoint; raises NotACheckpointError if there is none."""
        self._open = opening.opener_of(self.path, self.options)
        self._engine = LocalEngine(self.options.workers)

    def batches(self, pace: Pace) -> Iterator[BatchSeen]:
        """Yield each committed batch once, until the pace ends; waits for the next one.

        Raises NotACheckpointError or FileNotFoundError if the checkpoint is gone. Raises OSError or
        OutpacedError after :data:`PATIENCE` failures in a row, or if the last attempt failed.
        """
        while True:
            for seen in self._look_patiently():
                yield seen
                if pace.reached(seen.batch_id):
                    return
            if pace.reached(self._seen) or not pace.wait():
                if self._last_error is not None:
                    raise self._last_error
                return

    def _look_patiently(self) -> Iterator[BatchSeen]:
        """Yield the batches since the last call; count a failure and do not raise it.

        A failure is an OSError, which adds a note to the next batch, or an OutpacedError. It is
        raised at :data:`PATIENCE` failures in a row, and FileNotFoundError at once.
        """
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
            self._last_error = error
            if isinstance(error, OSError):
                self._notes.append(f"the storage did not respond; retrying: {error}")
        else:
            self._failures, self._last_error = 0, None

    def look(self) -> Iterator[BatchSeen]:
        """Yield the batches that were committed since the last call, oldest first.

        The first call begins with the ``last`` restorable batches. Batches that were removed before
        they could be read are left out, with a note. After an OSError the next call resumes. Raises
        OutpacedError if the query removed the files at every attempt.
        """
        looks = opening.MORE_LOOKS
        checkpoint = self.list_now()
        while self._seen is not None and self._seen < checkpoint.newest_version - 1:
            seen = self._judge(checkpoint, self._seen + 1)
            if self._is_sure(seen):
                self._seen, self._notes, looks = seen.batch_id, [], opening.MORE_LOOKS
                self._doubts.whole = False  # it was about this batch, and the next one is not read
                yield seen
            elif looks:
                looks -= 1
                checkpoint = self.list_now()
                self._pass_over(checkpoint)
            else:
                raise OutpacedError(opening.OUTPACED_AGAIN, checkpoint.root)

    def list_now(self) -> Checkpoint:
        """Return the checkpoint by a new listing; note if the query was replaced or reset.

        The first call also chooses the batch with which following begins. Raises
        NotACheckpointError, CheckpointError, or OSError if a part could not be listed.
        """
        checkpoint = self._open()
        for problem in checkpoint.problems:
            if problem.slug == STORAGE_SLUG:  # files that were not listed may exist or not
                raise OSError(f"{problem.path}: {problem.message}")
        checkpoint.check_selection()
        newest = checkpoint.newest_version - 1
        self._note_changes(checkpoint, newest)
        if self._seen is None:
            restorable = filter(None, map(restorable_versions, checkpoint.store_files.values()))
            oldest = max((versions[0] - 1 for versions in restorable), default=0)
            self._seen = min(newest, max(newest - self.last, oldest - 1))
        return checkpoint

    def _is_sure(self, seen: BatchSeen) -> bool:
        """Return True if a batch has no doubtful problem that no earlier listing had.

        A problem is doubtful if another listing may not confirm it, such as a missing file. With
        such a problem the replay is dropped, so that the batch is read again from the start.
        """
        is_complete = opening.restores(seen.run.checkpoint, seen.run.version)
        if not self._doubts.add(seen.run.problems(seen.facts), whole=is_complete):
            return True
        self._followed = Followed()
        return False

    def _pass_over(self, checkpoint: Checkpoint) -> None:
        """Skip to the newest restorable batch if the next batch can no longer be restored.

        The next batch gets a note on the batches that are left out. Nothing changes if no later
        batch can be restored.
        """
        assert self._seen is not None
        first, newest = self._seen + 1, opening.newest_whole(checkpoint)
        if opening.restores(checkpoint, first + 1) or newest is None or newest - 1 <= first:
            return
        last = newest - 2
        is_plural = last > first
        gone = f"batches {first} to {last} were" if is_plural else f"batch {first} was"
        self._notes.append(
            f"{gone} removed before {'they' if is_plural else 'it'} could be read here: batch "
            f"{newest - 1} is the newest that is whole"
        )
        self._seen = last

    def _note_changes(self, checkpoint: Checkpoint, newest: int) -> None:
        """Note if the query was replaced or reset; the next batch has the note.

        For another query id, following begins again with batch 0 and a new replay. ``newest`` is
        the newest committed batch. If it is older than the last batch shown, the query was reset,
        and following continues after it. Before the first listing only the query id is kept.
        """
        query, self._query = self._query, checkpoint.logs.query_id
        if self._seen is None:
            return
        if None not in (query, self._query) and query != self._query:
            self._followed, self._seen = Followed(), -1
            self._notes.append(
                f"the checkpoint now belongs to another query: {self._query}, it was {query}"
            )
        elif newest < self._seen:
            self._notes.append(
                f"the query was reset from batch {self._seen} to batch {newest}; batches that run "
                f"again are shown again"
            )
            self._seen = newest

    def _judge(self, checkpoint: Checkpoint, batch: int) -> BatchSeen:
        """Replay the state up to ``batch``, and return the batch with its facts and the notes.

        The replay continues from the batch before, so that only new files are read.
        """
        run = Run.at(checkpoint, batch + 1, self.options, self._engine)
        tasks = run.tasks(FACTS)
        if self._read:
            # Only a few deltas are read, so the bytes of all files would not show the progress.
            job = Job(self._followed, facts_schema(), list(map(work_of, tasks)))
            batches = self._engine.run(job)
        else:
            batches = run.map(self._followed, tasks)
        facts, self._read = collect(batches), True
        return BatchSeen(run, facts, tuple(self._notes))


class WatchedBatchRow(t.Row, table="batches", empty="no batch was committed"):
    """The state of all stores after one batch."""

    batch_id: Annotated[t.BatchId, t.Rank(1)]
    version: Annotated[t.Version, t.WIDE]
    batch_timestamp_ms: Annotated[t.BatchTimestampMs | None, t.Rank(8)]
    watermark_ms: Annotated[t.WatermarkMs | None, t.Rank(12)]
    lag_ms: Annotated[t.LagMs | None, t.Rank(6)]
    new_data: t.NewData | None
    rows: Annotated[t.Rows | None, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes | None, t.Rank(3)]
    puts: Annotated[t.Puts | None, t.Rank(7)]
    inserts: Annotated[t.Inserts | None, t.WIDE]
    updates: Annotated[t.Updates | None, t.WIDE]
    same_value_puts: Annotated[t.SameValuePuts | None, t.WIDE]
    removals: Annotated[t.Removals | None, t.Rank(5)]
    delta_bytes: Annotated[t.DeltaBytes | None, t.Rank(13)]
    leftovers: Annotated[t.Count, "Keys that have expired and are still there.", t.Rank(4)]
    level: Annotated[
        t.Text, "The verdict: `ok`, `info`, `warning`, `error`, `unreadable`.", t.Rank(9)
    ]
    findings_new: Annotated[
        t.Json,
        "Findings that the batch before did not have, or of another severity; of the first "
        "batch all.",
        t.Rank(10),
    ]
    findings_gone: Annotated[t.Json, "Findings of the batch before that are gone.", t.Rank(11)]
    stores_read: Annotated[t.Count, "Stores that could be replayed up to the batch.", t.WIDE]
    stores: Annotated[t.Count, "Stores of the query; each partition of a store counts.", t.WIDE]


# fields of a finding that are listed if it is new or gone
_FINDING = (
    *("id", "severity", "certainty", "title", "cause"),
    *("operator_id", "store_name", "evidence"),
)

_Findings = Mapping[tuple[Any, ...], Finding]  # findings by id, operator and store


def _check(parsed: Mapping[str, Any]) -> str | None:
    """Return the error in ``--interval`` or ``--for``, as a sentence; None if there is none.

    ``parsed`` has the value of each option by its name.
    """
    if parsed["interval"] <= 0:
        return "--interval has to be more than 0"
    try:
        if parsed["for"] is not None:
            parse_duration(parsed["for"])
    except ValueError as error:
        return f"--for: {error}"
    return None


@analysis(
    uses=(o.RULES, o.THRESHOLDS, o.HERE, o.SCHEMAS, o.PART),
    tables=(WatchedBatchRow,),
    follows=True,
    check=_check,
)
def watch(  # noqa: PLR0913 - each is an option of the command
    path: str,
    options: o.Options | None = None,
    *,
    interval: Annotated[
        float, o.Option("Seconds between checks of the checkpoint.", metavar="SECONDS")
    ] = 10.0,
    until: Annotated[
        int | None,
        o.Option(
            "Stop after the batch with this id; no option counts batches.",
            minimum=0,
            metavar="BATCH",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        o.Option("Stop after this time, such as 90s, 10m or 2h.", metavar="DURATION", flag="--for"),
    ] = None,
    last: Annotated[int, o.Option("Start from the last N restorable batches.", minimum=0)] = 1,
    wait: Annotated[
        bool, o.Option("Wait for the checkpoint to appear if it does not exist yet.")
    ] = False,
) -> Iterator[Report]:
    """Follow a running query: a line for each batch, and findings as they appear and go.

    A new finding has a line with +, one that is gone a line with -; neither ends the watch nor
    changes its exit code. It ends after --until or --for (exit code 0), when the checkpoint is gone
    (3), after five failures of the storage in a row (6), or on Ctrl-C (130).

    It only reads files: the whole state once at the start, then those of new batches. The keys of
    all stores are held in memory. Each batch is shown once, when it is committed, also after a
    restart of the query; a query that commits nothing prints nothing. -o ndjson prints a line of
    the table for each batch.

    Returns:
        A report for each batch, as soon as it was committed; waiting is part of the iteration.

    Raises:
        NotACheckpointError, UnsupportedProviderError, CheckpointError, OSError: it cannot be
            read, or no longer; a storage that does not answer is asked again a few times.
        ValueError: the duration is misspelt.
    """
    ends = None if duration is None else monotonic() + parse_duration(duration) / 1000
    pace = Pace(interval, until, ends)
    following = _begin(path, options or o.Options(), last, pace if wait else None)
    result: _Findings = {}
    for seen in following.batches(pace) if following is not None else ():
        report, result = _report(seen, result)
        yield report


def _begin(path: str, options: o.Options, last: int, pace: Pace | None) -> Following | None:
    """Return a follower of the query at ``path``, which begins with the ``last`` batches.

    With ``pace`` it waits for the checkpoint to appear, and returns None if the watch ends before.
    Without ``pace`` nothing waits; NotACheckpointError is raised if the path is no checkpoint.
    """
    while True:
        try:
            following = Following(path, options, last)
            if pace is not None:
                following.list_now()
        except NotACheckpointError:
            if pace is None:
                raise
        else:
            return following
        if not pace.wait():
            return None


def _report(seen: BatchSeen, earlier: _Findings) -> tuple[Report, _Findings]:
    """Return the report on a batch, and the findings of the batch for the next call.

    ``earlier`` are the findings of the batch before, by id, operator and store; empty for the first
    batch. The report names findings that are new, have another severity, or are gone.
    """
    judged = seen.run.judge(seen.facts)
    findings = findings_of(judged)
    result = {(f.kind.id, f.operator_id, f.store_name): f for f in findings}
    new = [
        f for key, f in result.items() if key not in earlier or earlier[key].severity != f.severity
    ]
    gone = [finding for key, finding in earlier.items() if key not in result]
    checkpoint, version, facts = judged.checkpoint, judged.version, judged.facts
    stores_read = sum(facts_version == version for _, facts_version in facts.versions)
    changes = ("puts", "inserts", "updates", "same_value_puts", "removals", "delta_bytes")
    row = WatchedBatchRow(
        **batch_columns(checkpoint, version),
        **values_of_fields(judged.total, changes, is_known=not judged.total.rebased),
        **values_of_fields(judged.total, ("rows", "row_bytes"), is_known=stores_read > 0),
        leftovers=sum(count.fact.rows for count in facts.totals),
        stores_read=stores_read,
        stores=len(checkpoint.layout.stores),
        level=level_of(findings, judged.problems).value,
        findings_new=[fields_of(finding_row(finding), *_FINDING) for finding in new],
        findings_gone=[fields_of(finding_row(finding), *_FINDING) for finding in gone],
    )
    verdict = verdict_of(judged, findings)
    report = judged.report(
        "watch",
        (WatchedBatchRow.table(f"batch {seen.batch_id}", [row]),),
        notes=seen.notes,
        findings=findings,
        verdict=verdict,
        metrics=metrics_of(judged, verdict),
    )
    return report, result
