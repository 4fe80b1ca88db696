"""Charts of a page: the size ladder, versions over batches, bytes by field, leftovers by age."""

from __future__ import annotations

from collections.abc import Iterable

from inspector.analyses.expiry.leftover_tables import AGE_WORDS
from inspector.analyses.shared.judged import Judged, batch_columns, store_schemas
from inspector.analyses.shared.state_growth import whole_stores
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.size_distributions import FieldSizes
from inspector.merge.collect import Facts
from inspector.model import DEFAULT_STORE, StoreId, StoreName
from inspector.operators.rule import RowPart
from inspector.quantities import share_text
from inspector.render.page import Bar, BarChart, LineChart, Series
from inspector.render.tabular import Table, Unit
from inspector.sparktypes import unique_names, widen_timeout
from inspector.sums import sum_by_key, sum_or_none

# Number of stores up to which the chart of rows has a line for each store next to their sum. The
# chart of bytes names the shares of that number of stores.
MOST_STORES = 4
# number of fields that have a bar each in the chart of bytes; all others have one bar together
MOST_FIELDS = 12

GAPS = "Gaps are versions that not every partition can restore."  # note on a chart with gaps
_OVERHEAD = "null bits"  # end of the name for the bytes of keys or values that are in no field


def ladder_chart(ladder: Table) -> BarChart:
    """Return a bar chart of ``ladder``, the first table of the command ``memory``.

    Each row of it measures the size of the same state in another way. Bars are marked as estimates
    unless they were counted exactly.
    """
    bars = [
        Bar(row["rung"], (row["bytes"],), row["meaning"], row["counted"] == "exact")
        for row in ladder.rows
    ]
    about = "The size of the same state, measured in different ways. "
    about += "Values marked with ~ are estimates."
    return BarChart("Size ladder", Unit.BYTES, "size of", ("size",), bars, about)


class Versions:
    """Numbers of all stores by version, for versions that some partition can restore."""

    def __init__(self, judged: Judged) -> None:
        """Read the numbers of all versions from the facts."""
        checkpoint = judged.checkpoint
        # store -> version -> its facts, summed over partitions; and store -> label for the page
        self.by_store, self.names = judged.facts.by_store(), store_labels(checkpoint)
        # all versions that a store has, oldest first; series have a value for each of them
        self.versions = sorted(
            {v for versions_of_store in self.by_store.values() for v in versions_of_store}
        )
        batches = [batch_columns(checkpoint, version) for version in self.versions]
        # processing times of the versions' batches, epoch ms; None if unknown
        self.times_ms = [batch["batch_timestamp_ms"] for batch in batches]
        # processing times minus watermarks, in ms; None if one of them is unknown
        self.lags_ms = [batch["lag_ms"] for batch in batches]
        # store -> version -> number of partitions that a complete version has
        self._partition_counts = {
            name: whole_stores(checkpoint, versions) for name, versions in self.by_store.items()
        }

    def chart(
        self, title: str, scale: Unit, series: Iterable[Series], about: str = ""
    ) -> LineChart:
        """Return a line chart over batches; each series has one value for each version.

        ``scale`` is the unit of all values, and ``about`` a note on the chart.
        """
        batches = [version - 1 for version in self.versions]
        return LineChart(title, scale, batches, self.times_ms, list(series), about)

    def of_store(self, store: StoreName, name: str, *, changes: bool = False) -> list[int | None]:
        """Return one number of a store for each version, from the field ``name`` of its facts.

        ``name`` is a field of :class:`VersionFacts`. A number is None if not every partition of the
        store has the version. With ``changes``, for counts of changes, it is also None if the
        previous version is unknown.
        """
        facts_by_version, whole = self.by_store[store], self._partition_counts[store]
        numbers: list[int | None] = []
        for version in self.versions:
            facts = facts_by_version.get(version)
            is_known = facts and facts.stores >= whole[version] and not (changes and facts.rebased)
            numbers.append(getattr(facts, name) if is_known else None)
        return numbers

    def total(self, name: str, *, changes: bool = False) -> list[int | None]:
        """Return a field of :class:`VersionFacts` for each version, summed over stores.

        A version is None if some store has no value for it. With ``changes`` it is also None if
        some store's previous version is unknown, because changes cannot be counted then.
        """
        columns = [self.of_store(store, name, changes=changes) for store in self.by_store]
        return [sum_or_none(row) for row in zip(*columns, strict=True)]


