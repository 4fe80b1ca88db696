"""``diff``: the rows in which two versions differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import pyarrow as pa

from inspector.analyses.shared import options as o
from inspector.analyses.shared import stores
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Subject, operator_names, store_ids
from inspector.analyses.shared.opening import Listings, restores, version_problem
from inspector.analyses.shared.options import Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.words import StoreWords, decode_live_rows, row_chunks
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Task
from inspector.engines.engine import BatchFunction
from inspector.exceptions import OutpacedError
from inspector.light_dataclasses import replace
from inspector.model import Redact
from inspector.passes.row_differences import DiffTask, differences_of
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.schemas import DIFF as DIFFERENCES
from inspector.schemas import specs_in

# columns of the batches of counts that are summed up for each store and kind of change
_COUNTED = ("rows", "key_bytes", "old_value_bytes", "value_bytes")


class DifferenceRow(t.PartitionRow, table="diff"):
    """A row that one version has and the other has not, or with another value."""

    change: Annotated[t.Change, t.Rank(1)]
    key: Annotated[t.KeyJson, t.Rank(2)]
    old_value: Annotated[t.Json, "The decoded value of the old version; null if added.", t.Rank(3)]
    value: Annotated[t.Json, "The decoded value of the new version; null if removed.", t.Rank(4)]
    key_bytes: t.KeyBytes
    old_value_bytes: t.OldValueBytes | None
    value_bytes: Annotated[t.Bytes | None, "Bytes of the new value; null if removed."]
    key_hex: Annotated[t.KeyHex | None, t.RAW] = None
    old_value_hex: Annotated[
        t.Text | None, "The UnsafeRow bytes of the old value in hex.", t.RAW
    ] = None
    value_hex: Annotated[t.ValueHex | None, t.RAW] = None


class DifferenceCountRow(t.StoreRow, table="counts", empty="nothing was compared"):
    """One kind of change of one store: how many rows, also those that --limit hides.

    It follows `diff`, which `--limit 1` shortens.
    """

    operator_name: t.OperatorName | None
    change: Annotated[t.Change, t.Rank(1)]
    rows: Annotated[t.Count, "Number of rows.", t.Rank(2)]
    key_bytes: Annotated[t.Bytes, "Their key bytes.", t.Rank(21)]
    old_value_bytes: Annotated[t.Bytes, "Their value bytes in the old version.", t.Rank(23)]
    value_bytes: Annotated[t.Bytes, "Their value bytes in the new version.", t.Rank(22)]


# sums of the columns :data:`_COUNTED`, by operator id, store name and kind of change
_Counts = dict[tuple[int, str, str], Counter[str]]


def _check(options: Mapping[str, Any]) -> str | None:
    """Return an error if a batch and a version are given for the same end; None if not.

    ``options`` has the value of each option by its name. The error is a sentence.
    """
    for end in ("from", "to"):
        if options[f"{end}_batch"] is not None and options[f"{end}_version"] is not None:
            return f"--{end}-batch and --{end}-version exclude each other"
    return None


@analysis(
    uses=(o.KEYS, o.redacting(Redact.NONE), o.MEMORY, o.SCHEMAS, o.PART),
    tables=(DifferenceRow, DifferenceCountRow),
    check=_check,
)
def diff(  # noqa: PLR0913 - each is an option of the command
    path: str,
    other: Annotated[str | None, Option("The new checkpoint.", metavar="PATH2")] = None,
    options: Options | None = None,
    *,
    from_batch: Annotated[
        int | None, Option("The old version is the state as of this batch.", minimum=0)
    ] = None,
    to_batch: Annotated[
        int | None, Option("The new version is the state as of this batch.", minimum=0)
    ] = None,
    from_version: Annotated[
        int | None, Option("The old state version (batch + 1).", minimum=0)
    ] = None,
    to_version: Annotated[
        int | None, Option("The new state version (batch + 1).", minimum=0)
    ] = None,
    raw: Annotated[
        bool,
        Option("Add the columns key_hex, old_value_hex and value_hex with the UnsafeRow bytes."),
    ] = False,
    limit: Annotated[int, o.LIMIT] = 0,
) -> Report:
    """Rows added, removed and changed between two versions.

    By default the newest committed version is compared with the one before it. --from-batch alone
    compares with the newest, --to-batch alone with the version before it. With two checkpoints, the
    old version is of PATH, the new one of PATH2; the default of both is the newest committed. Only
    the two states count: a row that was changed and changed back, or put again with its value, is
    not listed. The exit code is 0 also if rows differ, 2 if there is no such version, and 4 if
    files of one are missing or damaged.
    """
    options = options or Options()
    ends = (from_batch, to_batch, from_version, to_version)

    def start() -> tuple[Run, Run]:
        """Open the checkpoints, and return the runs on the old and on the new version."""
        new_options = replace(options, batch=to_batch, state_version=to_version)
        new = Run.start(other or path, new_options)
        if other is None:
            return _before(new, from_batch, from_version), new
        old_options = replace(options, batch=from_batch, state_version=from_version)
        return Run.start(path, old_options), new

    old, new = start()

    def begin_anew(error: OutpacedError) -> None:
        """Open both versions again, or raise ``error`` if the user chose one of them."""
        nonlocal old, new
        if ends != (None,) * len(ends):
            raise error
        previous, (old, new) = new.version, start()
        if new.version != previous:
            new.note(version_problem(previous, new.version))

    def differences() -> Iterator[pa.RecordBatch]:
        """Return the batches of counts and rows in which the versions differ, and set the notes."""
        for run in (old, new):
            run.check_lasting()
        units, notes[:] = _units(old, new, limit)
        return new.stream(_looking(old, new), [unit.to_json() for unit in units])

    notes: list[str] = []
    batches = stores.hold_batches(DIFFERENCES, differences, begin_anew)
    subject = replace(new.subject(), problems=list(dict.fromkeys((*old.listed, *new.listed))))
    watched = stores.HashedKeys(options, notes).watch(batches)
    return diff_report(old.subject(), subject, watched, limit, raw=raw, notes=notes)


def _looking(old: Run, new: Run) -> BatchFunction:
    """Return a function that compares two versions, for batches with specs of :class:`DiffTask`.

    It yields the rows that differ as batches. If a running query removed files of a task, the files
    are listed again and the task is repeated. ``old`` and ``new`` are the runs on both versions.
    """

    def again(unit: DiffTask, paths: Sequence[str]) -> DiffTask:
        """Return the task with the files of a new listing; ``paths`` are the files in doubt."""

        def look_at(run: Run, tasks: Sequence[Task]) -> tuple[Task, ...]:
            """Return the tasks of one run with the files of a new listing."""
            state = run.checkpoint.storage.full_path("state")
            state_paths = [path for path in paths if path.startswith(state)]
            return tuple(stores.listed_again(run, task, state_paths) for task in tasks)

        return replace(unit, old=look_at(old, unit.old), new=look_at(new, unit.new))

    def function(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the differences of each task in ``batches``, task by task."""
        look = stores.looking_by((old, new), again)
        for unit in map(DiffTask.from_json, specs_in(batches)):
            yield from look(unit, differences_of)

    return function


