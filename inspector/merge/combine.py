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

MANY = 20_000  # facts that the driver takes as they are; each is 2 KB of objects for a moment
HERE = 1 / 20  # of them in one process, which needs no shuffle: to add up columns halves its time
KEYS = ("operator_id", "store_name")  # facts that are merged have the same of these
AT_ONCE = 64  # facts that are held until they are added up: one by one it takes three times as long
HELD = 1 << 13  # rows of columns that are held until they are added up


def combine(version: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Facts as fewer, of which an analysis makes the same: the last two versions by partition."""
    return fact_batches(combine_here(version, chain.from_iterable(map(_parts, batches))))


def combine_here(
    version: int, facts: Iterable[Observed[Any] | FactColumns]
) -> Iterator[Observed[Any]]:
    """Yield facts of one engine in this process, with those of equal merge keys added up."""
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
    """The facts of a batch; those on versions as columns, one store's after the other's."""
    if set(batch.column("kind").to_pylist()) != {VersionFacts.kind}:
        yield from facts_in(batch)
        return
    stores = zip(*(batch.column(name).to_pylist() for name in _STORE), strict=True)
    start = 0
    for store, rows in groupby(stores):
        count = len(list(rows))
        yield _columns_of(StoreId(*store), batch.slice(start, count))
        start += count


_STORE = [name for name, _ in STORE_COLUMNS if name != "version"]


def _columns_of(store: StoreId, batch: pa.RecordBatch) -> FactColumns:
    facts: Any = batch.column(VersionFacts.kind)
    fields: dict[str, Any] = dict(zip(facts.type.names, facts.flatten(), strict=True))
    columns: dict[str, Any] = {name: numbers_of(fields[name]) for name in COUNTS}
    for name in HISTOGRAMS:
        (lists,) = fields[name].flatten()
        lengths = numbers_of(lists.value_lengths(), np.int32)
        columns[name] = numbers_of(lists.flatten()), np.cumsum(lengths, dtype=np.int64)
    return FactColumns(VersionFacts, store, numbers_of(batch.column("version")), columns)


class VersionSums:
    """Facts on the versions of a store, of many partitions, added up version by version."""

    def __init__(self) -> None:
        self._tables: list[list[Int64s]] = []
        self._held = 0

    def add(self, part: FactColumns, apart: Bools) -> None:
        """Add the facts of a partition; those on some of the versions stay apart."""
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
        tables = [np.concatenate(parts) for parts in zip(*self._tables, strict=True)]
        self._tables = [[sum_rows(table, 2 + (i > 0)) for i, table in enumerate(tables)]]
        self._held = 0

    def total(self) -> Iterator[tuple[int, int, VersionFacts]]:
        """Partition, or ALL_PARTITIONS, and version; and their facts together."""
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
    """A table whose rows with the same first columns are one, with the sums of the others."""
    if not len(table):
        return table
    table = table[np.lexsort(table[:, :keys].T[::-1])]
    first = np.ones(len(table), np.bool_)
    first[1:] = (table[1:, :keys] != table[:-1, :keys]).any(axis=1)
    starts = np.flatnonzero(first)
    return np.column_stack([table[starts, :keys], np.add.reduceat(table[:, keys:], starts)])
