"""Leftovers counted by store, class and certainty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from inspector.analyses.shared.age_tables import DiskShares
from inspector.analyses.shared.common import store_ids
from inspector.analyses.shared.heap import usual_layout
from inspector.analyses.shared.judged import Judged
from inspector.estimates.heap import RETAINED_BY_DEFAULT as RETAINED
from inspector.estimates.heap import Heap, of_rows
from inspector.estimates.heap_layout import Layout
from inspector.facts.leftover_facts import LeftoverCount
from inspector.merge.resolution import reasons_of
from inspector.render import tabular as t
from inspector.render.report import Table


@dataclass(frozen=True, kw_only=True)
class LeftoverClassRow(t.StoreRow, table="classes"):
    """Leftovers of one class in one store."""

    operator_name: t.OperatorName | None
    store_name: Annotated[t.StoreName, t.WIDE]
    class_: Annotated[t.LeftoverClassName, t.Rank(1)]
    certainty: Annotated[t.Certainty, t.Rank(21)]
    keys: Annotated[t.Keys, t.Rank(2)]
    row_bytes: Annotated[t.RowBytes, t.Rank(3)]
    disk_bytes: Annotated[
        t.Bytes | None,
        "State file bytes times the share of these rows in all row bytes.",
        t.ESTIMATE,
    ]
    heap_bytes: Annotated[t.HeapBytes | None, t.Rank(23), t.ESTIMATE]
    oldest_expired_batch: Annotated[
        t.Id | None, "The first batch that found one of them expired.", t.Rank(22)
    ]
    untouched: Annotated[
        t.Count | None, "Keys whose state the call that answered their timeout left as it was."
    ]
    changed: Annotated[
        t.Count | None, "Keys whose state the call that answered their timeout changed."
    ]
    empty: Annotated[
        t.Count | None,
        "Keys whose state the call that answered their timeout emptied, but did not remove.",
    ]
    fired_max: Annotated[t.Count | None, "How often the timer of one of them has fired, at most."]
    reason: Annotated[t.Reason | None, t.WIDE]


def class_table(judged: Judged) -> Table:
    """Leftovers counted by store, class and certainty."""
    checkpoint = judged.checkpoint
    groups: dict[tuple[Any, ...], list[LeftoverCount]] = {}
    for one in judged.facts.totals:
        found = one.fact
        kind = (found.leftover_class.value, found.certainty.value, found.before_window)
        groups.setdefault((*one.store.name, *kind), []).append(found)
    disk = DiskShares(judged)
    keeps_maps = checkpoint.provider.keeps_maps
    layout = usual_layout(checkpoint, checkpoint.newest_version)
    return LeftoverClassRow.table(
        "leftovers by class",
        [
            LeftoverClassRow(
                **store_ids(checkpoint, (operator_id, store)),
                class_=kind,
                certainty=certainty,
                keys=sum(one.rows for one in rows),
                row_bytes=_row_bytes(rows),
                disk_bytes=disk.bytes_of(_row_bytes(rows)),
                heap_bytes=_heap(rows, layout) if keeps_maps else None,
                oldest_expired_batch=None
                if before
                else min(one.expired_version for one in rows) - 1,
                untouched=_sum(one.untouched for one in rows),
                changed=_sum(one.changed for one in rows),
                empty=_sum(one.empty for one in rows),
                fired_max=max(one.fired for one in rows) or None,
                reason=reasons_of(rows),
            )
            for (operator_id, store, kind, certainty, before), rows in sorted(groups.items())
        ],
    )


def _heap(rows: Iterable[LeftoverCount], layout: Layout) -> int:
    """What removing them saves in the two versions that Spark retains by default."""
    each = (of_rows(r.rows, r.key_bytes, r.value_bytes, layout, RETAINED) for r in rows)
    return sum(each, Heap()).total


def _row_bytes(rows: Iterable[LeftoverCount]) -> int:
    return sum(one.row_bytes for one in rows)


def _sum(keys: Iterable[int | None]) -> int | None:
    known = [number for number in keys if number is not None]
    return sum(known) if known else None
