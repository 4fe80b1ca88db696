"""``preflight``: judge whether a changed query restarts from a checkpoint with right results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from inspector.analyses.rows import rows as live_rows
from inspector.analyses.shared.conclusion import counted_verdict
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import FORMAT, STORAGE, Option, Options
from inspector.analyses.shared.rehearsals import (
    MOST_VERSIONS,
    TIMEOUT,
    Snapshot,
    Store,
    compared_versions,
    coverage_of,
    has_user_code,
    timeout_ms,
    timer_clock,
)
from inspector.discovery.loaded_snapshots import snapshot_problems
from inspector.discovery.query_sources import query_sources
from inspector.discovery.rehearsal_record import read_joins
from inspector.exceptions import CheckpointError
from inspector.findings import restart_judgement as judgement
from inspector.findings.finding import Finding
from inspector.findings.restart_rules import RELEASES, RULES, Restarts, release_of
from inspector.findings.verdict import Cause, Level, level_of
from inspector.light_dataclasses import dataclass, replace
from inspector.model import UNLISTED, TimeoutKind
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.transform_with_state import NAMES as TRANSFORM
from inspector.operators.transform_with_state import TTL_FIELD, Properties
from inspector.quantities import capitalise, long_duration_text
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report
from inspector.sums import group_by

_Key = TypeVar("_Key")  # type of the keys of two mappings
# beginnings of the names of transformWithState's own stores whose rows hold times of the clock
_CLOCK_STORES = ("$procTimers", "$ttl_", "$min_")


class PreflightRow(t.Row, table="lines"):
    """One thing that a restart depends on."""

    item: Annotated[t.Text, "What was compared.", t.Rank(2)]
    verdict: Annotated[
        t.Text,
        "From best to worst: `ok`, `ignored` (Spark keeps the old one), `option` (it starts if an "
        "option is set), `unknown` (no file decides it), `silent` (it starts, and its results are "
        "wrong), `refused` (it does not start).",
        t.Rank(1),
    ]
    old: Annotated[
        t.Text | None,
        "What the checkpoint in production has, such as id and name of an operator.",
        t.Rank(3),
    ]
    new: Annotated[t.Text | None, "What the changed query has.", t.Rank(4)]
    spark: Annotated[
        t.Text, "What Spark does; of a refusal its error and the releases that refuse.", t.WIDE
    ]
    what_to_do: Annotated[t.Text, "What you can do.", t.Rank(5)]
    rule: Annotated[t.Text, "The rule that says so: `inspector explain SS431`.", t.Rank(6)]
    issue: Annotated[
        t.Text | None, "The issue of Spark that made it so, if one is known.", t.Rank(7)
    ]
    operator_id: Annotated[t.OperatorId | None, t.WIDE]
    store_name: Annotated[t.StoreName | None, t.WIDE]


@analysis(uses=(STORAGE, FORMAT), tables=(PreflightRow,), fail_on="error", has_verdict=True)
def preflight(  # noqa: PLR0913 - what restarts the query, and what it is compared with
    path: str | Opened,
    new: Annotated[
        str | None, Option("The checkpoint of the changed query.", metavar="NEW")
    ] = None,
    options: Options | None = None,
    *,
    conf: Annotated[
        Mapping[str, str],
        Option("Configuration of the session after the restart; repeatable.", metavar="KEY=VALUE"),
    ] = {},
    before: Annotated[
        str | None,
        Option(
            "Checkpoint that the old query wrote from the same rows as NEW. It reveals changes "
            "of logic that leave no other trace.",
            metavar="CHECKPOINT",
        ),
    ] = None,
    to_spark: Annotated[
        str | None,
        Option(
            f"Spark release that restarts the query, {RELEASES[0]} to {RELEASES[-1]}.  "
            f"[default: {RELEASES[-1]}]",
            metavar="RELEASE",
        ),
    ] = None,
    mode: Annotated[
        Literal["micro-batch", "real-time", "async"] | None,
        Option(
            "Mode after the restart: async is asynchronous progress tracking.  "
            "[default: the mode that the query had]"
        ),
    ] = None,
) -> Report:
    """Check whether a changed query restarts from a checkpoint with correct results.

    PATH is the checkpoint in production. NEW is one that the changed query wrote in a test
    (``inspector explain deployment``); one committed batch is enough. Without NEW the query is
    taken as unchanged, and the lines say what another release (``--to-spark``), mode (``--mode``)
    or conf (``--conf``) does to this checkpoint. No rows of PATH are read, and Spark does not run.

    The worst line is the verdict, printed first. The exit code is 1 for refused and silent (wrong
    results), which are errors, 4 if files cannot be read, else 0. Unknown and option are warnings
    (``--fail-on warning``), ignored and ok information. No file records the logic of the query
    (filters, aggregates, code). So with NEW but without ``--before`` the verdict on a stateful
    query is ``unknown`` at best; only the line that says so is information, no warning.

    Raises:
        CheckpointError: the rules do not know the release, or ``before`` is without ``new``.
    """
    release = release_of(to_spark)
    if before is not None and new is None:
        raise CheckpointError("--before needs NEW, the checkpoint to compare it with")
    run = Opened.start(path, options)
    new_opened = None if new is None else Opened.start(new, run.options)
    old, side = _side(run), None if new_opened is None else _side(new_opened)
    states = None
    if before is not None and new_opened is not None:
        states = _same_rows(Opened.start(before, run.options), new_opened)
    of_snapshots = snapshot_problems(run.checkpoint)
    problems = (*run.listed, *of_snapshots)
    target = judgement.Target(release, conf, mode, to_spark or "")
    lines = judgement.Preflight(old, side, target, problems, states).lines()
    ordered = sorted(lines, key=lambda line: (-line.rule.verdict.rank, line.rule.informs))
    findings = [_finding(line) for line in ordered if line.rule.verdict is not Restarts.OK]
    new_problems = new_opened.listed if new_opened is not None else ()
    # Lines report what Spark refuses; only a problem reports rows that it loses without an error.
    lost = [problem for problem in of_snapshots if problem.slug == UNLISTED]
    subject = run.subject((*lost, *new_problems))
    counts = Counter(line.rule.verdict for line in lines)
    cause = _cause(findings, ordered, release)
    summary = {
        "answer": f"Spark {release} will start." if cause is None else cause.sentence,
        "new_checkpoint": None if new_opened is None else new_opened.checkpoint.root,
        "spark": release,
        "verdict": ordered[0].rule.verdict.value,
        **{
            f"lines_{verdict.value}": counts[verdict]
            for verdict in Restarts
            if verdict is not Restarts.OPTION or counts[verdict]
        },
    }
    return subject.report(
        "preflight",
        (PreflightRow.table("what a restart depends on", list(map(_row, ordered))),),
        summary,
        findings=findings,
        verdict=counted_verdict(findings, subject.problems, cause),
        rules=tuple(rule.kind for rule in RULES if rule.verdict is not Restarts.OK),
    )


def _same_rows(before: Opened, new: Opened) -> judgement.SameRows:
    """Compare two rehearsals that read the same rows: of the old query and of the new one.

    A rehearsal is a small checkpoint that a query wrote in a test; ``before`` is that of the old
    query. Returns by store and operator how many keys, values and timers differ, where TTLs or time
    ranges differ, and what the rows do not show.
    """
    sides = [
        {(o.operator_id, s): of for o in run.checkpoint.query for s, of in o.schemas.items()}
        for run in (before, new)
    ]
    groups = {
        store: fields
        for store, schema in sides[0].items()
        if any(fields := (judgement.alike_fields(schema.key), judgement.alike_fields(schema.value)))
    }
    evolved = {
        store: set.intersection(*({f.name for f in side[store].value.fields} for side in sides))
        for store in sides[0].keys() & sides[1].keys()
        if before.checkpoint.logs.conf_for(0, judgement.ENCODING).value == judgement.AVRO
        and sides[0][store].value != sides[1][store].value
    }
    distinct: set[Store] = set()  # stores of the old query where the fields of each group differ
    old_history = _rehearsed_history(before, groups, evolved, distinct)
    new_history = _rehearsed_history(new, groups, evolved, set())
    newest = old_history[before.checkpoint.newest_version]
    unread = newest.unread or new_history[new.checkpoint.newest_version].unread
    kinds = _timer_kinds((before, old_history), (new, new_history))
    with_rows = [
        {store for rows in history.values() for store in rows.counts}
        for history in (old_history, new_history)
    ]
    stores = sides[1].keys() | (with_rows[0] & with_rows[1])
    rows = {store: newest.counts.get(store, Counter()).total() for store in stores}
    if not any(rows.values()):  # a time jump at the end may have removed all rows
        for of_version in old_history.values():
            rows = {s: max(n, of_version.counts.get(s, Counter()).total()) for s, n in rows.items()}
    keys, values, timers = ({store: set[str]() for store in stores} for _ in range(3))
    for versions in compared_versions(before.checkpoint, new.checkpoint):
        if versions[0] not in old_history or versions[1] not in new_history:
            continue
        pair = old_history[versions[0]], new_history[versions[1]]
        for store in stores:
            old_rows, new_rows = (side.counts.get(store, Counter()) for side in pair)
            alone = {key for key, _ in old_rows} ^ {key for key, _ in new_rows}
            differing = (old_rows - new_rows) | (new_rows - old_rows)
            keys[store] |= alone
            values[store] |= {key for key, _ in differing}
            of_timers = [side.timers.get(store, {}) for side in pair]
            shared = of_timers[0].keys() & of_timers[1].keys()
            moved = {key for key in shared if of_timers[0][key] != of_timers[1][key]}
            kind = kinds.get(store[0])
            if kind is TimeoutKind.EVENT_TIME:
                values[store] |= moved
            elif kind is None:
                timers[store] |= moved
    coverages = [
        coverage_of(run.checkpoint, {v: rows.snapshot for v, rows in history.items()}, kinds)
        for run, history in ((before, old_history), (new, new_history))
    ]
    for store in _differing_keys(coverages[0].ttls, coverages[1].ttls):
        values.setdefault(store, set()).add("TTL")
    joins = [read_joins(run.checkpoint.storage) for run in (before, new)]
    for store in _first_stores(stores, _differing_keys(*joins)):
        values[store].add("time range")
    exact_ranges = joins[0].keys() & joins[1].keys()
    clock_timers = {store[0] for store in _differing_keys(coverages[0].timers, coverages[1].timers)}
    user_code = {o.operator_id for o in before.checkpoint.query if has_user_code(o)}
    fired = coverages[0].fired | coverages[1].fired
    by_clock = {n for n, kind in kinds.items() if kind is TimeoutKind.PROCESSING_TIME} | {
        o.operator_id for o in before.checkpoint.query if o.processor and _is_by_clock(o.processor)
    }
    return judgement.SameRows(
        _side(before),
        rows,
        {store: len(of) for store, of in keys.items()},
        {store: len(of - keys[store]) for store, of in values.items()},
        groups.keys() - distinct,
        unread,
        timers={store: len(of) for store, of in timers.items()},
        unread_operators=user_code - coverages[0].read_back - coverages[1].read_back,
        unfired_operators={
            number: number in by_clock
            for number in (coverages[0].timed | coverages[1].timed) - fired
        },
        open_ranges={
            number: _range_text(*distances)
            for number, distances in coverages[0].open_ranges.items()
            if number in fired and number not in exact_ranges
        },
        clock_timer_operators=clock_timers,
    )


def _differing_keys(before: Mapping[_Key, Any], new: Mapping[_Key, Any]) -> set[_Key]:
    """Return the keys that both mappings have with different values."""
    return {key for key in before.keys() & new.keys() if before[key] != new[key]}


def _first_stores(stores: Collection[Store], operators: Collection[int]) -> set[Store]:
    """Return the first store, by name, of each operator whose id is in ``operators``.

    Operators without a store in ``stores`` are left out.
    """
    groups = group_by(sorted(stores), lambda store: store[0])
    return {of_operator[0] for number, of_operator in groups.items() if number in operators}


def _range_text(kept: int | None, evicted: int | None) -> str:
    """Return a sentence on how far behind the watermark a join kept and evicted rows.

    ``kept`` is the greatest distance of a row that was kept, ``evicted`` the least of a row that
    was evicted, in ms. None if there was no such row.
    """
    if evicted is None:
        return f"No row was evicted up to {long_duration_text(kept or 0)} behind the watermark."
    first_evicted = long_duration_text(evicted)
    if kept is None:
        return f"Every row was evicted, first at {first_evicted}."
    return f"Rows were kept up to {long_duration_text(kept)} and evicted from {first_evicted} on."


def _is_by_clock(processor: Properties) -> bool:
    """Return True if the time mode of a transformWithState operator is processing time."""
    return "processing" in (processor.time_mode or "").lower()


@dataclass(frozen=True)
class _Rows:
    """Live rows of one state version of a rehearsal, a small checkpoint written in a test."""

    # number of rows by store, then by key and value as texts without times of the clock
    counts: Mapping[Store, Counter[tuple[str, str]]]
    # timers of group states in epoch ms, by store and text of the key; keys without one are absent
    timers: Mapping[Store, Mapping[str, int]]
    snapshot: Snapshot  # decoded key and value of each row, by store and by the key in hex
    unread: str  # a sentence on why not all rows could be read; "" if all were read


def _rehearsed_history(
    run: Opened,
    # by store, for the key and for the value: groups of positions of fields of one name and type
    groups: Mapping[Store, Sequence[Sequence[Sequence[int]]]],
    # the fields that both schemas of a store have whose values Avro resolves
    evolved: Mapping[Store, Collection[str]],
    distinct: set[Store],  # gets the stores with a row in which the fields of each group differ
) -> dict[int, _Rows]:
    """Return the live rows of a rehearsal by state version, from version 1 to the newest.

    Versions that cannot be read as a whole, or whose batch has no clock, are left out, except the
    newest one. Only the newest is read if its number is above ``MOST_VERSIONS``.
    """
    newest = run.checkpoint.newest_version
    versions = range(1, newest) if newest <= MOST_VERSIONS else ()
    history = {}
    for version in versions:
        if run.checkpoint.clock(version) is not None:
            options = replace(run.options, state_version=version)
            at_version = Opened.at(run.checkpoint, version, options, run.engine)
            rows = _rehearsed_rows(at_version, groups, evolved, distinct)
            if not rows.unread:
                history[version] = rows
    return {**history, newest: _rehearsed_rows(run, groups, evolved, distinct)}


def _timer_kinds(
    *sides: tuple[Opened, Mapping[int, _Rows]],
) -> dict[int, TimeoutKind | None]:
    """Return the clock that the timers of each group state follow, by operator id.

    The clock is None if it is not known. ``sides`` are rehearsals, each with its rows by version;
    the first one that shows the clock of an operator decides.
    """
    kinds: dict[int, TimeoutKind | None] = {}
    for run, history in sides:
        stores = {store for rows in history.values() for store in rows.timers}
        for store in sorted(stores):
            timers = (t for rows in history.values() for t in rows.timers.get(store, {}).values())
            kinds[store[0]] = kinds.get(store[0]) or timer_clock(run.checkpoint, timers)
    return kinds


def _rehearsed_rows(
    run: Opened,
    groups: Mapping[Store, Sequence[Sequence[Sequence[int]]]],
    evolved: Mapping[Store, Collection[str]],
    distinct: set[Store],
) -> _Rows:
    """Return the live rows of the version of ``run``, as texts that can be compared.

    ``groups`` has by store, for key and value, the groups of positions of fields of one name and
    type. A store with a row in which all fields of each group differ is added to ``distinct``.
    ``evolved`` has by store the fields of the value that both schemas have; only these count.
    """
    counts: dict[Store, Counter[tuple[str, str]]] = {}
    timers: dict[Store, dict[str, int]] = {}
    snapshot: dict[Store, dict[str, tuple[Any, Any]]] = {}
    names = {o.operator_id: o.name for o in run.checkpoint.query}
    report = live_rows(run, raw=True)
    for row in report.primary.rows:
        store = (row["operator_id"], row["store_name"])
        pair = row["key"], row["value"]
        if all(map(_differ, pair, groups.get(store, ((), ())))):
            distinct.add(store)
        words = [row["key_hex"], row["value_hex"]]
        name = names.get(store[0])
        clocks = {TIMEOUT} if name in GROUP_STATE else {TTL_FIELD} if name in TRANSFORM else set()
        if store in evolved:
            shared = evolved[store]
            # Avro may promote a whole number to a floating-point number.
            words[1] = {
                name: float(value) if isinstance(value, int) else value
                for name, value in (pair[1] or {}).items()
                if name in shared
            }
        elif store[1].startswith(_CLOCK_STORES) or (
            isinstance(pair[1], dict) and not clocks.isdisjoint(pair[1])
        ):
            words = [_without_clock(word, store[1]) for word in pair]
        key, value = (json.dumps(word, default=str) for word in words)
        counts.setdefault(store, Counter())[key, value] += 1
        timer = timeout_ms(pair[1]) if name in GROUP_STATE else None
        if timer is not None:
            timers.setdefault(store, {})[key] = timer
        snapshot.setdefault(store, {})[str(row["key_hex"])] = pair
    is_whole = level_of((), report.problems) is not Level.UNREADABLE
    unread = "" if is_whole else f"{run.checkpoint.root} cannot be read as a whole."
    return _Rows(counts, timers, snapshot, unread)


def _differ(row: Any, groups: Sequence[Sequence[int]]) -> bool:
    """Return True if within each group all fields of a row have different values.

    ``row`` is a decoded key or value; ``groups`` have positions of its fields.
    """
    values = [json.dumps(value, default=str) for value in (row or {}).values()]
    return all(len({values[index] for index in group}) == len(group) for group in groups)


def _without_clock(word: Any, store: str) -> Any:
    """Return the list of the field values of a decoded key or value, without times of the clock.

    The expiry time of a TTL is left out, and a timeout becomes True if it is set, else False. In
    stores of timers and of TTL indexes whole numbers are left out, too. A ``word`` that is no
    struct is returned unchanged. ``store`` is the name of the store.
    """
    if not isinstance(word, dict):
        return word
    # In a timer and in the index of a TTL whole numbers are such times.
    integers = store.startswith(_CLOCK_STORES)
    return [
        value is not None and value > 0 if name == TIMEOUT else value
        for name, value in word.items()
        if name != TTL_FIELD and not (integers and isinstance(value, int))
    ]


def _side(run: Opened) -> judgement.Side:
    """Return a checkpoint with the sources of its newest planned batch, to compare it.

    The sources are empty if the log entry of that batch could not be read. Raises CheckpointError
    if no batch was planned.
    """
    checkpoint, batch = run.checkpoint, run.checkpoint.logs.last_offset
    if batch is None:
        message = "no batch was planned, so there is nothing to compare"
        raise CheckpointError(message, checkpoint.root)
    is_read = batch in checkpoint.logs.confs  # else it is a problem already
    return judgement.Side(checkpoint, query_sources(checkpoint, batch) if is_read else ())


def _finding(line: judgement.Line) -> Finding:
    """Return a line of the report, on one thing that a restart depends on, as a finding.

    Its evidence is the item with the values before and now, if there are any.
    """
    kind = line.rule.kind
    # Both sides, if the line has them: ``min, max before, max, min now``.
    texts = [f"{side} {word}" for side, word in ((line.old, "before"), (line.new, "now")) if side]
    evidence = ": ".join(filter(None, (line.item, ", ".join(texts))))
    of = kind.certainties[0], evidence, line.rule.to_do, line.operator_id, line.store_name
    return Finding(kind, *of, severity=kind.severity)


def _cause(
    findings: Sequence[Finding], lines: Sequence[judgement.Line], release: str
) -> Cause | None:
    """Return the main finding with the sentence that answers first; None without findings.

    ``findings`` and ``lines`` begin with the most severe. The sentence says what Spark ``release``
    will do, and which confs it ignores. The shares of rows are None.
    """
    if not findings:
        return None
    first, line = findings[0], lines[0]
    verdict = line.rule.verdict
    if verdict is Restarts.REFUSED:
        error = f" Spark {release} raises {line.rule.error}." if line.rule.error else ""
        sentence = f"Spark will refuse to start: {_refusal(line)}.{error}"
    elif verdict is Restarts.SILENT:
        sentence = f"Spark will start, and its results will be wrong. {_doubt(first)}"
    elif verdict is Restarts.OPTION:
        sentence = f"Spark will start if the session or the query sets an option. {_doubt(first)}"
    elif verdict is Restarts.UNKNOWN and line.rule.about == "ansi":
        sentence = f"Spark {release} will start. {_doubt(first)}"
    elif verdict is Restarts.UNKNOWN:
        sentence = f"Whether the restart is right is not known. {_doubt(first)}"
    else:
        sentence = ""
    ignored = [line for line in lines if line.rule.verdict is Restarts.IGNORED]
    if verdict is not Restarts.REFUSED and ignored:
        kept = ", ".join(f"{o.item}={o.new} (it keeps {o.old or 'its default'})" for o in ignored)
        sentence = f"{sentence} Spark will ignore {kept}.".lstrip()
    return Cause(first, sentence, None, None, None, f"{first.next_step}.", first.command)


def _doubt(finding: Finding) -> str:
    """Return the title and cause of a finding as one sentence."""
    return f"{capitalise(finding.kind.title)}: {finding.cause}"


def _refusal(line: judgement.Line) -> str:
    """Return a clause on why Spark refuses, with the values before and now if the line has them.

    If both sides are lists of fields with different names, only the names are given.
    """
    if line.rule.about in _PARTS and line.old and line.new:
        part, old, new = _PARTS[line.rule.about], line.old, line.new
        names = [_names_of(side) for side in (old, new)]
        if names[0] != names[1]:
            old, new = names
        return f"the new {part} ({new}) does not match the state's ({old})"
    sides = [f"{side} {word}" for side, word in ((line.old, "before"), (line.new, "now")) if side]
    where = f": {', '.join(sides)}" if sides else ""
    return f"{line.rule.kind.title} ({line.item}{where})"


# name of a restart rule -> name of the part that it compares, such as ``key``; for the clause
# "the new ... does not match the state's" on why Spark refuses a query
_PARTS = {
    "key-schema": "key",
    "value-schema": "value",
    "operators": "list of stateful operators",
    "variable-kind": "kind of the state variable",
    "time-mode": "time mode",
    "output-mode": "output mode",
}


def _names_of(fields: str) -> str:
    """Return the names of the fields in a text such as ``date date, id struct<a: int>``.

    The result is a text, too: ``date, id``. Fields of structs are left out.
    """
    names, depth, start = [], 0, 0
    for position, letter in enumerate(f"{fields},"):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            names.append(fields[start:position].strip().partition(" ")[0])
            start = position + 1
    return ", ".join(names)


def _row(line: judgement.Line) -> PreflightRow:
    """Return a line of the judgement as a table row."""
    return PreflightRow(
        verdict=line.rule.verdict.value,
        spark=" ".join(filter(None, (line.rule.spark, line.detail))),
        what_to_do=line.rule.to_do,
        rule=line.rule.id,
        issue=line.rule.issues or None,
        **fields_of(line, "item", "old", "new", "operator_id", "store_name"),
    )
