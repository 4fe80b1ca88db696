"""SS303: oversized value.

What it means:
    The largest values are many times larger than the usual one: a list, a set or a sketch that
    grows with every row of its key. Or the values of one key, in several windows, have most of the
    bytes.

How it is proven:
    Every value of the judged version is measured.

Source:
    HDFSBackedStateStoreProvider.put (2.3 to 4.3).
"""

from __future__ import annotations

from collections.abc import Iterator

from inspector.facts.top_keys import TopBy, TopKey
from inspector.findings.finding import Concerns, Severity
from inspector.findings.rule import Case, Evidence, Rule
from inspector.findings.thresholds import HOT_SHARE, VALUE_BYTES, Threshold
from inspector.findings.views.store_keys import without_column
from inspector.findings.views.store_view import StoreView
from inspector.sparktypes import StructType, is_window


class OversizedValue(Rule[StoreView]):
    """Values far larger than the median, or one with most bytes of its store."""

    scope = "store"
    id = "SS303"
    title = "oversized value"
    severity = Severity.INFO
    spark = "GroupState.update"
    next_step = (
        "see inspector top for the keys and inspector sizes --by field for the columns; bound the "
        "list, keep a count or a sketch in its place, or split the key"
    )
    command = "top"
    concerns = Concerns.REWRITTEN_ROWS

    value_ratio = Threshold(100.0, "times", "Bytes of the largest value over the median value.")
    value_bytes = VALUE_BYTES
    hot_share = HOT_SHARE
    outlier_share = Threshold(0.2, "share", "Share of a store's bytes that one outlier has.")
    outlier_ratio = Threshold(20.0, "times", "Bytes of such an outlier over the median value.")
    value_rows = Threshold(10, "rows", "Rows from which `few_share` is not needed.")
    few_share = Threshold(
        0.75, "share", "Share of the bytes of one value in a store with 3 to `value_rows` rows."
    )

    def find(self, store: StoreView) -> Iterator[Evidence]:
        """Yield at most one evidence: the large values of a store.

        It is about one key, about the values of one group in several windows, or about several
        values.
        """
        total, sizes = store.sizes.total, store.sizes.total.value_sizes
        largest, median = sizes.max, sizes.quantile(0.5)
        if largest is None or not median or largest < self.value_bytes:
            return
        values = sum(size * count for size, count in sizes.counts.items())
        share, times = largest / max(total.row_bytes, values), largest / median
        is_hot = self.has_most(total.rows, share, times)
        if not is_hot and (group := self.group_over_windows(store)):
            yield self.evidence_of(store, group, median)
            return
        if not is_hot and times < self.value_ratio:
            return
        # All values that are as far from the usual one, not the largest alone.
        least = max(self.value_bytes, min(largest, self.value_ratio * median))
        large = {size: count for size, count in sizes.counts.items() if size >= least}
        case = self.one_key if is_hot else self.several
        yield case(
            sum(large.values()),
            sum(size * count for size, count in large.items()),
            share=share,
            largest=largest,
            median=median,
            times=times,
            key=store.sizes.largest_key,
            buffers=store.sizes.buffers,
            partition=store.sizes.partition_of_value(largest),
        )

    def has_most(self, rows: int, share: float, times: float) -> bool:
        """Return True if the largest value alone makes up a large part of its store.

        The value has at least the share ``hot_share`` of the bytes, or ``outlier_share`` if it is
        an outlier: ``outlier_ratio`` to ``value_ratio`` times the median. ``rows`` is the number of
        rows, ``share`` the part of the bytes that the value has, and ``times`` its size divided by
        the median size. Stores with few rows need ``few_share``.
        """
        is_outlier = share >= self.outlier_share and times >= self.outlier_ratio
        has_most = share >= self.hot_share or (is_outlier and times < self.value_ratio)
        is_few = rows < self.value_rows
        return has_most and (not is_few or (rows > 2 and share >= self.few_share))

    def evidence_of(self, store: StoreView, group: list[TopKey], median: float) -> Evidence:
        """Return the evidence about ``group``, the keys of one group in several windows.

        ``median`` is the median size of the store's values, in bytes.
        """
        size = sum(key.value_bytes for key in group)
        return self.over_windows(
            len(group),
            size,
            share=(size + sum(key.key_bytes for key in group)) / store.sizes.total.row_bytes,
            mean=size / len(group),
            median=median,
            key=group_words(store, group[0].key),
            buffers=store.sizes.buffers,
        )

    def group_over_windows(self, store: StoreView) -> list[TopKey]:
        """Return the listed keys of a group that differ only in their window and have most bytes.

        The result is empty if no group has several keys, ``hot_share`` of the bytes and values far
        above the median. It is empty, too, for a key without exactly one window.
        """
        window, total = window_column(store), store.sizes.total
        if window is None or len(store.key_fields) < 2 or total.rows < self.value_rows:
            return []
        listed = store.facts.of_store(TopKey, store.name)
        groups: dict[bytes, list[TopKey]] = {}
        for top in {top.key: top for top in listed if top.by is TopBy.VALUE_BYTES}.values():
            group = without_column(top.key, store.key_fields, window)
            groups.setdefault(group, []).append(top)
        sizes = {group: sum(key.value_bytes for key in keys) for group, keys in groups.items()}
        largest = max(sizes, key=lambda group: sizes[group], default=b"")
        keys, median = groups.get(largest, []), total.value_sizes.quantile(0.5) or 0
        has_most = sum(key.key_bytes + key.value_bytes for key in keys) >= (
            self.hot_share * total.row_bytes
        )
        is_outlier = sizes.get(largest, 0) >= self.outlier_ratio * median * len(keys)
        return keys if len(keys) > 1 and has_most and is_outlier else []

    _EVIDENCE = (
        "the largest value has {largest:byte}, {times:number} times the median of {median:byte}; "
        "it is in partition {partition}; {rows:value} of {all:number} {rows:/is} as far from the "
        "median"
    )
    one_key = Case(
        cause="One key holds {share:percent} of the bytes{key:brackets}: its value has "
        "{largest:bytes}, {times:number} times the median{buffers:brackets}.",
        evidence=_EVIDENCE,
        hides=("SS308", "SS313"),
    )
    several = Case(
        cause="The state has {rows:value} far larger than the others: the largest has "
        "{largest:bytes}, {times:number} times the median{buffers:brackets}{key:brackets}.",
        evidence=_EVIDENCE,
        hides=("SS313",),
    )
    over_windows = Case(
        cause="One key holds at least {share:percent} of the bytes in {rows:number} windows"
        "{key:brackets}: its values have {mean:bytes} on average, the median is {median:bytes}"
        "{buffers:brackets}.",
        evidence="{rows:value} of one group in different windows {rows:/has} at least "
        "{share:percent} of the bytes of {all:row}; the median value has {median:byte}",
        hides=("SS308", "SS313"),
    )


def window_column(store: StoreView) -> int | None:
    """Return the position of the only window in a store's key.

    None if the key has none or several.
    """
    fields = enumerate(store.key_fields)
    windows = [position for position, field in fields if is_window(field.data_type)]
    return windows[0] if len(windows) == 1 else None


def group_words(store: StoreView, key: bytes) -> str:
    """Return words for the UnsafeRow ``key`` without its window, as redaction allows."""
    window = window_column(store) or 0
    fields = [*store.key_fields[:window], *store.key_fields[window + 1 :]]
    group = without_column(key, store.key_fields, window)
    return store.whole.context.key_words(store.name, group, StructType(tuple(fields)))
