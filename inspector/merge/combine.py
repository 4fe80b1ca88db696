"""Facts of many partitions, merged where they are observed.

Of 200 partitions with 100 versions and 4 stores come 80,000 facts on versions. An analysis needs
those of single partitions at the judged version and the one before it, which executors hold beside
it; of older ones the sums. These are made of columns, without an object for each fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain, groupby
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.arrays import Bools, Int64s
from inspector.facts.fact import ALL_PARTITIONS, Observed, add_up
from inspector.facts.registry import fact_batches, facts_in
from inspector.facts.size_distributions import SizeCounts
from inspector.facts.versions import COUNTS, HISTOGRAMS, VersionFacts
from inspector.model import StoreId
from inspector.schemas import STORE_COLUMNS, numbers_of

MANY = 20_000  # facts that the driver takes as they are; each is 2 KB of objects for a moment
KEYS = ("operator_id", "store_name")  # facts that are merged have the same of these
AT_ONCE = 64  # facts that are held until they are added up: one by one it takes three times as long
HELD = 1 << 13  # rows of columns that are held until they are added up


def combine(version: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Facts as fewer, of which an analysis makes the same: the last two versions by partition."""
    return fact_batches(_merge(batches, version - 1))


def _merge(batches: Iterable[pa.RecordBatch], first_apart: int) -> Iterator[Observed[Any]]:
    held: dict[Hashable, list[Observed[Any]]] = {}
    sums: dict[tuple[Any, ...], VersionSums] = {}
    for batch in batches:
        rest = [batch]
        if set(batch.column("kind").to_pylist()) == {VersionFacts.kind}:
            rest.clear()
            stores = zip(*(batch.column(name).to_pylist() for name in KEYS), strict=True)
            for of_store, part in _runs(batch.select(_COLUMNS), stores):
                older = numbers_of(part.column("version")) < first_apart
                sums.setdefault(of_store, VersionSums()).add(part, older)
                rest += [rows for added, rows in _runs(part, older.tolist()) if not added]
        for observation in chain.from_iterable(map(facts_in, rest)):
            key = observation.merge_key
            if key is None or (
                observation.fact.by_partition and observation.version >= first_apart
            ):
                yield observation
                continue
            alike = held.setdefault(key, [])
            alike.append(observation)
            if len(alike) == AT_ONCE:
                alike[:] = [add_up(alike)]
    yield from map(add_up, held.values())
    for (operator_id, name), version_sums in sums.items():
        store = StoreId(operator_id, name, ALL_PARTITIONS)
        for version, facts in version_sums.total():
            yield Observed(store, version, facts)


_COLUMNS = ["kind", *(name for name, _ in STORE_COLUMNS), VersionFacts.kind]


def _runs(batch: pa.RecordBatch, keys: Iterable[Any]) -> Iterator[tuple[Any, pa.RecordBatch]]:
    """The rows of a batch in runs of the same key, of which there is one for each row."""
    start = 0
    for key, rows in groupby(keys):
        count = len(list(rows))
        yield key, batch.slice(start, count)
        start += count


class VersionSums:
    """Facts on the versions of a store, of many partitions, added up version by version."""

    def __init__(self) -> None:
        self._tables: list[list[Int64s]] = []
        self._held = 0

    def add(self, batch: pa.RecordBatch, added: Bools) -> None:
        """Add some of the facts of a batch, all of which are of one store's versions."""
        versions = numbers_of(batch.column("version"))
        facts: Any = batch.column(VersionFacts.kind)
        fields: dict[str, Any] = dict(zip(facts.type.names, facts.flatten(), strict=True))
        columns = [versions, *(numbers_of(fields[name]) for name in COUNTS)]
        tables = [np.stack(columns, axis=1)[added]]
        for name in HISTOGRAMS:
            (lists,) = fields[name].flatten()
            ends = np.frombuffer(lists.buffers()[1], np.int32)[lists.offset :][: len(lists) + 1]
            pairs = numbers_of(lists.values)[ends[0] : ends[-1]].reshape(-1, 2)
            sizes = np.diff(ends) >> 1
            table = np.column_stack([np.repeat(versions, sizes), pairs])
            tables.append(table[np.repeat(added, sizes)])
        self._tables.append(tables)
        self._held += len(tables[0])
        if self._held > HELD:
            self._fold()

    def _fold(self) -> None:
        tables = [np.concatenate(parts) for parts in zip(*self._tables, strict=True)]
        self._tables = [[sum_rows(table, 1 + (i > 0)) for i, table in enumerate(tables)]]
        self._held = 0

    def total(self) -> Iterator[tuple[int, VersionFacts]]:
        """Each version, and the facts of all partitions together."""
        self._fold()
        ((numbers, *sizes),) = self._tables
        distributions: list[dict[int, Counter[int]]] = []
        for table in sizes:
            by_version: dict[int, Counter[int]] = {}
            for version, size, count in table.tolist():
                by_version.setdefault(version, Counter())[size] = count
            distributions.append(by_version)
        for version, *counts in numbers.tolist():
            values: dict[str, Any] = dict(zip(COUNTS, counts, strict=True))
            for name, by_version in zip(HISTOGRAMS, distributions, strict=True):
                values[name] = SizeCounts(by_version.get(version, Counter()))
            yield version, VersionFacts(**values)


def sum_rows(table: Int64s, keys: int) -> Int64s:
    """A table whose rows with the same first columns are one, with the sums of the others."""
    if not len(table):
        return table
    table = table[np.lexsort(table[:, :keys].T[::-1])]
    first = np.ones(len(table), np.bool_)
    first[1:] = (table[1:, :keys] != table[:-1, :keys]).any(axis=1)
    starts = np.flatnonzero(first)
    return np.column_stack([table[starts, :keys], np.add.reduceat(table[:, keys:], starts)])
