"""Interface of a state store provider. Nothing above it depends on which provider it is."""

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
"""Packages whose providers of these names write these files; Databricks took over both formats.

Third parties have classes of the same names that write other files.
"""


class Provider(ABC):
    """Recognises the checkpoints of one state store provider, and reads their state.

    A provider has a ``spark_class``, spells its files by ``names``, tells them by
    :meth:`classify`, and has a :meth:`reader`; everything else says how it differs from that.
    """

    spark_class: str  # name of the class in Spark, without its package
    names: FileNames  # how it spells the files of a version
    rank = 0  # those of a lower one are asked first; who takes what is left comes last
    has_column_families = False  # several stores may share files, which some operators need
    keeps_maps = True  # an executor keeps the rows of versions as maps on its heap
    shares_files = False  # its snapshots consist of files that they share
    sums_snapshots = False  # they hold checksums of their own, whatever codec is set
    # a version without a delta changed what differs between its snapshot and the one before
    writes_snapshots_alone = False
    # each file of a step is read once and whole: it can be requested before its task begins
    reads_each_file_whole = False
    removes_what_it_has = True  # a removal is written only for a key that is there

    @property
    def name(self) -> str:
        """Its folder below this one, in which the class is defined; tasks carry it to workers."""
        return type(self).__module__.removeprefix(f"{__package__}.").partition(".")[0]

    @property
    def content(self) -> StoreContent:
        """Access to what the files record besides rows: ``CONTENT`` of the folder's ``content``."""
        name = f"{type(self).__module__}.content"
        content: StoreContent = import_module(name).CONTENT if find_spec(name) else StoreContent()
        return content

    @abstractmethod
    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """The kind of a file by its name, and the version in it; OTHER if not its own."""
        # A folder of any other kind belongs to the store that it lies in and is no store itself.

    def requests_of(self, file: StoreFile, *, has_sums: bool) -> int:
        """Return the number of requests that an audit makes for a state file on an object store."""
        # Where a checksum file lies beside it, it is read as a whole.
        return parts_of(file.size)

    def reader(
        self,
        storage: TaskFiles,
        options: ReadOptions,
        files: Iterable[StoreFile],
        side_files: Iterable[StoreFile],
        report: Report,
    ) -> FileReader:
        """A reader for one store: the ``READER`` of the folder's module ``reader``."""
        # It is imported by who reads state: info and files start without it.
        module = import_module(f"{type(self).__module__}.reader")
        reader: FileReader = module.READER(storage, options, files, side_files, report)
        return reader

    def detect(self, provider_class: str | None, files: Iterable[StoreFile]) -> bool:
        """Return whether it wrote the checkpoint, by the recorded class, or by the file names."""
        if provider_class is not None:
            return self.has_class(provider_class)
        names = (file.path.rpartition("/")[2] for file in files)
        return any(self.classify(name)[0] in KINDS_OF_VERSION for name in names)

    def has_class(self, provider_class: str) -> bool:
        """True if a class, with or without its package, writes the files of this provider."""
        package, _, name = provider_class.rpartition(".")
        is_own = not package or provider_class.startswith(OWN_PACKAGES)
        return is_own and name == self.spark_class

    def resolve_attempts(
        self,
        files: Sequence[StoreFile],
        committed: Mapping[int, frozenset[str]],
        storage: Storage | None = None,
    ) -> tuple[StoreFile, ...]:
        """The files of one store, those that no version is read from as what they are."""
        # Where the commit log has them, committed are the unique ids of the checkpoints of each
        # version, of all stores of the partition. Without a storage no file is read for it.
        return tuple(self._own(file) for file in files)

    def _own(self, file: StoreFile) -> StoreFile:
        """A file; no delta or snapshot, if only another provider's are named so."""
        if file.kind in (FileKind.TABLE, FileKind.TABLE_LOG):
            kind, _ = self.classify(file.path.split("/")[-2], is_dir=True)
            return replace(file, kind=kind)
        if file.kind not in KINDS_OF_VERSION:
            return file
        kind, version = self.classify(file.path.rpartition("/")[2])
        is_own = kind is file.kind and version == file.version
        return file if is_own else replace(file, kind=kind, version=version)

    def files_of(self, files: Iterable[StoreFile]) -> StoreFiles:
        """The state files of one store by version; which of them make one is in ``chain``."""
        return StoreFiles.of(files, self.names, compares=self.writes_snapshots_alone)

    def unique_id(self, file: StoreFile) -> str | None:
        """The id of the checkpoint that a state file belongs to; None where names have none."""
        return None

    def snapshot_name(self, version: int) -> str | None:
        """The name of a snapshot that holds all rows itself; None if it has none such."""
        return None
