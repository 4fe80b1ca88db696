"""``preflight``: will a changed query restart from a checkpoint, and will it still be right."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

from inspector.analyses.rows import rows as live_rows
from inspector.analyses.shared.conclusion import counted_verdict
from inspector.analyses.shared.declare import analysis
from inspector.analyses.shared.opening import Opened
from inspector.analyses.shared.options import FORMAT, STORAGE, Option, Options
from inspector.discovery.loaded_snapshots import loaded_snapshot_problems
from inspector.discovery.query_sources import query_sources
from inspector.exceptions import CheckpointError
from inspector.findings import restart_judgement as judgement
from inspector.findings.finding import Finding
from inspector.findings.restart_rules import RELEASES, RULES, Restarts, release_of
from inspector.findings.verdict import Cause, Level, level_of
from inspector.model import UNLISTED
from inspector.operators.transform_with_state import TTL_FIELD
from inspector.quantities import capitalise
from inspector.render import tabular as t
from inspector.render.plain import fields_of
from inspector.render.report import Report

_TIMEOUT = "timeoutTimestamp"
_CLOCKS = {TTL_FIELD, _TIMEOUT}  # fields that hold a time: two runs never write the same
_CLOCK_STORES = ("$procTimers", "$ttl_", "$min_")  # beginnings of stores that hold such times


class PreflightRow(t.Row, table="lines"):
    """One thing that a restart depends on."""

    item: Annotated[t.Text, "What was compared.", t.Rank(2)]
    verdict: Annotated[
        t.Text,
        "`ok`, `ignored` (Spark keeps the old one), `option` (it starts with an option alone), "
        "`refused` (it does not start), `silent` (it starts, and its results are wrong) or "
        "`unknown` (no file decides it).",
        t.Rank(1),
    ]
    old: Annotated[t.Text | None, "What the checkpoint in production has.", t.Rank(3)]
    new: Annotated[t.Text | None, "What the changed query has.", t.Rank(4)]
    spark: Annotated[
        t.Text, "What Spark does; of a refusal its error and the releases that refuse.", t.WIDE
    ]
    what_to_do: Annotated[t.Text, "What you can do.", t.Rank(5)]
    rule: Annotated[t.Text, "The rule that says so: `inspector explain SS431`.", t.Rank(6)]
    operator_id: Annotated[t.OperatorId | None, t.WIDE]
    store_name: Annotated[t.StoreName | None, t.WIDE]


@analysis(uses=(STORAGE, FORMAT), tables=(PreflightRow,), fail_on="error", has_verdict=True)
def preflight(
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
) -> Report:
    """Check whether a changed query restarts from a checkpoint with correct results.

    PATH is the checkpoint in production. NEW is a small one that the changed query wrote in a
    test; one committed batch is enough. Without NEW, only ``--conf`` and ``--to-spark`` are judged.
    Each line is one thing that a restart depends on, and the verdict is that of the worst line.
    Changes that leave no trace in a checkpoint, such as another filter, are found only with
    ``--before``: without it the verdict on a stateful query is ``unknown`` at best.

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
    of_snapshots = loaded_snapshot_problems(run.checkpoint)
    problems = (*run.listed, *of_snapshots)
    lines = judgement.Preflight(old, side, conf, release, problems, states).lines()
    ordered = sorted(lines, key=lambda line: (-line.rule.verdict.rank, line.rule.informs))
    findings = [_finding(line) for line in ordered if line.rule.verdict is not Restarts.OK]
    new_problems = new_opened.listed if new_opened is not None else ()
    # A line says what Spark refuses; of rows that it loses without an error only a problem does.
    lost = [problem for problem in of_snapshots if problem.slug == UNLISTED]
    subject = run.subject((*lost, *new_problems))
    counts = Counter(line.rule.verdict for line in lines)
    summary = {
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
        verdict=counted_verdict(findings, subject.problems, _cause(findings)),
        rules=tuple(rule.kind for rule in RULES if rule.verdict is not Restarts.OK),
    )


def _same_rows(before: Opened, new: Opened) -> judgement.SameRows:
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
    distinct: set[_Store] = set()  # stores of the old query where the fields of each group differ
    olds, unread_before = _rehearsed_rows(before, groups, evolved, distinct)
    news, unread = _rehearsed_rows(new, groups, evolved, set())
    rows, keys, values = {}, {}, {}
    for store in sides[1].keys() | (olds.keys() & news.keys()):
        old_rows, new_rows = olds.get(store, Counter()), news.get(store, Counter())
        rows[store] = old_rows.total()
        keys[store] = len({key for key, _ in old_rows} ^ {key for key, _ in new_rows})
        differing = (old_rows - new_rows) | (new_rows - old_rows)
        values[store] = len({key for key, _ in differing}) - keys[store]
    indistinct = groups.keys() - distinct
    return judgement.SameRows(
        _side(before), rows, keys, values, indistinct, unread_before or unread
    )


