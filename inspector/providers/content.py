"""Contents of a provider's files other than rows, and how a changed version is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from inspector.checkpoint.names import main_path
from inspector.checkpoint.storage import Storage
from inspector.exceptions import UnsupportedProviderError
from inspector.light_dataclasses import dataclass, field
from inspector.model import KINDS_OF_SUMS, StoreFile
from inspector.providers.chain import Chain
from inspector.providers.reader_options import ReadOptions
from inspector.sums import Sums

if TYPE_CHECKING:  # it imports what decodes rows
    from inspector.encode.records import DeltaForm


@dataclass(frozen=True)
class FolderVersion:
    """One folder of state files at one version."""

    storage: Storage  # storage that has the folder
    files: Sequence[StoreFile]  # files in the folder
    chain: Chain  # files that make the version

    def with_side_files(self, chosen: Iterable[StoreFile]) -> tuple[StoreFile, ...]:
        """Return the chosen files with their checksum files, and with the checksums of these."""
        sides = [file for file in self.files if file.kind in KINDS_OF_SUMS]
        result = {file.path: file for file in chosen}
        for _ in KINDS_OF_SUMS:
            result |= {side.path: side for side in sides if main_path(side) in result}
        return tuple(result.values())


@dataclass(frozen=True)
class Contents(Sums):
    """Counts that files record about their contents, so that no row is read. Adds up."""

    entries: int = 0  # all entries: puts, tombstones and merge operands
    tombstones: int = 0  # entries that delete a key or a range of keys
    merge_operands: int = 0  # entries that are added to an older value
    # decompressed bytes of keys and values, with RocksDB's 8 bytes for each entry
    raw_bytes: int = 0


@dataclass(frozen=True)
class SnapshotFiles:
    """A snapshot and the table files that it names."""

    file: StoreFile  # the snapshot
    tables: int  # number of table files that it names
    table_bytes: int  # their bytes, as the snapshot records them
    new_tables: int | None  # table files that no older snapshot names; None for the oldest snapshot
    # bytes of these and of the snapshot, which its version uploaded; None for the oldest snapshot
    new_bytes: int | None
    missing: int  # table files that are missing, or have another size than the snapshot records
    rows: int | None  # rows as Spark counted them; None if it did not (``trackTotalNumberOfRows``)
    contents: Contents | None  # contents of all its table files; None if one does not record them


@dataclass(frozen=True)
class SharedFiles:
    """Table files that the snapshots in one folder share."""

    snapshots: tuple[SnapshotFiles, ...]  # the snapshots, oldest first
    # table files that no snapshot names; None if a snapshot cannot be read
    orphans: tuple[StoreFile, ...] | None
    # files that cannot be read, with the errors
    problems: tuple[tuple[StoreFile, Exception], ...] = ()


@dataclass(frozen=True)
class ChangedVersion:
    """The files of a copied folder whose version has other rows than the source.

    Spark loads the same version number from them, so that no batch is appended.
    """

    form: DeltaForm  # the file to write
    # files that are copied byte for byte, each with its path in the folder of the copy
    copied: tuple[tuple[StoreFile, str], ...] = ()
    # changelog of the version, whose records are written before the changes; None if there is none
    changelog: StoreFile | None = None
    # True if the file has all rows of the version, False if it has only the changes
    has_all_rows: bool = False


@dataclass(frozen=True)
class WholeVersion:
    """The files that make a version with all of its rows, without any file of the source."""

    form: DeltaForm  # the file with the rows
    # name and content of a small file that comes before it; None if it needs none
    base: tuple[str, bytes] | None = None
    # number of each column family by its name; empty if the stores have none
    families: Mapping[str, int] = field(default_factory=dict)


class StoreContent:
    """Access to contents of files other than rows; the base class is for files of rows."""

    def list_shared_files(self, storage: Storage, files: Sequence[StoreFile]) -> SharedFiles | None:
        """Return the table files that the snapshots in a folder share; None if they share none."""
        return None

    def files_to_copy(self, folder: FolderVersion) -> tuple[StoreFile, ...]:
        """Return the files that load a version, and checksum files. InspectorError, OSError."""
        return folder.with_side_files(folder.chain.files)

    def check_snapshot(self, storage: Storage, file: StoreFile, files: Sequence[StoreFile]) -> str:
        """Return a sentence on rows of a snapshot that Spark loses without an error; empty if none.

        No row is read. ``files`` are the listed files of the store. Snapshots that share no files
        are not checked. DecodeError, with the path: Spark does not load the snapshot. Raises
        OSError.
        """
        return ""

    def snapshot_format(self, storage: Storage, file: StoreFile) -> int:
        """Return the format number in a snapshot, or 1. InspectorError, OSError: unreadable."""
        return 1

    def first_put(self, storage: Storage, file: StoreFile) -> tuple[bytes, int] | None:
        """Return the key of the first put in a state file, and the bytes of its value.

        Returns None without a put, or if the provider's files do not begin with rows.
        InspectorError, OSError: the file cannot be read.
        """
        return None

    def lineage(self, storage: Storage, file: StoreFile) -> Mapping[int, str]:
        """Return by version the unique ids of checkpoints that a delta is based on, if any."""
        return {}

    def encode_version(
        self, folder: FolderVersion, options: ReadOptions, unique_id: str | None
    ) -> ChangedVersion:
        """Return how a version is written if its rows change. Raises InspectorError, OSError.

        ``unique_id`` is the new id of the version's checkpoint; None if names have no id. The base
        class raises UnsupportedProviderError.
        """
        message = "no state can be written for this state store provider, only copied as it is"
        raise UnsupportedProviderError(message, folder.storage.root)

    def encode_whole(self, folder: FolderVersion, options: ReadOptions) -> WholeVersion:
        """Return how all rows of a version are written into a new folder, without ids.

        ``folder`` is one of the source, whose form the new files have. Raises InspectorError,
        OSError. The base class raises UnsupportedProviderError.
        """
        message = "no state can be written for this state store provider, only copied as it is"
        raise UnsupportedProviderError(message, folder.storage.root)

    def with_ids(self, whole: WholeVersion, version: int, ids: tuple[str, str]) -> WholeVersion:
        """Return files of :meth:`encode_whole` with the ids of checkpoints in names and content.

        ``ids`` are those of the version and of the one before. No file is read. The base class
        returns the files unchanged.
        """
        return whole
