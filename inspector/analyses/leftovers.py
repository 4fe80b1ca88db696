"""``leftovers``: one row per expired key that is still there, with its proof."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from inspector.analyses.expiry import leftover_tables as lt
from inspector.analyses.expiry.story import ClassStoryRow, KeyStoryRow, explain_class, explain_keys
from inspector.analyses.history import history
from inspector.analyses.shared import options as o
from inspector.analyses.shared.conclusion import findings_of, leftover_count
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.fact_tables import FactTableTask, RowsOfFacts, fact_table
from inspector.analyses.shared.judged import Judged, expiry_text, store_ids, vouching_notes
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.stores import HashedKeys, live_batches, narrowed, of_one_version
from inspector.arrays import concatenate
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.tasks import Request, Task
from inspector.exceptions import CheckpointError
from inspector.facts.expired import LeftoverClass
from inspector.facts.fact import Observed
from inspector.facts.leftover_facts import Leftover
from inspector.findings.finding import Group
from inspector.light_dataclasses import replace
from inspector.merge.collect import Facts
from inspector.merge.resolution import Resolution
from inspector.model import Certainty, Redact, StoreId, StoreName
from inspector.operators.rule import Clock, StoreRule
from inspector.passes.key_filter import FORMS, filter_of
from inspector.passes.worker import rows_of
from inspector.quantities import short_count_text
from inspector.render import tabular as t
from inspector.render.report import Report
from inspector.sums import group_by

# function that yields the live rows of a task that match the task's filter, as batches
ReadRows = Callable[[Task], Iterator[pa.RecordBatch]]


def select_leftovers(
    listed: Iterable[Observed[Leftover]], tasks: Iterable[Task], read: ReadRows
) -> list[Observed[Leftover]]:
    """Return the leftovers in ``listed`` that match the filter of their task, in the same order.

    ``tasks`` have a filter on keys and values for each store; leftovers of other stores are left
    out. ``read`` yields the live rows of a task that match its filter. It is called for a task only
    if its filter has a condition on values, and a leftover matches the condition on keys.
    """
    listed = list(listed)
    leftovers_by_store = group_by(listed, lambda leftover: leftover.store)
    met: set[tuple[StoreId, bytes]] = set()
    for task in tasks:
        met_in_task, needs_rows = set[tuple[StoreId, bytes]](), False
        for store in task.stores:
            bound, store_id = filter_of(task, store), task.store_id(store)
            keys = [leftover.fact.key for leftover in leftovers_by_store.get(store_id, ())]
            if bound is not None and keys:
                matches = bound.matching_keys(*concatenate(keys), np.arange(len(keys)))
                needs_rows |= bound.values is not None and len(matches) > 0
                met_in_task |= {(store_id, keys[index]) for index in matches.tolist()}
        met |= _of_values(read(task), met_in_task) if needs_rows else met_in_task
    return [item for item in listed if (item.store, item.fact.key) in met]


def _of_values(
    batches: Iterable[pa.RecordBatch], met: set[tuple[StoreId, bytes]]
) -> set[tuple[StoreId, bytes]]:
    """Return the pairs of store and key in ``met`` that are among the rows in ``batches``.

    The batches have the schema :data:`inspector.schemas.ROWS`; those with problems are skipped.
    """
    live: set[tuple[StoreId, bytes]] = set()
    for batch in batches:
        if batch.column("kind")[0].as_py() == "problem":
            continue
        names = ("operator_id", "store_name", "partition_id")
        store = StoreId(*(batch.column(name)[0].as_py() for name in names))
        live |= met & {(store, key) for key in batch.column("key").to_pylist()}
    return live


LARGEST = 10  # most rows in the table of the largest leftovers
_CLASSES = tuple(kind.value for kind in LeftoverClass)  # names of the classes of leftovers
_WORD = re.compile(r"[\w.-]+")  # text of ``--explain`` that may be meant as the name of a class
_HEX = re.compile(r"(0x)?([0-9a-fA-F]{2})*")  # text of ``--explain`` that may be a key in hex
# footnote of every report of leftovers: what a leftover is, and which option explains one
NOTE = (
    "A key is a leftover if a batch that has run compared its expiry time with the batch's own "
    "watermark or processing time and found it expired, and the key is still there in the judged "
    "version. A key that the next batch will find expired is no leftover yet. For the reason of a "
    "class or of a key, batch by batch: --explain CLASS or --explain KEY."
)


class LargestLeftoverRow(lt.LeftoverRow, table="largest"):
    """One of the ten largest expired keys that are still there, largest first."""

    operator_id: t.OperatorId
    partition_id: Annotated[t.PartitionId, t.Rank(24)]
    class_: Annotated[t.LeftoverClassName, t.Rank(22)]
    expired_batch: Annotated[t.ExpiredBatch | None, t.Rank(23)]
    clock_ms: Annotated[t.ClockMs, t.WIDE]
    threshold_ms: Annotated[t.ThresholdMs, t.WIDE]
    fired: Annotated[t.Count, "How often the key's timer has fired.", t.WIDE]
    last_put_batch: t.LastPutBatch | None
    puts: Annotated[
        t.Count, "How often the key was put, over all versions that can be replayed.", t.WIDE
    ]


class RuleRow(t.StoreRow, table="rules"):
    """The rule by which one store's rows should be removed."""

    operator_name: t.OperatorName | None
    expires: Annotated[t.Expires, t.Rank(11)]
    source: Annotated[
        t.Text, "Where the rule comes from: Spark's operator, or an option.", t.Rank(21)
    ]


