"""``simulate``: the rows, bytes and heap that a changed query would have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from inspector.analyses.shared import options as o
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.judged import Judged, store_ids
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.store_heaps import heap_by_store, object_layout
from inspector.discovery.checkpoint import Operator
from inspector.discovery.tasks import Request
from inspector.discovery.what_if import delay_of, scenario_of
from inspector.estimates.heap import StoreHeap
from inspector.exceptions import CheckpointError
from inspector.facts.checks import SNAPSHOT_DIFFERS
from inspector.facts.expiring import Expiring
from inspector.facts.simulated import SimulatedRows
from inspector.facts.timed_out import DISPUTED
from inspector.facts.versions import VersionFacts
from inspector.light_dataclasses import replace
from inspector.model import (
    JOIN_COUNT_STORES,
    JOIN_INDEX_STORES,
    JOIN_ROW_STORES,
    JOIN_TIMED_ROW_STORES,
    StoreName,
    TimeoutKind,
)
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.rule import Scenario, Unknown, WhatIf
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import Family, timers_of
from inspector.operators.user_rules import parse_duration
from inspector.quantities import bytes_text, long_duration_text, short_count_text
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report
from inspector.sums import group_by, sum_or_none

# reason why the change has no effect on an aggregation whose due rows stay
_KEPT = "rows that are due stay, and none was ever removed, as in complete mode"
# certainties of a store's simulated numbers: they are exact, a lower bound, or an upper bound
EXACT, AT_LEAST, AT_MOST = "exact", "at least", "at most"
# certainties of a store's simulated numbers: they rest on an assumption, are the real numbers
# because the change has no effect, or are not known
INFERRED, UNCHANGED, UNKNOWN = "inferred", "unchanged", "unknown"
_UNDECIDED = (UNCHANGED, UNKNOWN)  # certainties of stores that are left out of the table by batch
# largest share of a deduplication's puts that may be of keys that were put before; above it the
# effect of a longer watermark delay is unknown, because keys come again
_AGAIN = 0.02
# premise, for "if ...", of the numbers of an aggregation of which no row was due yet
_NOT_COMPLETE = "the output mode is not complete, which no row shows, as none was due yet"
# changes of a query that can be simulated: name of the option -> words before its value
_CHANGES = {
    "watermark_delay": "a watermark delay of",
    "timeout": "a timeout of",
    "ttl": "a TTL of",
    "dedup_within": "dropDuplicatesWithinWatermark of",
}
# reason for the certainty ``at least``: the changed watermark would drop fewer rows as late
_LATE = "what was dropped as late would have been kept, and is in no file; exact if nothing was"
# reason for the certainty ``at least``: rows of keys that were there were not put
_CAME_AGAIN = (
    "what came while its key was there would be put again, and is in no file; exact if nothing did"
)
# reason for the certainty ``at most``: it is not known which older rows would have been late
_MAYBE_LATE = "what came before the oldest version may have been late"
# reason for the certainty ``at most``: the input may be smaller
_FED_LESS = "an operator before it may drop more as late; exact if it does not"
# reason for the certainty ``at least``: rows may have been removed before the oldest version
_BEFORE = (
    "rows that went before the oldest version, or within a batch of real-time mode, would still be "
    "there"
)
# bytes of an UnsafeRow of one field, such as a counter or a null: null bits and a word
_LONG_BYTES = 16
# footnote of the report: the batches that the numbers are about, and which number is an estimate
FOOTNOTE = (
    "The same input, batch by batch, in the versions that can be read and whose clock is known; "
    "the peak is the most of these. The heap is an estimate for two retained versions."
)


class SimulatedRow(t.StoreRow, table="simulated", empty="the query keeps no state"):
    """One store: its real and its simulated numbers."""

    operator_id: Annotated[t.OperatorId, t.Rank(5)]
    operator_name: Annotated[t.OperatorName | None, t.Rank(11)]
    store_name: Annotated[t.StoreName | None, t.Rank(0)]
    rows: Annotated[t.Rows, t.Rank(3)]
    rows_then: Annotated[t.Rows | None, "Rows that there would be.", t.Rank(1)] = None
    row_bytes: Annotated[t.RowBytes, t.Rank(6)]
    row_bytes_then: Annotated[
        t.RowBytes | None, "Key and value bytes that there would be.", t.Rank(2)
    ] = None
    heap_bytes: Annotated[t.HeapBytes | None, t.Title("heap"), t.Rank(10)]
    heap_bytes_then: Annotated[
        t.HeapBytes | None, "Heap that there would be.", t.Title("heap then"), t.Rank(8)
    ] = None
    peak_rows: Annotated[t.Rows, "The most rows of any version that can be read.", t.Rank(12)]
    peak_rows_then: Annotated[
        t.Rows | None, "The most rows that there would have been.", t.Rank(7)
    ] = None
    peak_bytes_then: Annotated[
        t.RowBytes | None,
        "The most bytes that there would have been; `batches` has the real ones.",
        t.Rank(9),
    ] = None
    peak_heap_bytes_then: Annotated[
        t.HeapBytes | None, "Heap at `peak_batch_id`.", t.Title("peak heap then"), t.WIDE
    ] = None
    peak_batch_id: Annotated[t.BatchId | None, "The batch of `peak_bytes_then`.", t.WIDE] = None
    certainty: Annotated[
        t.Text,
        "`exact`, `at least`, `at most`, `inferred` (see `why`), `unknown`, or `unchanged` (the "
        "setting does not concern this store).",
        t.Rank(4),
    ]
    why: Annotated[t.Text | None, "Why it is so, or what is assumed.", t.WIDE]


class SimulatedBatchRow(t.StoreRow, table="batches", empty="no store is simulated"):
    """One store after one batch: its real and its simulated numbers."""

    batch_id: Annotated[t.BatchId, t.Rank(1)]
    batch_timestamp_ms: Annotated[t.BatchTimestampMs | None, t.Rank(6)]
    rows: Annotated[t.Rows, t.Rank(3)]
    rows_then: Annotated[t.Rows, "Rows that there would have been.", t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(5)]
    row_bytes_then: Annotated[t.RowBytes, "Bytes that there would have been.", t.Rank(4)]


def _wrong(values: Mapping[str, Any]) -> str | None:
    """Return an error unless exactly one change of the query is given; None if one is.

    ``values`` has the values of options by name; None for an option that is not given. The error is
    a sentence.
    """
    if sum(values.get(name) is not None for name in _CHANGES) != 1:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in _CHANGES)
        return f"expected one change of the query: one of {flags}"
    return None


# facts (results of reading state files) that the command requests of its tasks, in addition to the
# simulated rows: those of each version, and when the live rows expire
FACTS = Request(expiring=True)

# function from a help text to the declaration of an option that takes a duration, such as 1h
_duration = partial(o.Option, metavar="DURATION")
# help text of ``--watermark-delay``
_WATERMARK_DELAY = (
    "Delay of withWatermark, such as 1h: for all operators whose rows the watermark removes."
)
# help text of ``--dedup-within``
_DEDUP_WITHIN = (
    "Replace the deduplication with dropDuplicatesWithinWatermark and this watermark delay."
)


@analysis(
    uses=(o.RULES, o.REPLAY),
    tables=(SimulatedRow, SimulatedBatchRow),
    facts=FACTS,
    many=True,
    check=_wrong,
)
def simulate(  # noqa: PLR0913 - each change is an option of the command
    path: str | Opened,
    options: o.Options | None = None,
    *,
    watermark_delay: Annotated[str | None, _duration(_WATERMARK_DELAY)] = None,
    timeout: Annotated[
        str | None, _duration("Timeout of group state after the last call for a key.")
    ] = None,
    ttl: Annotated[
        str | None, _duration("TTL of the state variables of transformWithState.")
    ] = None,
    dedup_within: Annotated[str | None, _duration(_DEDUP_WITHIN)] = None,
    old_delay: Annotated[
        str | None,
        _duration("Current watermark delay of the query, if its schemas do not record it."),
    ] = None,
) -> Report:
    """Simulate another watermark delay, timeout or TTL: rows, bytes and heap, now and at peak.

    Replays every version that can be read, and drops each row when the changed rule would. Give one
    of the first four options below, with one value. Now is the batch of --batch, the peak is the
    most of any version. Rows dropped or removed before are in no file, so that a longer time often
    gives ``at least``. ``inspector explain limits`` has what stays unknown, such as joins without
    --join-retention.
    """
    scenarios_given = watermark_delay, timeout, ttl, dedup_within, old_delay
    texts = dict(zip((*_CHANGES, "old_delay"), scenarios_given, strict=True))
    problem = _wrong(texts)
    if problem is not None:
        raise CheckpointError(problem)
    try:
        times = {name: parse_duration(text) for name, text in texts.items() if text is not None}
    except ValueError as error:
        raise CheckpointError(str(error)) from None
    change = WhatIf(**{f"{name}_ms": time for name, time in times.items()})
    name = next(name for name in _CHANGES if name in times)
    run = Run.start(path, options)
    judged = run.judge(run.facts(replace(FACTS, what_if=change)))
    sentence = f"{_CHANGES[name]} {long_duration_text(times[name])}"
    if change.watermark_delay_ms is not None:
        old = times.get("old_delay", delay_of(judged.checkpoint))
        sentence += "" if old is None else f" (now {long_duration_text(old)})"
    return simulate_report(judged, change, sentence)


def simulate_report(judged: Judged, change: WhatIf, sentence: str) -> Report:
    """Return the report on the real and the simulated state: a table by store, then one by batch.

    ``judged`` has the facts of tasks that simulated ``change``. ``sentence`` names the change, such
    as ``a timeout of 1 hour``.
    """
    heaps = heap_by_store(judged)
    stores = judged.facts.by_store()
    unchanged, untried = _kept_stores(judged, stores)
    then = {
        name: _by_version(judged, name, simulated)
        for name, simulated in judged.facts.merged(SimulatedRows).items()
        if name not in unchanged
    }
    operators = {o.operator_id: o for o in judged.checkpoint.operators}
    followed: dict[StoreName, StoreName] = {}
    for name, versions in stores.items():
        leader = _leader(operators[name.operator_id], name)
        if leader in stores:
            followed[name] = leader
        if leader in then:
            then[name] = {
                version: _follow(operators[name.operator_id], name, rows, versions)
                for version, rows in then[leader].items()
                if version in versions
            }

    def scenario(name: StoreName) -> Scenario | str:
        """Return the scenario of the change for a store, or a clause on why there is none.

        A store that follows another one has the scenario of the other one. The clause is an
        ``Unknown`` if the numbers are not known, and not only unchanged.
        """
        name = followed.get(name, name)
        operator = operators[name.operator_id]
        planned = scenario_of(judged.checkpoint, operator, name.store_name, change)
        if isinstance(planned, str):
            return planned
        if name in unchanged:
            return _KEPT
        if judged.version not in then.get(name, {}):
            return Unknown("the offset log of the batch is gone, which has its clock")
        rows = then[name][judged.version]
        shorter = planned.clock_shift_ms > 0
        if planned.first_put and shorter and not rows.seen_again:
            return replace(planned, premise="")
        limit = 0 if shorter else rows.seen * _AGAIN
        if planned.first_put and planned.premise and rows.seen_again > limit:
            return Unknown(
                f"{rows.seen_again:,} of {rows.seen:,} puts are of keys that were put before: keys "
                "come again, and what came while a key was there is in no file"
            )
        return replace(planned, premise=planned.premise or _NOT_COMPLETE * (name in untried))

    rows = [
        _row(judged, name, versions, then.get(name, {}), heaps.get(name), scenario(name))
        for name, versions in stores.items()
        if judged.version in versions
    ]
    summary = judged.coverage | {
        "rows": sum(row.rows for row in rows),
        "simulated_rows": sum_or_none(row.rows_then for row in rows),
        "row_bytes": sum(row.row_bytes for row in rows),
        "simulated_row_bytes": sum_or_none(row.row_bytes_then for row in rows),
    }
    text = " ".join((_answer(rows, sentence), *_reasons(rows)))
    batches = list(_batches(judged, rows, then))
    return judged.report(
        "simulate",
        (SimulatedRow.table(text, rows), SimulatedBatchRow.table("batches", batches)),
        summary,
        footnotes=(FOOTNOTE,),
    )


def _answer(rows: Sequence[SimulatedRow], sentence: str) -> str:
    """Return the sentence on how many rows and bytes the state would have, and has.

    It says so if nothing would change, or if that is not known; stores whose numbers are not known
    are left out of the sums. ``sentence`` names the change, such as ``a watermark delay of 1 h``;
    it is part of the result.
    """
    answered = [row for row in rows if row.certainty != UNKNOWN]
    certainties = {row.certainty for row in answered}
    if not answered:
        return f"What the state would hold with {sentence} is not known."
    if certainties == {UNCHANGED}:
        scope = "" if answered == rows else ", as far as it is known"
        return f"With {sentence} nothing would change{scope}."
    now, later, size, size_then = (
        sum(getattr(row, name) or 0 for row in answered)
        for name in ("rows", "rows_then", "row_bytes", "row_bytes_then")
    )
    scope = "the state" if answered == rows else "the stores of which it is known"
    if (later, size_then) == (now, size):
        size_text = f"{short_count_text(now, 'row')} ({bytes_text(size)})"
        return f"No difference: with {sentence} {scope} would hold {size_text}, as it does now."
    return (
        f"With {sentence} {scope} would hold {bound_of_sum(certainties)}"
        f"{short_count_text(later, 'row')} ({bytes_text(size_then)}) in place of "
        f"{short_count_text(now, 'row')} ({bytes_text(size)})."
    )


def bound_of_sum(certainties: Collection[str]) -> str:
    """Return the words, with a blank, that go before a sum of numbers with these certainties.

    They are ``at least`` or ``at most`` if all bounds are alike, and ``about`` for inferred numbers
    and for a mix. Returns "" if all numbers are exact or unchanged.
    """
    bounds = [c for c in (AT_LEAST, AT_MOST, INFERRED) if c in certainties]
    word = bounds[0] if len(bounds) == 1 and bounds != [INFERRED] else "about"
    return f"{word} " if bounds else ""


def _reasons(rows: list[SimulatedRow]) -> Iterator[str]:
    """Yield a sentence for each certainty and its reason, such as ``At most: an operator ...``.

    It names the stores with this certainty and reason, unless all rows have them. Rows without a
    reason are passed over.
    """
    names_operators = len({row.operator_id for row in rows}) > 1
    groups = group_by(rows, lambda row: (row.certainty, row.why))
    for (certainty, why), group in groups.items():
        if why is None:
            continue
        names = [f"{r.operator_id}:" * names_operators + str(r.store_name) for r in group]
        stores = "" if len(names) == len(rows) else f" ({', '.join(names)})"
        yield f"{certainty.capitalize()}{stores}{' ' if why.startswith('if ') else ': '}{why}."


def _row(
    judged: Judged,
    name: StoreName,
    versions: Mapping[int, VersionFacts],
    then: Mapping[int, SimulatedRows],
    heap: int | None,
    scenario: Scenario | str,
) -> SimulatedRow:
    """Return the row on the store ``name``, with its real and its simulated numbers.

    ``versions`` has the real facts by version, ``then`` the simulated rows by version. ``heap`` is
    the real heap in bytes; None if the rows are not on a heap. ``scenario`` is a clause on the
    reason if there is no simulation.
    """
    now, judged_version = versions[judged.version], judged.version
    peak_rows = max(facts.rows for facts in versions.values())
    peak = max(then, key=lambda v: (_size(then[v]), -v), default=judged_version)
    store_problems = (p for p in judged.problems if p.store is not None and p.store.name == name)
    disputed = any(problem.slug == SNAPSHOT_DIFFERS for problem in store_problems)
    if isinstance(scenario, str):
        certainty = UNKNOWN if isinstance(scenario, Unknown) else UNCHANGED
        why: str | None = str(scenario)
    else:
        is_complete = all(
            then[version].whole == then[version].stores for version in (judged_version, peak)
        )
        certainty, why = (INFERRED, DISPUTED) if disputed else _certainty(scenario, is_complete)
    numbers: dict[str, int | None] = {}
    if certainty == UNCHANGED:
        numbers = {"rows_then": now.rows, "row_bytes_then": now.row_bytes, "heap_bytes_then": heap}
        numbers["peak_rows_then"] = peak_rows
        numbers["peak_bytes_then"] = max(facts.row_bytes for facts in versions.values())
    elif certainty != UNKNOWN:
        numbers = {
            "rows_then": then[judged_version].rows,
            "row_bytes_then": _size(then[judged_version]),
        }
        numbers["peak_rows_then"] = max(rows.rows for rows in then.values())
        numbers |= {"peak_bytes_then": _size(then[peak]), "peak_batch_id": peak - 1}
        if heap is not None:
            heap_now = _heap(judged, versions, judged_version, now.stores)
            for label, version in (
                ("heap_bytes_then", judged_version),
                ("peak_heap_bytes_then", peak),
            ):
                pair = {v: _facts(then, v, versions) for v in (version - 1, version) if v in then}
                heap_then = _heap(judged, pair, version, now.stores)
                numbers[label] = round(heap * heap_then / heap_now)
    return SimulatedRow(
        **store_ids(judged.checkpoint, name),
        rows=now.rows,
        row_bytes=now.row_bytes,
        heap_bytes=heap,
        peak_rows=peak_rows,
        certainty=certainty,
        why=why,
        **numbers,
    )


def _certainty(scenario: Scenario, is_complete: bool) -> tuple[str, str | None]:
    """Return how certain the numbers of a scenario are, and the reason; None for exact numbers.

    ``is_complete`` is True if no partition may lack rows: rows that were removed before its oldest
    readable version, or within a batch of real-time mode.
    """
    if scenario.clock_shift_ms < 0:
        result = AT_LEAST, _LATE
    elif scenario.first_put and scenario.event_before_ms and scenario.clock_shift_ms:
        result = AT_LEAST if is_complete else INFERRED, _CAME_AGAIN
    elif scenario.event_before_ms is not None and not is_complete:
        result = AT_MOST, _MAYBE_LATE
    elif scenario.fed_less:
        result = AT_MOST, _FED_LESS
    elif not is_complete:
        result = AT_LEAST, _BEFORE
    elif scenario.premise:
        return INFERRED, f"if {scenario.premise}"
    else:
        return EXACT, None
    if scenario.premise:
        return INFERRED, f"if {scenario.premise}; {result[1]}"
    return result


# names of the stores of a join whose rows follow from those of another store
_FOLLOWERS = (*JOIN_COUNT_STORES, *JOIN_INDEX_STORES)
# name of a store of a join that follows another store -> name of that other store
_ROWS_OF = dict(zip(_FOLLOWERS, (*JOIN_ROW_STORES, *JOIN_TIMED_ROW_STORES), strict=True))
# kinds of transformWithState's own stores whose rows follow from those of a state variable
_OF_VARIABLE = (Family.TTL_INDEX, Family.MIN_EXPIRY, Family.ENTRY_COUNT)


def _leader(operator: Operator, name: StoreName) -> StoreName | None:
    """Return the store of ``operator`` whose rows decide the rows of the store ``name``.

    Joins and transformWithState have such stores. None if the rows follow from no other store.
    """
    leader = _ROWS_OF.get(name.store_name)
    family = operator.family(name.store_name)
    if family in _OF_VARIABLE:
        leader = operator.variable(name.store_name)
    elif family is Family.TIMERS_BY_TIME:
        leader = timers_of(name.store_name)
    return None if leader is None else name._replace(store_name=leader)


def _follow(
    operator: Operator, name: StoreName, rows: SimulatedRows, versions: Mapping[int, VersionFacts]
) -> SimulatedRows:
    """Return the simulated rows of the store ``name``, which follows another store.

    ``rows`` are the simulated rows of the other store. The result has one row for each of them, or
    for each of their keys. In transformWithState its rows have the mean length that they have in
    ``versions``, the real versions of the store.
    """
    leader, keys = _leader(operator, name), rows.rows
    is_list = leader is not None and operator.family(leader.store_name) is Family.LIST
    if is_list or name.store_name in JOIN_COUNT_STORES:
        keys = rows.join_keys
        rows = replace(rows, rows=keys, key_bytes=rows.join_key_bytes)
    put = min(rows.put_rows, keys)
    if operator.processor is None:
        key_bytes, value_bytes = rows.key_bytes, keys * _LONG_BYTES
    else:
        now = versions.values()
        there = max(1, sum(facts.rows for facts in now))
        key_bytes = round(keys * sum(facts.key_bytes for facts in now) / there)
        value_bytes = round(keys * sum(facts.value_bytes for facts in now) / there)
    mean_bytes = put / keys if keys else 0
    return replace(
        rows,
        key_bytes=key_bytes,
        value_bytes=value_bytes,
        put_rows=put,
        put_key_bytes=round(key_bytes * mean_bytes),
        put_value_bytes=round(value_bytes * mean_bytes),
    )


def _facts(
    then: Mapping[int, SimulatedRows], version: int, versions: Mapping[int, VersionFacts]
) -> VersionFacts:
    """Return the facts of a simulated version that an estimate of its heap needs.

    ``then`` has the simulated rows by version, ``versions`` the real facts by version. The number
    of keys that a put overwrites is taken from the real version.
    """
    rows, real = then[version], versions[version]
    previous_rows = then[version - 1].rows if version - 1 in then else 0
    overwritten = min(real.changed_rows + real.same_value_rows, rows.put_rows, previous_rows)
    new = rows.put_rows - overwritten
    new_key_bytes = rows.put_key_bytes * new // max(1, rows.put_rows)
    return VersionFacts(
        rebased=int(version - 1 not in then and version > 1),
        rows=rows.rows,
        key_bytes=rows.key_bytes,
        value_bytes=rows.value_bytes,
        new_rows=new,
        removed_rows=previous_rows + new - rows.rows,
        shared_rows=rows.rows - rows.put_rows,
        shared_keys=rows.rows - new,
        shared_key_bytes=rows.key_bytes - new_key_bytes,
        shared_value_bytes=rows.value_bytes - rows.put_value_bytes,
    )


def _by_version(
    judged: Judged,
    name: StoreName,
    simulated: Mapping[tuple[int, TimeoutKind | None], SimulatedRows],
) -> dict[int, SimulatedRows]:
    """Return the simulated rows of the store ``name`` by version, for one clock of its timers.

    ``simulated`` has the rows by version and assumed clock. The result is for the clock that the
    timers follow; if that is not known, and both were assumed, it is processing time.
    """
    resolution = judged.facts.resolution
    kind = resolution.clock_of(name, judged.version).kind or resolution.usual_clock(name)
    kinds = {row_kind for _, row_kind in simulated}
    if kind not in kinds:
        kind = next(iter(kinds)) if len(kinds) == 1 else TimeoutKind.PROCESSING_TIME
    return {version: rows for (version, row_kind), rows in simulated.items() if row_kind is kind}


def _kept_stores(
    judged: Judged, stores: Mapping[StoreName, Mapping[int, VersionFacts]]
) -> tuple[set[StoreName], set[StoreName]]:
    """Return two sets of stores of aggregations that never removed a row.

    Those of the first set have rows that are due, so the query is in complete mode:
    StateStoreSaveExec and SessionWindowStateStoreSaveExec evict in append and update mode only (2.4
    to 4.3). Those of the second set have no due rows. ``stores`` has the facts of each store by
    version.
    """
    operators, names = judged.checkpoint.operators, (*AGGREGATIONS, *SESSION)
    ids = {operator.operator_id for operator in operators if operator.name in names}
    untried = {
        name: any(expiring.due_rows for expiring in forecasts.values())
        for name, forecasts in judged.facts.merged(Expiring).items()
        if name.operator_id in ids and not any(facts.removals for facts in stores[name].values())
    }
    due_names = {name for name, due in untried.items() if due}
    return due_names, set(untried) - due_names


def _size(rows: SimulatedRows) -> int:
    """Return the key and value bytes of the simulated rows together."""
    return rows.key_bytes + rows.value_bytes


def _heap(
    judged: Judged, versions: Mapping[int, VersionFacts], version: int, partitions: int
) -> int:
    """Return the estimated heap bytes of a version and the one before together; at least 1.

    ``versions`` has the facts of a store by version. The rows are taken to be spread evenly over
    the number of ``partitions``.
    """
    layout = object_layout(judged.checkpoint, judged.version)
    pair = {v: versions[v] for v in (version - 1, version) if v in versions}
    return max(1, StoreHeap(pair, layout).of_alike(max(1, partitions)).total)


def _batches(
    judged: Judged,
    rows: Iterable[SimulatedRow],
    then: Mapping[StoreName, Mapping[int, SimulatedRows]],
) -> Iterator[SimulatedBatchRow]:
    """Yield a row for each version of each store whose simulation has a result, store by store.

    ``rows`` have the certainty of each store; stores that are unchanged or unknown are left out.
    ``then`` has the simulated rows by store and version.
    """
    stores = judged.facts.by_store()
    decided = {(r.operator_id, r.store_name) for r in rows if r.certainty not in _UNDECIDED}
    for name in then:
        for version in sorted(then[name]) if tuple(name) in decided else ():
            clock = judged.checkpoint.clock(version)
            yield SimulatedBatchRow(
                **store_ids(judged.checkpoint, name),
                batch_id=version - 1,
                batch_timestamp_ms=clock.timestamp_ms if clock else None,
                **fields_of(stores[name][version], "rows", "row_bytes"),
                rows_then=then[name][version].rows,
                row_bytes_then=_size(then[name][version]),
            )
