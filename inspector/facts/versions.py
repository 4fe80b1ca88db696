"""Facts of one version: its rows, its changes, and what it shares with the previous one."""

from __future__ import annotations

from typing import Any

import numpy as np

from inspector.arrays import Int64s
from inspector.facts.fact import VersionSum, fact
from inspector.facts.size_distributions import LiveSizes, SizeCounts
from inspector.kernel.record_layout import ChangeSums, RecordCounts
from inspector.light_dataclasses import dataclass, field, fields
from inspector.state.change import Change, Changes
from inspector.state.replay import StateMap

HISTOGRAMS = ("key_sizes", "value_sizes", "row_sizes")  # columns that are numbers by size
_TOTALS = ("rows", "key_bytes", "value_bytes")  # columns of the live rows


@fact("version_facts")
@dataclass(frozen=True)
class VersionFacts(VersionSum):
    """Facts of one version of one store; ``a + b`` are the facts of both stores together.

    All numbers are exact. Bytes are UnsafeRow bytes unless the name says otherwise.
    """

    by_partition = True

    stores: int = 0  # stores that have the version
    # stores among these whose version could only be loaded from a snapshot. Their changes are not
    # known and add nothing to the counts of changes
    rebased: int = 0
    rows: int = 0  # live rows
    key_bytes: int = 0  # bytes of their keys
    value_bytes: int = 0  # bytes of their values
    puts: int = 0  # records that put a key
    inserts: int = 0  # puts of keys that did not exist
    updates: int = 0  # puts of keys that existed
    same_value_puts: int = 0  # puts of keys that existed with an equal value
    same_value_put_bytes: int = 0  # bytes of these records
    removals: int = 0  # records that remove a key
    absent_removals: int = 0  # removals of keys that did not exist
    new_rows: int = 0  # keys that the previous version does not have
    changed_rows: int = 0  # keys that the previous version has with another value
    same_value_rows: int = 0  # keys that were put again with an equal value
    removed_rows: int = 0  # keys of the previous version that this version does not have
    shared_rows: int = 0  # rows whose key and value objects are those of the previous version
    # rows whose key object is the previous version's: each shared row, and each row put over
    shared_keys: int = 0
    shared_key_bytes: int = 0  # bytes of the shared key objects
    shared_value_bytes: int = 0  # bytes of the shared value objects
    previous_row_bytes: int = 0  # key and value bytes of the previous version
    empty_deltas: int = 0  # stores whose delta puts and removes nothing
    delta_bytes: int = 0  # bytes of the version's delta files
    snapshot_bytes: int = 0  # bytes of the version's snapshot files
    raw_bytes: int = 0  # decompressed bytes of the replayed files
    key_sizes: SizeCounts = field(default_factory=SizeCounts)  # live keys by size
    value_sizes: SizeCounts = field(default_factory=SizeCounts)  # live values by size
    row_sizes: SizeCounts = field(default_factory=SizeCounts)  # live rows by size

    @property
    def row_bytes(self) -> int:
        """Key and value bytes of the live rows."""
        return self.key_bytes + self.value_bytes

    @property
    def rows_and_bytes(self) -> tuple[int, int]:
        """Number of live rows, and their key and value bytes."""
        return self.rows, self.row_bytes

    @property
    def shared_bytes(self) -> int:
        """Bytes of the shared key and value objects."""
        return self.shared_key_bytes + self.shared_value_bytes

    @property
    def two_versions_unshared_bytes(self) -> int:
        """Row bytes of this version and the previous one, as if nothing were shared."""
        return self.row_bytes + self.previous_row_bytes

    @property
    def two_versions_bytes(self) -> int:
        """Bytes of this version and the previous one, each shared object counted once."""
        return self.two_versions_unshared_bytes - self.shared_bytes


# names of the columns that are plain numbers
COUNTS = tuple(f.name for f in fields(VersionFacts) if f.name not in HISTOGRAMS)


def measure_version(
    change: Change, state: StateMap, sizes: LiveSizes, files: dict[str, int]
) -> VersionFacts:
    """Return the facts of the version that ``change`` made, and apply the change to ``sizes``.

    ``state`` is the map after it; ``files`` are the columns about files.
    """
    sizes.update(change)
    totals = state.rows, state.key_bytes, state.value_bytes
    columns = {} if change.rebased else _columns(change.sums, change.counts, *totals)
    result: Any = {
        "stores": 1,
        "rebased": int(change.rebased),
        "empty_deltas": int(not change.rebased and not state.records),
        **dict(zip(_TOTALS, totals, strict=True)),
        **sizes.snapshot(),
        **columns,
        **files,
    }
    return VersionFacts(**result)


def measure_versions(
    changes: Changes, sizes: LiveSizes, files: dict[str, Int64s]
) -> dict[str, Any]:
    """Return the columns of :class:`VersionFacts` for several versions that deltas made.

    The changes are applied to ``sizes``; ``files`` are the columns about files.
    """
    totals = changes.rows, changes.key_bytes, changes.value_bytes
    counts: Any = changes.counts
    return {
        "stores": 1,
        "rebased": 0,
        "empty_deltas": (counts.puts + counts.removals == 0).astype(np.int64),
        **dict(zip(_TOTALS, totals, strict=True)),
        **_columns(changes.sums, counts, *totals),
        **sizes.follow(changes.moves, len(changes.versions)),
        **files,
    }


def _columns(
    sums: ChangeSums, counts: RecordCounts, rows: Any, key_bytes: Any, value_bytes: Any
) -> dict[str, Any]:
    """Return the columns of changed and shared rows of a version, or of several as arrays."""
    grown = sums.now_key_bytes - sums.was_key_bytes + sums.now_value_bytes - sums.was_value_bytes
    return {
        **vars(counts),
        "new_rows": sums.new_rows,
        "changed_rows": sums.changed_rows,
        "same_value_rows": sums.same_value_rows,
        "removed_rows": sums.removed_rows,
        "shared_rows": rows - sums.written_rows,
        "shared_keys": rows - sums.reborn_rows,
        "shared_key_bytes": key_bytes - sums.reborn_key_bytes,
        "shared_value_bytes": value_bytes - sums.written_value_bytes,
        "previous_row_bytes": key_bytes + value_bytes - grown,
    }
