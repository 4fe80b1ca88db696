"""Keys of which the bytes allow both: that their timeout left them behind, and that data did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inspector.analyses.shared.common import STORE, count, operator_names, size
from inspector.analyses.shared.declare import TableSpec
from inspector.analyses.shared.leftover_words import LEFTOVER_COLUMNS, WIDE, LeftoverWords
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timed_out import AMONG_DATA, BEFORE, HELD_BACK, NO_LOG_ENTRY
from inspector.merge.collect import Facts
from inspector.merge.resolution import NEIGHBOURS, UNKNOWN_CLOCK
from inspector.model import Redact
from inspector.render.report import Column, Table

UNDECIDED = TableSpec(
    "undecided",
    "keys of one store that may be leftovers, by what leaves it open",
    (
        *STORE,
        Column("class"),
        count("keys"),
        size("row_bytes"),
        Column("reason"),
        Column("decided_by"),
    ),
    wide=frozenset(("operator_name", "store_name")),
    important="class keys reason row_bytes operator_id decided_by",
)
UNDECIDED_KEYS = TableSpec(
    "undecided_keys",
    "a key that may be a leftover",
    LEFTOVER_COLUMNS,
    wide=WIDE,
    important="key reason class value_bytes partition_id",
)

_KIND = "--timeout-kind event or --timeout-kind processing, as the query has it"
_HISTORY = "a longer history, which spark.sql.streaming.minBatchesToRetain keeps"
_DECIDED_BY: Mapping[str, str] = {
    UNKNOWN_CLOCK: _KIND,
    NEIGHBOURS: _KIND,
    BEFORE: _HISTORY,
    NO_LOG_ENTRY: _HISTORY,
    HELD_BACK: "the query: whether its function lets a timeout pass without remove()",
    AMONG_DATA: "the query: what its function does in a call for data, and when a timeout fires",
}


def decided_by(reason: str | None) -> str | None:
    """What would decide leftovers that are undecided for a reason."""
    return _DECIDED_BY.get(reason or "")


def undecided_tables(checkpoint: Checkpoint, facts: Facts) -> list[Table]:
    """How many keys are undecided, why, and what would decide them; nothing if none is."""
    names = operator_names(checkpoint)
    groups: dict[tuple[Any, ...], list[LeftoverCount]] = {}
    for one in facts.undecided_totals:
        place = (*one.store.name, one.fact.leftover_class.value, one.fact.reason)
        groups.setdefault(place, []).append(one.fact)
    if not groups:
        return []
    rows = [
        {
            "operator_id": operator_id,
            "operator_name": names.get(operator_id),
            "store_name": store,
            "class": kind,
            "keys": sum(one.rows for one in found),
            "row_bytes": sum(one.row_bytes for one in found),
            "reason": reason,
            "decided_by": decided_by(reason),
        }
        for (operator_id, store, kind, reason), found in sorted(groups.items())
    ]
    title = "keys that may be leftovers: the files do not show whether they are"
    return [UNDECIDED.table(title, rows)]


def undecided_keys(checkpoint: Checkpoint, facts: Facts, redact: Redact, limit: int) -> list[Table]:
    """The same keys one by one, oldest first."""
    listed = facts.undecided[:limit] if limit else facts.undecided
    if not listed:
        return []
    rows = LeftoverWords.of(checkpoint, redact).rows(listed)
    return [UNDECIDED_KEYS.table("keys that may be leftovers, one by one", rows)]


def notes(facts: Facts) -> list[str]:
    """What is needed from the user to decide more."""
    stores = {
        one.store.name
        for one in facts.undecided_totals
        if one.fact.reason in (UNKNOWN_CLOCK, NEIGHBOURS)
    }
    return [
        f"operator {operator} {store}: {UNKNOWN_CLOCK}, and some keys are leftovers by one of the "
        "two alone; say --timeout-kind"
        for operator, store in sorted(stores)
    ]
