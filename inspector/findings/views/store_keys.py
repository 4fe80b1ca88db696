"""Keys of a store: a sample of the newest ones, with their columns and windows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import gcd
from struct import unpack_from

from inspector.facts.expiring import Expiring
from inspector.facts.top_keys import SampledKey
from inspector.findings.views.base_store import StoreFacts
from inspector.light_dataclasses import dataclass
from inspector.merge.collect import Facts
from inspector.model import BatchId, StoreName
from inspector.operators.aggregation import NAMES as AGGREGATIONS
from inspector.operators.aggregation import UNNAMED
from inspector.operators.join import COUNT_STORES
from inspector.sparktypes import TIMESTAMP, TIMESTAMP_NTZ, StructField, is_window
from inspector.sums import sum_or_none

FEWEST_KEYS = 20  # least number of keys for a judgement on the values of their columns


@dataclass(frozen=True)
class Windows:
    """Length of an aggregation's windows, and the ends of some windows that have rows."""

    length_ms: int  # length of each window, in ms
    ends_ms: frozenset[int]  # ends of live windows, epoch ms; not all of them

    @property
    def slide_ms(self) -> int:
        """Time from the start of one window to the next, in ms, or a multiple of that time.

        It is the greatest common divisor of the distances between known ends; the length if there
        is only one end.
        """
        first = min(self.ends_ms)
        return gcd(*(end - first for end in self.ends_ms)) or self.length_ms