# facts (results of reading state files) that the command requests of its tasks: every leftover, and
# how many rows of joins have found a partner
FACTS = Request(leftover_limit=0, matched=True)


def leftover_rows(request: FactTableTask) -> RowsOfFacts:
    """Return a function that makes table rows, by column, of the leftovers in a task's facts.

    ``request`` has the task. The rows leave out keys that may or may not be leftovers, and keys
    that do not match the filter of the task.
    """
    words = lt.LeftoverWords.of_task(
        request.task, request.operator_name, request.redact, decoded=request.key_schema is None
    )

    def rows(facts: Facts) -> Sequence[Mapping[str, Any]]:
        """Return the table rows of the leftovers in ``facts``, as dictionaries by column."""
        resolved = request.resolution.resolve_all(facts.of(Leftover))
        result = [item for item in resolved if item.fact.certainty is not Certainty.UNDECIDED]
        if request.task.key or request.task.where:
            result = select_leftovers(result, [request.task], rows_of)
        return list(map(t.values, words.rows(result, lt.LeftoverRow)))

    return rows


def _resolution(run: Run) -> Resolution:
    """Return the evidence of all partitions about the clock that the timers of group state follow.

    All partitions are read for it. If no store has rows that expire by such timers, nothing is read
    and the evidence is empty.
    """
    rules = [rule for operator in run.checkpoint.operators for rule in operator.rules.values()]
    if any(rule.expiry is not None and rule.expiry.clock is Clock.TIMEOUT for rule in rules):
        return run.facts().resolution
    return Resolution()


# table of data, for programs on Spark and for SQL, with a row for every leftover
LEFTOVERS_DATA = fact_table(
    "leftovers",
    "leftovers",
    """Every expired key that is still there, with its proof.

    ``key`` is a struct if the keys of all stores have one type and are not redacted; else text.
    """,
    lt.LeftoverRow.columns(),
    leftover_rows,
    request=Request(leftover_limit=0),
    resolution=_resolution,
    options=("timeout_kind",),
    by_key=True,
)


