"""What a state store provider has to answer, so that nothing above needs to know which it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING

from inspector.checkpoint.storage import Storage, parts_of
from inspector.exceptions import UnsupportedProviderError
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.chain import FileNames, StoreFiles, chain_for
from inspector.providers.common_names import main_path
from inspector.providers.options import ReadOptions, Report
from inspector.providers.shared_files import SharedFiles
from inspector.providers.task_files import TaskFiles

if TYPE_CHECKING:  # they import what decodes rows: `info` and `files` start without it
    from inspector.encode.deltas import DeltaForm
    from inspector.providers.file_reader import FileReader


@dataclass(frozen=True)
class Listing:
    """What a provider is recognised by.

    Attributes:
        provider_class: the class that the offset log records, None where it records none.
        files: every file in the folders of the stores, classified by all providers together.
    """

    provider_class: str | None
    files: tuple[StoreFile, ...]


class Provider(ABC):
    """Recognises the checkpoints of one state store provider, and reads their state.

    A provider has a ``spark_class``, spells its files by ``names``, tells them by
    :meth:`classify`, and has a :meth:`reader`; everything else says how it differs from that.

    Attributes:
        name: of its folder here; tasks carry it to the workers.
        spark_class: name of the class in Spark, without its package.
        names: how it spells the files of a version.
        rank: providers of a lower rank are asked first; the one that takes what is left comes last.
        has_column_families: several stores may share files, which some operators need.
        keeps_maps: an executor keeps the rows of versions as maps on its heap.
        shares_files: its snapshots consist of files that they share.
        sums_snapshots: they hold checksums of their own, whatever codec is set.
        writes_snapshots_alone: a version may have a snapshot and no delta: what it changed is then
            how its snapshot differs from the one before.
        reads_each_file_whole: its reader requests each file of a step once and whole, so that it
            can be requested before its task begins.
        removes_what_it_has: a removal is written only for a key that is there.
    """

    spark_class: str
    names: FileNames
    rank = 0
    has_column_families = False
    keeps_maps = True
    shares_files = False
    sums_snapshots = False
    writes_snapshots_alone = False
    reads_each_file_whole = False
    removes_what_it_has = True

    @property
    def name(self) -> str:
        """The folder below this one in which its class is defined."""
        return type(self).__module__.removeprefix(f"{__package__}.").partition(".")[0]

    @abstractmethod
    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """The kind of a file by its name, and the state version in it; OTHER if it is not its own.

        A folder of any other kind belongs to the store that it lies in and is no store itself.
        """

    def requests_of(self, file: StoreFile, *, has_sums: bool) -> int:
        """How many requests an audit makes for one of its files on an object store.

        Args:
            file: a delta, snapshot or table.
            has_sums: a checksum file lies beside it, for which it is read as a whole.
        """
        del has_sums
        return parts_of(file.size)

    def reader(
        self,
        storage: TaskFiles,
        options: ReadOptions,
        files: Iterable[StoreFile],
        side_files: Iterable[StoreFile],
        report: Report,
    ) -> FileReader:
        """A reader for one store: a ``READER`` of the module ``reader`` in the provider's folder.

        It is imported by who reads state: ``info`` and ``files`` start without it.

        Args:
            storage: opened at the checkpoint's root, as the task reads it.
            options: how the files were written.
            files: all state files of the store.
            side_files: checksum files that their main files are compared with.
            report: takes the problems of files that can be read all the same.
        """
        module = import_module(f"{type(self).__module__}.reader")
        reader: FileReader = module.READER(storage, options, files, side_files, report)
        return reader

    def detect(self, listing: Listing) -> bool:
        """Whether this provider wrote the checkpoint: by the recorded class, or else by its files.

        By its files only where no class is recorded, and any delta or snapshot is named as its own.
        """
        if listing.provider_class is not None:
            return self.spark_class in listing.provider_class
        names = (file.path.rpartition("/")[2] for file in listing.files)
        return any(self.classify(name)[0] in (FileKind.DELTA, FileKind.SNAPSHOT) for name in names)

    def resolve_attempts(
        self,
        files: Sequence[StoreFile],
        committed: Mapping[int, frozenset[str]],
        storage: Storage | None = None,
    ) -> tuple[StoreFile, ...]:
        """The files of one store, those that no version is read from as what they are.

        Args:
            files: of one store, as :func:`inspector.providers.registry.classify` sees their names.
            committed: unique ids of the checkpoints of each version, where the commit log has them;
                those of all stores of the partition.
            storage: opened at the checkpoint's root; None where no file is to be read for it.
        """
        del committed, storage
        return tuple(self._own(file) for file in files)

    def _own(self, file: StoreFile) -> StoreFile:
        """A file; no delta or snapshot, if only another provider's are named so."""
        if file.kind in (FileKind.TABLE, FileKind.TABLE_LOG):
            kind, _ = self.classify(file.path.split("/")[-2], is_dir=True)
            return replace(file, kind=kind)
        if file.kind not in (FileKind.DELTA, FileKind.SNAPSHOT):
            return file
        kind, version = self.classify(file.path.rpartition("/")[2])
        if kind is file.kind and version == file.version:
            return file
        return replace(file, kind=kind, version=version)

    def files_of(self, files: Iterable[StoreFile]) -> StoreFiles:
        """The state files of one store by version; which of them make one is in ``chain``."""
        return StoreFiles.of(files, self.names, compares=self.writes_snapshots_alone)

    def shared_files(self, storage: Storage, files: Sequence[StoreFile]) -> SharedFiles | None:
        """What the snapshots in one folder share; None if each has its rows for itself.

        Args:
            storage: opened at the checkpoint's root.
            files: all files in the folder.
        """
        del storage, files
        return None

    def files_to_copy(
        self, storage: Storage, files: Sequence[StoreFile], version: int
    ) -> tuple[StoreFile, ...]:
        """The files in one folder that a version is loaded from, and their checksum files.

        Args:
            storage: opened at the checkpoint's root.
            files: all files in the folder.
            version: which.

        Raises:
            MissingVersionError: they do not make the version.
            InspectorError: a snapshot does not say which files it consists of.
            OSError: it cannot be read.
        """
        del storage
        return with_side_files(chain_for(self.files_of(files), version).files, files)

    def unique_id(self, file: StoreFile) -> str | None:
        """The id of the checkpoint that a state file belongs to; None where names have none."""
        del file
        return None

    def snapshot_format(self, storage: Storage, file: StoreFile) -> int:
        """The number that a snapshot's version line has; 1 where it has none.

        Args:
            storage: opened at the checkpoint's root.
            file: the snapshot.

        Raises:
            InspectorError: it cannot be decoded.
            OSError: it cannot be read.
        """
        del storage, file
        return 1

    def snapshot_name(self, version: int) -> str | None:
        """The name of a snapshot that holds all rows itself; None if it has none such."""
        del version
        return None

    def new_delta(
        self,
        storage: Storage,
        files: Sequence[StoreFile],
        version: int,
        options: ReadOptions,
        unique_id: str | None,
    ) -> DeltaForm:
        """How the delta that follows a version is written.

        Args:
            storage: opened at the checkpoint's root.
            files: all files in the folder of the store.
            version: the one before.
            options: how its files are written; the new one is written so too.
            unique_id: of the new version's checkpoint; None where names have none.

        Raises:
            UnsupportedProviderError: nothing can be appended to its files here.
            InspectorError: a file that says how cannot be decoded.
            OSError: it cannot be read.
        """
        del files, version, options, unique_id
        raise UnsupportedProviderError(
            f"no state can be written for {self.spark_class}, only copied as it is", storage.root
        )


def with_side_files(
    chosen: Iterable[StoreFile], files: Iterable[StoreFile]
) -> tuple[StoreFile, ...]:
    """Some files of a folder with their checksum files, and with those of checksum files."""
    kinds = (FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)
    sides = [file for file in files if file.kind in kinds]
    result = {file.path: file for file in chosen}
    for _ in kinds:
        result |= {side.path: side for side in sides if main_path(side) in result}
    return tuple(result.values())
