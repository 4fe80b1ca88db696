"""Removals of all rows of grouping keys from the stores of transformWithState."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from inspector.arrays import Int64s
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask
from inspector.operators.transform_with_state import Family
from inspector.passes.binary_columns import records_of
from inspector.passes.expired_values import Changes
from inspector.passes.grouping_keys import grouping_keys
from inspector.sparktypes.schema_json import parse_schema_json


class RemovedGroups:
    """Entries that remove grouping keys from the stores of one partition.

    It remembers the lists that it has removed.
    """

    def __init__(self) -> None:
        self._lists: dict[str, set[bytes]] = defaultdict(set)

    def changes(self, store: StoreTask, block: RecordBlock, rows: Int64s) -> Iterator[Changes]:
        """Yield the entries that remove the given rows, each with an empty list of made rows.

        All entries of a list are one value of RocksDB, which is removed once.
        """
        if store.family is not Family.LIST:
            yield [(key, None) for key, _ in records_of(block, rows)], []
            return
        schema, grouping = parse_schema_json(store.key_schema or ""), store.grouping_key
        assert grouping is not None
        spans = block.key_offset[rows], block.key_length[rows]
        data, offsets, lengths = grouping_keys(block.buffer, *spans, schema, grouping)
        places = zip(offsets.tolist(), lengths.tolist(), strict=True)
        keys = dict.fromkeys(data[start : start + size] for start, size in places)
        removed = self._lists[store.store_name]
        yield [(key, None) for key in keys if key not in removed], []
        removed.update(keys)