def state_charts(versions: Versions, batches: Table) -> list[LineChart]:
    """Return the line charts of rows, bytes and watermark lag over batches.

    The chart of bytes has row bytes, and the estimated heap if ``batches`` has numbers of it.
    ``batches`` is the table of the command ``timeline`` by store and batch. The chart of the lag is
    left out if no lag is known.
    """
    total, stores = versions.total("rows"), versions.by_store
    rows = [Series("all stores" if len(stores) > 1 else "rows", total)]
    if 1 < len(stores) <= MOST_STORES:
        rows += [
            Series(versions.names[store], versions.of_store(store, "rows")) for store in stores
        ]
    heaps: dict[int, int] = sum_by_key(
        (row["version"], row["heap_bytes"]) for row in batches.rows if row["heap_bytes"] is not None
    )
    sizes, about = [Series("row bytes", versions.total("row_bytes"))], ""
    if heaps:  # a provider that keeps no rows on it has none
        pairs = zip(versions.versions, total, strict=True)
        heap = [None if number is None else heaps.get(version) for version, number in pairs]
        sizes.append(Series("heap of two versions", heap, exact=False))
        about = "The heap is an estimate."
    gaps = GAPS if None in total else ""
    charts = [
        versions.chart("Rows in the state", Unit.COUNT, rows, gaps),
        versions.chart("Bytes of the state", Unit.BYTES, sizes, about),
    ]
    if any(lag is not None for lag in versions.lags_ms):
        about = "Processing time of the batch minus the watermark. "
        about += "Negative values mean that the watermark is ahead."
        lags = [Series("lag", versions.lags_ms)]
        charts.append(versions.chart("Watermark lag", Unit.DURATION_MS, lags, about))
    return charts


def growth_charts(judged: Judged) -> list[LineChart]:
    """Return the charts of rows and of row bytes over batches, summed over all stores."""
    versions = Versions(judged)
    rows = Series("rows", versions.total("rows"))
    row_bytes = Series("row bytes", versions.total("row_bytes"))
    return [
        versions.chart("Rows", Unit.COUNT, [rows]),
        versions.chart("Bytes", Unit.BYTES, [row_bytes]),
    ]


def churn_charts(versions: Versions) -> list[LineChart]:
    """Return two line charts over batches, summed over all stores.

    The first is of the changes that made each version: inserts, updates, puts of the same value and
    removals. The second is of row bytes, and of those shared with the previous version.
    """
    names = {"same_value_puts": "puts of the same value"}
    churn = [
        Series(names.get(name, name), versions.total(name, changes=True))
        for name in ("inserts", "updates", "same_value_puts", "removals")
    ]
    shared = [
        Series("row bytes", versions.total("row_bytes")),
        Series("shared", versions.total("shared_bytes", changes=True)),
    ]
    about = "Unknown for versions that are read from a snapshot." if None in churn[0].values else ""
    return [
        versions.chart("Changes of each version", Unit.COUNT, churn, about),
        versions.chart("Bytes shared with the version before", Unit.BYTES, shared, about),
    ]


def byte_amounts(judged: Judged) -> list[tuple[StoreName, str, int]]:
    """Return (store, field, bytes) for the judged version, summed over partitions.

    Fields without bytes are left out. A store whose fields were not measured has two entries,
    ``key`` and ``value``. All bytes together are the version's row bytes.
    """
    checkpoint, facts = judged.checkpoint, judged.facts
    measured = _fields(checkpoint, facts)
    amounts: list[tuple[StoreName, str, int]] = []
    for (store, facts_version), version_facts in facts.versions.items():
        if facts_version != judged.version:
            continue
        parts = measured.get(store)
        if parts is None or sum(parts.values()) != version_facts.row_bytes:
            parts = {"key": version_facts.key_bytes, "value": version_facts.value_bytes}
        amounts += [(store.name, field, size) for field, size in parts.items() if size]
    sums = sum_by_key(((store, field), size) for store, field, size in amounts)
    return [(store, field, size) for (store, field), size in sums.items()]


