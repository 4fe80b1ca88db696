"""Facts of many partitions merged before they reach the driver, where they are many.

Of 200 partitions with 100 versions and 4 stores come 80,000 facts on versions. The driver needs
those of single partitions at the judged version and the one before it, which executors hold
beside it; of older ones the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import pyarrow as pa

from inspector.facts.fact import Observed
from inspector.facts.registry import fact_batches, facts_in

MANY = 20_000
"""Facts that the driver takes as they are; each is some 2 KB of Python objects for a moment."""

KEYS = ("operator_id", "store_name")
"""Facts that are merged have the same of these."""


def combining(version: int) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A batch function from facts to fewer facts, of which the driver makes the same.

    Args:
        version: the judged one; facts on it, and on the one before, that are reported by partition
            stay apart.

    Returns:
        Takes and yields batches of :func:`inspector.facts.registry.facts_schema`. It holds one fact
        for each merge key.
    """

    def combine(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        merged: dict[Hashable, Observed[Any]] = {}
        for batch in batches:
            yield from fact_batches(_merge(facts_in(batch), merged, version))
        yield from fact_batches(merged.values())

    return combine


def _merge(
    found: Iterable[Observed[Any]], merged: dict[Hashable, Observed[Any]], version: int
) -> Iterator[Observed[Any]]:
    """Add facts to ``merged``; yields those that are not to be added."""
    for one in found:
        key = one.merge_key
        if key is None or (one.fact.by_partition and one.version >= version - 1):
            yield one
        else:
            merged[key] = merged[key] + one if key in merged else one
