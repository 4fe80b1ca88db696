"""Facts of many partitions, merged where they are observed.

Of 200 partitions with 100 versions and 4 stores come 80,000 facts on versions. An analysis needs
those of single partitions at the judged version and the one before it, which executors hold beside
it; of older ones the sums. These are made of columns, without an object for each fact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from inspector.arrays import Bools, Int64s
from inspector.facts.fact import ALL_PARTITIONS, Observed, add_up
from inspector.facts.registry import fact_batches, facts_in
from inspector.facts.sizes import SizeCounts
from inspector.facts.versions import COUNTS, HISTOGRAMS, VersionFacts
from inspector.model import StoreId
from inspector.schemas import STORE_COLUMNS, parts_of

MANY = 20_000
"""Facts that the driver takes as they are; each is some 2 KB of Python objects for a moment."""

KEYS = ("operator_id", "store_name")
"""Facts that are merged have the same of these."""

AT_ONCE = 64
"""Facts that are held until they are added up: one by one it takes three times as long."""

HELD = 1 << 13
"""Rows of columns that are held until they are added up."""


def combine(version: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Facts as fewer facts, of which an analysis makes the same.

    Args:
        version: the judged one; facts on it, and on the one before, that are reported by partition
            stay apart.
        batches: of :func:`inspector.facts.registry.facts_schema`.
    """
    return fact_batches(_merge(batches, version - 1))


def _merge(batches: Iterable[pa.RecordBatch], first_apart: int) -> Iterator[Observed[Any]]:
    held: dict[Hashable, list[Observed[Any]]] = {}
    sums: dict[tuple[Any, ...], VersionSums] = {}
    for batch in batches:
        rest = batch
        if set(batch.column("kind").to_pylist()) == {VersionFacts.kind}:
            columns = batch.select(_COLUMNS)
            older = columns.column("version").to_numpy() < first_apart
            rest = _rows(columns, ~older)
            for of_store, part in parts_of(_rows(columns, older), KEYS):
                sums.setdefault(of_store, VersionSums()).add(part)
        for observation in facts_in(rest):
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


def _rows(batch: pa.RecordBatch, rows: Bools) -> pa.RecordBatch:
    return batch if rows.all() else batch.filter(pa.array(rows))


class VersionSums:
    """Facts on the versions of a store, of many partitions, added up version by version."""

    def __init__(self) -> None:
        self._tables: list[list[Int64s]] = []
        self._held = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the facts of a batch, all of which are of one store's versions."""
        versions = batch.column("version").to_numpy()
        facts: Any = batch.column(VersionFacts.kind)
        tables = [np.stack([versions, *(facts.field(name).to_numpy() for name in COUNTS)], axis=1)]
        for name in HISTOGRAMS:
            lists = facts.field(name).field(0)
            pairs = lists.flatten().to_numpy().reshape(-1, 2)
            lengths = lists.value_lengths().to_numpy() >> 1
            tables.append(np.column_stack([np.repeat(versions, lengths), pairs]))
        self._tables.append(tables)
        self._held += len(versions)
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
