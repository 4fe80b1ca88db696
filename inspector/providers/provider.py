"""Interface of a state store provider, on which all other code depends instead of a certain one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from inspector.checkpoint.storage import Storage, parts_of
from inspector.light_dataclasses import replace
from inspector.model import KINDS_OF_VERSION, FileKind, StoreFile, Version
from inspector.providers.chain import FileNames, StoreFiles
from inspector.providers.content import StoreContent
from inspector.providers.reader_options import ReadOptions, Report
from inspector.providers.task_files import TaskFiles

if TYPE_CHECKING:  # it imports what decodes rows: `info` and `files` start without it
    from inspector.providers.file_reader import FileReader


OWN_PACKAGES = ("org.apache.spark.", "com.databricks.")
"""Packages whose classes of these names write these files. Databricks took over both formats.

Third parties have classes of the same names that write other files.
"""


class Provider(ABC):
    """Recognises the checkpoints of one state store provider, and reads their state.

    A provider has a ``spark_class``, the ``names`` of its files, :meth:`classify` and a
    :meth:`reader`. Its other attributes and methods say how it differs from the defaults here.
    """

    spark_class: str  # name of the class in Spark, without its package
    names: FileNames  # names of the files of a version
    # order in which providers are asked, lowest first; the one that takes everything comes last
    rank = 0
    has_column_families = False  # True if several stores may share files, which some operators need
    keeps_maps = True  # True if an executor keeps the rows of versions as maps on its heap
    shares_files = False  # True if its snapshots consist of files that several snapshots share
    sums_snapshots = False  # True if its snapshots contain checksums, whatever the codec
    # True if a version may have a snapshot and no delta; its change is then the difference between
    # its snapshot and the previous one
    writes_snapshots_alone = False
    # True if each file is read once as a whole, so that it can be requested before its task begins
    reads_each_file_whole = False
    removes_what_it_has = True  # True if a removal is written only for a key that exists

    @property
    def name(self) -> str:
        """Name of its folder in this package, by which tasks name it to workers."""
        return type(self).__module__.removeprefix(f"{__package__}.").partition(".")[0]

    @property
    def content(self) -> StoreContent:
        """Access to contents other than rows: ``CONTENT`` of the folder's module ``content``."""
        name = f"{type(self).__module__}.content"
        content: StoreContent = import_module(name).CONTENT if find_spec(name) else StoreContent()
        return content

    @abstractmethod
    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """Return the kind and version of a file by its name; OTHER if it is not the provider's.

        A folder of any kind except OTHER is part of its store and no store itself.
        """
        # A folder of any other kind belongs to the store that it lies in and is no store itself.

    def requests_of(self, file: StoreFile, *, has_sums: bool) -> int:
        """Return the number of requests that an audit makes for a state file on an object store.

        ``has_sums``: a checksum file belongs to it, so it is read as a whole.
        """
        # A file with a checksum file is read as a whole.
        return parts_of(file.size)

    def reader(
        self,
        storage: TaskFiles,
        options: ReadOptions,
        files: Iterable[StoreFile],
        side_files: Iterable[StoreFile],
        report: Report,
    ) -> FileReader:
        """Return a reader for one store: the ``READER`` of the folder's module ``reader``."""
        # It is imported by who reads state: info and files start without it.
        module = import_module(f"{type(self).__module__}.reader")
        reader: FileReader = module.READER(storage, options, files, side_files, report)
        return reader

    def detect(self, provider_class: str | None, files: Iterable[StoreFile]) -> bool:
        """Return True if it wrote the checkpoint, by the recorded class or by file names."""
        if provider_class is not None:
            return self.has_class(provider_class)
        names = (file.path.rpartition("/")[2] for file in files)
        return any(self.classify(name)[0] in KINDS_OF_VERSION for name in names)

    def has_class(self, provider_class: str) -> bool:
        """Return True if a class, with or without package, writes this provider's files."""
        package, _, name = provider_class.rpartition(".")
        is_own = not package or provider_class.startswith(OWN_PACKAGES)
        return is_own and name == self.spark_class

    def resolve_attempts(
        self,
        files: Sequence[StoreFile],
        committed: Mapping[int, frozenset[str]],
        storage: Storage | None = None,
    ) -> tuple[StoreFile, ...]:
        """Return the files of one store; files that belong to no version get another kind.

        ``committed`` has, for each version, the checkpoint ids in the commit log. It covers all
        stores of the partition. Without ``storage`` no file is read to decide. The base class uses
        neither: it only changes the kind of files whose names are those of another provider.
        """
        return tuple(self._own(file) for file in files)

    def _own(self, file: StoreFile) -> StoreFile:
        """Return a file, of another kind if its name is only another provider's state file."""
        if file.kind in (FileKind.TABLE, FileKind.TABLE_LOG):
            kind, _ = self.classify(file.path.split("/")[-2], is_dir=True)
            return replace(file, kind=kind)
        if file.kind not in KINDS_OF_VERSION:
            return file
        kind, version = self.classify(file.path.rpartition("/")[2])
        is_own = kind is file.kind and version == file.version
        return file if is_own else replace(file, kind=kind, version=version)

    def files_of(self, files: Iterable[StoreFile]) -> StoreFiles:
        """Return the deltas and snapshots of one store by version."""
        return StoreFiles.of(files, self.names, compares=self.writes_snapshots_alone)

    def unique_id(self, file: StoreFile) -> str | None:
        """Return the id of the checkpoint that a state file belongs to; None if names have none."""
        return None

    def snapshot_name(self, version: int) -> str | None:
        """Return the name of a snapshot that has all rows itself; None if there is none."""
        return None
