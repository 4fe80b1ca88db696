"""``offsets``: where the sources were after each batch, and where a new query has to begin."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from itertools import islice
from typing import Annotated, Any, Literal

from inspector.analyses.offsets.offset_rows import (
    FoundRow,
    OffsetRow,
    ReadFileRow,
    StartRow,
    part_rows,
    source_row,
)
from inspector.analyses.offsets.position_search import (
    PositionSearch,
    answer,
    entry_of,
    files_of,
    found_files,
    reads_files,
)
from inspector.analyses.shared import options as o
from inspector.analyses.shared.data_tables import driver_table
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject, file_bytes
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Option, Options
from inspector.checkpoint.log_entries import NAME_CHARS
from inspector.checkpoint.logs import OFFSETS
from inspector.checkpoint.roots import STATE
from inspector.checkpoint.source_kinds import FILES, Sought
from inspector.discovery.source_positions import SourceFile, SourcePositions, SourceRange
from inspector.discovery.starting_offsets import AGAIN, EXACT, MOST_ONCE, starting_offsets
from inspector.exceptions import CheckpointError
from inspector.light_dataclasses import dataclass, replace
from inspector.quantities import bytes_text, count_text
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.time_text import time_ms_text

# value of ``--as`` that prints the options with which a new query starts
STARTING_OFFSETS = "starting-offsets"

# footnote of the report: what the columns of records and files count
FOOTNOTE = (
    "Records are differences of offsets: a Kafka topic with transactions or compaction has fewer. "
    "Files are entries of the source's log. Other sources count neither."
)


def offset_rows(run: Opened) -> Iterator[OffsetRow]:
    """Yield a table row for what each batch read of each source, newest batch first."""
    positions = SourcePositions(run.checkpoint)
    yield from (source_row(positions, item) for item in positions.ranges())


# table of data, for programs on Spark and for SQL, with the positions of each source by batch
OFFSETS_DATA = driver_table(
    OffsetRow, "The positions of each source after each batch.", offset_rows
)


def _check(parsed: Mapping[str, Any]) -> str | None:
    """Return an error if options of the command exclude each other, as a sentence; None if not.

    ``parsed`` has the value of each option by its name.
    """
    form = parsed.get("as")
    if parsed["batch"] is not None and parsed["at"] is not None:
        return "--batch and --at both choose a batch: give one of them"
    if parsed["find"] is not None:
        others = parsed["batch"], parsed["at"], form
        if any(value is not None for value in others) or parsed["by"] != "source":
            return "--find looks through all batches: leave out --batch, --at, --as and --by"
    if form is not None and parsed["by"] != "source":
        return "--as prints one option for each source: leave out --by"
    return None


@analysis(
    uses=(o.FORMAT, o.STORAGE),
    tables=(OffsetRow, FoundRow, StartRow, ReadFileRow),
    data_tables=(OFFSETS_DATA,),
    check=_check,
)
def offsets(  # noqa: PLR0913 - the options of the command
    path: str | Opened,
    options: Options | None = None,
    *,
    by: Annotated[
        Literal["source", "partition"],
        Option("One row for each source, or for each partition, shard, file or table version."),
    ] = "source",
    batch: Annotated[
        int | None, Option("Show only this batch; with --as, begin after it.", minimum=0)
    ] = None,
    source: Annotated[
        str | None, Option("Show only this source: its number from 0, or its name.")
    ] = None,
    moment: Annotated[
        str | None,
        Option(
            "As --batch, for the newest batch planned at this time or before, such as "
            "2026-11-28T06:00:00Z or epoch milliseconds.",
            metavar="TIMESTAMP",
            flag="--at",
        ),
    ] = None,
    find: Annotated[
        str | None,
        Option(
            "Find the batch that read a position: orders:3@1200 for a partition, 12 for a table "
            "version or number, or the name or path of a file.",
            metavar="POSITION",
        ),
    ] = None,
    form: Annotated[
        Literal["starting-offsets"] | None,
        Option(
            "Print the options with which a new query reads on without this checkpoint.",
            flag="--as",
        ),
    ] = None,
    limit: Annotated[int, o.LIMIT] = 0,
) -> Report:
    """Where each source was after each batch: start, end, records or files read; newest first.

    It goes back as far as the offset log, of which Spark keeps 100 batches by default; --limit
    counts rows. ``--batch N --by partition`` lists what a batch read. ``--as`` prints the starting
    offsets for a new query, by default after the last committed batch. If ``--find`` finds nothing,
    the exit code is 0.

    Raises:
        CheckpointError: there is no such batch or source, the time cannot be read, or the options
            exclude each other.
    """
    chosen = {"by": by, "batch": batch, "at": moment, "find": find, "as": form}
    fault = _check(chosen)
    if fault is not None:
        raise CheckpointError(fault)
    run = Opened.start(path, options, whole_logs=False)
    view = _View(run, source)
    if find is not None:
        return view.found(Sought(find), limit)
    if moment is not None:
        batch = view.newest_batch(_millis(moment))
    if form is not None:
        return view.starting(batch, limit)
    return view.listed(batch, limit, by_partition=by == "partition")


def _millis(text: str) -> int:
    """Return the epoch ms that a text says: a time in ISO 8601, or a number of epoch ms.

    A time without an offset is in UTC. Raises CheckpointError for any other text.
    """
    if text.isdecimal() and len(text) <= 18:
        return int(text)
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        message = f"got {text[:40]!r} as time, expected one such as 2026-11-28T06:00:00Z"
        raise CheckpointError(message) from None
    time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return round(time.timestamp() * 1000)


def _subject(run: Opened) -> Subject:
    """Return the subject of a report without problems of stores and of files below ``state``.

    No offset needs these files.
    """
    relative = run.checkpoint.storage.relative
    problems = [
        problem
        for problem in run.listed
        if problem.store is None and relative(problem.path or "").partition("/")[0] != STATE
    ]
    return Subject(run.checkpoint, run.version, problems, run.options)


@dataclass
class _View:
    """Positions of the sources of one checkpoint, and the reports of the command about them."""

    run: Opened  # opened checkpoint
    source: str | None  # number or name of the selected source; None for all sources

    def __post_init__(self) -> None:
        """Prepare to read positions; raises CheckpointError if the selected source is unknown."""
        self.positions = SourcePositions(self.run.checkpoint)
        self.subject = _subject(self.run)
        if self.source is not None:
            newest = next(iter(self.positions.ranges()), None)
            batch = () if newest is None else self.positions.batch_ranges(newest.batch_id)
            names = [item.source for item in batch]
            if self.source not in names:
                known = ", ".join(names) or "none"
                message = f"there is no source {self.source[:NAME_CHARS]!r}; there are: {known}"
                raise CheckpointError(message, self.run.checkpoint.root)

    def ranges(self, newest: int | None = None) -> Iterator[SourceRange]:
        """Yield what each batch read of each selected source, newest batch first.

        It begins with the batch ``newest``; None begins with the newest of all.
        """
        for item in self.positions.ranges(newest):
            if self.source in (None, item.source):
                yield item

    def batch_ranges(self, batch: int) -> list[SourceRange]:
        """Return what one batch read of each selected source.

        The list is empty if the entry of the batch cannot be read, or lacks the source. Raises
        CheckpointError if the offset log has no entry of the batch.
        """
        selected = [
            item
            for item in self.positions.batch_ranges(batch)
            if self.source in (None, item.source)
        ]
        if selected or batch in self.positions.entries:
            return selected
        known = list(self.positions.entries)
        span = f"there are batches {known[0]} to {known[-1]}" if known else "there are none"
        message = f"{OFFSETS} has no entry of batch {batch}; {span}"
        raise CheckpointError(message, self.run.checkpoint.root)

    def newest_batch(self, millis: int) -> int:
        """Return the newest batch that was planned at ``millis`` (epoch ms) or before.

        Raises CheckpointError if there is none.
        """
        oldest: SourceRange | None = None
        for item in self.positions.ranges():
            if item.timestamp_ms is not None:
                oldest = item
                if item.timestamp_ms <= millis:
                    return item.batch_id
        first = ""
        if oldest is not None and oldest.timestamp_ms is not None:
            first = f": batch {oldest.batch_id} was planned at {time_ms_text(oldest.timestamp_ms)}"
        message = f"no batch in {OFFSETS} was planned at {time_ms_text(millis)} or before{first}"
        raise CheckpointError(message, self.run.checkpoint.root)

    def report(
        self,
        tables: Sequence[t.Table],
        notes: Sequence[str] = (),
        footnotes: Sequence[str] = (),
    ) -> Report:
        """Return the report with these tables; its summary has the number of batches in the log.

        Problems of rows that are read while the report is written are added to it then.
        """
        known = list(self.positions.entries)
        newest = {"newest_planned_batch": known[-1] if known else None, "batches": len(known)}
        return self.subject.report("offsets", tables, newest, notes=notes, footnotes=footnotes)

    # --- all batches, or one -----------------------------------------------------------------

    def listed(self, batch: int | None, limit: int, *, by_partition: bool) -> Report:
        """Return the report on what each batch read of each source, newest batch first.

        ``batch`` is the only batch that is listed; None lists all. A ``limit`` other than 0 lists
        at most that number of rows. ``by_partition`` gives each partition, shard, file or table
        version a row.
        """
        items: Iterable[SourceRange]
        items = self.ranges() if batch is None else self.batch_ranges(batch)
        if by_partition:
            rows: Iterator[OffsetRow] = self._partition_rows(items, limit)
        else:
            rows = (source_row(self.positions, item) for item in items)
            if batch is not None:
                pairs = zip(rows, self.batch_ranges(batch), strict=True)
                rows = (
                    replace(row, offset=None if item.end is None else item.end.raw)
                    for row, item in pairs
                )
        left_out = {"offset"} if batch is None or by_partition else set()
        left_out |= set() if by_partition else {"partition", "file_modified_ms"}
        what = "by partition" if by_partition else "by source"
        title = f"positions of the sources after each batch, {what}"
        if batch is not None:
            title = f"positions of the sources after batch {batch}, {what}"
        table = OffsetRow.table(
            title,
            self._with_problems(islice(rows, limit or None)),
            columns=OffsetRow.columns(without=left_out),
        )
        return self.report((table,), footnotes=(FOOTNOTE,))

    def _add_problems(self) -> None:
        """Add the problems of the log entries that were read so far to the report, each once."""
        known = set(self.subject.problems)
        added = dict.fromkeys(self.positions.all_problems())
        self.subject.problems.extend(problem for problem in added if problem not in known)

    def _with_problems(self, rows: Iterator[OffsetRow]) -> Iterator[OffsetRow]:
        """Yield the rows, and then add the problems of reading them to the report."""
        yield from rows
        self._add_problems()

    def _partition_rows(self, items: Iterable[SourceRange], limit: int) -> Iterator[OffsetRow]:
        """Yield a row for each partition in ``items``, newest batch first; files come last.

        A source of files has a row for each file, oldest first, because its log is read from its
        oldest entry on. With a ``limit`` other than 0 only that number of newest files of a source
        have a row, newest first.
        """
        file_ranges: dict[str, list[SourceRange]] = {}
        count = 0
        for item in items:
            if item.end is None:
                yield source_row(self.positions, item)
            elif item.end.kind is FILES:
                file_ranges.setdefault(item.source, []).append(item)
                count += reads_files(item)
                if limit and count >= limit:
                    break
            else:
                yield from part_rows(item, item.end)
        for source, ranges in file_ranges.items():
            files: Iterable[tuple[SourceFile, SourceRange]]
            files = files_of(self.positions, source, ranges)
            for file, item in reversed(deque(files, limit)) if limit else files:
                yield OffsetRow(
                    batch_id=item.batch_id,
                    source=source[:NAME_CHARS],
                    kind=item.kind,
                    partition=file.path,
                    end=f"log entry {file.entry}",
                    files=1,
                    batch_timestamp_ms=item.timestamp_ms,
                    committed=item.committed,
                    file_modified_ms=file.modified_ms,
                )

    # --- the batch that read a position ------------------------------------------------------

    def found(self, sought: Sought, limit: int) -> Report:
        """Return the report on which batch read the position or file ``sought``.

        It has answers for each source that can have it. A ``limit`` other than 0 keeps at most that
        number of answers.
        """
        searches: dict[str, PositionSearch] = {}
        file_ranges: dict[str, list[SourceRange]] = {}
        for item in self.ranges():
            if item.end is not None and item.end.kind is FILES:
                file_ranges.setdefault(item.source, []).append(item)
            elif sought.order is not None and item.end is not None:
                search = searches.setdefault(item.source, PositionSearch(sought))
                search.add(item, item.end)
        rows = [row for search in searches.values() for row in search.rows()]
        for source, ranges in file_ranges.items():
            rows += found_files(self.positions, source, ranges, sought.text)
        self._add_problems()
        title = f"the batch that read {sought.text[:NAME_CHARS]}"
        notes = [answer(row, sought.text[:NAME_CHARS]) for row in rows[: limit or None]]
        return self.report((FoundRow.table(title, rows[: limit or None]),), notes=notes)

    # --- where a new query begins ------------------------------------------------------------

    def starting(self, batch: int | None, limit: int) -> Report:
        """Return the report on the options with which a new query starts after ``batch``.

        None stands for the last committed batch. The files that file sources have read are listed
        too, at most ``limit``; 0 lists all. Raises CheckpointError if no batch was committed, or
        there is no such batch.
        """
        logs = self.run.checkpoint.logs
        newest = max(self.positions.entries, default=None)
        last_batch = batch if batch is not None else logs.last_committed
        if last_batch is None:
            message = "no batch has been committed: a new query begins as this one did"
            raise CheckpointError(message, self.run.checkpoint.root)
        items = self.batch_ranges(last_batch)
        delivery = self._delivery(last_batch, newest)
        notes = [*self._start_notes(last_batch, newest)]
        file_items = [item for item in items if item.end is not None and item.end.kind is FILES]
        counts = {item.source: _count_files(self._read_files([item])) for item in file_items}
        rows = [
            StartRow(
                source=item.source[:NAME_CHARS],
                kind=item.kind,
                last_batch=last_batch,
                option=start.option,
                value=start.value,
                delivery=delivery if start.delivery == EXACT else start.delivery,
                newest_file_ms=counts.get(item.source, (0, None))[1],
                note=start.note or None,
            )
            for item in items
            if item.end is not None
            for start in starting_offsets(item.end)
        ]
        tables = [StartRow.table(f"starting offsets after batch {last_batch}", rows)]
        if file_items:
            total = sum(count for count, _ in counts.values())
            if limit and total > limit:
                notes.append(
                    f"Only {limit:,} of {count_text(total, 'file')} that were read are shown: "
                    "--limit 0 and -o json show all of them."
                )
            files = self._with_file_problems(islice(self._read_files(file_items), limit or None))
            title = f"files read up to batch {last_batch}"
            tables.append(ReadFileRow.table(title, files))
        return self.report(tables, notes=notes)

    def _read_files(self, items: Iterable[SourceRange]) -> Iterator[ReadFileRow]:
        """Yield a row for each file that the file sources in ``items`` have read, oldest first.

        The files are those of all batches up to the end of each item. One source comes after the
        other.
        """
        for item in items:
            newest = entry_of(item.end)
            for file in self.positions.log(item.source).files():
                if newest is not None and file.entry <= newest:
                    yield ReadFileRow(
                        source=item.source[:NAME_CHARS],
                        path=file.path,
                        file_modified_ms=file.modified_ms,
                        log_entry=file.entry,
                    )

    def _with_file_problems(self, rows: Iterator[ReadFileRow]) -> Iterator[ReadFileRow]:
        """Yield the rows unchanged, and then add the problems of reading to the report.

        The problems are those of the log entries that were read for these rows. They are known only
        when all rows were consumed.
        """
        yield from rows
        self._add_problems()

    def _delivery(self, last_batch: int, newest: int | None) -> str:
        """Return how often rows reach the sinks if a source starts exactly after a batch.

        MOST_ONCE after a batch without a commit, EXACT after the last committed batch if it is also
        the newest planned one (``newest``; None if there is none), otherwise AGAIN.
        """
        committed = self.run.checkpoint.logs.last_committed
        if committed is None or last_batch > committed:
            return MOST_ONCE
        return EXACT if last_batch == committed == newest else AGAIN

    def _start_notes(self, last_batch: int, newest: int | None) -> Iterator[str]:
        """Yield the sentences that a user has to know before a new query begins.

        They are about batches after ``last_batch`` whose rows are read again or left out, the state
        that is lost, and the new checkpoint. ``newest`` is the newest planned batch; None if there
        is none.
        """
        checkpoint = self.run.checkpoint
        logs, root = checkpoint.logs, checkpoint.root
        committed = logs.last_committed
        if newest is not None and committed is not None and newest > committed:
            if last_batch < newest:
                yield (
                    f"Batch {newest} is planned and not committed: a sink may have its rows. These "
                    "offsets read its rows again (at least once); to leave them out (at most "
                    f"once): inspector offsets {root} --as {STARTING_OFFSETS} --batch {newest}"
                )
            else:
                yield (
                    f"Batch {newest} is planned and not committed: with these offsets its rows are "
                    "left out, and are lost if the sink does not have them (at most once)."
                )
        if committed is not None and last_batch < committed:
            yield (
                f"Batches {last_batch + 1} to {committed} are committed: the new query reads their "
                "rows again."
            )
        yield from _state_notes(self.subject)
        yield (
            "The new query needs a new checkpoint location. A sink of files skips batch numbers "
            "that its _spark_metadata has: give the new query another output folder, too."
        )


def _count_files(files: Iterable[ReadFileRow]) -> tuple[int, int | None]:
    """Return the number of files, and the latest time of change in epoch ms.

    The time is None if no file has one.
    """
    count, newest = 0, None
    for file in files:
        count += 1
        if file.file_modified_ms is not None:
            newest = max(file.file_modified_ms, newest or 0)
    return count, newest


def _state_notes(subject: Subject) -> Iterator[str]:
    """Yield one sentence on the state that a new query begins without, with its bytes.

    Nothing is yielded if the query has no stateful operator.
    """
    operators = subject.checkpoint.operators
    if operators:
        names = ", ".join(f"{item.operator_id} ({item.name})" for item in operators)
        size = bytes_text(sum(file_bytes(subject.checkpoint).values()))
        yield (
            f"The state of {count_text(len(operators), 'operator')} is lost, {names}: {size} of "
            "state files. The new query begins without it: sums start at 0, and duplicates and "
            "join partners of rows that were read before are not known."
        )
