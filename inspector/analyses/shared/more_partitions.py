"""What the partitions would be if there were more of them: the real keys, hashed as Spark does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from inspector.analyses.shared.common import StoreIds, operator_names, store_ids
from inspector.analyses.shared.heap import StoreHeap
from inspector.analyses.shared.judged import Judged
from inspector.discovery.placement import partition_count
from inspector.estimates.skew import skew
from inspector.facts.misplaced import Rehashed
from inspector.merge.collect import Facts
from inspector.model import StoreName
from inspector.quantities import bytes_text, plural_of
from inspector.render import tabular as t
from inspector.render.report import Table

TIMES = (1, 2, 4, 8)
"""How many times as many partitions; divisors of :data:`inspector.facts.misplaced.TIMES`."""


@dataclass(frozen=True, kw_only=True)
class MorePartitionsRow(
    t.StoreRow, table="more_partitions", empty="by which fields Spark places the keys is not known"
):
    """One store if it had so many partitions; the first is what it has."""

    partitions: Annotated[
        t.Count, "How many partitions there were; of a part of the state, in that part.", t.Rank(1)
    ]
    max_rows: t.MaxRows
    median_row_bytes: Annotated[t.MedianRowBytes, t.Rank(11)]
    max_row_bytes: Annotated[t.MaxRowBytes, t.Rank(2)]
    max_to_median: Annotated[
        t.Ratio | None,
        "The largest divided by the median; null where half of them are empty.",
        t.Rank(3),
    ]
    largest_partition: t.LargestPartition
    largest_heap_bytes: Annotated[
        t.Bytes,
        "Heap of the largest: its share of the row bytes of the store's heap.",
        t.Rank(21),
        t.ESTIMATE,
    ]


_HELPS = 0.75
"""With twice the partitions the largest should be half; above this share it stays."""


def more_partitions(judged: Judged, stores: Sequence[StoreHeap]) -> Table:
    """Sizes of partitions for multiples of their number, exact but for the heap.

    Args:
        judged: by the facts of a request with ``rehashed``.
        stores: the heaps of all stores of all partitions.
    """
    partitions = partition_count(judged.checkpoint, judged.version)
    heaps: dict[StoreName, int] = {}
    there: dict[StoreName, list[int]] = {}
    for one in stores:
        name = one.store.name
        heaps[name] = heaps.get(name, 0) + one.held.total
        there.setdefault(name, []).append(one.store.partition_id)
    rows = []
    for name, fact in _rehashed(judged.facts).items():
        store = store_ids(judged.checkpoint, name)
        for times in TIMES:
            ids = [p + n * partitions for n in range(times) for p in sorted(there[name])]
            among = fact.among(partitions * times)
            rows.append(_row(store, among, ids, heaps[name]))
    return MorePartitionsRow.table(
        "with more partitions: how Spark's hash would place the keys", rows
    )


def partition_notes(judged: Judged, table: Table) -> Iterator[str]:
    """What the table shows: partitions that stay as large, and what it takes to have more."""
    checkpoint, version, facts = judged.checkpoint, judged.version, judged.facts
    rehashed = _rehashed(facts)
    rows = list(table.rows)
    for name in rehashed:
        mine = [row for row in rows if (row["operator_id"], row["store_name"]) == name]
        now, most = mine[0]["max_row_bytes"], mine[-1]["max_row_bytes"]
        if now and most > _HELPS * now:
            yield (
                f"More partitions do not help store {name.store_name} of operator "
                f"{name.operator_id}: with {TIMES[-1]} times as many the largest still has "
                f"{bytes_text(most)} of {bytes_text(now)}. A single key or row is never split."
            )
    names = operator_names(checkpoint)
    without = sorted(
        {name.operator_id for name in facts.by_store(version)} - {n[0] for n in rehashed}
    )
    if without:
        which = ", ".join(f"{each} ({names.get(each)})" for each in without)
        yield (
            f"How the keys of {'operator' if len(without) == 1 else plural_of('operator')} {which} "
            "would be spread over more partitions is not known: it takes a schema, keys that are "
            "hashed by fields of which the hash is known, and an offset log that says so "
            "(useStrictDistribution, Spark 3.3)."
        )
    if rows:
        yield (
            "The number of partitions is fixed when a checkpoint is created: to change it, "
            "set spark.sql.shuffle.partitions and start from a new checkpoint."
        )


def _rehashed(facts: Facts) -> Mapping[StoreName, Rehashed]:
    merged = facts.merged(Rehashed)
    rehashed = {name: one for name, by_key in sorted(merged.items()) for one in by_key.values()}
    return {name: one for name, one in rehashed.items() if one.rows}


def _row(store: StoreIds, rehashed: Rehashed, ids: Sequence[int], heap: int) -> MorePartitionsRow:
    amounts = [rehashed.bytes[each] for each in ids]
    spread, total = skew(amounts), sum(amounts)
    assert spread is not None  # a store with rows has a partition
    return MorePartitionsRow(
        **store,
        partitions=spread.partitions,
        max_rows=max(rehashed.rows.values()),
        median_row_bytes=round(spread.median),
        max_row_bytes=spread.max,
        max_to_median=None if spread.ratio is None else round(spread.ratio, 2),
        largest_partition=ids[spread.largest],
        largest_heap_bytes=round(heap * spread.max / total) if total else 0,
    )