def _before(new: Run, batch: int | None, version: int | None) -> Run:
    """Return a run on another version of the checkpoint of ``new``, to compare ``new`` with.

    It is the version that ``batch`` made, or else ``version``. If both are None, it is the version
    before that of ``new``, and at least 0. Raises CheckpointError if there is no such version.
    """
    if batch is None and version is None:
        version = max(new.version - 1, 0)
    chosen = new.checkpoint.version_of(batch, version)
    options = replace(new.options, batch=None, state_version=chosen)
    listings = Listings(whole=restores(new.checkpoint, chosen))
    old = Run.at(new.checkpoint, chosen, options, new.engine)
    return replace(old, reopen=new.reopen, listings=listings)


def _units(old: Run, new: Run, limit: int) -> tuple[list[DiffTask], list[str]]:
    """Return the tasks that compare the versions of two runs, and notes on stores without a task.

    A store without a task is one that only one of the runs has. A task compares one partition of a
    store if both runs have the same partitions of it, and otherwise the whole store. ``limit`` is
    the most rows that each task reports; 0 for all.
    """
    selected = [stores.by_store(stores.selected_tasks(run)) for run in (old, new)]
    units: list[DiffTask] = []
    notes: list[str] = []
    for store in sorted({*selected[0], *selected[1]}):
        sides = [
            {task.partition_id: task for task in side.get(store, ()) if task.present}
            for side in selected
        ]
        if not all(sides):
            where = (new if sides[1] else old).checkpoint.root
            notes.append(f"operator {store[0]}, store {store[1]} is only in {where}: not compared")
        elif sides[0].keys() == sides[1].keys():
            units += [DiffTask((sides[0][p],), (sides[1][p],), limit) for p in sorted(sides[0])]
        else:
            old_tasks, new_tasks = (tuple(side.values()) for side in sides)
            units.append(DiffTask(old_tasks, new_tasks, limit))
    return units, notes


