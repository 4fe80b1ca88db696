"""Contents of a provider's files besides rows, and the writer of files that continue them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from inspector.checkpoint.names import main_path
from inspector.checkpoint.storage import Storage
from inspector.exceptions import UnsupportedProviderError
from inspector.light_dataclasses import dataclass
from inspector.model import KINDS_OF_SUMS, StoreFile
from inspector.providers.chain import Chain
from inspector.providers.reader_options import ReadOptions
from inspector.sums import Sums

if TYPE_CHECKING:  # it imports what decodes rows
    from inspector.encode.records import DeltaForm


@dataclass(frozen=True)
class FolderVersion:
    """One folder of state files, at one version."""

    storage: Storage
    files: Sequence[StoreFile]
    chain: Chain

    def with_side_files(self, chosen: Iterable[StoreFile]) -> tuple[StoreFile, ...]:
        """Some of the files with their checksum files, and with those of checksum files."""
        sides = [file for file in self.files if file.kind in KINDS_OF_SUMS]
        result = {file.path: file for file in chosen}
        for _ in KINDS_OF_SUMS:
            result |= {side.path: side for side in sides if main_path(side) in result}
        return tuple(result.values())


@dataclass(frozen=True)
class Contents(Sums):
    """Counts that files record about their contents. No row is read."""

    entries: int = 0  # all entries: puts, tombstones and what is to be merged
    tombstones: int = 0  # entries that delete a key or a range of keys
    merge_operands: int = 0  # entries that are added to an older value
    raw_bytes: int = 0  # of keys and values, decompressed, with RocksDB's 8 bytes for each entry


@dataclass(frozen=True)
class SnapshotFiles:
    """The files that a snapshot consists of."""

    file: StoreFile
    tables: int  # files that it names
    table_bytes: int  # of them, as the snapshot says
    new_tables: int | None  # that no older one names; None of the oldest that is there
    new_bytes: int | None  # of these and the snapshot: what its version uploaded. None as above.
    missing: int  # files that are not there, or have another size than the snapshot says
    rows: int | None  # as Spark counted them; None if it did not (``trackTotalNumberOfRows``)
    contents: Contents | None  # what the files hold together; None if one of them cannot tell it


@dataclass(frozen=True)
class SharedFiles:
    """Table files that the snapshots in one folder share."""

    snapshots: tuple[SnapshotFiles, ...]
    orphans: tuple[StoreFile, ...] | None  # files of no snapshot; None if one cannot be read
    problems: tuple[tuple[StoreFile, Exception], ...] = ()  # what cannot be read


@dataclass(frozen=True)
class ChangedVersion:
    """The files of a copied folder whose version has other rows than the source.

    Spark loads the same version number from them, so that no batch is appended.
    """

    form: DeltaForm  # the file that is written
    # files that are copied byte for byte, each with its name in the copy: a path in the folder
    copied: tuple[tuple[StoreFile, str], ...] = ()
    # the changelog of the version, whose records are written before the changes; None: it has none
    changelog: StoreFile | None = None
    has_all_rows: bool = False  # the file has all rows of the version, not only what is changed


class StoreContent:
    """Records of a provider's files besides rows. The base class is for files of rows alone."""

    def list_shared_files(self, storage: Storage, files: Sequence[StoreFile]) -> SharedFiles | None:
        """Return the files that the snapshots in a folder share; None if snapshots share none."""
        return None

    def files_to_copy(self, folder: FolderVersion) -> tuple[StoreFile, ...]:
        """Return the files that load a version, with checksum files (InspectorError, OSError)."""
        return folder.with_side_files(folder.chain.files)

    def check_snapshot(self, storage: Storage, file: StoreFile, files: Sequence[StoreFile]) -> str:
        """Return what Spark loses of a snapshot without an error, as a sentence, or no text.

        Reads no row, and nothing of a provider whose snapshots share no files. ``files`` are those
        of the store. Raises DecodeError, with the path, if Spark does not load it, and OSError.
        """
        return ""

    def snapshot_format(self, storage: Storage, file: StoreFile) -> int:
        """The number in a snapshot's version line, else 1; InspectorError, OSError: unreadable."""
        return 1

    def first_put(self, storage: Storage, file: StoreFile) -> tuple[bytes, int] | None:
        """Return the key of the first put in a state file, and the bytes of its value.

        None without a put, or if the provider's files do not begin with rows (InspectorError,
        OSError: unreadable).
        """
        return None

    def lineage(self, storage: Storage, file: StoreFile) -> Mapping[int, str]:
        """The versions that a delta is based on, with the unique ids of their checkpoints."""
        return {}

    def encode_version(
        self, folder: FolderVersion, options: ReadOptions, unique_id: str | None
    ) -> ChangedVersion:
        """Return how the version is written if its rows are changed (InspectorError, OSError).

        ``unique_id`` is the new id of the version's checkpoint; None where names have no id.
        """
        message = "no state can be written for this state store provider, only copied as it is"
        raise UnsupportedProviderError(message, folder.storage.root)