@analysis(
    uses=(o.KEYS, o.RULES, o.THRESHOLDS, o.redacting(Redact.NONE), o.REPLAY),
    tables=(
        lt.LeftoverRow,
        lt.LeftoverClassRow,
        lt.UndecidedRow,
        LargestLeftoverRow,
        lt.LeftoverAgeRow,
        lt.UndecidedKeyRow,
        lt.AgeRow,
        lt.RetentionRow,
        RuleRow,
        ClassStoryRow,
        KeyStoryRow,
    ),
    facts=FACTS,
    data_tables=(LEFTOVERS_DATA,),
    fail_on="never",
    formats=("parquet",),
    by_executors=LEFTOVERS_DATA,
    many=True,
)
def leftovers(
    path: str | Opened,
    options: o.Options | None = None,
    *,
    explain: Annotated[
        str | None,
        o.Option(
            "Explain a key (in any form of --key), or a class of leftovers with its premises, by "
            "batch.",
            metavar="KEY|CLASS",
        ),
    ] = None,
    limit: Annotated[int, o.LIMIT] = 0,
) -> Report:
    """Expired keys that were never removed, each with the batch that proves it.

    Expired means that a batch that ran compared the key's expiry time with its own watermark or
    processing time, and found it passed. A key that only the next batch will find expired is no
    leftover. Spark still loads a leftover, and new data may meet it. Its class says how it stayed,
    such as ``kept_without_timeout``: the timeout fired and the function kept the key (``inspector
    explain leftover-classes``). Undecided keys may be leftovers, but files do not show it
    (``reason``). If the checkpoint lacks the rule or its clock, give --operator-rule,
    --event-time-field, --timeout-kind or --join-retention. Leftovers change the exit code only with
    --fail-on. Keys are not hashed, unless --redact says so.

    Raises:
        CheckpointError: no store has such keys as ``explain`` names.
    """
    run = Run.start(path, options)
    if explain is not None:
        return _explain(run, explain)
    if run.options.keys or run.options.where:
        return of_one_version(lambda: _report_of_keys(run, limit), run.begin_anew)
    # The table of the largest is the same whatever the limit.
    facts = run.facts(replace(FACTS, leftover_limit=max(limit, LARGEST) if limit else 0))
    return leftovers_report(run.judge(facts), limit)


def _explain(run: Run, text: str) -> Report:
    """Return the report for ``--explain``, on a class of leftovers or on a key, batch by batch.

    ``text`` is the name of a class, or a key in any form of ``--key``. Raises CheckpointError if it
    is neither.
    """
    # A word that is neither a class nor a key is refused before anything is read.
    if text not in _CLASSES and _WORD.fullmatch(text) and not _HEX.fullmatch(text):
        near = get_close_matches(text.casefold(), _CLASSES, n=1)
        hint = f", did you mean {near[0]}?" if near else ";"
        raise CheckpointError(
            f"there is no class {text[:60]!r}{hint} the classes are {', '.join(_CLASSES)}, "
            f"and a key is named by {FORMS}"
        )
    judged = run.judge(run.facts(Request(leftover_limit=0)))
    if text in _CLASSES:
        return explain_class(judged, text)
    options = replace(run.options, key=text, where=(), redact=None)
    events = list(history(replace(run, options=options), raw=True).primary.rows)
    return explain_keys(judged, events)


def _report_of_keys(run: Run, limit: int) -> Report:
    """Return the report on leftovers among the keys that ``--key`` and ``--where`` name.

    A ``limit`` other than 0 lists at most that number of them. Keys among them that may be
    leftovers are in a table of their own, which has no limit.
    """
    facts = run.facts(FACTS)
    tasks = narrowed(run, run.tasks(FACTS))
    judged = run.judge(facts)
    notes_: list[str] = []

    def read(task: Task) -> Iterator[pa.RecordBatch]:
        """Yield the live rows of the task that match its filter."""
        return live_batches(run, [task])

    chosen = select_leftovers(facts.leftovers, tasks, read)
    HashedKeys(run.options, notes_).see([leftover.fact.key for leftover in chosen])
    total = sum(leftover.fact.rows for leftover in facts.totals)
    listed = chosen[:limit] if limit else chosen
    words = lt.LeftoverWords.of(run.checkpoint, judged.redact)
    part = f", {len(listed)} of {len(chosen)} listed" if len(listed) < len(chosen) else ""
    open_ = words.rows(select_leftovers(facts.undecided, tasks, read), lt.UndecidedKeyRow)
    undecided = [lt.UndecidedKeyRow.table("keys that may be leftovers", open_)] if open_ else []
    keys = lt.LeftoverRow.table(
        f"matching leftover keys{part}",
        words.rows(listed, lt.LeftoverRow),
        empty=f"none of the {total:,} leftovers is such a key",
    )
    summary = lt.proof_window(judged) | {
        "leftovers": len(chosen),
        "leftover_row_bytes": sum(leftover.fact.row_bytes for leftover in chosen),
        "all_leftovers": total,
    }
    return _report(judged, (keys, *undecided), summary, notes_)


