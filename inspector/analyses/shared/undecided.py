"""Keys of which the bytes allow both: that their timeout left them behind, and that data did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from inspector.analyses.shared.common import store_ids
from inspector.analyses.shared.judged import Judged
from inspector.analyses.shared.leftover_words import LeftoverRow, LeftoverWords
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timed_out import AMONG_DATA, BEFORE, HELD_BACK, NO_LOG_ENTRY
from inspector.merge.collect import Facts
from inspector.merge.resolution import NEIGHBOURS, UNKNOWN_CLOCK
from inspector.model import Redact
from inspector.render import tabular as t
from inspector.render.report import Table


@dataclass(frozen=True, kw_only=True)
class UndecidedRow(t.StoreRow, table="undecided"):
    """Keys of one store that may be leftovers, by what leaves it open."""

    store_name: Annotated[t.StoreName, t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(1)]
    keys: Annotated[t.Keys, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(4)]
    reason: Annotated[t.Reason, t.Rank(3)]
    decided_by: Annotated[
        t.Text | None, "What would decide it, such as an option or an older version."
    ]


@dataclass(frozen=True, kw_only=True)
class UndecidedKeyRow(LeftoverRow, table="undecided_keys"):
    """A key that may be a leftover."""

    operator_id: t.OperatorId
    partition_id: Annotated[t.PartitionId, t.Rank(22)]
    class_: Annotated[t.LeftoverClassName, t.Rank(3)]
    expired_batch: t.ExpiredBatch | None
    clock_ms: t.ClockMs
    threshold_ms: t.ThresholdMs
    last_put_batch: t.LastPutBatch | None


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


def undecided_tables(judged: Judged) -> list[Table]:
    """How many keys are undecided, why, and what would decide them; nothing if none is."""
    groups: dict[tuple[Any, ...], list[LeftoverCount]] = {}
    for one in judged.facts.undecided_totals:
        place = (*one.store.name, one.fact.leftover_class.value, one.fact.reason)
        groups.setdefault(place, []).append(one.fact)
    if not groups:
        return []
    rows = [
        UndecidedRow(
            **store_ids(judged.checkpoint, (operator_id, store)),
            class_=kind,
            keys=sum(one.rows for one in found),
            row_bytes=sum(one.row_bytes for one in found),
            reason=reason,
            decided_by=decided_by(reason),
        )
        for (operator_id, store, kind, reason), found in sorted(groups.items())
    ]
    title = "keys that may be leftovers: the files do not show whether they are"
    return [UndecidedRow.table(title, rows)]


def undecided_keys(judged: Judged, redact: Redact, limit: int) -> list[Table]:
    """The same keys one by one, oldest first."""
    undecided = judged.facts.undecided
    listed = undecided[:limit] if limit else undecided
    if not listed:
        return []
    rows = LeftoverWords.of(judged.checkpoint, redact).rows(listed, UndecidedKeyRow)
    return [UndecidedKeyRow.table("keys that may be leftovers, one by one", rows)]


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