class StoreKeys:
    """View of a sample of the keys of one store that were put last, and of their columns."""

    def __init__(self, store: StoreFacts) -> None:
        """Make the view of the keys of ``store``."""
        self._store = store

    @cached_property
    def sample(self) -> dict[bytes, int]:
        """UnsafeRow bytes of each sampled key -> version that put the key; 0 if that is unknown."""
        return sampled_keys(self._store.facts, self._store.name)

    @cached_property
    def unique_columns(self) -> list[str]:
        """Quoted names of up to two columns, each of which has a new value in every sampled key.

        Empty if there are fewer than FEWEST_KEYS keys or no such column.
        """
        return unique_columns([*self.sample], self._store.key_fields)

    @property
    def has_window(self) -> bool:
        """True if a column of the key is a window."""
        return any(is_window(field.data_type) for field in self._store.key_fields)

    @cached_property
    def windows(self) -> Windows | None:
        """Length and ends of the windows in the keys of an aggregation; None if not known.

        None for other operators, without a sampled key, and unless exactly one column of the
        key is a window. The ends are those of all live rows if the rows expire by a watermark.
        Otherwise they are those of the sampled keys.
        """
        store = self._store
        if store.operator_name not in AGGREGATIONS:
            return None
        at = [i for i, field in enumerate(store.key_fields) if is_window(field.data_type)]
        keys = [sampled.key for sampled in store.facts.of_store(SampledKey, store.name)]
        if len(at) != 1 or not keys:
            return None
        windows = [*columns_of(keys, store.key_fields)][at[0]]
        # Behind the null bits; the totals of cube and rollup have no window.
        bounds = [unpack_from("<qq", window, 8) for window in windows if len(window) >= 8 + 16]
        windows_ms = [(start // 1000, end // 1000) for start, end in bounds]
        start, end = min(windows_ms, default=(0, 0))
        if end <= start:
            return None
        expiring = store.facts.merged(Expiring).get(store.name, {}).get("", Expiring())
        ends = {bucket * expiring.width for bucket in expiring.rows} or {
            end for _, end in windows_ms
        }
        return Windows(end - start, frozenset(ends))

    @property
    def window_ms(self) -> int:
        """Length of an aggregation's windows, in ms; 0 if they are unknown or there are none."""
        return self.windows.length_ms if self.windows else 0

    @cached_property
    def rows_and_records(self) -> tuple[int, int]:
        """(number of rows written, number of records read) in batches whose sources count records.

        For an aggregation all puts count, and for other operators only new rows. Both numbers are 0
        if rows cannot be compared with records, as in transformWithState.
        """
        store, written, records = self._store, 0, 0
        if store.operator.processor is not None or store.store_name in COUNT_STORES:
            return written, records  # a function, or Spark, decides how many rows there are
        if self.windows is None and self.has_window:
            return written, records  # the number of windows of a record is unknown
        for version, facts in store.versions.items():
            sources = store.whole.sources.get(BatchId(version - 1), ())
            count = sum_or_none(source.records for source in sources)
            if count and not facts.rebased:
                # Other operators write a row again for reasons of their own.
                rows = facts.puts if store.operator_name in AGGREGATIONS else facts.inserts
                written, records = written + rows, records + count
        return written, records


def sampled_keys(facts: Facts, name: StoreName) -> dict[bytes, int]:
    """Return the sampled keys of a store, as UnsafeRow bytes, with the version that put each.

    The sample is of the keys that were put last. The version is 0 if it is unknown.
    """
    # A partition in two folders has each twice.
    sampled: Mapping[bytes, int] = {
        item.key: item.version or 0 for item in facts.of_store(SampledKey, name)
    }
    return dict(sampled)


def columns_of(keys: Sequence[bytes], fields: Sequence[StructField]) -> Iterator[list[bytes]]:
    """Yield the bytes of each field in all keys, in the order of the keys.

    ``keys`` are UnsafeRows with the columns ``fields``. A field of fixed width has 8 bytes.
    """
    for start, field in enumerate(fields, (len(fields) + 63) // 64):
        column = [key[8 * start : 8 * start + 8] for key in keys]
        if field.data_type.slot_width is None:
            slots = [divmod(int.from_bytes(slot, "little"), 1 << 32) for slot in column]
            column = [key[at : at + size] for key, (at, size) in zip(keys, slots, strict=True)]
        yield column


def without_column(key: bytes, fields: Sequence[StructField], dropped: int) -> bytes:
    """Return the UnsafeRow ``key`` without its column at position ``dropped``.

    ``fields`` are all columns of the key. Offsets and null bits are adapted.
    """
    columns = [column for (column,) in columns_of([key], fields)]
    bits = int.from_bytes(key[: (len(fields) + 63) // 64 * 8], "little")
    kept = [position for position in range(len(fields)) if position != dropped]
    nulls = sum((bits >> position & 1) << number for number, position in enumerate(kept))
    words = (len(kept) + 63) // 64
    row, variable = nulls.to_bytes(8 * words, "little"), b""
    for position in kept:
        slot = column = columns[position]
        if fields[position].data_type.slot_width is None and not bits >> position & 1:
            offset = 8 * (words + len(kept)) + len(variable)
            slot = (offset << 32 | len(column)).to_bytes(8, "little")
            variable += column + bytes(-len(column) % 8)
        row += slot if len(slot) == 8 else bytes(8)  # the slot of a null is 0
    return row + variable


def unique_columns(
    keys: Sequence[bytes], fields: Sequence[StructField], share: float = 1
) -> list[str]:
    """Return the names of up to two columns, each of which alone has a new value in every key.

    A ``share`` below 1 lowers this: the number of distinct values of a column must be at least that
    share of the number of keys. Columns are not combined. Columns of times come last. Names are
    quoted; an unnamed column is ``grouping expression`` and its number. Returns an empty list if
    there are fewer than FEWEST_KEYS keys, or if no column is unique.
    """
    if len(keys) < FEWEST_KEYS:
        return []
    columns = enumerate(columns_of(keys, fields))
    unique = [at for at, column in columns if len({*column}) >= share * len(keys)]
    unique.sort(key=lambda at: fields[at].data_type in (TIMESTAMP, TIMESTAMP_NTZ))
    names = [fields[at].name for at in unique[:2]]
    return [
        f"grouping expression {at + 1}" if name == UNNAMED else repr(name)
        for at, name in zip(unique, names, strict=False)
    ]
