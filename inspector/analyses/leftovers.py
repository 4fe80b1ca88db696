"""``leftovers``: one row per expired key that is still there, with its proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from inspector.analyses.history import history
from inspector.analyses.shared.age_tables import (
    AGES,
    LEFTOVER_AGES,
    RETENTION,
    age_table,
    leftover_ages,
    proof_window,
    retention_tables,
)
from inspector.analyses.shared.common import STORE, identity
from inspector.analyses.shared.declare import FactRequest, Option, TableSpec, analysis
from inspector.analyses.shared.fact_tables import FactTableTask, RowsOfFacts, fact_table
from inspector.analyses.shared.leftover_classes import CLASSES, class_table
from inspector.analyses.shared.leftover_words import LEFTOVER_COLUMNS, WIDE, LeftoverWords
from inspector.analyses.shared.options import (
    AT_VERSION,
    LIMIT,
    PART,
    RULES,
    SCHEMAS,
    WORK,
    Options,
    redacting,
)
from inspector.analyses.shared.rule_text import expiry_text
from inspector.analyses.shared.run import Run
from inspector.analyses.shared.story import CLASS_STORY, KEY_STORY, explain_class, explain_keys
from inspector.analyses.shared.undecided import (
    UNDECIDED,
    UNDECIDED_KEYS,
    notes,
    undecided_keys,
    undecided_tables,
)
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.facts.expired import LeftoverClass
from inspector.facts.leftover_facts import Leftover
from inspector.findings.finding import Finding, Group
from inspector.findings.judge import judge
from inspector.merge.collect import Facts
from inspector.merge.resolution import Resolution
from inspector.model import Certainty, Problem
from inspector.operators.rule import Clock, StoreRule
from inspector.render.keys import Redact
from inspector.render.report import Column, Report, Table

LARGEST = 10
NOTE = (
    "A key is a leftover when a batch that has run already held its expiry field against its own "
    "clock and found it expired, and the key is still there in the judged version. clock is that "
    "field, threshold the batch's watermark or processing time. Keys that wait for the next batch "
    "are none."
)
LEFTOVERS = TableSpec(
    "leftovers", "an expired key that is still there, with its proof", LEFTOVER_COLUMNS, wide=WIDE
)
LARGEST_KEYS = TableSpec(
    "largest",
    "an expired key that is still there, of the largest",
    LEFTOVER_COLUMNS,
    wide=WIDE | {"puts", "clock_ms", "threshold_ms", "fired"},
)
RULES_OF_STORES = TableSpec(
    "rules",
    "the rule by which one store's rows should go",
    (*STORE, Column("expires"), Column("source")),
)
FACTS = FactRequest(leftover_limit=0, matched=True)


def leftover_rows(request: FactTableTask) -> RowsOfFacts:
    """Leftover keys as the facts of a task list them, once all partitions have been heard."""
    words = LeftoverWords.of_task(request.task, request.operator_name, request.redact)

    def rows(facts: Facts) -> list[dict[str, Any]]:
        found = request.resolution.resolved(facts.of(Leftover))
        return words.rows(one for one in found if one.fact.certainty is not Certainty.UNDECIDED)

    return rows


def _resolution(run: Run) -> Resolution:
    """Made of all partitions, where one alone cannot be sure of its leftovers."""
    rules = [rule for operator in run.checkpoint.operators for rule in operator.rules.values()]
    if any(rule.expiry is not None and rule.expiry.clock is Clock.TIMEOUT for rule in rules):
        return run.facts().resolution
    return Resolution()


LEFTOVERS_DATA = fact_table(
    "leftovers",
    "leftovers",
    """Every expired key that is still there, with its proof; ``key`` is JSON.

    Where one partition alone cannot be sure (timers of group state, times of joins) all are read
    once when this is called, and once more for the rows.
    """,
    LEFTOVER_COLUMNS,
    leftover_rows,
    request=FactRequest(leftover_limit=0),
    resolution=_resolution,
    options=("timeout_kind",),
)


@analysis(
    uses=(RULES, redacting(Redact.NONE), WORK, SCHEMAS, PART, AT_VERSION),
    tables=(
        LEFTOVERS,
        CLASSES,
        UNDECIDED,
        LARGEST_KEYS,
        LEFTOVER_AGES,
        UNDECIDED_KEYS,
        AGES,
        RETENTION,
        RULES_OF_STORES,
        CLASS_STORY,
        KEY_STORY,
    ),
    facts=FACTS,
    data_tables=(LEFTOVERS_DATA,),
    fail_on="never",
    formats=("parquet",),
    by_executors=LEFTOVERS_DATA,
)
def leftovers(
    path: str | Run,
    options: Options | None = None,
    *,
    explain: Annotated[
        str | None,
        Option(
            "Tell the story of a key (NAME=VALUE, JSON or hex) or of a class, batch by batch.",
            metavar="KEY|CLASS",
        ),
    ] = None,
    limit: Annotated[int, LIMIT] = 0,
) -> Report:
    """Expired keys that were never removed, each with the batch that proves it.

    Args:
        path: the checkpoint.
        options: which part and version, and rules that are not in the checkpoint.
        explain: a class, or a key: a JSON object of key fields, the key row in hex, or
            ``NAME=VALUE``; in place of the list.
        limit: keys that are listed, the oldest; 0 for all.

    Raises:
        CheckpointError: no store has such keys as ``explain`` names.
    """
    run = Run.start(path, options)
    if explain is not None:
        return _explained(run, explain)
    # The table of the largest is the same whatever the limit.
    facts = run.facts(replace(FACTS, leftover_limit=max(limit, LARGEST) if limit else 0))
    problems = run.problems(facts)
    found = judge(run.checkpoint, run.version, facts, problems)
    lifetime = [f for f in found if f.kind.group is Group.LIFETIME]
    redact = run.options.redact or Redact.NONE
    return leftovers_report(run.checkpoint, run.version, facts, problems, lifetime, redact, limit)


def _explained(run: Run, what: str) -> Report:
    """The story of a class of leftovers, or of the keys with some fields, batch by batch."""
    facts = run.facts(FactRequest(leftover_limit=0))
    problems = run.problems(facts)
    if what in {kind.value for kind in LeftoverClass}:
        return explain_class(run.checkpoint, run.version, facts, what, problems)
    by_field = "=" in what and not what.lstrip().startswith("{")
    key, where = (None, (what,)) if by_field else (what, ())
    options = replace(run.options, key=key, where=where, redact=None)
    events = list(history(replace(run, options=options), raw=True).primary.rows)
    return explain_keys(run.checkpoint, run.version, events, facts, problems)


def leftovers_report(  # noqa: PLR0913 - the parts of one report
    checkpoint: Checkpoint,
    version: int,
    facts: Facts,
    problems: Sequence[Problem],
    findings: Sequence[Finding],
    redact: Redact,
    limit: int,
) -> Report:
    """Leftover keys, oldest first; then their counts by class, and the rules."""
    listed = facts.leftovers[:limit] if limit else facts.leftovers
    total = sum(one.fact.rows for one in facts.totals)
    more = f", {len(listed)} of {total} listed" if len(listed) < total else ""
    keys = LEFTOVERS.table(
        f"leftover keys{more}",
        LeftoverWords.of(checkpoint, redact).rows(listed),
        empty=_empty(checkpoint, facts),
    )
    summary = (
        identity(checkpoint, version)
        | proof_window(checkpoint, facts)
        | {
            "leftovers": total,
            "leftover_row_bytes": sum(one.fact.row_bytes for one in facts.totals),
        }
    )
    return Report(
        "leftovers",
        checkpoint.root,
        summary,
        (
            keys,
            class_table(checkpoint, facts),
            *undecided_tables(checkpoint, facts),
            *([_largest(checkpoint, facts, redact)] if total else []),
            *([leftover_ages(checkpoint, version, facts)] if total else []),
            *undecided_keys(checkpoint, facts, redact, limit),
            age_table(checkpoint, version, facts),
            *retention_tables(checkpoint, facts),
            _rules(checkpoint, facts),
        ),
        findings=findings,
        problems=problems,
        notes=notes(facts),
        footnotes=(NOTE,),
        judged=True,
    )


def _empty(checkpoint: Checkpoint, facts: Facts) -> str:
    open_ = sum(one.fact.rows for one in facts.undecided_totals)
    if open_:
        return f"none is known; of {open_:,} keys the bytes do not decide it, see below"
    rules = [rule for *_, rule in _rules_of(checkpoint, facts)]
    unknown = sum(rule.unknown is not None and not rule.needs_none for rule in rules)
    if any(rule.expiry is not None for rule in rules):
        words = "none: every key that has expired is gone"
        if not unknown:
            return words
        if unknown == 1:
            return f"{words}; the rule of 1 store is not known, see below"
        return f"{words}; the rules of {unknown} stores are not known, see below"
    return "none can be told: no store has a rule by which its rows expire, see below"


def _largest(checkpoint: Checkpoint, facts: Facts, redact: Redact) -> Table:
    # Stable: of the same size the oldest.
    largest = sorted(facts.leftovers, key=lambda one: -one.fact.row_bytes)
    return LARGEST_KEYS.table(
        "largest leftovers", LeftoverWords.of(checkpoint, redact).rows(largest[:LARGEST])
    )


def _rules_of(checkpoint: Checkpoint, facts: Facts) -> Iterator[tuple[Operator, str, StoreRule]]:
    for operator in checkpoint.operators:
        path = facts.key_times.get(operator.operator_id)
        for store, rule in operator.rules.items():
            yield operator, store, rule.by_key_time(path)


def _rules(checkpoint: Checkpoint, facts: Facts) -> Table:
    return RULES_OF_STORES.table(
        "the rule by which each store's rows should go",
        [
            {
                "operator_id": operator.operator_id,
                "operator_name": operator.name,
                "store_name": store,
                "expires": expiry_text(rule),
                "source": rule.source,
            }
            for operator, store, rule in _rules_of(checkpoint, facts)
        ],
    )
