"""The facts of one version: what it holds, what it changed, what it shares with the one before."""

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

HISTOGRAMS = ("key_sizes", "value_sizes", "row_sizes")
_TOTALS = ("rows", "key_bytes", "value_bytes")


@fact("version_facts")
@dataclass(frozen=True)
class VersionFacts(VersionSum):
    """Facts of one version of one store; ``a + b`` are the facts of both stores together.

    All numbers are exact, bytes are UnsafeRow bytes unless the name says otherwise.
    """

    by_partition = True

    stores: int = 0
    # those whose version could only be loaded from a snapshot, so that nothing is known of its
    # change: they add nothing to the change counts
    rebased: int = 0
    # rows, key_bytes, value_bytes: live in the version
    rows: int = 0
    key_bytes: int = 0
    value_bytes: int = 0
    # puts to absent_removals: see :class:`inspector.kernel.record_layout.RecordCounts`
    puts: int = 0
    inserts: int = 0
    updates: int = 0
    same_value_puts: int = 0
    same_value_put_bytes: int = 0
    removals: int = 0
    absent_removals: int = 0
    # Keys against the version before: not there; there with another value; put again with an equal
    # value; no longer there.
    new_rows: int = 0
    changed_rows: int = 0
    same_value_rows: int = 0
    removed_rows: int = 0
    shared_rows: int = 0  # whose key *and* value object are those of the version before
    shared_keys: int = 0  # whose key object is: each shared row, and each row put over
    # shared_key_bytes, shared_value_bytes: of those objects
    shared_key_bytes: int = 0
    shared_value_bytes: int = 0
    previous_row_bytes: int = 0  # key and value bytes of the version before
    empty_deltas: int = 0  # that put and removed nothing
    # delta_bytes, snapshot_bytes: of files of the version
    delta_bytes: int = 0
    snapshot_bytes: int = 0
    raw_bytes: int = 0  # of the file that was replayed, decompressed
    key_sizes: SizeCounts = field(default_factory=SizeCounts)
    value_sizes: SizeCounts = field(default_factory=SizeCounts)
    row_sizes: SizeCounts = field(default_factory=SizeCounts)

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
        """Row bytes of this version and the one before, if nothing were shared."""
        return self.row_bytes + self.previous_row_bytes

    @property
    def two_versions_bytes(self) -> int:
        """Bytes of two versions with each shared key and value object counted once, as in Spark."""
        return self.two_versions_unshared_bytes - self.shared_bytes


COUNTS = tuple(f.name for f in fields(VersionFacts) if f.name not in HISTOGRAMS)


def measure_version(
    change: Change, state: StateMap, sizes: LiveSizes, files: dict[str, int]
) -> VersionFacts:
    """The facts of the version that ``change`` made; brings the running ``sizes`` up to date."""
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
    """The columns of :class:`VersionFacts` for versions that deltas made; as one by one."""
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
