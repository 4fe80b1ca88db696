"""Facts of many partitions, merged where they are observed.

Of 200 partitions with 100 versions and 4 stores come 80,000 facts on versions. An analysis needs
those of single partitions at the judged version and the one before it, which executors hold beside
it; of older ones the sums. These are made of columns, without an object for each fact.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, groupby
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.arrays import Bools, Int64s, lengths_of
from inspector.facts.fact import ALL_PARTITIONS, FactColumns, Observed, add_up
from inspector.facts.registry import fact_batches, facts_in
from inspector.facts.size_distributions import SizeCounts
from inspector.facts.versions import COUNTS, HISTOGRAMS, VersionFacts
from inspector.model import StoreId, StoreName
from inspector.schemas import STORE_COLUMNS, numbers_of

# files of a query up to which the driver takes all facts unmerged; each fact takes 2 KB for a
# moment
MANY = 20_000
# share of :data:`MANY` that counts instead if one process does all: it merges without a shuffle
HERE = 1 / 20
KEYS = ("operator_id", "store_name")  # columns in which all facts that are merged must be equal
# facts of one merge key that are held until they are added up; one by one takes three times as long
AT_ONCE = 64
HELD = 1 << 13  # rows of columns that are held until they are added up


def combine(version: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return batches with fewer facts that say the same to every analysis.

    Facts of the version and the one before it stay by partition if their type asks for it; others
    of one merge key are summed.
    """
    return fact_batches(combine_here(version, chain.from_iterable(map(_parts, batches))))


def combine_here(
    version: int, facts: Iterable[Observed[Any] | FactColumns]
) -> Iterator[Observed[Any]]:
    """Yield the facts of an engine in this process, with facts of equal merge keys added up.

    Facts of ``version`` and the one before it stay by partition if their type asks for it.
    """
    groups: dict[Hashable, list[Observed[Any]]] = {}
    sums: dict[StoreName, VersionSums] = defaultdict(VersionSums)
    first_apart = version - 1
    for item in facts:
        if isinstance(item, FactColumns):
            sums[item.store.name].add(item, item.versions >= first_apart)
            continue
        key = item.merge_key
        if key is None or (item.fact.by_partition and item.version >= first_apart):
            yield item
            continue
        alike = groups.setdefault(key, [])
        alike.append(item)
        if len(alike) == AT_ONCE:
            alike[:] = [add_up(alike)]
    yield from map(add_up, groups.values())
    for name, version_sums in sums.items():
        for partition_id, number, version_facts in version_sums.total():
            yield Observed(StoreId(*name, partition_id), number, version_facts)


def _parts(batch: pa.RecordBatch) -> Iterator[Observed[Any] | FactColumns]:
    """Yield the facts of a batch; facts about versions as columns, one item for each store."""
    if set(batch.column("kind").to_pylist()) != {VersionFacts.kind}:
        yield from facts_in(batch)
        return
    stores = zip(*(batch.column(name).to_pylist() for name in _STORE), strict=True)
    start = 0
    for store, rows in groupby(stores):
        count = len(list(rows))
        yield _columns_of(StoreId(*store), batch.slice(start, count))
        start += count


# columns that name the store of a fact
_STORE = [name for name, _ in STORE_COLUMNS if name != "version"]


def _columns_of(store: StoreId, batch: pa.RecordBatch) -> FactColumns:
    """Return the version facts of one store in a batch, as numpy columns."""
    facts: Any = batch.column(VersionFacts.kind)
    fields: dict[str, Any] = dict(zip(facts.type.names, facts.flatten(), strict=True))
    columns: dict[str, Any] = {name: numbers_of(fields[name]) for name in COUNTS}
    for name in HISTOGRAMS:
        (lists,) = fields[name].flatten()
        lengths = numbers_of(lists.value_lengths(), np.int32)
        columns[name] = numbers_of(lists.flatten()), np.cumsum(lengths, dtype=np.int64)
    return FactColumns(VersionFacts, store, numbers_of(batch.column("version")), columns)


class VersionSums:
    """Facts about the versions of one store, added up over partitions version by version."""

    def __init__(self) -> None:
        self._tables: list[list[Int64s]] = []
        self._held = 0

    def add(self, part: FactColumns, apart: Bools) -> None:
        """Add the facts of one partition; versions masked by ``apart`` keep their partition."""
        counts = map(part.columns.__getitem__, COUNTS)
        columns = [np.where(apart, part.store.partition_id, ALL_PARTITIONS), part.versions, *counts]
        table = np.empty((len(apart), len(columns)), np.int64)
        for index, column in enumerate(columns):
            table[:, index] = column
        tables = [table]
        for name in HISTOGRAMS:
            numbers, ends = part.columns[name]
            keys = np.repeat(table[:, :2], lengths_of(ends) >> 1, axis=0)
            tables.append(np.concatenate([keys, numbers.reshape(-1, 2)], axis=1))
        self._tables.append(tables)
        self._held += len(table)
        if self._held > HELD:
            self._fold()

    def _fold(self) -> None:
        """Add up the tables that are held, so that one table of each kind remains."""
        tables = [np.concatenate(parts) for parts in zip(*self._tables, strict=True)]
        self._tables = [[sum_rows(table, 2 + (i > 0)) for i, table in enumerate(tables)]]
        self._held = 0

    def total(self) -> Iterator[tuple[int, int, VersionFacts]]:
        """Yield (partition, version, facts), with ALL_PARTITIONS where partitions are summed."""
        self._fold()
        ((numbers, *sizes),) = self._tables
        distributions: list[dict[tuple[int, int], Counter[int]]] = []
        for table in sizes:
            counters: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
            for partition_id, version, size, count in table.tolist():
                counters[partition_id, version][size] = count
            distributions.append(counters)
        for partition_id, version, *counts in numbers.tolist():
            values: dict[str, Any] = dict(zip(COUNTS, counts, strict=True))
            for name, counters in zip(HISTOGRAMS, distributions, strict=True):
                values[name] = SizeCounts(counters[partition_id, version])
            yield partition_id, version, VersionFacts(**values)


def sum_rows(table: Int64s, keys: int) -> Int64s:
    """Return a sorted table with one row for each distinct value of the first ``keys`` columns.

    The other columns are summed.
    """
    if not len(table):
        return table
    table = table[np.lexsort(table[:, :keys].T[::-1])]
    first = np.ones(len(table), np.bool_)
    first[1:] = (table[1:, :keys] != table[:-1, :keys]).any(axis=1)
    starts = np.flatnonzero(first)
    return np.column_stack([table[starts, :keys], np.add.reduceat(table[:, keys:], starts)])