def diff_report(
    old: Subject,
    new: Subject,
    batches: Iterable[pa.RecordBatch],
    limit: int = 0,
    *,
    raw: bool = False,
    notes: Sequence[str] = (),
) -> Report:
    """Return the report on the rows in ``batches``, in which two versions differ.

    Their schema is :data:`inspector.schemas.DIFF`. At most ``limit`` rows are listed, and all are
    counted; 0 lists all. ``raw`` adds columns with the bytes in hex. The problems of ``new``, and
    those of reading the rows, are in the report.
    """
    counts: _Counts = defaultdict(Counter)
    table = DifferenceRow.table(
        f"rows that differ between {_version_name(old, new)} and {_version_name(new, old)}",
        _rows(old.checkpoint, new, batches, counts, limit, raw=raw),
        columns=DifferenceRow.columns(raw=raw),
    )
    counted = DifferenceCountRow.table(
        "how many rows differ, with those that are not listed",
        # These rows are read after the others, when all are counted.
        _count_rows(counts, new.checkpoint),
    )
    return replace(new.report("diff", (table, counted), notes=notes), summary=_summary(old, new))


def _count_rows(counts: _Counts, checkpoint: Checkpoint) -> Iterator[DifferenceCountRow]:
    """Yield a table row for each store and kind of change, with the number of differing rows.

    ``counts`` must be complete when the first row is requested.
    """
    for (operator, store, change), total in sorted(counts.items()):
        ids = store_ids(checkpoint, (operator, store))
        yield DifferenceCountRow(**ids, change=change, **total)


def _version_name(subject: Subject, counterpart: Subject) -> str:
    """Return the name of the version of ``subject``, such as ``version 5 (batch 4)``.

    The path of its checkpoint is added if ``counterpart``, the version that it is compared with, is
    of another checkpoint.
    """
    checkpoint, number = subject.checkpoint, subject.version
    named = f"version {number} (batch {number - 1})" if number else "the empty version 0"
    same = checkpoint.root == counterpart.checkpoint.root
    return named if same else f"{named} of {checkpoint.root}"


def _summary(old: Subject, new: Subject) -> dict[str, Any]:
    """Return the fields of the report's summary: version, batch and clocks of both versions.

    Names of fields of the old version begin with ``from_``, those of the new one with ``to_``. The
    checkpoint and its query id are there once, without a prefix, if both versions are of one
    checkpoint.
    """
    sides: dict[str, Any] = {}
    same = old.checkpoint.root == new.checkpoint.root
    for side, subject in (("from", old), ("to", new)):
        ids = () if same else ("checkpoint", "query_id")
        names = ("version", "batch_id", "committed", "watermark_ms", "batch_timestamp_ms")
        sides |= {f"{side}_{name}": subject.head[name] for name in (*ids, *names)}
    return {n: new.head[n] for n in ("checkpoint", "query_id") if same} | sides


def _rows(
    old: Checkpoint,
    subject: Subject,
    batches: Iterable[pa.RecordBatch],
    counts: _Counts,
    limit: int,
    *,
    raw: bool,
) -> Iterator[DifferenceRow]:
    """Yield the differing rows in ``batches``, decoded, at most ``limit``; 0 yields all.

    Batches of counts are added to ``counts``, so that rows beyond the limit count too. Problems of
    reading, and values that do not fit their schema, are added to the problems of ``subject``, the
    new version. ``raw`` adds the bytes in hex.
    """
    new, problems = subject.checkpoint, subject.problems
    names = operator_names(old) | operator_names(new)
    old_words, new_words = StoreWords(old, subject.redact), StoreWords(new, subject.redact)
    left = limit or -1
    for chunk in row_chunks(batches, problems):
        if chunk[0]["kind"] == "count":
            for row in chunk:
                group = row["operator_id"], row["store_name"], row["change"]
                counts[group].update({name: row[name] or 0 for name in _COUNTED})
            continue
        if not left:
            continue  # The batches are read to the end: later ones may have counts or problems.
        row_words = old_words if chunk[0]["change"] == "removed" else new_words
        words = {"key": row_words, "old_value": old_words, "value": new_words}
        for difference in decode_live_rows(DifferenceRow, chunk, names, words, raw=raw):
            yield difference
            left -= 1
            if not left:
                break
    problems.extend((*old_words.misfits(), *new_words.misfits()))
