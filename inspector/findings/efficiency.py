"""Findings about what state costs more than it need, SS3xx."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from inspector.estimates.skew import skew
from inspector.facts.versions import VersionFacts
from inspector.findings.catalogue import (
    EMPTY_DELTAS,
    FORMAT_V1,
    HEAP_OVER_LIMIT,
    OVERSIZED_VALUE,
    SAME_VALUE,
    SKEWED,
)
from inspector.findings.finding import Finding
from inspector.findings.thresholds import Thresholds
from inspector.model import Certainty
from inspector.operators.rewrites import rewrite_advice
from inspector.quantities import bytes_text, count_text, share_text


@dataclass(frozen=True)
class StoreCosts:
    """What is known of one store.

    Attributes:
        operator_id, operator_name, store_name: which.
        partitions: facts of the judged version by partition.
        versions: facts of every version, all partitions together.
        single: Spark runs its operator in one partition.
    """

    operator_id: int
    operator_name: str
    store_name: str
    partitions: Mapping[int, VersionFacts]
    versions: Mapping[int, VersionFacts]
    single: bool = False


def judge_costs(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """The findings of one store."""
    yield from _skewed(costs, thresholds)
    yield from _oversized(costs, thresholds)
    yield from _rewrites(costs, thresholds)
    yield from _empty(costs, thresholds)


def judge_format(operator_id: int, formats: Mapping[str, str]) -> Iterator[Finding]:
    """State format 1 of an aggregation: the value repeats the key's columns."""
    if formats.get("aggregation") == "1":
        yield Finding(
            FORMAT_V1,
            Certainty.PROVEN,
            "by the offset log the aggregation has state format 1 (as where none is recorded): "
            "each value repeats its key",
            FORMAT_V1.to_do,
            operator_id,
        )


def judge_heap(heap_bytes: int | None, thresholds: Thresholds) -> Iterator[Finding]:
    """The state of all stores against the limit of its user.

    Args:
        heap_bytes: what the retained versions take in all executors; an estimate. None if it was
            not estimated.
        thresholds: with the limit; without one nothing is judged.
    """
    limit = thresholds.heap_bytes
    if limit is None or heap_bytes is None or heap_bytes <= limit:
        return
    yield Finding(
        HEAP_OVER_LIMIT,
        Certainty.INFERRED,
        f"the two versions that Spark retains take an estimated {bytes_text(heap_bytes)} of heap "
        f"in all executors together; the limit is {bytes_text(limit)}",
        HEAP_OVER_LIMIT.to_do,
        cause=f"The state takes an estimated {bytes_text(heap_bytes)} of heap, more than the limit "
        f"of {bytes_text(limit)}.",
    )


def _skewed(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """One partition that has far more rows than the others."""
    ids = sorted(costs.partitions)
    spread = skew([costs.partitions[one].rows for one in ids])
    if costs.single or spread is None or spread.partitions < 2:
        return
    # The lower median: of two partitions the median itself is never far below the larger.
    half = sorted(partition_facts.rows for partition_facts in costs.partitions.values())[
        (len(ids) - 1) // 2
    ]
    if spread.max < max(thresholds.skew_rows, thresholds.skew_ratio * half):
        return
    largest = ids[spread.largest]
    facts = costs.partitions[largest]
    share = facts.rows / sum(partition_facts.rows for partition_facts in costs.partitions.values())
    yield Finding(
        SKEWED,
        Certainty.PROVEN,
        f"partition {largest} has {count_text(facts.rows, 'row')} ({share_text(share)} of all); "
        f"half of the {spread.partitions} partitions have at most {count_text(half, 'row')} each",
        SKEWED.to_do,
        costs.operator_id,
        costs.store_name,
        facts.rows,
        facts.row_bytes,
        f"The state is skewed: partition {largest} of {spread.partitions} holds "
        f"{share_text(share)} of its rows.",
    )


def _oversized(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """A value far larger than the usual one."""
    total = sum(costs.partitions.values(), VersionFacts())
    sizes = total.value_sizes
    largest, median = sizes.max, sizes.quantile(0.5)
    if largest is None or not median or largest < thresholds.value_bytes:
        return
    if largest < thresholds.value_ratio * median:
        return
    # All that are as far from the usual one, not the largest alone.
    least = max(thresholds.value_bytes, thresholds.value_ratio * median)
    large = {size: count for size, count in sizes.counts.items() if size >= least}
    rows, size = sum(large.values()), sum(size * count for size, count in large.items())
    where = next(
        i
        for i, partition_facts in costs.partitions.items()
        if partition_facts.value_sizes.max == largest
    )
    yield Finding(
        OVERSIZED_VALUE,
        Certainty.PROVEN,
        f"the largest value has {count_text(largest, 'byte')}, {largest / median:,.0f} times the "
        f"median of {count_text(median, 'byte')}; it is in partition {where}; "
        f"{count_text(rows, 'value')} of {total.rows:,} {'is' if rows == 1 else 'are'} as far from "
        "the median",
        OVERSIZED_VALUE.to_do,
        costs.operator_id,
        costs.store_name,
        rows,
        size,
        f"The state has {count_text(rows, 'value')} far larger than the others: the largest has "
        f"{bytes_text(largest)}, {largest / median:,.0f} times the median.",
    )


def _rewrites(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """Puts that wrote what was there already."""
    total = sum(costs.versions.values(), VersionFacts())
    share = thresholds.same_value_share * total.updates
    if not total.same_value_puts or total.same_value_puts < share:
        return
    yield Finding(
        SAME_VALUE,
        Certainty.PROVEN,
        f"{total.same_value_puts:,} of {count_text(total.updates, 'update')} wrote the value that "
        f"was there already, in {_span(costs.versions)}",
        rewrite_advice(costs.operator_name),
        costs.operator_id,
        costs.store_name,
        total.same_value_puts,
        total.same_value_put_bytes,
        f"Updates write what is there already: {share_text(total.same_value_puts / total.updates)} "
        "of the updates of this store do not change the value.",
    )


def _empty(costs: StoreCosts, thresholds: Thresholds) -> Iterator[Finding]:
    """Deltas that hold nothing: a file, or two, for each partition of each batch."""
    is_known = sum(
        version_facts.stores - version_facts.rebased for version_facts in costs.versions.values()
    )
    empty = sum(version_facts.empty_deltas for version_facts in costs.versions.values())
    if empty < thresholds.empty_deltas or empty < thresholds.empty_share * is_known or not empty:
        return
    whole = sum(
        version_facts.empty_deltas == version_facts.stores
        for version_facts in costs.versions.values()
    )
    partitions = len(costs.partitions)
    words = (
        f"{empty:,} of {count_text(is_known, 'delta')} change nothing, in {_span(costs.versions)}"
    )
    if whole:
        words += (
            f"; in {whole:,} of {count_text(len(costs.versions), 'version')} no partition changed"
        )
    few = (
        f"Most of the {count_text(partitions, 'partition')} have nothing to write in most batches"
        if whole < len(costs.versions) / 2
        else "Most batches change nothing in the state"
    )
    yield Finding(
        EMPTY_DELTAS,
        Certainty.PROVEN,
        words,
        EMPTY_DELTAS.to_do,
        costs.operator_id,
        costs.store_name,
        cause=f"{few}, and each of them still writes an empty file.",
    )


def _span(versions: Iterable[int]) -> str:
    """``versions 3 to 12``, ``version 3``."""
    span = list(versions)
    first, last = min(span), max(span)
    return f"version {first}" if first == last else f"versions {first} to {last}"