_Store = tuple[int, str]


def _rehearsed_rows(
    run: Opened,
    groups: Mapping[_Store, Sequence[Sequence[Sequence[int]]]],  # fields of one name and type
    # those that both schemas of a store have whose values Avro resolves
    evolved: Mapping[_Store, Collection[str]],
    distinct: set[_Store],  # gets the stores with a row in which the fields of each group differ
) -> tuple[dict[_Store, Counter[tuple[str, str]]], str]:
    """How often each key and value is there by store, and why not all rows could be read or ""."""
    stores: dict[_Store, Counter[tuple[str, str]]] = {}
    report = live_rows(run, raw=True)
    for row in report.primary.rows:
        store = (row["operator_id"], row["store_name"])
        pair = row["key"], row["value"]
        if all(map(_differ, pair, groups.get(store, ((), ())))):
            distinct.add(store)
        words = [row["key_hex"], row["value_hex"]]
        if store in evolved:
            shared = evolved[store]
            # A whole number is that which Avro may promote it to.
            words[1] = {
                name: float(value) if isinstance(value, int) else value
                for name, value in (pair[1] or {}).items()
                if name in shared
            }
        elif store[1].startswith(_CLOCK_STORES) or (
            isinstance(pair[1], dict) and not _CLOCKS.isdisjoint(pair[1])
        ):
            words = [_without_clock(word, store[1]) for word in pair]
        key, value = (json.dumps(word, default=str) for word in words)
        stores.setdefault(store, Counter())[key, value] += 1
    is_whole = level_of((), report.problems) is not Level.UNREADABLE
    return stores, "" if is_whole else f"{run.checkpoint.root} cannot be read as a whole."


def _differ(row: Any, groups: Sequence[Sequence[int]]) -> bool:
    """Whether in each group of fields every one has a value of its own."""
    values = [json.dumps(value, default=str) for value in (row or {}).values()]
    return all(len({values[index] for index in group}) == len(group) for group in groups)


def _without_clock(word: Any, store: str) -> Any:
    """The fields of a key or value without times of the clock: a timeout is set, or it is not."""
    if not isinstance(word, dict):
        return word
    # In a timer and in the index of a TTL whole numbers are such times.
    integers = store.startswith(_CLOCK_STORES)
    return [
        value is not None and value > 0 if name == _TIMEOUT else value
        for name, value in word.items()
        if name != TTL_FIELD and not (integers and isinstance(value, int))
    ]


def _side(run: Opened) -> judgement.Side:
    """A checkpoint, with the sources of its newest batch; CheckpointError if none was planned."""
    checkpoint, batch = run.checkpoint, run.checkpoint.logs.last_offset
    if batch is None:
        message = "no batch was planned, so there is nothing to compare"
        raise CheckpointError(message, checkpoint.root)
    is_read = batch in checkpoint.logs.confs  # else it is a problem already
    return judgement.Side(checkpoint, query_sources(checkpoint, batch) if is_read else ())


def _finding(line: judgement.Line) -> Finding:
    kind = line.rule.kind
    # Both sides as far as it has them: ``min, max before, max, min now``.
    texts = [f"{side} {word}" for side, word in ((line.old, "before"), (line.new, "now")) if side]
    evidence = ": ".join(filter(None, (line.item, ", ".join(texts))))
    of = kind.certainties[0], evidence, line.rule.to_do, line.operator_id, line.store_name
    return Finding(kind, *of, severity=kind.severity)


def _cause(findings: Sequence[Finding]) -> Cause | None:
    if not findings:
        return None
    first = findings[0]
    sentence = f"{capitalise(first.kind.title)}: {first.cause}"
    return Cause(first, sentence, None, None, None, f"{first.next_step}.", first.command)


def _row(line: judgement.Line) -> PreflightRow:
    return PreflightRow(
        verdict=line.rule.verdict.value,
        spark=" ".join(filter(None, (line.rule.spark, line.detail))),
        what_to_do=line.rule.to_do,
        rule=line.rule.id,
        **fields_of(line, "item", "old", "new", "operator_id", "store_name"),
    )