def leftovers_report(judged: Judged, limit: int) -> Report:
    """Return the report on all leftovers: keys, oldest first, then counts and expiry rules.

    A ``limit`` other than 0 lists at most that number of keys; the counts are about all keys.
    """
    checkpoint, facts = judged.checkpoint, judged.facts
    words = lt.LeftoverWords.of(checkpoint, judged.redact)
    listed = facts.leftovers[:limit] if limit else facts.leftovers
    total = sum(count.fact.rows for count in facts.totals)
    row_bytes = sum(count.fact.row_bytes for count in facts.totals)
    result = leftover_count(judged)
    part = f", the oldest {len(listed):,} of {total:,}" if len(listed) < total else ""
    rows = words.rows(listed, lt.LeftoverRow)
    keys = lt.LeftoverRow.table(f"leftover keys{part}", rows, empty=_empty(checkpoint, facts))
    summary = lt.proof_window(judged) | {"leftovers": result}
    summary["leftover_row_bytes"] = None if result is None else row_bytes
    rules = [
        RuleRow(**store_ids(checkpoint, name), expires=expiry_text(rule), source=rule.source)
        for name, rule in _rules_of(checkpoint, facts)
    ]
    listed_again = []
    if total:
        # The sort is stable: among leftovers of one size the oldest come first.
        largest = sorted(facts.leftovers, key=lambda leftover: -leftover.fact.row_bytes)[:LARGEST]
        largest_rows = words.rows(largest, LargestLeftoverRow)
        listed_again.append(LargestLeftoverRow.table("largest leftovers", largest_rows))
        listed_again.append(lt.leftover_ages(judged))
    tables = (
        *(keys, lt.class_table(judged), *lt.undecided_tables(judged), *listed_again),
        *(*lt.undecided_keys(judged, judged.redact, limit), lt.age_table(judged)),
        *(*lt.retention_tables(judged), RuleRow.table("expiry rule of each store", rules)),
    )
    return _report(judged, tables, summary)


def _report(
    judged: Judged,
    tables: Sequence[t.Table],
    summary: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Report:
    """Return a report of the command with these tables, and with findings on the life of rows.

    ``notes`` come before the notes that every report of the command has.
    """
    return judged.report(
        *("leftovers", tables, summary),
        notes=(*notes, *lt.notes(judged.facts), *vouching_notes(judged)),
        footnotes=(NOTE,),
        findings=[f for f in findings_of(judged) if f.kind.group is Group.LIFETIME],
    )


def _empty(checkpoint: Checkpoint, facts: Facts) -> str:
    """Return the text of an empty table of leftovers: none, none known or none possible, and why.

    None is known if keys may be leftovers, or if no store has a known rule. None is possible if no
    store has a rule by which rows expire.
    """
    open_ = sum(total.fact.rows for total in facts.undecided_totals)
    if open_:
        be = "be a leftover" if open_ == 1 else "be leftovers"
        return f"none known, but {short_count_text(open_, 'key')} may {be}: see below"
    rules = [rule for *_, rule in _rules_of(checkpoint, facts)]
    unknown = sum(rule.unknown is not None and not rule.needs_none for rule in rules)
    if any(rule.expiry is not None for rule in rules):
        words = "none: every expired key has been removed"
        if not unknown:
            return words
        text = "rule of 1 store is" if unknown == 1 else f"rules of {unknown} stores are"
        return f"{words}; the {text} not known: see below"
    if unknown:
        return "none known, because no store has a known rule: see below"
    return "none possible, because no store has a rule by which rows expire: see below"


def _rules_of(checkpoint: Checkpoint, facts: Facts) -> Iterator[tuple[StoreName, StoreRule]]:
    """Yield each store of the selected operators with the rule by which its rows expire.

    The rule of a join is by the event time in its key if the facts show that this time decides.
    """
    for operator in checkpoint.operators:
        path = facts.key_times.get(operator.operator_id)
        for store, rule in operator.rules.items():
            yield StoreName(operator.operator_id, store), rule.by_key_time(path)
