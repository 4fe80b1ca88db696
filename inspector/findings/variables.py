"""SS214 to SS216: state variables of transformWithState, and timers of keys without any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from inspector.facts.variables import EntriesPerKey, TimersWithoutState
from inspector.facts.versions import VersionFacts
from inspector.findings.catalogue import GROWING_ENTRIES, TIMER_WITHOUT_STATE, UNDECLARED
from inspector.findings.finding import Finding, Severity
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.model import Certainty
from inspector.operators.transform_with_state import Family
from inspector.quantities import count_text


@dataclass(frozen=True)
class VariableLife:
    """What is known of one store of a transformWithState, all partitions together.

    Attributes:
        operator_id, store_name: which.
        family: what it holds.
        declared: whether the newest run declares it; None if that is not known.
        newest: facts of the judged version.
        deleted: of an index, the variable that it was of, which is neither declared nor there.
        timers: of a store of timers, those whose key has no state.
        entries: of a list or map, by key.
    """

    operator_id: int
    store_name: str
    family: Family
    declared: bool | None
    newest: VersionFacts
    deleted: str | None = None
    timers: TimersWithoutState | None = None
    entries: EntriesPerKey | None = None


def judge_variable(life: VariableLife, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """The findings of one store."""
    if life.timers is not None and life.timers.without:
        yield _without_state(life, life.timers)
    if life.family.is_variable and life.declared is False and life.newest.rows:
        yield _undeclared(life)
    if life.deleted is not None and life.newest.rows:
        yield _left_behind(life, life.deleted)
    if life.entries is not None and life.declared is not False:
        yield from _growing(life, life.entries, thresholds)


def _without_state(life: VariableLife, found: TimersWithoutState) -> Finding:
    timers, keys = count_text(found.without, "timer"), count_text(found.keys, "key")
    return Finding(
        TIMER_WITHOUT_STATE,
        Certainty.PROVEN,
        f"{timers} of {found.timers:,}: {keys} without a value in any state variable",
        TIMER_WITHOUT_STATE.to_do,
        life.operator_id,
        life.store_name,
        found.without,
        found.without_bytes,
        f"Spark will fire {timers} for {keys} without any state.",
    )


def _undeclared(life: VariableLife) -> Finding:
    rows = life.newest.rows
    return Finding(
        UNDECLARED,
        Certainty.PROVEN,
        f"{count_text(rows, 'row')} of the {life.family.value} state {life.store_name!r}, which "
        "the newest metadata of the operator does not list",
        f"call handle.deleteIfExists({life.store_name!r}) in the init of the processor, once it is "
        "sure that no later run needs it",
        life.operator_id,
        life.store_name,
        rows,
        life.newest.row_bytes,
        f"The state variable {life.store_name!r} is kept, though the processor no longer declares "
        "it.",
    )


def _left_behind(life: VariableLife, variable: str) -> Finding:
    rows = count_text(life.newest.rows, "row")
    return Finding(
        UNDECLARED,
        Certainty.PROVEN,
        f"{rows} of the index {life.store_name!r} ({life.family.value}), which Spark kept for "
        f"{variable!r}; that variable has no rows, and the newest metadata does not list it",
        "nothing: a processor cannot reach the indexes of Spark, and only a new checkpoint is "
        "without them",
        life.operator_id,
        life.store_name,
        life.newest.rows,
        life.newest.row_bytes,
        f"The state variable {variable!r} was deleted, and Spark left its index behind.",
        Severity.INFO,
    )


def _growing(
    life: VariableLife, entries: EntriesPerKey, thresholds: Thresholds
) -> Iterator[Finding]:
    keys = entries.growing_from(thresholds.entries_per_key)
    if not keys or (entries.versions or 0) < thresholds.window_versions:
        return
    text = life.family.value
    yield Finding(
        GROWING_ENTRIES,
        Certainty.INFERRED,
        f"{count_text(keys, 'key')} with {thresholds.entries_per_key:,} entries or more, to which "
        f"entries were added in {count_text(entries.versions or 0, 'version')} and of which none "
        f"was removed; the most that a key has are {entries.most:,}",
        GROWING_ENTRIES.to_do,
        life.operator_id,
        life.store_name,
        keys,
        None,
        f"The {text} of {'a key' if keys == 1 else f'{keys:,} keys'} in {life.store_name!r} only "
        f"grows, up to {count_text(entries.most, 'entry', 'entries')}.",
    )
