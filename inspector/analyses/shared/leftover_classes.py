"""Leftovers counted by store, class and certainty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from inspector.analyses.shared.age_tables import DiskShares
from inspector.analyses.shared.common import STORE, count, operator_names, size
from inspector.analyses.shared.declare import TableSpec
from inspector.analyses.shared.heap import usual_layout
from inspector.discovery.checkpoint import Checkpoint
from inspector.estimates.heap import RETAINED_BY_DEFAULT as RETAINED
from inspector.estimates.heap import Heap, of_rows
from inspector.estimates.heap_layout import Layout
from inspector.facts.leftover_facts import LeftoverCount
from inspector.merge.collect import Facts
from inspector.merge.resolution import reasons_of
from inspector.render.report import Column, Table, Unit

CLASSES = TableSpec(
    "classes",
    "leftovers of one class in one store",
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
    wide=frozenset(("store_name", "reason")),
    important=(
        "class keys row_bytes operator_id certainty oldest_expired_batch heap_bytes operator_name"
    ),
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
    keeps_maps = checkpoint.provider.keeps_maps
    layout = usual_layout(checkpoint, checkpoint.newest_version)
    return CLASSES.table(
        "leftovers by class",
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
                "heap_bytes": _heap(rows, layout) if keeps_maps else None,
                "oldest_expired_batch": None
                if before
                else min(one.expired_version for one in rows) - 1,
                **{word: _sum(rows, word) for word in ("untouched", "changed", "empty")},
                "fired_max": max(one.fired for one in rows) or None,
                "reason": reasons_of(rows),
            }
            for (operator_id, store, kind, certainty, before), rows in sorted(groups.items())
        ],
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
