"""Facts of a run put together as the findings about costs take them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inspector.decode.field_sizes import walk_nested_fields
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.facts.size_distributions import SampledSizes
from inspector.facts.top_keys import TopBy
from inspector.facts.variable_entries import EntriesPerKey, KeyEntries
from inspector.facts.versions import VersionFacts
from inspector.findings import efficiency
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.store_sizes import first_key
from inspector.findings.views.store_view import StoreView
from inspector.merge.collect import Facts
from inspector.model import (
    JOIN_COUNT_STORES,
    JOIN_ROW_STORES,
    KINDS_OF_STATE,
    FileKind,
    StoreName,
)
from inspector.operators.group_state import NAMES as GROUP_STATE
from inspector.operators.join import COUNT_STORES, VALUE_STORES
from inspector.operators.rule import RowPart
from inspector.operators.session_window import NAMES as SESSION
from inspector.operators.transform_with_state import Family
from inspector.providers.common_names import is_left_sum, main_path
from inspector.sparktypes import StructType, unique_names, widen_timeout

_NUMBERED = re.compile(r"\[\d+\]$")  # of words of ``HyperLogLogPlusPlus``: ``MS[0]``, ``MS[1]``, ..
_NEARLY = 0.9  # share of the bytes of a struct, for one of its fields to be named in its place
_KEPT = {
    "buf": " (a list, a set or a sketch)",
    "MS": " (approx_count_distinct)",
    "valueWithExtremumOrdering": " (max_by or min_by)",
}
"""Names of buffers that Spark gives -> what they are of."""


def store_costs(view: CheckpointView) -> Iterator[efficiency.StoreCosts]:
    """What is known of the costs of each store."""
    for store in view.stores:
        if not store.versions:
            continue
        operator, sizes = store.operator, store.sizes
        yield efficiency.StoreCosts(
            *(store.operator_id, operator.name, store.store_name, sizes.partitions, store.versions),
            *(sizes.largest_key, sizes.buffers, _hot(store)),
            store.keys.windows,
            *store.keys.rows_and_records,
            _wide_column(store),
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


def _hot(store: StoreView) -> efficiency.HotKey | None:
    entries, facts, name = store.sum(EntriesPerKey), store.facts, store.name
    if entries is not None:
        listed = facts.of_store(KeyEntries, name)
        most = max(listed, key=lambda key: (key.entries, key.key), default=None)
        if most is None or entries.keys < 2:
            return None
        key_words, schema = (
            store.whole.context.key_words,
            grouping_key(store.operator, name.store_name),
        )
        words = key_words(name, most.key, schema)
        noun = "session" if store.operator.name in SESSION else "entry"
        return efficiency.HotKey(words, most.entries, entries.entries, noun, most.row_bytes)
    counters = dict(zip(VALUE_STORES, COUNT_STORES, strict=True)).get(name.store_name)
    if counters is None:
        return None
    counting = StoreName(name.operator_id, counters)
    counter = first_key(facts, counting, TopBy.NUMBER)
    rows = facts.of_version(name, store.version).rows
    if counter is None or rows < counter.amount:
        return None
    words, join_keys = store.whole.context.key_words(counting, counter.key), _join_keys(store)
    return efficiency.HotKey(words, counter.amount, rows, "row", None, *join_keys)


def grouping_key(operator: Operator, store: str) -> StructType:
    """The schema of the keys of which a list, a map or a prefix of sessions has entries."""
    schema = operator.schemas[store].key
    nested = operator.family(store) is Family.MAP and schema.fields[0].data_type
    return nested if isinstance(nested, StructType) else StructType(schema.fields[:-1])


def _join_keys(store: StoreView) -> tuple[int, float]:
    """Join keys with rows in a side, and how many rows one has in the other side, on average."""
    if store.store_name not in JOIN_ROW_STORES:
        return 0, 0.0  # state format 4 counts no rows of a key
    at = JOIN_ROW_STORES.index(store.store_name)
    keys, other_rows, other_keys = (
        store.facts.of_version(StoreName(store.operator.operator_id, of), store.version).rows
        for of in (JOIN_COUNT_STORES[at], JOIN_ROW_STORES[1 - at], JOIN_COUNT_STORES[1 - at])
    )
    return keys, other_rows / max(1, other_keys)


def _wide_column(store: StoreView) -> efficiency.WideColumn | None:
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
        names += [nested.name for nested in walk_nested_fields(of_side)]
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
