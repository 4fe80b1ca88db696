"""SS214 to SS216, SS219: state variables of transformWithState, and timers of keys without any."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.variable_entries import EntriesPerKey, TimersWithoutState
from inspector.facts.versions import VersionFacts
from inspector.findings import catalogue
from inspector.findings.finding import Finding, Severity
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.light_dataclasses import dataclass, field
from inspector.operators.transform_with_state import TTL_OPTION, Family
from inspector.quantities import count_text


@dataclass(frozen=True)
class VariableLife:
    """What is known of one store of a transformWithState, all partitions together."""

    operator_id: int
    store_name: str
    family: Family  # what it holds
    declared: bool | None  # whether the newest run declares it; None if that is not known
    newest: VersionFacts
    # of an index, the variable that it was of, which is neither declared nor there
    deleted: str | None = None
    timers: TimersWithoutState | None = None  # of a store of timers, those whose key has no state
    entries: EntriesPerKey | None = None  # of a list or map, by key
    # what the window's versions did to it
    changed: VersionFacts = field(default_factory=VersionFacts)
    window: int = 0  # how many they are
    has_ttl: bool | None = None  # its rows expire; None if that is not known


def judge_variable(life: VariableLife, thresholds: Thresholds = DEFAULTS) -> Iterator[Finding]:
    """The findings of one store."""
    if life.timers is not None:
        yield from _without_state(life, life.timers)
        yield from _timer_growth(life, life.timers, thresholds)
    if life.family.is_variable and life.declared is False and life.newest.rows:
        yield _undeclared_variable(life)
    if life.deleted is not None and life.newest.rows:
        yield _index_alone(life, life.deleted)
    if life.entries is not None and life.declared is not False:
        yield from _growing(life, life.entries, thresholds)


def _without_state(life: VariableLife, of: TimersWithoutState) -> Iterator[Finding]:
    timers, keys = count_text(of.without, "timer"), count_text(of.keys, "key")
    evidence = f"{timers} of {of.timers:,}: {keys} without a value in any state variable"
    cause = f"Spark will fire {timers} for {keys} without any state."
    counts = of.without, of.without_bytes
    if of.without:
        yield catalogue.TIMER_WITHOUT_STATE.of_store(life, evidence, *counts, cause)


def _timer_growth(
    life: VariableLife, timers: TimersWithoutState, thresholds: Thresholds
) -> Iterator[Finding]:
    """Several timers of a key where none ends, or very many, as of one for each event."""
    ended = life.changed.removed_rows
    usual = thresholds.many_timers_per_key if ended else thresholds.timers_per_key
    if not life.changed.inserts or life.window < thresholds.window_versions:
        return
    if timers.timers < max(thresholds.unique_puts, usual * timers.owners):
        return
    number, keys = count_text(timers.timers, "timer"), count_text(timers.owners, "key")
    share, window = timers.timers / timers.owners, count_text(life.window, "version")
    ends = f"{ended:,} fired or {'was' if ended == 1 else 'were'} deleted"
    cause = f"Timers only gather: {number} for {keys}, and none fired or was deleted in {window}."
    if ended:
        cause = (
            f"Keys have ~{share:,.0f} timers each, {number} for {keys}: {life.changed.inserts:,} "
            f"were registered in {window}, and {ends}."
        )
    yield catalogue.TIMERS_GATHER.of_store(
        life,
        f"{number} of {keys}, {share:,.1f} each; {life.changed.inserts:,} "
        f"were registered in {window}, and {ends if ended else 'none fired or was deleted'}",
        timers.timers,
        life.newest.row_bytes,
        cause,
    )


def _undeclared_variable(life: VariableLife) -> Finding:
    return catalogue.UNDECLARED.of_store(
        life,
        f"{count_text(life.newest.rows, 'row')} of the {life.family.value} state "
        f"{life.store_name!r}, which the newest metadata of the operator does not list",
        *life.newest.rows_and_bytes,
        f"The state variable {life.store_name!r} is kept, though the processor no longer declares "
        "it.",
        next_step=f"call handle.deleteIfExists({life.store_name!r}) in the init of the processor, "
        "once it is sure that no later run needs it",
    )


def _index_alone(life: VariableLife, variable: str) -> Finding:
    rows = count_text(life.newest.rows, "row")
    return catalogue.UNDECLARED.of_store(
        life,
        f"{rows} of the index {life.store_name!r} ({life.family.value}), which Spark kept for "
        f"{variable!r}; that variable has no rows, and the newest metadata does not list it",
        *life.newest.rows_and_bytes,
        f"The state variable {variable!r} was deleted, and Spark left its index behind.",
        next_step="nothing: a processor cannot reach the indexes of Spark, and only a new "
        "checkpoint is without them",
        severity=Severity.INFO,
    )


def _growing(
    life: VariableLife, entries: EntriesPerKey, thresholds: Thresholds
) -> Iterator[Finding]:
    keys = entries.growing_from(thresholds.entries_per_key)
    if not keys or (entries.versions or 0) < thresholds.window_versions:
        return
    warned = entries.growing_from(thresholds.entries_warned)
    without_ttl, step = " and has no TTL", f"give {life.store_name!r} a TTL ({TTL_OPTION}), or "
    if life.has_ttl:
        without_ttl = step = ""
    least = f"{thresholds.entries_per_key:,} entries or more"
    yield catalogue.GROWING_ENTRIES.of_store(
        life,
        f"{count_text(keys, 'key')} with {least}, to which entries were added in "
        f"{count_text(entries.versions or 0, 'version')} and of which none was removed; the most "
        f"that a key has are {entries.most:,}",
        keys,
        cause=f"The {life.family.value} state {life.store_name!r} only grows{without_ttl}: "
        f"{count_text(keys, 'key')} {'has' if keys == 1 else 'have'} {least}, up to "
        f"{entries.most:,}.",
        next_step=f"{step}remove entries that are not needed any more: ListState.put with those "
        "that are, MapState.removeKey",
        severity=None if warned else Severity.INFO,
    )
