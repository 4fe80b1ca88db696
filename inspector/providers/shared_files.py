"""What snapshots share, as far as listings, snapshots and the files' own properties tell it."""

from __future__ import annotations

from inspector.light_dataclasses import dataclass
from inspector.model import StoreFile
from inspector.sums import Sums


@dataclass(frozen=True)
class Contents(Sums):
    """What files say that they hold; no row of them is read.

    Attributes:
        entries: all entries: puts, tombstones and what is to be merged.
        tombstones: entries that delete a key or a range of keys.
        merge_operands: entries that are added to an older value.
        raw_bytes: of keys and values, decompressed, with RocksDB's 8 bytes for each entry.
    """

    entries: int = 0
    tombstones: int = 0
    merge_operands: int = 0
    raw_bytes: int = 0


@dataclass(frozen=True)
class SnapshotFiles:
    """The files that a snapshot consists of.

    Attributes:
        file: the snapshot itself.
        tables: files that it names. table_bytes: of them, as the snapshot says.
        new_tables: those that no older snapshot names which is there; None for the oldest one, of
            which nobody knows what was there before.
        new_bytes: of the new ones, with the snapshot itself: what its version uploaded. None as
            above.
        missing: files that are not there, or have another size than the snapshot says.
        rows: as Spark counted them; None if it did not (``trackTotalNumberOfRows``).
        contents: what the files hold together; None if one of them cannot tell it.
    """

    file: StoreFile
    tables: int
    table_bytes: int
    new_tables: int | None
    new_bytes: int | None
    missing: int
    rows: int | None
    contents: Contents | None


@dataclass(frozen=True)
class SharedFiles:
    """What the snapshots in one folder share.

    Attributes:
        orphans: files that no snapshot names which is there: left over, or of a version that is
            being written; None if a snapshot cannot be read, which might name them.
        problems: snapshots and files that cannot be read.
    """

    snapshots: tuple[SnapshotFiles, ...]
    orphans: tuple[StoreFile, ...] | None
    problems: tuple[tuple[StoreFile, Exception], ...] = ()
