"""``copy``: a new checkpoint from an old one, whole and compact, or without its leftovers."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import groupby, islice
from typing import Annotated, Literal, NamedTuple

from inspector import __version__
from inspector.analyses.copy import evicting, reshaping
from inspector.analyses.copy.steps import Commands, steps_of
from inspector.analyses.shared import options as o
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import file_bytes, store_ids
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import Option, Options
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.store_heaps import removal_saving
from inspector.analyses.shared.words import StoreWords
from inspector.checkpoint.copy_record import RECORD, CopyRecord, read_record
from inspector.checkpoint.destination import Destination, check_new, new_folder
from inspector.checkpoint.log_checks import LOST_ENTRY
from inspector.checkpoint.logfile import UNSEEN
from inspector.checkpoint.logs import Logs
from inspector.checkpoint.metadata import LOST_METADATA
from inspector.checkpoint.roots import Selection
from inspector.checkpoint.storage import Storage
from inspector.checkpoint.urls import is_local, spell_root
from inspector.clock import epoch_ms
from inspector.discovery import copy_contents
from inspector.discovery.checkpoint import Checkpoint, checkpoint_at
from inspector.discovery.listing import listing_problems
from inspector.discovery.restart import Restart, restart_of
from inspector.discovery.store_schemas import UNKNOWN_OPERATOR
from inspector.discovery.tasks import Request
from inspector.exceptions import CheckpointError, EngineError, SourceNotWholeError
from inspector.facts.copied import Evicted, EvictedKey, RowPrints, WrittenFiles
from inspector.facts.fact import Observed
from inspector.findings.judge import judge_integrity
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.model import (
    KINDS_OF_STATE,
    NO_FAULT,
    READABLE,
    Certainty,
    Problem,
    Redact,
    StoreName,
)
from inspector.operators.eviction import REMOVAL, TIMEOUT
from inspector.passes.copy_partition import KEYS_SHOWN
from inspector.passes.key_filter import KeyFilter
from inspector.passes.reshape import FillTask
from inspector.providers.chain import chain_for
from inspector.quantities import short_count_text
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.render.report_data import Step
from inspector.sums import group_by, sum_by_key

# facts that the command requests of its source; all rows are compared with their schemas, and all
# files with their checksums
FACTS = Request(fit=True)

# note in the report on every written copy
STOPPED = (
    "Stop the query before its checkpointLocation becomes the copy, and never run it on both "
    "checkpoints: they have the same query id, so sinks confuse their batches. A batch that the "
    "query began after the copy was made is not in it. Between two batches a checkpoint does not "
    "show whether its query runs."
)
# note on a copy as of a batch before the newest committed batch; a template for ``batch``
EARLIER = (
    "The query resumes after batch {batch}, and has run later batches before: a foreachBatch, "
    "Kafka, console or memory sink gets the rows of these batches once more."
)
# note on a copy with a batch that was planned and not committed; a template for ``batch``
PLANNED = (
    "Batch {batch} was planned and not committed. The copy has its plan, and the state files that "
    "it has written, so that the batch runs again first, as it would from the original checkpoint."
)
# error message: the copy would leave out a planned batch that the sink may have; a template
SKIPPED = (
    "batch {next} was planned before, so the sink may have it. Sinks that store batch ids "
    "(the file sink, Delta and others) skip a batch that they have: {effect}. {instead}Add "
    "--sink-has-no-batch-ids if the sink stores none (foreachBatch without a check of its own, "
    "Kafka, console, memory, noop), or no longer has the batches after {batch}"
)
# effect in :data:`SKIPPED` of a skipped batch, for a query with state
LOSES_STATE = (
    "Spark then runs no job and writes no state for it, and the batch after it fails "
    "(CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS)"
)
# effect in :data:`SKIPPED` of a skipped batch, for a query without state
LOSES_ROWS = "its rows are then lost"
# error message: the copy would have a planned batch that the sink may have, and the state has
# unique ids; a template for ``batch``
NO_IDS = (
    "batch {batch} was planned and not committed, and the sink may have it. The state has ids of "
    "its checkpoints (format 2), and a query with such state fails if the sink skips a batch "
    "(CheckpointInfo length: 0), from the original checkpoint as from a copy. Remove the batch "
    "from the sink: of a file sink, its entry in _spark_metadata. Add --sink-has-no-batch-ids if "
    "the sink no longer has the batch, or stores no batch ids"
)
PLAN = "Nothing was written: this is a plan."  # note in the report with ``--plan``
# note in the report with ``--plan`` if the eviction of some rows is refused
REFUSED = f"{PLAN} Without --plan the command would refuse to write the copy, for the reason above."
# Note: no file of the copy has the bytes of the rows evicted by removal. It is a template: ``rows``
# is their number in words, ``file`` a kind of file, and ``source`` a sentence on the original.
ERASED = (
    "Erased ({rows}): no state file of the copy holds these bytes, because each partition is one "
    "new {file}. {source}"
)
# Note: files of the copy still have the bytes of the rows evicted by removal. It is a template:
# ``rows`` is their number in words, ``version`` the copied state version, and ``source`` a sentence
# on the original.
REMOVED = (
    "Removed, not erased ({rows}): the query has these rows no longer, but files of the copy still "
    "hold their bytes. Tables and older changelogs of RocksDB were copied as they are, and the "
    "changelog of version {version} names the keys once more, as removals. The bytes are gone when "
    "Spark has compacted the tables and deleted these files. {source}"
)
# Note: rows evicted by timeout stay in the copy until the query has called its function for them.
# It is a template: ``rows`` is their number in words, ``source`` a sentence on the original.
WAITING = (
    "Not erased ({rows} by timeout): keys and values are in the copy until the function has "
    "removed them and Spark has deleted the older versions; --by removal does not wait for the "
    "function. {source}"
)
# note in the report if no row is to be evicted
NOTHING = "There is nothing to evict, so nothing was written."
# addition to NOTHING, if the user named keys and the query has transformWithState
WHOLE_GROUPS = (
    "Of transformWithState a key is evicted as a whole: name its grouping key, and not one entry "
    "of a list or a map, nor a timer."
)
# end of error messages: what was written differs from what the copy should have
_GIVEN_UP = "so the copy was given up; the original checkpoint is unchanged"
# slugs of problems of the source because of which no copy is refused
_HARMLESS = (
    *(*NO_FAULT, LOST_METADATA),
    *("foreign-folder", "extra-partition", "partition-counts", "codec-mismatch", "uncommitted"),
)


class CopiedRow(t.StoreRow, table="copy", empty="the query keeps no state"):
    """One store of the copy, summed over its partitions."""

    rows: Annotated[t.Rows, t.Rank(1)]
    row_bytes: Annotated[t.RowBytes, t.Rank(2)]
    evicted: Annotated[
        t.Count,
        "Rows left out (not in `rows`), or whose timers were set to the past (in `rows`).",
        t.Rank(3),
    ]
    files: Annotated[
        t.Count | None,
        "Files of the store, checksum files included. Of stores that share their files the first "
        "has them.",
        t.Rank(22),
    ]
    file_bytes: Annotated[
        t.Bytes | None, "Their bytes on storage; in a plan both are foreseen.", t.Rank(21)
    ]


class EvictionRow(t.StoreRow, table="evictions"):
    """With an eviction: rows of one store that are evicted for one reason in one way."""

    operator_id: Annotated[t.OperatorId, t.Rank(1)]
    store_name: Annotated[t.StoreName | None, t.Rank(2)]
    class_: Annotated[t.Text, "The class of leftovers; `rows` where they were named.", t.Rank(3)]
    way: Annotated[
        t.Text,
        "`removal`, `timeout` where their timer is set so that the next batch calls the function, "
        "or, in a plan, `refused`.",
        t.Rank(4),
    ]
    rows: Annotated[t.Count, "Their number.", t.Rank(5)]
    row_bytes: Annotated[t.RowBytes, t.Rank(23)]
    disk_bytes: Annotated[
        t.EstimatedBytes | None,
        "State file bytes of the copy times the share of these rows in all row bytes.",
        t.Rank(21),
    ]
    heap_bytes: Annotated[t.HeapBytes | None, t.Rank(22)]
    effect: Annotated[t.Text, "What it does to the results of the query.", t.WIDE]


class EvictedKeyRow(t.StoreRow, table="keys"):
    """With an eviction: up to five keys for each store and class.

    `leftovers --limit 0` lists all leftovers, `rows` all rows that --key and --where choose.
    """

    class_: Annotated[t.Text, "The class of leftovers; `rows` where they were named.", t.Rank(1)]
    partition_id: Annotated[t.PartitionId, t.Rank(21)]
    key: Annotated[t.KeyJson, t.Rank(2)]
    key_hex: Annotated[t.KeyHex | None, t.WIDE]
    key_bytes: t.KeyBytes
    value_bytes: t.ValueBytes


# help texts of options of the command, by the names of its parameters
_HELP = {
    "evict": "Leave out all leftovers, those of one class, or rows (of --key and --where, which "
    "imply it).",
    "by": "Remove rows, or set their timers to the past. Spark then calls the function "
    "for them.  [default: timeout for group state with timers, else removal]",
    "compact": "Write one snapshot in place of a snapshot and its deltas (HDFS-backed state).",
    "stopped": "Assume that the query is stopped. Needed if files are newer than its last "
    "commit, or a batch is planned and not committed: a query on the copy runs it first.",
    "sink_has_no_batch_ids": "Copy an earlier batch though later ones were planned. A sink skips "
    "batches whose ids it stores: it must store none, or none after --batch.",
    "partitions": "Spread all state over N partitions.  [default: as in PATH]",
    "provider": "Write all state for this provider.  [default: as in PATH]",
    "state_format": "Convert state format 1 to 2: that of aggregations and group state.  [default: "
    "as in PATH]",
    "dest_storage_options": "Option for the fsspec driver of DEST; repeatable.  [default: those "
    "of --storage-option]",
}


@analysis(
    uses=(o.KEYS, o.RULES, o.redacting(Redact.NONE), o.WORK, o.SCHEMAS, o.PART[:2], o.AT_VERSION),
    tables=(CopiedRow, EvictionRow, EvictedKeyRow),
    facts=FACTS,
)
def copy(  # noqa: PLR0913 - the options of one command
    path: str | Opened,
    dest: Annotated[str, Option("Where the copy is written.")],
    options: Options | None = None,
    *,
    evict: Annotated[str | None, Option(_HELP["evict"], metavar="leftovers|CLASS|rows")] = None,
    by: Annotated[Literal["removal", "timeout"] | None, Option(_HELP["by"])] = None,
    certainty: Annotated[
        Literal["proven", "inferred"], Option("Evict proven leftovers, or inferred too.")
    ] = "proven",
    operator: Annotated[int | None, Option("Evict only from this operator.", minimum=0)] = None,
    compact: Annotated[bool, Option(_HELP["compact"])] = False,
    plan: Annotated[
        bool, Option("Write nothing. Report what would be evicted or reshaped, and the effect.")
    ] = False,
    partitions: Annotated[int | None, Option(_HELP["partitions"], minimum=1)] = None,
    provider: Annotated[Literal["hdfs", "rocksdb"] | None, Option(_HELP["provider"])] = None,
    state_format: Annotated[Literal["2"] | None, Option(_HELP["state_format"])] = None,
    stopped: Annotated[bool, Option(_HELP["stopped"])] = False,
    sink_has_no_batch_ids: Annotated[bool, Option(_HELP["sink_has_no_batch_ids"])] = False,
    dest_storage_options: Annotated[
        Mapping[str, str] | None, Option(_HELP["dest_storage_options"], metavar="KEY=VALUE")
    ] = None,
) -> Report:
    """Copy a checkpoint: whole, compacted, of an earlier batch, repartitioned or without leftovers.

    PATH is only read; stop the query first. DEST must be missing or empty. The copy holds what a
    restart needs of the newest committed batch, or of ``--batch``. Its bytes and its restart are
    checked before it gets its name. Then set the query's checkpointLocation to DEST; the report
    names all next steps. To go back before a committed batch, give ``--batch N
    --sink-has-no-batch-ids``: batch N + 1 runs again.

    Rows of windows, sessions, joins and limit() cannot be evicted, not even leftovers: results
    would be wrong. With transformWithState, ``--key`` leaves out all variables of the key.
    ``inspector explain leftover-classes`` has the classes of ``--evict``.

    Exit codes: 0 written and checked, or a plan; 1 nothing to evict, so nothing is written, or a
    plan of a refused eviction; 2 refused, such as if the query may run; 4 the checkpoint, or the
    copy, is incomplete or damaged.

    Raises:
        CheckpointError: it cannot be done, or not so; says why, and what to do.
        SourceNotWholeError: files that the copy needs are missing or damaged, or the copy is not
            what it should be.
    """
    run = Run.start(path, options)
    eviction = _eviction_of(run.options, evict, by, operator, inferred=certainty == "inferred")
    target = reshaping.Target(partitions, provider, state_format)
    if plan and eviction is None and not target.is_given:
        message = "--plan is about rows to evict or to move: give --evict, --key, --where, "
        raise CheckpointError(f"{message}--partitions, --provider or --state-format")
    given = dest_storage_options or run.options.storage_options
    assumed = _Assumed(stopped, sink_has_no_batch_ids)
    made = _Copy(run, dest, given, eviction, compact=compact, assumed=assumed)
    return made.reshape(target, plan=plan) if target.is_given else made.report(plan=plan)


def _eviction_of(
    options: Options, evict: str | None, by: str | None, operator: int | None, *, inferred: bool
) -> evicting.Eviction | None:
    """Return the eviction that the options request; None if they request none.

    ``options.keys`` and ``options.where`` name rows; ``inferred`` includes inferred leftovers.
    CheckpointError: the options contradict each other, or ``evict`` has an unknown value.
    """
    keys = KeyFilter(options.keys, options.where)
    if evict is None and not keys:
        if by is not None or operator is not None:
            message = "--by and --operator are about rows to evict: give --evict, --key or --where"
            raise CheckpointError(message)
        return None
    words = (evicting.LEFTOVERS, evicting.ROWS, *evicting.CLASSES)
    if evict not in (None, *words):
        raise CheckpointError(f"got {evict!r} to evict, expected one of {', '.join(words)}")
    if evict == evicting.ROWS and not keys:
        raise CheckpointError("--evict rows needs --key or --where, which name the rows")
    certainties = (Certainty.PROVEN, *((Certainty.INFERRED,) if inferred else ()))
    return evicting.Eviction(evict or evicting.ROWS, by, operator, certainties, keys)


class _Assumed(NamedTuple):
    """Facts that a checkpoint does not show and that the user states by options."""

    stopped: bool  # True if the user states that the query is stopped
    sink_has_no_batch_ids: bool  # True if the user states that the sink will skip no batch


class _Copy:
    """One run of the command ``copy``.

    It checks the source, writes the copy, checks the copy and reports.
    """

    def __init__(
        self,
        run: Run,
        dest: str,
        dest_options: Mapping[str, str],
        eviction: evicting.Eviction | None,
        *,
        compact: bool,
        assumed: _Assumed,
    ) -> None:
        """Decide how rows are evicted; nothing is read or written yet.

        ``dest`` is the URL of the copy, ``dest_options`` are storage options for it. ``eviction``
        is None if no rows are evicted. ``compact`` requests one snapshot in place of a snapshot and
        its deltas. CheckpointError: the options do not fit the checkpoint.
        """
        self._run, self._dest, self._options = run, dest, dict(dest_options)
        self._eviction, self._assumed = eviction, assumed
        self._checkpoint, self._version = run.checkpoint, run.version
        logs = run.checkpoint.logs
        # batch that was planned and not committed, and runs again first; None if there is none
        is_newest = not run.is_of_chosen_version
        self._batch_to_repeat = _batch_to_repeat(logs, run.version) if is_newest else None
        self._planned = self._batch_to_repeat is not None
        can_compact = run.checkpoint.provider.snapshot_name(run.version) is not None
        if compact and not can_compact:
            raise CheckpointError(
                f"{run.checkpoint.provider.spark_class} keeps its rows in tables, which are copied "
                "as they are: leave out --compact. The copy has no older versions in any case",
                run.checkpoint.root,
            )
        self._ways = {} if eviction is None else eviction.ways(run)
        if eviction is not None and eviction.operator_id is not None and not self._ways:
            numbers = ", ".join(str(o.operator_id) for o in run.checkpoint.operators) or "none"
            raise CheckpointError(
                f"the query has no operator {eviction.operator_id}; its operators are {numbers}",
                run.checkpoint.root,
            )
        used = {way.way for way in self._ways.values() if not way.refused}
        self._erases = eviction is not None and bool(eviction.keys) and REMOVAL in used
        self._compact_requested = compact
        # how a query would restart from the copy; None if no copy was written
        self._restart: Restart | None = None
        # change of the state's form; None if the copy has the form of the source
        self._reshape: reshaping.Reshape | None = None
        # If rows were removed by a further delta, the older files would still have their bytes.
        self._compact = compact or (self._erases and can_compact)

    def report(self, *, plan: bool) -> Report:
        """Write a copy in the form of the source, and return the report.

        With ``plan``, or if there is an eviction and no row to evict, nothing is written.
        CheckpointError or SourceNotWholeError: the copy cannot be made. EngineError: the engine
        reads files by Spark (``--io hadoop``).
        """
        self._check_source()
        check_new(self._dest, self._options, self._checkpoint.storage)
        facts = self._source_facts()
        self._check_whole(facts)
        eviction = self._eviction
        work = evicting.copying(
            self._run,
            changing=eviction is not None,
            compact=self._compact,
            planned=self._planned,
        )
        tasks = list(work.tasks)
        if eviction is not None:
            tasks = evicting.with_eviction(self._run, tasks, eviction, facts)
            # A copy on a local disk gets its name last. If the user names rows, they are searched
            # while it is written, and it is removed if there are none.
            first = plan or (bool(eviction.keys) and not is_local(self._dest))
            rows = eviction.counts(facts)
            if first or not (eviction.keys or any(rows.values())):
                planned = evicting.copy_facts(self._run, tasks)
                rows = _evicted_rows(planned)
                if plan or not any(rows.values()):
                    if not any(rows.values()):
                        return self._report(planned, facts, notes=self._nothing(), wrote=False)
                    if self._refuses(rows):
                        return self._report(planned, facts, notes=[REFUSED], wrote=False)
                    notes = [*self._erasure(planned), *self._other_ways(rows), PLAN]
                    return self._report(
                        planned, facts, notes=notes, steps=self._steps(is_plan=True), wrote=False
                    )
            if first or not eviction.keys:
                self._check_effects(rows)
        try:
            done = self._write(tasks, work)
        except _NothingError as nothing:
            return self._report(nothing.done, facts, notes=self._nothing(), wrote=False)
        steps = self._steps(is_plan=False)
        return self._report(done, facts, notes=self._notes(done), steps=steps, wrote=True)

    def _source_facts(self) -> Facts:
        """Return the facts of the source, with all leftover keys if this process evicts them.

        Otherwise the facts have only some of the keys, and the tasks that evict find them.
        """
        expired = self._eviction is not None and self._eviction.expired
        every_key = expired and self._run.engine.in_process
        return self._run.facts(replace(FACTS, leftover_limit=0) if every_key else FACTS)

    def reshape(self, target: reshaping.Target, *, plan: bool) -> Report:
        """Write a copy whose state has the form ``target``; return the report.

        With ``plan``, or if there is an eviction and no row to evict, nothing is written.
        CheckpointError or SourceNotWholeError: the copy cannot be made. EngineError: the engine
        reads files by Spark (``--io hadoop``), or it cannot move rows.
        """
        if self._planned:  # before checks that advise --stopped: it would not help here
            raise CheckpointError(
                f"batch {self._batch_to_repeat} was planned and not committed, and runs again with "
                "state that it has written before: let the query run it, stop the query, and "
                f"copy it then{self._without_planned_batch()}",
                self._checkpoint.root,
            )
        self._check_source()
        reshape = reshaping.Reshape(self._run, target)
        check_new(self._dest, self._options, self._checkpoint.storage)
        facts = self._source_facts()
        self._check_whole(facts)
        self._reshape, evictions = reshape, list[evicting.EvictTask]()
        if self._eviction is not None:
            unchanged = evicting.copying(self._run).tasks
            evictions = evicting.with_eviction(self._run, unchanged, self._eviction, facts)
        rows: Mapping[StoreName, int] = {}  # number of leftovers to evict by the source's facts
        if self._eviction is not None and not self._eviction.keys:
            rows = self._eviction.counts(facts)
        will_evict = any(rows.values()) and not self._refuses(rows)
        with reshaping.temporary_folder() as folder:
            sources = reshape.source_tasks(folder, evictions)
            read = reshape.read_source(sources, can_wait=self._eviction is None or will_evict)
            if read is not None:
                self._check_read(reshape, read)
                rows = _evicted_rows(read)
                idle_notes = self._notes_on_rows(rows, plan=plan)
                if idle_notes:
                    return self._report(read, facts, notes=idle_notes, wrote=False)
            tasks, form = reshape.fill_tasks(folder)
            try:
                if plan:
                    done = self._move_rows(reshape, tasks, read)
                else:
                    done = self._write_reshaped(reshape, tasks, form, read)
            except _NothingError as nothing:
                return self._report(nothing.done, facts, notes=self._nothing(), wrote=False)
            if plan:
                notes = [*reshape.notes(), reshape.loading_note(done), *self._erasure(done)]
                notes += [*self._other_ways(rows), PLAN]
                steps = self._steps(is_plan=True)
                return self._report(done, facts, notes=notes, steps=steps, wrote=False)
        notes = [*reshape.notes(), reshape.loading_note(done), *self._notes(done)]
        return self._report(done, facts, notes=notes, steps=self._steps(is_plan=False), wrote=True)

    def _notes_on_rows(self, rows: Mapping[StoreName, int], *, plan: bool) -> list[str]:
        """Return notes on why the rows to evict prevent a copy or plan; empty if they do not.

        ``rows`` has the number of rows to evict by store. With an eviction and no such rows, or
        with a ``plan`` whose eviction is refused, there is a note. CheckpointError: the eviction of
        rows is refused, and no plan is requested.
        """
        if self._eviction is not None and not any(rows.values()):
            return self._nothing()
        if plan:
            return [REFUSED] if self._refuses(rows) else []
        self._check_effects(rows)
        return []

    def _check_read(self, reshape: reshaping.Reshape, facts: Facts) -> None:
        """Raise an error if the rows of the source cannot have the new form.

        ``facts`` are those of reading the rows. CheckpointError: a value cannot be converted, or a
        row is not where Spark's hash puts it. SourceNotWholeError: files cannot be read.
        """
        reshape.check_values(facts)
        self._check_problems(facts)
        reshape.check_rows(facts)

    def _move_rows(
        self, reshape: reshaping.Reshape, tasks: Sequence[FillTask], read: Facts | None
    ) -> Facts:
        """Run ``tasks``, which write rows in their new form, and return their facts with evictions.

        ``read`` are the facts of an earlier reading; None if there was none. Tasks without a URL
        write nothing. CheckpointError or SourceNotWholeError: rows cannot be read or written, or
        the written rows are not the rows that were read. _NothingError: there was no row to evict.
        """
        moved = reshape.move_rows(tasks)
        if moved.read is not None:
            self._check_read(reshape, moved.read)
        reshape.check_written(moved.written)
        self._check_problems(moved.written)
        for facts in (read, moved.read):
            if facts is None:
                continue
            name = reshaping.sums_differ(facts, moved.written)
            if name is not None:
                which = f"operator {name.operator_id}, store {name.store_name}"
                message = f"{which}: the rows that were written are not those that were read"
                raise SourceNotWholeError(f"{message}, {_GIVEN_UP}", spell_root(self._dest))
        done = reshape.with_evictions(moved.written, moved.read if read is None else read)
        if self._eviction is not None and not done.of(Evicted):
            raise _NothingError(done)
        return done

    def _write_reshaped(
        self,
        reshape: reshaping.Reshape,
        tasks: Sequence[FillTask],
        form: copy_contents.NewForm,
        read: Facts | None,
    ) -> Facts:
        """Write a copy in the form ``form``, check it, and return the facts of its tasks.

        The facts are those of writing, and those of the evictions. ``tasks`` write one partition
        each. ``read`` are the facts of an earlier reading; None if there was none. Raises errors as
        :meth:`_write` and :meth:`_move_rows`.
        """
        batch = self._version - 1
        with new_folder(self._dest, self._options, self._checkpoint.storage) as place:
            into = [task.into(place.url, place.options) for task in tasks]
            done = self._move_rows(reshape, into, read)
            self._check_effects(_evicted_rows(done))
            of_checkpoint = self._checkpoint, batch, self._dest
            files = copy_contents.small_files(*of_checkpoint, form=form)
            has_base = any(folder.base_name for task in tasks for folder in task.folders)
            changed = {self._version, self._version - 1} if has_base else set()
            changed |= {self._version} if reshape.converts or done.of(Evicted) else set()
            self._finish(place, done, files, self._record(done, changed))
        return done

    def _check_problems(self, facts: Facts) -> None:
        """Raise SourceNotWholeError for the first of the problems in ``facts``, if there is one."""
        for problem in facts.problems:
            raise SourceNotWholeError(problem.message, problem.path, problem.offset)

    def _check_source(self) -> None:
        """Raise an error, with advice, if listings and logs show that the source cannot be copied.

        CheckpointError: for example, no batch was committed, or the query may be running.
        SourceNotWholeError: files of logs are missing or damaged. EngineError: the engine reads
        files by Spark (``--io hadoop``).
        """
        checkpoint, root, logs = self._checkpoint, self._checkpoint.root, self._checkpoint.logs
        if self._run.engine.reader is not None:
            raise EngineError("copy reads and writes through fsspec: leave out --io hadoop")
        if checkpoint.selection != Selection():
            raise CheckpointError("only a whole checkpoint is copied: give its root", root)
        if not self._version or logs.last_committed is None:
            message = "no batch was committed, so there is nothing to restart from"
            raise CheckpointError(message, root)
        if self._version > logs.last_committed + 1:
            raise CheckpointError(f"batch {self._version - 1} was not committed", root)
        self._check_next_batch(logs)
        newer = [v for v in checkpoint.versions_without_commit if v > logs.last_committed + 1]
        if newer and not self._assumed.stopped:
            raise CheckpointError(
                f"there are state files of version {newer[0]}, which no batch has committed: a "
                "query runs, or ended within a batch; stop it, and add --stopped",
                root,
            )
        newest = self._version - 1 if self._batch_to_repeat is None else self._batch_to_repeat
        copy_contents.check_file_logs(checkpoint, newest)

    def _check_next_batch(self, logs: Logs) -> None:
        """Raise CheckpointError if batches that were planned after the copied batch prevent a copy.

        The message has advice.
        For example, such a batch may still be running, or the sink may have it and would skip it.
        By options the user can state that this is not so. Planned batches also prevent an eviction.
        """
        root, batch = self._checkpoint.root, self._version - 1
        last = logs.last_committed if logs.last_offset is None else logs.last_offset
        if last is None or last <= batch:
            return
        if self._planned:
            if self._eviction is not None:
                raise CheckpointError(
                    f"batch {last} was planned and not committed, and runs again from a copy, with "
                    "state that it has written before: let the query run it, stop the query, and "
                    "evict then",
                    root,
                )
            if not self._assumed.stopped:
                raise CheckpointError(
                    f"batch {last} was planned and not committed: the query runs, or ended within "
                    "the batch. Stop it and add --stopped: the copy has the planned batch, which "
                    f"then runs again{self._without_planned_batch()}",
                    root,
                )
            has_ids = bool(self._checkpoint.logs.unique_ids and self._checkpoint.operators)
            if has_ids and not (self._is_next_unwritten() or self._assumed.sink_has_no_batch_ids):
                raise CheckpointError(NO_IDS.format(batch=last), root)
            return
        is_unfinished = not self._run.is_of_chosen_version
        if is_unfinished:
            raise CheckpointError(
                f"batches up to {last} were planned, and {batch} is the last that was committed: "
                "let the query run them",
                root,
            )
        if self._assumed.sink_has_no_batch_ids or self._is_next_unwritten():
            return
        keeps = last == batch + 1 == (logs.last_committed or 0) + 1 and self._eviction is None
        instead = "A copy without --batch has the planned batch. " if keeps else ""
        effect = LOSES_STATE if self._checkpoint.operators else LOSES_ROWS
        text = SKIPPED.format(next=batch + 1, batch=batch, effect=effect, instead=instead)
        raise CheckpointError(text, root)

    def _without_planned_batch(self) -> str:
        """Return advice to leave the planned batch out; empty if the sink may have it."""
        if not self._is_next_unwritten():
            return ""
        return f". Or leave the batch out with --batch {self._version - 1}"

    def _is_next_unwritten(self) -> bool:
        """Return True if the sink cannot have the next batch, as some of its state is not written.

        The next batch is the only one that was planned after the newest committed batch, which is
        copied. A store lacks the state files of the next batch. Spark passes a batch to the sink
        only after all its tasks have ended, and each task has written its state before.
        """
        logs, version = self._checkpoint.logs, self._version
        if logs.last_committed != version - 1 or logs.last_offset != version:
            return False
        stores = self._checkpoint.store_files.values()
        return any(version + 1 not in {*of.deltas, *of.snapshots} for of in stores)

    def _check_whole(self, facts: Facts) -> None:
        """Raise SourceNotWholeError if Spark would not load the source's state as it was written.

        ``facts`` are those of the source. The message has the first problem and advice.
        """
        damage = list(_damage(self._run, facts))
        if not damage:
            return
        first, *further = damage
        more = f" (and {short_count_text(len(further), 'more problem')})" if further else ""
        to_do = "; nothing was written"
        if first.slug not in (*UNSEEN, UNKNOWN_OPERATOR):
            to_do += ". The command verify lists all that is wrong, and names a batch that can be "
            to_do += "copied with --batch if there is one"
        path = first.path or self._checkpoint.root
        raise SourceNotWholeError(f"{first.message}{more}{to_do}", path, first.offset)

    def _refuses(self, rows: Mapping[StoreName, int]) -> bool:
        """Return True if ``rows``, numbers of rows by store, has rows whose eviction is refused."""
        return any(count and self._ways[name].refused for name, count in rows.items())

    def _check_effects(self, rows: Mapping[StoreName, int]) -> None:
        """Raise CheckpointError if rows would be evicted from a store whose eviction is refused.

        ``rows`` has the number of rows to evict by store.
        """
        for name, count in sorted(rows.items()):
            way = self._ways[name]
            if count and way.refused:
                raise CheckpointError(
                    f"operator {name.operator_id}, store {name.store_name}: "
                    f"{short_count_text(count, 'row')} cannot be evicted. {way.words}",
                    self._checkpoint.root,
                )

    def _write(self, tasks: Sequence[evicting.EvictTask], work: evicting.Copying) -> Facts:
        """Write the copy to its destination, check it, and return the facts of ``tasks``.

        ``work`` has the ids of state files that change. A copy on a local disk is removed again if
        an error is raised. SourceNotWholeError: files cannot be read, or the copy is not whole or
        no query would restart from it. CheckpointError: rows must not be evicted, or the query has
        run a batch meanwhile. _NothingError: there was no row to evict.
        """
        storage, batch = self._checkpoint.storage, self._version - 1
        with new_folder(self._dest, self._options, storage) as place:
            into = [task.into(place.url, place.options) for task in tasks]
            done = evicting.copy_facts(self._run, into)
            self._check_effects(_evicted_rows(done))
            self._check_problems(done)
            if self._eviction is not None and not done.of(Evicted):
                raise _NothingError(done)
            of_checkpoint = self._checkpoint, batch, self._dest
            stores = {observed.store for observed in done.of(Evicted)}
            changed = {(store.operator_id, store.partition_id) for store in stores}
            ids = copy_contents.NewIds(
                {old: new for at in changed for old, new in work.unique_ids.get(at, {}).items()},
                {old for at in changed for old in work.renamed.get(at, ())},
            )
            planned = self._batch_to_repeat
            files = copy_contents.small_files(*of_checkpoint, ids=ids, planned=planned)
            version = self._version
            versions = {version, *([version - 1] if changed & work.renamed.keys() else [])}
            record = self._record(done, versions if done.of(Evicted) else set())
            self._finish(place, done, files, record)
        return done

    def _finish(
        self,
        place: Destination,
        done: Facts,
        files: tuple[Sequence[copy_contents.SmallFile], Sequence[copy_contents.SmallFile]],
        content: CopyRecord,
    ) -> None:
        """Write the small files of a copy, and check that it is whole and that a query can restart.

        ``done`` are the facts of writing the state. ``files`` are the small files to write before
        and after the check of the rows; ``content`` is the record of how the copy was made.
        SourceNotWholeError: the copy is not whole or no query would restart from it.
        CheckpointError: the query has run a batch meanwhile.
        """
        first, last = files
        record = copy_contents.SmallFile(RECORD, content=content.to_json().encode())
        self._write_small(place, (*first, record))
        self._check_rows(place, done, self._version)
        self._check_log()
        self._write_small(place, last)
        copied = self._open(place)
        problems = listing_problems(copied, self._version)
        restart = restart_of(copied, problems, restart_path=self._dest)
        self._restart = restart
        # By option the user can state that the sink does not have the batch.
        told = self._assumed.sink_has_no_batch_ids
        doubts = [doubt for doubt in restart.doubts if not (doubt.is_of_sink and told)]
        is_open = bool(restart.unknown or doubts)
        if restart.possible is False or (self._planned and is_open):
            raise SourceNotWholeError(
                f"no query would restart from a copy of it, so that it was given up. "
                f"{restart.sentence} Restore that from a backup of the checkpoint first.",
                self._checkpoint.root,
            )

    def _write_small(self, place: Destination, files: Sequence[copy_contents.SmallFile]) -> None:
        """Write ``files`` into the copy and read them back.

        SourceNotWholeError: the content of a file differs from what was written.
        """
        copy = Storage.open(place.url, self._options)
        for file in files:
            written, read = blake2b(), blake2b()
            chunks = _digest(file.chunks(self._checkpoint.storage), written)
            size = place.write(file.path, chunks)
            deque(_digest(copy.stream(file.path, size=size), read), maxlen=0)
            if written.digest() != read.digest():
                message = f"{file.path}: the copy does not hold what was written, {_GIVEN_UP}"
                raise SourceNotWholeError(message, spell_root(self._dest))

    def _record(self, done: Facts, versions: Collection[int]) -> CopyRecord:
        """Return the record of how the copy was made, which the copy has as a file.

        ``done`` has the evictions. ``versions`` are the state versions whose files were changed by
        the copy. If the source is a copy itself, the versions of its record are added.
        """
        version, before = self._version, read_record(self._checkpoint.storage)
        changed = set(versions)
        # A copy of a copy has the changed files of the first copy.
        changed.update(() if before is None else before.changed_versions)
        return CopyRecord(
            source=spell_root(self._checkpoint.storage.url),
            query_id=self._checkpoint.logs.query_id,
            batch=version - 1,
            changed_versions=tuple(sorted(changed)),
            made_ms=epoch_ms(),
            made_by=__version__,
            evicted=tuple(
                f"{short_count_text(fact.rows, 'row')} ({kind}) of operator {name.operator_id}, "
                f"store {name.store_name}, by {self._ways[name].way}"
                for name, by_class in sorted(done.merged(Evicted).items())
                for kind, fact in sorted(by_class.items())
            ),
        )

    def _open(self, place: Destination) -> Checkpoint:
        """Return the checkpoint at ``place``, the copy, which may be unfinished.

        Its provider format is the format that the user gave for the source, if any.
        """
        form = self._run.options.provider_format
        storage = Storage.open(place.url, self._options)
        return checkpoint_at(storage, Selection(), provider_format=form)

    def _check_rows(self, place: Destination, done: Facts, version: int) -> None:
        """Read the copy back at ``version`` and compare the hashes of the rows of each partition.

        ``done`` has the hashes from writing. SourceNotWholeError: rows differ, or the copy has a
        problem because of which Spark would not load it.
        """
        written = replace(self._run.options, batch=None, state_version=version, key=(), where=())
        checkpoint = self._open(place)
        run = Run.at(checkpoint, version, written, self._run.engine)
        read = evicting.copy_facts(run, evicting.copying(run, checked=True).tasks)
        expected, actual = ({p.store: p.fact for p in of.of(RowPrints)} for of in (done, read))
        for store in sorted({*expected, *actual}):
            if expected.get(store) != actual.get(store):
                which = f"operator {store.operator_id}, store {store.store_name}, partition"
                which += f" {store.partition_id}: the copy does not hold the rows that it should"
                raise SourceNotWholeError(f"{which}, {_GIVEN_UP}", spell_root(self._dest))
        for problem in (*read.problems, *_damage(run, read)):
            if problem.slug != LOST_ENTRY:  # the newest entries are written after this check
                raise SourceNotWholeError(problem.message, problem.path, problem.offset)

    def _check_log(self) -> None:
        """Raise CheckpointError if the query has planned or committed a batch since it was opened.

        The logs are listed again. Without a function to do so, nothing is checked.
        """
        if self._run.reopen is None:
            return
        before, now = self._checkpoint.logs, self._run.list_again().logs
        if (before.last_offset, before.last_committed) != (now.last_offset, now.last_committed):
            message = "the query has run a batch while it was copied: stop it first, and copy again"
            raise CheckpointError(message, self._checkpoint.root)

    def _report(
        self,
        done: Facts,
        facts: Facts,
        *,
        notes: Sequence[str],
        steps: Sequence[Step] = (),
        wrote: bool,
    ) -> Report:
        """Return the report on a written copy, or on a plan.

        ``done`` are the facts of the copying tasks, ``facts`` those of the source. ``notes`` and
        ``steps`` are shown in the report. ``wrote`` is True if a copy was written.
        """
        by_store = _evicted_rows(done)
        refused = sum(rows for name, rows in by_store.items() if self._ways[name].refused)
        evicted = sum(by_store.values()) - refused
        timed_out = sum(n for name, n in by_store.items() if self._is_timed_out(name))
        summary = {
            "destination": spell_root(self._dest),
            "written": wrote,
            **({"changed_version": self._version} if evicted else {}),
            **({"planned_batch": self._batch_to_repeat} if self._planned else {}),
            **({} if self._eviction is None else {"evicted_rows": evicted}),
            **({"timed_out_rows": timed_out} if timed_out else {}),
            **({"refused_rows": refused} if refused else {}),
            **self._form_numbers(),
            "rows": sum(prints.rows for prints in done.sums(RowPrints).values()),
            "source_state_bytes": sum(file_bytes(self._checkpoint).values()),
            "copy_state_bytes": sum(written.bytes for written in done.sums(WrittenFiles).values()),
        }
        rows = CopiedRow.table("stores of the copy", list(self._rows(done)))
        tables = (rows, *self._evictions(done))
        listed = self._run.listed
        problems = [p for p in (*listed, *self._run.problems(facts)) if p.slug in READABLE]
        subject = replace(self._run.subject(), problems=problems)
        # All that the copy needs was read, so other problems of the source are only notes.
        root, unneeded = self._checkpoint.root, [p for p in listed if p.slug not in READABLE]
        said = [f"{p.path or root}: {p.message}" for p in unneeded]
        effects = []
        if self._eviction is not None and self._eviction.expired:
            said += self._eviction.remaining(self._run, facts)
        for way, names in group_by(by_store, self._ways.__getitem__).items():
            operators = ", ".join(map(str, sorted({name.operator_id for name in names})))
            effects.append(f"By {way.way} (operator {operators}): {way.text}")
        # A query without state and a query whose state is lost have the same files.
        if self._restart is not None and not self._restart.has_state:
            effects.append(self._restart.sentence)
        report = subject.report("copy", tables, summary, notes=[*said, *effects, *notes])
        idle = self._eviction is not None and not evicted
        return replace(report, steps=steps, nothing_done=idle or bool(refused))

    def _form_numbers(self) -> dict[str, int | str]:
        """Return the entries of the summary on the new form of the state.

        They are the partitions, the state format and the provider, for those that change. Empty if
        the form stays.
        """
        reshape, result = self._reshape, dict[str, int | str]()
        if reshape is None:
            return result
        if reshape.target.partitions is not None:
            result |= {"partitions_before": reshape.old, "partitions": reshape.new}
        if reshape.target.state_format is not None:
            result["state_format"] = int(reshape.target.state_format)
        if reshape.changes_provider:
            old = self._checkpoint.provider.spark_class
            result |= {"provider_before": old, "provider": reshape.provider.spark_class}
        return result

    def _is_timed_out(self, name: StoreName) -> bool:
        """Return True if rows of the store ``name`` are evicted by timeout.

        They stay in the copy until Spark calls the query's function for them.
        """
        return self._ways[name].way == TIMEOUT and not self._ways[name].refused

    def _rows(self, done: Facts) -> Iterator[CopiedRow]:
        """Yield the row of each copied store for the table of stores.

        ``done`` are the facts of the copying tasks.
        """
        written, evicted = done.sums(WrittenFiles), _evicted_rows(done)
        for name, prints in sorted(done.sums(RowPrints).items()):
            files = written.get(name)
            yield CopiedRow(
                **store_ids(self._checkpoint, name),
                rows=prints.rows,
                row_bytes=prints.key_bytes + prints.value_bytes,
                evicted=evicted.get(name, 0),
                files=None if files is None else files.files,
                file_bytes=None if files is None else files.bytes,
            )

    def _evictions(self, done: Facts) -> Iterator[t.Table]:
        """Yield the tables of evicted rows and of example keys.

        Nothing is yielded without an eviction, and no table of keys if no row is evicted. ``done``
        are the facts of the copying tasks.
        """
        if self._eviction is None:
            return
        checkpoint, rows = self._checkpoint, []
        saving = partial(removal_saving, checkpoint, self._version)
        row_bytes = sum(p.key_bytes + p.value_bytes for p in done.sums(RowPrints).values())
        disk = sum(written.bytes for written in done.sums(WrittenFiles).values())
        for name, by_class in sorted(done.merged(Evicted).items()):
            for kind, fact in sorted(by_class.items()):
                size = fact.key_bytes + fact.value_bytes
                rows.append(
                    EvictionRow(
                        **store_ids(checkpoint, name),
                        class_=kind,
                        way="refused" if self._ways[name].refused else self._ways[name].way,
                        rows=fact.rows,
                        row_bytes=size,
                        disk_bytes=round(disk * size / (row_bytes + size)),
                        heap_bytes=saving(fact.rows, fact.key_bytes, fact.value_bytes),
                        effect=self._ways[name].text,
                    )
                )
        yield EvictionRow.table("evicted", rows, empty="there is nothing to evict")
        if rows:
            yield EvictedKeyRow.table("some of the evicted keys", list(self._keys(done)))

    def _keys(self, done: Facts) -> Iterator[EvictedKeyRow]:
        """Yield rows for up to ``KEYS_SHOWN`` evicted keys of each store and class of leftovers."""
        words = StoreWords(self._checkpoint, self._run.options.redact or Redact.NONE)

        def group(seen: Observed[EvictedKey]) -> tuple[StoreName, str]:
            """Return the store and the class of leftovers of a key."""
            return seen.store.name, seen.fact.leftover_class

        # The facts of partitions may come in any order.
        by_partition = sorted(done.of(EvictedKey), key=lambda seen: seen.store.partition_id)
        for (name, kind), keys in groupby(sorted(by_partition, key=group), group):
            for observed in islice(keys, KEYS_SHOWN):
                key = observed.fact.key
                yield EvictedKeyRow(
                    **store_ids(self._checkpoint, name),
                    class_=kind,
                    partition_id=observed.store.partition_id,
                    key=words.keys(name, [key])[0],
                    key_hex=words.hex(key),
                    key_bytes=len(key),
                    value_bytes=observed.fact.value_bytes,
                )

    def _notes(self, done: Facts) -> list[str]:
        """Return the notes on a written copy: evicted bytes, batches, and stopping the query."""
        notes = list(self._erasure(done))
        newest, batch = self._checkpoint.logs.last_committed, self._version - 1
        if newest is not None and batch < newest:
            notes.append(EARLIER.format(batch=batch))
        if self._planned:
            notes.append(PLANNED.format(batch=self._batch_to_repeat))
        return [*notes, STOPPED]

    def _nothing(self) -> list[str]:
        """Return a list with the note that there is nothing to evict.

        The note has a sentence on how to name keys of transformWithState, if the user named rows
        and the query has such keys.
        """
        of_groups = any(
            operator.processor is not None and not self._ways[name].refused
            for operator in self._checkpoint.operators
            for name in self._ways
            if name.operator_id == operator.operator_id
        )
        named = self._eviction is not None and not self._eviction.expired
        return [f"{NOTHING} {WHOLE_GROUPS}" if named and of_groups else NOTHING]

    def _steps(self, *, is_plan: bool) -> list[Step]:
        """Return the steps that the user takes next, after a plan or after the copy."""
        assumed = self._assumed
        given = {
            "--compact": self._compact_requested,
            "--stopped": assumed.stopped,
            "--sink-has-no-batch-ids": assumed.sink_has_no_batch_ids,
        }
        flags = tuple(flag for flag, is_given in given.items() if is_given)
        if self._reshape is not None:
            flags = (*self._reshape.target.flags, *flags)
        root = self._checkpoint.root
        commands = Commands(root, self._dest, self._run.options, self._eviction, flags)
        return list(steps_of(commands, is_plan=is_plan))

    def _other_ways(self, rows: Mapping[StoreName, int]) -> Iterator[str]:
        """Yield a sentence on the effect of the opposite value of --by, for each store with timers.

        ``rows`` has the number of evicted rows by store; stores without evicted rows are left out.
        """
        if self._eviction is None:
            return
        for name, count in sorted(rows.items()):
            way = self._ways[name]
            if count and way.timer is not None:
                word = TIMEOUT if way.way == REMOVAL else REMOVAL
                opposite = replace(self._eviction, way=word).ways(self._run)[name]
                yield f"With --by {word} (operator {name.operator_id}): {opposite.text}"

    def _erasure(self, done: Facts) -> Iterator[str]:
        """Yield a note for each way of eviction on which files of the copy still have the bytes.

        Nothing is yielded without the options --key and --where. ``done`` has the evicted rows.
        """
        if self._eviction is None or not self._eviction.keys:
            return
        reshape, file = self._reshape, "snapshot"
        if reshape is not None and reshape.provider.shares_files:
            file = "changelog"
        is_new = self._compact or reshape is not None
        for way, words in ((REMOVAL, ERASED if is_new else REMOVED), (TIMEOUT, WAITING)):
            counts = _evicted_rows(done).items()
            rows = sum(count for name, count in counts if self._ways[name].way == way)
            if rows:
                yield words.format(
                    rows=short_count_text(rows, "row"),
                    version=self._version,
                    file=file,
                    source=f"The original checkpoint ({self._checkpoint.root}) has them as before, "
                    "and so may its backups.",
                )


def _batch_to_repeat(logs: Logs, version: int) -> int | None:
    """Return the planned batch that a restart runs again; None if the restart plans a new batch.

    ``version`` is the copied state version. Return None if it is not that of the newest committed
    batch, too. With asynchronous progress tracking the numbers of planned batches have gaps.
    """
    planned, committed = logs.last_offset, logs.last_committed
    if planned is None or committed is None or version != committed + 1 or planned < version:
        return None
    return planned if planned == version or logs.is_sparse else None


class _NothingError(Exception):
    """Signal that no row was to be evicted, so that the copy was given up.

    Attributes:
        done: facts of the copying tasks.
    """

    def __init__(self, done: Facts) -> None:
        """Store the facts of the tasks that found no row to evict."""
        super().__init__()
        self.done = done


def _digest(chunks: Iterable[bytes], digest: blake2b) -> Iterator[bytes]:
    """Yield each of ``chunks`` unchanged, after adding it to ``digest``."""
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def _evicted_rows(done: Facts) -> dict[StoreName, int]:
    """Return the number of evicted rows of each store over all partitions, by ``done``.

    Rows whose eviction is refused count, too. A store without such rows is absent.
    """
    return sum_by_key((seen.store.name, seen.fact.rows) for seen in done.of(Evicted))


def _damage(run: Run, facts: Facts) -> Iterator[Problem]:
    """Yield the problems because of which a copy of a run's version would not be whole.

    Spark would not load the state, or not as it was written. ``facts`` are those of all state.
    Problems of files that no restart needs, and those in ``_HARMLESS``, are left out. A row in a
    wrong partition (SS107) is a problem too.
    """
    checkpoint, version = run.checkpoint, run.version
    whole = (of for of in checkpoint.store_files.values() if version in (*of.deltas, *of.snapshots))
    needed = {file.path for of in whole for file in chain_for(of, version).files}
    folders = (folder for operator in checkpoint.operators for folder in operator.layout.folders)
    state = {file.path for folder in folders for file in folder.of_kind(*KINDS_OF_STATE)}
    for problem in run.problems(facts):
        spared = problem.path in state and problem.path not in needed
        older = problem.slug == "missing-delta"
        if not (spared or older or problem.slug in _HARMLESS):
            yield problem
    for finding in judge_integrity(checkpoint, version, facts, ()):
        if finding.kind.id == "SS107":
            yield Problem("wrong-partition", finding.evidence, checkpoint.root)
