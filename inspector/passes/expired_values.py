"""Values of transformWithState whose TTL has passed, evicted with what Spark keeps beside them.

A value, and an entry of a map, has a row in the index by expiry. A list has one for its earliest
entry, the time of that, and a counter (``OneToOneTTLState``, ``OneToManyTTLState``): a list of
which entries go is written again with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from inspector.arrays import Int64s, concatenate
from inspector.decode.composed_rows import Column, columns_of
from inspector.decode.records import RecordBlock
from inspector.discovery.tasks import StoreTask
from inspector.encode.stored_rows import Entry, split
from inspector.light_dataclasses import dataclass, field
from inspector.operators.transform_with_state import Family, variable_of
from inspector.passes.binary_columns import records_of
from inspector.sparktypes import DataType
from inspector.sparktypes.schema_json import parse_schema_json

Rows = list[tuple[bytes, bytes]]  # Keys and values of rows of a store.
# Entries to write, and the rows of the store that exist because of them.
Changes = tuple[Sequence[Entry], Rows]
_LONG = slice(8, 16)  # Bytes of the only field of a counter, or of an earliest expiry.
_EXPIRY = slice(16, 24)  # Bytes of the expiry time within the value of a list's entry.
# Families of stores whose rows Spark keeps for the values and lists of a variable.
_TWINS = (Family.TTL_INDEX, Family.MIN_EXPIRY, Family.ENTRY_COUNT)


@dataclass
class _Entries:
    """Entries of one list, and which of them are evicted."""

    # key and value of each entry, by its index in the list
    rows: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)  # indexes of the evicted entries

    @property
    def remaining(self) -> list[bytes]:
        """Values of the entries that are not evicted, in the order of the list."""
        return [value for index, (_, value) in sorted(self.rows.items()) if index not in self.gone]


class ExpiredValues:
    """Evicted values of the variables of one partition, and the rows that change because of them.

    ``leftovers`` has by store name the keys that may be evicted from it; no other key is evicted.
    """

    def __init__(
        self, leftovers: Mapping[str, Collection[bytes]], stores: Collection[StoreTask]
    ) -> None:
        self._values: dict[str, set[bytes]] = {}
        self._lists: dict[str, dict[bytes, _Entries]] = {}
        self._rows_of_twins: Counter[str] = Counter()
        for store in stores:
            if store.family is Family.LIST and leftovers.get(store.store_name):
                buffer, offsets, lengths = concatenate(list(leftovers[store.store_name]))
                columns = columns_of(buffer, offsets, lengths, _types(store))
                keys = split(buffer, columns[:-1], len(offsets))
                self._lists[store.store_name] = {key: _Entries() for key in keys}

    def dependent_rows(self, store: StoreTask, block: RecordBlock, rows: Int64s) -> Int64s:
        """Return which of ``rows`` change because values of other keys or stores are evicted.

        They are rows of lists that lose an entry, and rows of the indexes by expiry and of the
        counters whose value or list is evicted.
        """
        variable = variable_of(store.store_name)
        lists, values = self._lists.get(variable, {}), self._values.get(variable, set())
        if store.family in _TWINS and (lists or values):
            keys = _elements(store, block, rows)
            met = [key in values or bool(key in lists and lists[key].gone) for key in keys]
        elif store.family is Family.LIST and lists:
            met = [key in lists for key in _elements(store, block, rows)]
        else:
            return rows[:0]
        return rows[np.array(met, np.bool_)]

    def changes(
        self, store: StoreTask, block: RecordBlock, rows: Int64s, gone: Int64s
    ) -> Iterator[Changes]:
        """Yield the changes for evicted rows of a block and for their :meth:`dependent_rows`.

        ``gone`` are the evicted rows among ``rows``. Rows of a list are only collected here;
        :meth:`lists` yields their changes.
        """
        variable = variable_of(store.store_name)
        records = list(records_of(block, rows))
        if store.family is Family.LIST:
            keys, ids = _elements(store, block, rows), _columns(store, block, rows)[-1].slots
            evicted = np.isin(rows, gone).tolist()
            for key, index, row, goes in zip(keys, ids.tolist(), records, evicted, strict=True):
                entries = self._lists[variable][key]
                entries.rows[index] = row
                entries.gone |= {index} if goes else set()
        elif store.family in _TWINS:
            self._rows_of_twins[store.store_name] += len(records)
            for element, (key, value) in zip(_elements(store, block, rows), records, strict=True):
                yield from self._twin(store, variable, element, key, value)
        else:
            self._values.setdefault(variable, set()).update(key for key, _ in records)
            yield [(key, None) for key, _ in records], []

    def _twin(
        self, store: StoreTask, variable: str, element: bytes, key: bytes, value: bytes
    ) -> Iterator[Changes]:
        """Yield the change of a row that Spark keeps for a value or list (``element``).

        The row is removed if the value, or every entry of the list, is evicted. Otherwise it is
        written with the earliest expiry, or the number, of the entries that remain.
        """
        entries = self._lists.get(variable, {}).get(element)
        remaining = entries.remaining if entries is not None else []
        if not remaining or store.family is Family.TTL_INDEX:
            yield [(key, None)], []
        if not remaining:
            return
        number = len(remaining).to_bytes(8, "little")
        if store.family is not Family.ENTRY_COUNT:
            parse = partial(int.from_bytes, byteorder="little", signed=True)
            number = min((row[_EXPIRY] for row in remaining), key=parse)
        if store.family is Family.TTL_INDEX:
            key = key[: _LONG.start] + number + key[_LONG.stop :]
        else:
            value = value[: _LONG.start] + number + value[_LONG.stop :]
        yield [(key, value)], [(key, value)]

    def lists(self, store: StoreTask) -> Iterator[Changes]:
        """Yield the changes to the lists of a store, after all of its rows were seen."""
        if store.family is Family.LIST:
            for key, entries in self._lists.get(store.store_name, {}).items():
                keys = [row_key for _, (row_key, _) in sorted(entries.rows.items())]
                values = entries.remaining
                yield [(key, values or None)], list(zip(keys, values, strict=False))

    def missing(self, store: StoreTask) -> int:
        """Return how many rows are missing that Spark keeps for the evicted values and lists.

        It is 0 for stores of other families, and below 0 if the store has more rows. All rows of
        the store must have been passed to :meth:`changes` before.
        """
        if store.family not in _TWINS:
            return 0
        variable = variable_of(store.store_name)
        lists = sum(bool(entries.gone) for entries in self._lists.get(variable, {}).values())
        expected = lists + len(self._values.get(variable, ()))
        return expected - self._rows_of_twins[store.store_name]


def _columns(store: StoreTask, block: RecordBlock, rows: Int64s) -> list[Column]:
    """Return the columns of the keys of some rows."""
    spans = block.key_offset[rows], block.key_length[rows]
    return columns_of(block.buffer, *spans, _types(store))


def _types(store: StoreTask) -> list[DataType]:
    """Return the data types of the columns of a store's key."""
    schema = parse_schema_json(store.key_schema or "")
    return [column.data_type for column in schema.fields]


def _elements(store: StoreTask, block: RecordBlock, rows: Int64s) -> list[bytes]:
    """Return, by row, the key of the value or list that the row is about."""
    if store.family is Family.LIST:
        return split(block.buffer, _columns(store, block, rows)[:-1], len(rows))
    offsets, sizes = block.key_offset[rows], block.key_length[rows]
    if store.family is Family.TTL_INDEX:
        (_, element) = _columns(store, block, rows)
        assert element.offsets is not None
        offsets, sizes = element.offsets, element.slots.astype(np.int64)
    spans = zip(offsets.tolist(), sizes.tolist(), strict=True)
    return [block.buffer[start : start + size] for start, size in spans]
