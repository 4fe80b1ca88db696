"""Charts of a page: the size ladder, versions over batches, bytes by field, leftovers by age."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from inspector.analyses.expiry.leftover_tables import AGE_WORDS
from inspector.analyses.shared.judged import Judged, batch_columns, store_schemas
from inspector.analyses.shared.state_growth import whole_stores
from inspector.discovery.checkpoint import Checkpoint
from inspector.facts.size_distributions import FieldSizes
from inspector.facts.versions import VersionFacts
from inspector.merge.collect import Facts
from inspector.model import DEFAULT_STORE, StoreId, StoreName
from inspector.operators.rule import RowPart
from inspector.quantities import share_text
from inspector.render.page import Bar, BarChart, LineChart, Series
from inspector.render.tabular import Table, Unit
from inspector.sparktypes import unique_names, widen_timeout
from inspector.sums import sum_by_key, sum_or_none

MOST_STORES = 4  # stores up to which a chart has a line for each besides their sum
MOST_FIELDS = 12  # fields that have a bar each; the others have one together

GAPS = "Gaps are versions that not every partition can restore."
_OVERHEAD = "null bits"


def ladder_chart(ladder: Table) -> BarChart:
    """The size ladder of ``memory``, drawn."""
    bars = [
        Bar(row["rung"], (row["bytes"],), row["meaning"], row["counted"] == "exact")
        for row in ladder.rows
    ]
    about = "The size of the same state, measured in different ways. "
    about += "Values marked with ~ are estimates."
    return BarChart("Size ladder", Unit.BYTES, "size of", ("size",), bars, about)


class Versions:
    """The versions of all stores side by side, that can be restored in some partition."""

    def __init__(self, judged: Judged) -> None:
        checkpoint = judged.checkpoint
        # store -> version -> its facts, summed over partitions
        self.by_store, self.names = judged.facts.by_store(), store_labels(checkpoint)
        self.versions = sorted({v for of_store in self.by_store.values() for v in of_store})
        # clocks of their batches; None where unknown
        batches = [batch_columns(checkpoint, version) for version in self.versions]
        self.times_ms = [batch["batch_timestamp_ms"] for batch in batches]
        self.lags_ms = [batch["lag_ms"] for batch in batches]
        # Of how many partitions each version is whole.
        self._whole = {name: whole_stores(checkpoint, of) for name, of in self.by_store.items()}

    def chart(
        self, title: str, scale: Unit, series: Iterable[Series], about: str = ""
    ) -> LineChart:
        """A chart over the batches that made the versions."""
        batches = [version - 1 for version in self.versions]
        return LineChart(title, scale, batches, self.times_ms, list(series), about)

    def of_store(
        self, store: StoreName, number: Callable[[VersionFacts], int], *, changes: bool = False
    ) -> list[int | None]:
        """A number of one store by version; None where some partition cannot say it.

        What a version changed (``changes``) needs the version before too.
        """
        of_store = self.by_store[store]
        whole = self._whole[store]
        numbers: list[int | None] = []
        for version in self.versions:
            facts = of_store.get(version)
            is_known = facts and facts.stores >= whole[version] and not (changes and facts.rebased)
            numbers.append(number(facts) if facts and is_known else None)
        return numbers

    def total(
        self, number: Callable[[VersionFacts], int], *, changes: bool = False
    ) -> list[int | None]:
        """The same over all stores."""
        columns = [self.of_store(store, number, changes=changes) for store in self.by_store]
        return [sum_or_none(row) for row in zip(*columns, strict=True)]

    def series(self, number: Callable[[VersionFacts], int]) -> list[Series]:
        """The total, and each store where there are a few."""
        series = [Series("all stores" if len(self.by_store) > 1 else "rows", self.total(number))]
        if 1 < len(self.by_store) <= MOST_STORES:
            series += [
                Series(self.names[store], self.of_store(store, number)) for store in self.by_store
            ]
        return series


def state_charts(versions: Versions, batches: Table) -> list[LineChart]:
    """Rows, bytes and the lag of the watermark, over batches; the heap is that of ``timeline``."""
    rows = versions.series(lambda facts: facts.rows)
    of_rows = [Series("row bytes", versions.total(lambda facts: facts.row_bytes))]
    heap = Series("heap of two versions", _heap(versions, batches), exact=False)
    gaps = GAPS if any(value is None for value in rows[0].values) else ""
    about = "The heap is an estimate."
    charts = [
        versions.chart("Rows in the state", Unit.COUNT, rows, gaps),
        versions.chart("Bytes of the state", Unit.BYTES, [*of_rows, heap], about),
    ]
    if any(lag is not None for lag in versions.lags_ms):
        about = "Processing time of the batch minus the watermark. "
        about += "Negative values mean that the watermark is ahead."
        lags = [Series("lag", versions.lags_ms)]
        charts.append(versions.chart("Watermark lag", Unit.DURATION_MS, lags, about))
    return charts


def growth_charts(judged: Judged) -> list[LineChart]:
    """Rows and bytes over batches, of all stores together."""
    versions = Versions(judged)
    rows = Series("rows", versions.total(lambda facts: facts.rows))
    row_bytes = Series("row bytes", versions.total(lambda facts: facts.row_bytes))
    return [
        versions.chart("Rows", Unit.COUNT, [rows]),
        versions.chart("Bytes", Unit.BYTES, [row_bytes]),
    ]


def _heap(versions: Versions, batches: Table) -> list[int | None]:
    whole = versions.total(lambda facts: facts.rows)
    heap: dict[int, int] = sum_by_key(
        (row["version"], row["heap_bytes"]) for row in batches.rows if row["heap_bytes"] is not None
    )
    pairs = zip(versions.versions, whole, strict=True)
    return [None if rows is None else heap.get(version) for version, rows in pairs]


def churn_charts(versions: Versions) -> list[LineChart]:
    """What each version changed, and what it shares with the one before."""

    def changed(name: str, number: Callable[[VersionFacts], int]) -> Series:
        return Series(name, versions.total(number, changes=True))

    churn = [
        changed("inserts", lambda facts: facts.inserts),
        changed("updates", lambda facts: facts.updates),
        changed("puts of the same value", lambda facts: facts.same_value_puts),
        changed("removals", lambda facts: facts.removals),
    ]
    shared = [
        Series("row bytes", versions.total(lambda facts: facts.row_bytes)),
        changed("shared", lambda facts: facts.shared_key_bytes + facts.shared_value_bytes),
    ]
    unknown = any(value is None for value in churn[0].values)
    about = "Unknown for versions that are read from a snapshot." if unknown else ""
    return [
        versions.chart("Changes of each version", Unit.COUNT, churn, about),
        versions.chart("Bytes shared with the version before", Unit.BYTES, shared, about),
    ]


def bytes_chart(judged: Judged) -> BarChart:
    """Where the row bytes of the judged version are: by store and field, the most first."""
    checkpoint, facts = judged.checkpoint, judged.facts
    names, measured = store_labels(checkpoint), _fields(checkpoint, facts)
    amounts: list[tuple[str, str, int]] = []
    for (store, of_version), version_facts in facts.versions.items():
        if of_version != judged.version:
            continue
        parts = measured.get(store)
        if parts is None or sum(parts.values()) != version_facts.row_bytes:
            parts = {"key": version_facts.key_bytes, "value": version_facts.value_bytes}
        amounts += [(names[store.name], field, size) for field, size in parts.items() if size]
    stores = _most_first((store, size) for store, _, size in amounts)
    fields = _most_first((f"{store} {field}", size) for store, field, size in amounts)
    shown, others = fields[:MOST_FIELDS], fields[MOST_FIELDS:]
    if others:
        shown.append((f"{len(others):,} others", sum(size for _, size in others)))
    total = sum(size for _, size in fields)
    shares = [f"{name} {share_text(size / total)}" for name, size in stores[:MOST_STORES]]
    about = f"Of all: {', '.join(shares)}." if len(stores) > 1 else ""
    about = about if fields else "There are no rows."
    bars = [Bar(name, (size,)) for name, size in shown]
    return BarChart("Row bytes by field", Unit.BYTES, "store and field", ("bytes",), bars, about)


def _most_first(amounts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    return sorted(sum_by_key(amounts).items(), key=lambda item: (-item[1], item[0]))


def _fields(checkpoint: Checkpoint, facts: Facts) -> dict[StoreId, dict[str, int]]:
    schemas = {}
    for store, pair in store_schemas(checkpoint).items():
        schemas[store, RowPart.KEY] = pair.key
        schemas[store, RowPart.VALUE] = widen_timeout(pair.value)
    result: dict[StoreId, dict[str, int]] = {}
    for observation in facts.of(FieldSizes):
        sizes, side = observation.fact.rows, observation.fact.side
        if side is None or not sizes.rows:
            continue
        parts = result.setdefault(observation.store, {})
        fields = unique_names(schemas[observation.store.name, side].fields)
        for name, of_field in zip(fields, sizes.fields, strict=True):
            parts[f"{side.value}.{name}"] = of_field.bytes
        parts[f"{side.value} {_OVERHEAD}"] = sizes.null_bit_bytes + sizes.other_bytes
    return result


def age_chart(ages: Table) -> BarChart:
    """Leftovers by class and by how long ago they expired, the youngest first."""
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
    """What a store is called on a page: by its operator, and by its own name if it has one."""
    labels = {}
    for operator in checkpoint.operators:
        named = f"{operator.operator_id} {operator.name}"
        for store in operator.layout.store_names:
            own = operator.name if store == DEFAULT_STORE else store
            whole = named if store == DEFAULT_STORE else f"{named} {store}"
            label = own if len(checkpoint.operators) == 1 else whole
            labels[StoreName(operator.operator_id, store)] = label
    return labels