def bytes_chart(judged: Judged) -> BarChart:
    """Return the chart of the judged version's row bytes by store and field, the largest first.

    Fields beyond ``MOST_FIELDS`` share the last bar. The note names the largest stores' shares if
    there are several stores.
    """
    names = store_labels(judged.checkpoint)
    amounts = [(names[store], field, size) for store, field, size in byte_amounts(judged)]
    stores = _largest_first((store, size) for store, _, size in amounts)
    fields = _largest_first((f"{store} {field}", size) for store, field, size in amounts)
    total, others = sum(size for _, size in fields), fields[MOST_FIELDS:]
    bars = [Bar(name, (size,)) for name, size in fields[:MOST_FIELDS]]
    if others:
        bars.append(Bar(f"{len(others):,} others", (sum(size for _, size in others),)))
    about = "" if fields else "There are no rows."
    if len(stores) > 1:
        shares = [f"{name} {share_text(size / total)}" for name, size in stores[:MOST_STORES]]
        about = f"Of all: {', '.join(shares)}."
    return BarChart("Row bytes by field", Unit.BYTES, "store and field", ("bytes",), bars, about)


def _largest_first(amounts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the sum of the amounts of each name, as pairs, the largest sum first.

    Names with equal sums are in alphabetical order.
    """
    return sorted(sum_by_key(amounts).items(), key=lambda item: (-item[1], item[0]))


def _fields(checkpoint: Checkpoint, facts: Facts) -> dict[StoreId, dict[str, int]]:
    """Return the measured bytes of each field, for each store of each partition.

    The inner keys are names of fields, such as ``key.user``, and ``key null bits`` or ``value null
    bits`` for the other bytes. A store is absent if its fields were not measured.
    """
    names = field_names(checkpoint)
    result: dict[StoreId, dict[str, int]] = {}
    for observation in facts.of(FieldSizes):
        sizes, side = observation.fact.rows, observation.fact.side
        if side is None or not sizes.rows:
            continue
        parts = result.setdefault(observation.store, {})
        fields = names[observation.store.name, side]
        for name, field_sizes in zip(fields, sizes.fields, strict=True):
            parts[name] = field_sizes.bytes
        parts[f"{side.value} {_OVERHEAD}"] = sizes.null_bit_bytes + sizes.other_bytes
    return result


def field_names(checkpoint: Checkpoint) -> dict[tuple[StoreName, RowPart], list[str]]:
    """Return the names of fields, such as ``key.user``, by store and by part: key or value.

    Names are in the order of the schema. Stores without a schema are absent.
    """
    result = {}
    for store, pair in store_schemas(checkpoint).items():
        sides = {RowPart.KEY: pair.key, RowPart.VALUE: widen_timeout(pair.value)}
        for side, schema in sides.items():
            names = unique_names(schema.fields)
            result[store, side] = [f"{side.value}.{name}" for name in names]
    return result


def age_chart(ages: Table) -> BarChart:
    """Return the chart of ``ages``, the table of leftovers by class and age, the youngest first.

    It has a bar for each range of ages that occurs, with a part for each class of leftovers.
    """
    rows = list(ages.rows)
    classes = list(dict.fromkeys(row["class"] for row in rows))
    counts: dict[str, list[int]] = {}
    for row in sorted(rows, key=lambda row: AGE_WORDS.index(row["expired"])):
        parts = counts.setdefault(row["expired"], [0] * len(classes))
        parts[classes.index(row["class"])] += row["keys"]
    bars = [Bar(expired, parts) for expired, parts in counts.items()]
    return BarChart(
        "Leftovers by age and class", Unit.COUNT, "expired before the judged batch", classes, bars
    )


def store_labels(checkpoint: Checkpoint) -> dict[StoreName, str]:
    """Return the label of each store on a page.

    It is the operator's id and name, and the store's name unless that is ``default``. If there is
    only one operator, it is the store's name, or the operator's name for the store ``default``.
    """
    labels, names_operators = {}, len(checkpoint.operators) > 1
    for operator in checkpoint.operators:
        name = f"{operator.operator_id} {operator.name}" if names_operators else operator.name
        for store in operator.layout.store_names:
            label = f"{name} {store}" if names_operators else store
            if store == DEFAULT_STORE:
                label = name
            labels[StoreName(operator.operator_id, store)] = label
    return labels
