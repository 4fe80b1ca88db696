"""What a state store provider has to answer, so that nothing above needs to know which it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from inspector.checkpoint.storage import Storage
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.chain import StoreFiles
from inspector.sparktypes import StructType
from inspector.sparktypes.key_encoders import KeyEncoder

if TYPE_CHECKING:
    from inspector.decode.records import RecordBlock
    from inspector.providers.shared_files import SharedFiles
    from inspector.providers.task_files import TaskFiles

Report = Callable[[str, str, "StoreFile | None", "int | None"], None]
"""Takes slug, message, file and offset of a problem."""

Lineage = Callable[["StoreFile"], Mapping[int, str]]
"""Reads of a delta which versions it is based on, each with the unique id of its checkpoint; empty
if it does not say, or cannot be read."""


@dataclass(frozen=True)
class Listing:
    """What a provider is recognised by.

    Attributes:
        provider_class: the class that the offset log records, None where it records none.
        files: every file in the folders of the stores, classified by all providers together.
    """

    provider_class: str | None
    files: tuple[StoreFile, ...]


@dataclass(frozen=True)
class StoreForm:
    """How a store keeps its rows, where that is not the same for all stores of a provider.

    Attributes:
        column_family: the part of the files that is this store; None if they are its own.
        key: schema of its keys, as operators put them; None if it is not known.
        key_encoder: how the keys are arranged.
        several_values: a value holds several rows; each is a record, and its key has one more
            column, the place of the row (:data:`INDEX_COLUMN`).
        value: schema of its values; None if it is not known.
        written_values: schemas by which rows say that they were written, by number (Avro).
    """

    column_family: str | None = None
    key: StructType | None = None
    key_encoder: KeyEncoder = field(default_factory=KeyEncoder)
    several_values: bool = False
    value: StructType | None = None
    written_values: Mapping[int, StructType] = field(default_factory=dict)


INDEX_COLUMN = "index"
"""Name of the column that the key of each row has if a value holds several: as in the keys of a
join's rows, where Spark itself numbers them."""


@dataclass(frozen=True)
class ReadOptions:
    """How the state files were written, as far as the offset log records it.

    Attributes:
        codecs: compression by version; a version that is not there has Spark's default.
        row_checksum: each record carries a checksum.
        merge_delimiter: rows that were merged into one value are parted by a byte.
        encoding: of rows; ``unsaferow`` or ``avro``.
        form: of the store.
    """

    codecs: Mapping[int, str] = field(default_factory=dict)
    row_checksum: bool = False
    merge_delimiter: bool = True
    encoding: str = "unsaferow"
    form: StoreForm = field(default_factory=StoreForm)


@dataclass(frozen=True)
class Checked:
    """What a reader has read to its end and found to be as it should.

    Attributes:
        files: that could be decoded. file_checksums: checksum files beside them.
        row_checksums: of records.
    """

    files: int
    file_checksums: int
    row_checksums: int


class FileReader(Protocol):
    """Reads the state files of one store.

    Attributes:
        raw_bytes: decompressed bytes of the file read last; 0 of one that another store's reader
            has decompressed.
    """

    raw_bytes: int

    @property
    def checked(self) -> Checked:
        """What was right so far, each file once."""

    @property
    def unsummed(self) -> frozenset[str]:
        """Paths of the files that were decoded to their end and that hold no checksum.

        Neither their blocks nor their rows do, nor a file beside them.
        """

    def expect(self, files: Sequence[StoreFile]) -> None:
        """Announce which files will be read next, and in which order."""

    def goes_on_from(self, other: object) -> None:
        """Take over what another reader of the store knows of the version that it read last."""

    def blocks(self, file: StoreFile) -> Iterator[RecordBlock]:
        """The records of a file, block by block; the last block only after its end was verified.

        Raises:
            DecodeError: the file is not what its format says; carries path and offset.
            OSError: it cannot be read.
        """

    def rows_told(self, file: StoreFile) -> int | None:
        """How many rows a snapshot says that it has, with those of stores that share it.

        None if it does not say it, as where it has them in itself.

        Raises:
            DecodeError: it cannot be decoded.
            OSError: it cannot be read.
        """

    def unchecked(self, files: Iterable[StoreFile]) -> Iterator[StoreFile]:
        """Those files that have checksums and that nobody has read to their end."""

    def check(self, file: StoreFile) -> None:
        """Hold a file against its checksums without decoding it.

        Raises:
            OSError: it cannot be read.
        """


class Provider(ABC):
    """Recognises the checkpoints of one state store provider, and reads their state.

    Attributes:
        spark_class: name of the class in Spark, without its package.
        has_column_families: several stores may share files, which some operators need.
        keeps_maps: an executor keeps the rows of versions as maps on its heap.
        shares_files: its snapshots consist of files that they share.
        sums_snapshots: they hold checksums of their own, whatever codec is set.
        reads_each_file_whole: its reader requests each file of a step once and whole, so that it
            can be requested before its task begins.
    """

    spark_class: str
    has_column_families = False
    keeps_maps = True
    shares_files = False
    sums_snapshots = False
    reads_each_file_whole = False

    name: str
    """Name of its folder here; tasks carry it to the workers."""

    removes_what_it_has: bool = True
    """Whether a removal is written only for a key that is there."""

    rank: int = 0
    """Providers of a lower rank are asked first; the one that takes what is left comes last."""

    @abstractmethod
    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """The kind of a file by its name, and the state version in it; OTHER if it is not its own.

        A folder of any other kind belongs to the store that it lies in and is no store itself.
        """

    @abstractmethod
    def detect(self, listing: Listing) -> bool:
        """Whether this provider wrote the checkpoint."""

    def settled(
        self, files: Sequence[StoreFile], committed: Mapping[int, frozenset[str]], lineage: Lineage
    ) -> tuple[StoreFile, ...]:
        """The files of one store, those that no version is read from as what they are.

        Args:
            files: of one store, as :func:`inspector.providers.registry.classify` sees their names.
            committed: unique ids of the checkpoints of each version, where the commit log has them;
                those of all stores of the partition.
            lineage: reads of a delta which versions it is based on, each with its unique id.
        """
        del committed, lineage
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

    @abstractmethod
    def files_of(self, files: Iterable[StoreFile]) -> StoreFiles:
        """The state files of one store by version; which of them make one is in ``chain``."""

    def shared_files(self, storage: Storage, files: Sequence[StoreFile]) -> SharedFiles | None:
        """What the snapshots in one folder share; None if each has its rows for itself.

        Args:
            storage: opened at the checkpoint's root.
            files: all files in the folder.
        """
        del storage, files
        return None

    @abstractmethod
    def reader(
        self,
        storage: TaskFiles,
        options: ReadOptions,
        files: Iterable[StoreFile],
        side_files: Iterable[StoreFile],
        report: Report,
    ) -> FileReader:
        """A reader for one store.

        Args:
            storage: opened at the checkpoint's root, as the task reads it.
            options: how the files were written.
            files: all state files of the store.
            side_files: checksum files that their main files are held against.
            report: takes the problems of files that can be read all the same.
        """
