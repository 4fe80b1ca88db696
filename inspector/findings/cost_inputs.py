"""Facts of a run put together as the findings about costs take them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from struct import unpack_from
from typing import Protocol

from inspector.decode.field_sizes import nested_fields
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.facts.expiring import Expiring
from inspector.facts.fact import FactT
from inspector.facts.size_distributions import SampledSizes
from inspector.facts.top_keys import SampledKey, TopBy, TopKey
from inspector.facts.variable_entries import EntriesPerKey, KeyEntries
from inspector.facts.versions import VersionFacts
from inspector.findings import efficiency
from inspector.light_dataclasses import dataclass
from inspector.merge.collect import Facts
from inspector.model import (
    JOIN_COUNT_STORES,
    JOIN_ROW_STORES,
    KINDS_OF_STATE,
    BatchId,
    FileKind,
    StoreName,
)
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import RowPart
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import Family
from inspector.providers.common_names import is_left_sum, main_path
from inspector.sparktypes import StructField, StructType, is_window, unique_names, widen_timeout
from inspector.sums import sum_or_none

_NUMBERED = re.compile(r"\[\d+\]$")  # of words of ``HyperLogLogPlusPlus``: ``MS[0]``, ``MS[1]``, ..
_NEARLY = 0.9  # share of the bytes of a struct, for one of its fields to be named in its place
_KEPT = {
    "buf": " (a list, a set or a sketch)",
    "MS": " (approx_count_distinct)",
    "valueWithExtremumOrdering": " (max_by or min_by)",
}
"""Names of buffers that Spark gives -> what they are of."""


class KeyWords(Protocol):
    """Words for a key of a store, or what redaction leaves of them; of a part of it its schema."""

    def __call__(self, store: StoreName, key: bytes, schema: StructType | None = None, /) -> str:
        """The words."""
        ...


@dataclass(frozen=True)
class StoreInputs:
    """One store of the judged version, and what a run knows of it."""

    checkpoint: Checkpoint
    operator: Operator
    store_name: str
    version: int
    facts: Facts
    key_words: KeyWords

    @property
    def name(self) -> StoreName:
        """The operator and the store."""
        return StoreName(self.operator.operator_id, self.store_name)

    @property
    def versions(self) -> Mapping[int, VersionFacts]:
        """Facts of each version, all partitions together, the oldest first."""
        return self.facts.by_store().get(self.name, {})

    @property
    def key_fields(self) -> Sequence[StructField]:
        """The columns of its key; none where no schema is known."""
        schema = self.operator.schemas.get(self.store_name)
        return () if schema is None else schema.key.fields

    def sum(self, kind: type[FactT]) -> FactT | None:
        """Its fact of a type that all add, over all partitions; None if it has none."""
        return self.facts.sums(kind).get(self.name)

    @cached_property
    def windows(self) -> efficiency.Windows | None:
        """The windows of an aggregation; without a watermark those of the few known keys."""
        if self.operator.name not in AGGREGATIONS:
            return None
        at = [i for i, field in enumerate(self.key_fields) if is_window(field.data_type)]
        keys = [sampled.key for sampled in self.facts.of_store(SampledKey, self.name)]
        if len(at) != 1 or not keys:
            return None
        windows = [*columns_of(keys, self.key_fields)][at[0]]
        # Behind the null bits; the totals of cube and rollup have no window.
        bounds = [unpack_from("<qq", window, 8) for window in windows if len(window) >= 8 + 16]
        known = [(start // 1000, end // 1000) for start, end in bounds]
        start, end = min(known, default=(0, 0))
        if end <= start:
            return None
        expiring = self.facts.merged(Expiring).get(self.name, {}).get("", Expiring())
        ends = {bucket * expiring.width for bucket in expiring.rows} or {end for _, end in known}
        return efficiency.Windows(end - start, frozenset(ends))

    def rows_and_records(self) -> tuple[int, int]:
        """Rows written, or gained, in batches whose sources count their records; those."""
        written = records = 0
        if self.operator.processor is not None or self.store_name in COUNT_STORES:
            return written, records  # a function, or Spark, decides how many rows there are
        if self.windows is None and any(is_window(field.data_type) for field in self.key_fields):
            return written, records  # in how many windows a record is cannot be told
        for version, facts in self.versions.items():
            sources = self.checkpoint.logs.sources.get(BatchId(version - 1), ())
            count = sum_or_none(source.records for source in sources)
            if count and not facts.rebased:
                # Other operators write a row anew for reasons of their own.
                written += facts.puts if self.operator.name in AGGREGATIONS else facts.inserts
                records += count
        return written, records


def store_costs(
    checkpoint: Checkpoint, version: int, facts: Facts, key_words: KeyWords
) -> Iterator[efficiency.StoreCosts]:
    """What is known of the costs of each store."""
    operators = {operator.operator_id: operator for operator in checkpoint.operators}
    partitions: dict[StoreName, dict[int, VersionFacts]] = {}
    for (part, of_version), version_facts in facts.versions.items():
        if of_version == version:
            partitions.setdefault(part.name, {})[part.partition_id] = version_facts
    for name, versions in facts.by_store().items():
        operator = operators[name.operator_id]
        store = StoreInputs(checkpoint, operator, name.store_name, version, facts, key_words)
        largest = _first(facts, name, TopBy.VALUE_BYTES)
        yield efficiency.StoreCosts(
            *(name.operator_id, operator.name, name.store_name, partitions.get(name, {}), versions),
            *(operator.single_partition, "" if largest is None else key_words(name, largest.key)),
            *(_buffer_text(store), _hot(store)),
            store.windows,
            *store.rows_and_records(),
            _wide_column(store),
            len(operator.layout.stores) > len(operator.layout.folders),
        )


def file_costs(checkpoint: Checkpoint, operator: Operator, facts: Facts) -> efficiency.FileCosts:
    """What lies in the folders of an operator; with zips at the end what the versions changed."""
    zips, uploaded = _uploads(checkpoint, operator)
    layouts = operator.layout.folders
    folders = [checkpoint.store_files[layout.directory] for layout in layouts]
    files_there = [file for layout in layouts for file in layout.files]
    temporary = {file.path for file in files_there if file.kind is FileKind.TEMPORARY}
    # A checksum file is counted if its temporary file was renamed or removed without it.
    left = [
        file
        for file in files_there
        if file.kind is FileKind.TEMPORARY
        or (is_left_sum(file) and main_path(file) not in temporary)
    ]
    newest = max((files.newest for files in folders), default=0)
    stored = [f for of in folders for f in (*of.deltas.values(), *of.snapshots.values())]
    return efficiency.FileCosts(
        *(operator.operator_id, len(folders), len(left), sum(file.size for file in left)),
        max((len({*files.deltas, *files.snapshots}) for files in folders), default=0),
        sum(file.size for file in stored),
        sum(f.size for f in stored if (f.version or 0) < newest - efficiency.USUAL_VERSIONS),
        *(len(checkpoint.logs.sources), zips, uploaded, _changes(operator, facts) if zips else ()),
    )


def _first(facts: Facts, name: StoreName, by: TopBy) -> TopKey | None:
    """As :func:`inspector.facts.top_keys.merge_top`, of one alone."""
    ranked = (key for key in facts.of_store(TopKey, name) if key.by is by)
    return min(ranked, key=lambda key: (-key.amount, key.key), default=None)


def _buffer_text(store: StoreInputs) -> str:
    """What the values of an aggregation keep: all rows have one buffer for collect_list and set."""
    schema = store.operator.schemas.get(store.store_name)
    fields = () if schema is None else schema.value.fields
    # ``TypedImperativeAggregate`` names its serialized buffer so (2.4 to 4.3).
    buffers = any(field.name.startswith("buf") for field in fields)
    if not buffers or store.operator.name not in (*AGGREGATIONS, *SESSION):
        return ""
    return " (collect_list, collect_set, percentile or another buffer of all rows)"


def _hot(store: StoreInputs) -> efficiency.HotKey | None:
    entries, facts, name = store.sum(EntriesPerKey), store.facts, store.name
    if entries is not None:
        listed = facts.of_store(KeyEntries, name)
        most = max(listed, key=lambda key: (key.entries, key.key), default=None)
        if most is None or entries.keys < 2:
            return None
        words = store.key_words(name, most.key, grouping_key(store.operator, name.store_name))
        noun = "session" if store.operator.name in SESSION else "entry"
        return efficiency.HotKey(words, most.entries, entries.entries, noun, most.row_bytes)
    counters = dict(zip(VALUE_STORES, COUNT_STORES, strict=True)).get(name.store_name)
    if counters is None:
        return None
    counting = StoreName(name.operator_id, counters)
    counter = _first(facts, counting, TopBy.NUMBER)
    rows = facts.of_version(name, store.version).rows
    if counter is None or rows < counter.amount:
        return None
    words, join_keys = store.key_words(counting, counter.key), _join_keys(store)
    return efficiency.HotKey(words, counter.amount, rows, "row", None, *join_keys)


def grouping_key(operator: Operator, store: str) -> StructType:
    """The schema of the keys of which a list, a map or a prefix of sessions has entries."""
    schema = operator.schemas[store].key
    nested = operator.family(store) is Family.MAP and schema.fields[0].data_type
    return nested if isinstance(nested, StructType) else StructType(schema.fields[:-1])


def _join_keys(store: StoreInputs) -> tuple[int, float]:
    """Join keys with rows in a side, and how many rows one has in the other side, on average."""
    if store.store_name not in JOIN_ROW_STORES:
        return 0, 0.0  # state format 4 counts no rows of a key
    at = JOIN_ROW_STORES.index(store.store_name)
    keys, other_rows, other_keys = (
        store.facts.of_version(StoreName(store.operator.operator_id, of), store.version).rows
        for of in (JOIN_COUNT_STORES[at], JOIN_ROW_STORES[1 - at], JOIN_COUNT_STORES[1 - at])
    )
    return keys, other_rows / max(1, other_keys)


def columns_of(keys: Sequence[bytes], fields: Sequence[StructField]) -> Iterator[list[bytes]]:
    """The columns of UnsafeRows, as they lie in them."""
    for start, field in enumerate(fields, (len(fields) + 63) // 64):
        column = [key[8 * start : 8 * start + 8] for key in keys]
        if field.data_type.fixed_width is None:
            slots = [divmod(int.from_bytes(slot, "little"), 1 << 32) for slot in column]
            column = [key[at : at + size] for key, (at, size) in zip(keys, slots, strict=True)]
        yield column


def _wide_column(store: StoreInputs) -> efficiency.WideColumn | None:
    schema = store.operator.schemas.get(store.store_name)
    newest = store.facts.of_version(store.name, store.version)
    if schema is None or not newest.row_bytes:
        return None
    if store.operator.processor is not None or store.operator.name in GROUP_STATE:
        # What a function keeps is one column by its nature.
        amount = newest.value_bytes
        return efficiency.WideColumn("", amount / newest.rows, amount / newest.row_bytes)
    totals = {RowPart.KEY: newest.key_bytes, RowPart.VALUE: newest.value_bytes}
    columns: dict[str, float] = {}
    for sample in store.facts.merged(SampledSizes).get(store.name, {}).values():
        side, rows = sample.side, sample.rows
        if side is None or not rows.rows:
            continue
        of_side = schema.key if side is RowPart.KEY else widen_timeout(schema.value)
        names = [_NUMBERED.sub("", field) for field in unique_names(of_side.fields)]
        names += [nested.name for nested in nested_fields(of_side)]
        of_bytes = totals[side] / newest.rows / (sum(column.bytes for column in rows.fields) or 1)
        for field, measured in zip(names, (*rows.fields, *rows.nested), strict=True):
            # A field in a struct comes after it, and says more where it has nearly all of it.
            columns[field] = columns.get(field, 0) + measured.bytes * of_bytes
    if not columns:
        return None
    column = max(columns, key=lambda field: columns[field])
    for field, size in columns.items():
        if field.startswith(f"{column}.") and size >= _NEARLY * columns[column]:
            column = field
    size, bare = columns[column], column.rpartition(".")[2]
    kept = next((words for start, words in _KEPT.items() if bare.startswith(start)), "")
    if column in [key.name for key in schema.key.fields]:
        kept = " of the key"
    return efficiency.WideColumn(column, size, size * newest.rows / newest.row_bytes, kept)


def _uploads(checkpoint: Checkpoint, operator: Operator) -> tuple[int, int]:
    """Versions at the end that have a snapshot alone, and bytes for each version that is kept."""
    fewest, kept, size = 0, 0, 0
    for layout in operator.layout.folders:
        files = checkpoint.store_files[layout.directory]
        newest = files.newest
        alone = 0
        while newest - alone in files.snapshots and newest - alone not in files.deltas:
            alone += 1
        if not files.compares or not alone:
            return 0, 0
        fewest = min(fewest or alone, alone)
        kept = max(kept, len(files.snapshots))
        size += sum(file.size for file in layout.files if file.kind in KINDS_OF_STATE)
    return fewest, size // max(1, kept)


def _changes(operator: Operator, facts: Facts) -> tuple[VersionFacts, ...]:
    """Facts of the versions of which all changes of an operator's stores are known."""
    # Column families share the files of their partition, so that no single one explains them.
    by_version: dict[int, VersionFacts] = {}
    for name, versions in facts.by_store().items():
        if name.operator_id == operator.operator_id:
            for version, of_store in versions.items():
                by_version[version] = by_version.get(version, VersionFacts()) + of_store
    stores = max((whole.stores for whole in by_version.values()), default=0)
    return tuple(v for v in by_version.values() if v.stores == stores and not v.rebased)
