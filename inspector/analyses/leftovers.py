"""``leftovers``: one row per expired key that is still there, with its proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from inspector.analyses.common import (
    STORE,
    count,
    identity,
    operator_names,
    size,
)
from inspector.analyses.leftover_words import LEFTOVER_COLUMNS, WIDE, LeftoverWords
from inspector.analyses.listing import expiry_text
from inspector.analyses.lives import (
    DiskShares,
    age_table,
    leftover_ages,
    proof_window,
    retention_tables,
)
from inspector.analyses.memory import usual_layout
from inspector.analyses.undecided import notes, undecided_keys, undecided_tables
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.estimates.heap import RETAINED_BY_DEFAULT as RETAINED
from inspector.estimates.heap import Heap, of_rows
from inspector.estimates.heap_layout import Layout
from inspector.facts.leftover_facts import LeftoverCount
from inspector.findings.finding import Finding
from inspector.merge.collect import Facts
from inspector.merge.resolution import reasons_of
from inspector.model import Problem
from inspector.operators.rule import StoreRule
from inspector.render.keys import Redact
from inspector.render.report import Column, Report, Table, Unit

LARGEST = 10
NOTE = (
    "A key is a leftover when a batch that has run already held its expiry field against its own "
    "clock and found it expired, and the key is still there in the judged version. clock is that "
    "field, threshold the batch's watermark or processing time. Keys that wait for the next batch "
    "are none."
)


def leftovers(  # noqa: PLR0913 - the parts of one report
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
    keys = Table(
        "leftovers",
        f"leftover keys{more}",
        LEFTOVER_COLUMNS,
        LeftoverWords.of(checkpoint, redact).rows(listed),
        empty=_empty(checkpoint, facts),
        wide=WIDE,
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
    return Table(
        "largest",
        "largest leftovers",
        LEFTOVER_COLUMNS,
        LeftoverWords.of(checkpoint, redact).rows(largest[:LARGEST]),
        wide=WIDE | {"puts", "clock_ms", "threshold_ms", "fired"},
    )


def class_table(checkpoint: Checkpoint, facts: Facts) -> Table:
    """Leftovers counted by store, class and certainty."""
    names = operator_names(checkpoint)
    groups: dict[tuple[Any, ...], list[LeftoverCount]] = {}
    for one in facts.totals:
        found = one.fact
        judged = (found.leftover_class.value, found.certainty.value, found.before_window)
        groups.setdefault((*one.store.name, *judged), []).append(found)
    disk = DiskShares(checkpoint, facts)
    layout = usual_layout(checkpoint, checkpoint.newest_version)
    return Table(
        "classes",
        "leftovers by class",
        (
            *STORE,
            Column("class"),
            Column("certainty"),
            count("keys"),
            size("row_bytes"),
            Column("disk_bytes", Unit.BYTES, exact=False),
            Column("heap_bytes", Unit.BYTES, exact=False),
            Column("oldest_expired_batch", Unit.ID),
            count("untouched"),
            count("changed"),
            count("empty"),
            count("fired_max"),
            Column("reason"),
        ),
        [
            {
                "operator_id": operator_id,
                "operator_name": names.get(operator_id),
                "store_name": store,
                "class": kind,
                "certainty": certainty,
                "keys": sum(one.rows for one in rows),
                "row_bytes": _row_bytes(rows),
                "disk_bytes": disk.bytes_of(_row_bytes(rows)),
                "heap_bytes": _heap(rows, layout),
                "oldest_expired_batch": None
                if before
                else min(one.expired_version for one in rows) - 1,
                **{word: _sum(rows, word) for word in ("untouched", "changed", "empty")},
                "fired_max": max(one.fired for one in rows) or None,
                "reason": reasons_of(rows),
            }
            for (operator_id, store, kind, certainty, before), rows in sorted(groups.items())
        ],
        wide=frozenset(("store_name", "reason")),
    )


def _heap(rows: Iterable[LeftoverCount], layout: Layout) -> int:
    """What removing them saves in the two versions that Spark retains by default."""
    each = (of_rows(r.rows, r.key_bytes, r.value_bytes, layout, RETAINED) for r in rows)
    return sum(each, Heap()).total


def _row_bytes(rows: Iterable[LeftoverCount]) -> int:
    return sum(one.row_bytes for one in rows)


def _sum(rows: Iterable[LeftoverCount], name: str) -> int | None:
    known = [keys for one in rows if (keys := getattr(one, name)) is not None]
    return sum(known) if known else None


def _rules_of(checkpoint: Checkpoint, facts: Facts) -> Iterator[tuple[Operator, str, StoreRule]]:
    for operator in checkpoint.operators:
        path = facts.key_times.get(operator.operator_id)
        for store, rule in operator.rules.items():
            yield operator, store, rule.by_key_time(path)


def _rules(checkpoint: Checkpoint, facts: Facts) -> Table:
    return Table(
        "rules",
        "the rule by which each store's rows should go",
        (*STORE, Column("expires"), Column("source")),
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
