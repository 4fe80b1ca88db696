"""What a state store provider has to answer, so that nothing above needs to know which it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from inspector.checkpoint.storage import Storage
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.chain import StoreFiles

if TYPE_CHECKING:
    from inspector.decode.records import RecordBlock

Report = Callable[[str, str, "StoreFile | None", "int | None"], None]
"""Takes slug, message, file and offset of a problem."""


@dataclass(frozen=True)
class Listing:
    """What a provider is recognised by.

    Attributes:
        provider_class: the class that the offset log records, None where it records none.
        files: every file in the folders of the stores, classified by all providers together.
    """

    provider_class: str | None
    files: tuple[StoreFile, ...]


class Recognizer(ABC):
    """Recognises the files of one provider, whether or not this package can read them."""

    name: str
    """Name of its folder here; tasks carry it to the workers."""

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


class Unsupported(Recognizer):
    """A provider whose checkpoints are recognised and refused."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """What was got, what was expected, and what can read it."""


@dataclass(frozen=True)
class ReadOptions:
    """How the state files were written, as far as the offset log records it.

    Attributes:
        codecs: compression by version; a version that is not there has Spark's default.
        row_checksum: each record carries a checksum.
    """

    codecs: Mapping[int, str] = field(default_factory=dict)
    row_checksum: bool = False


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
        raw_bytes: decompressed bytes of the file read last.
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

    def blocks(self, file: StoreFile) -> Iterator[RecordBlock]:
        """The records of a file, block by block; the last block only after its end was verified.

        Raises:
            DecodeError: the file is not what its format says; carries path and offset.
            OSError: it cannot be read.
        """

    def unchecked(self, files: Iterable[StoreFile]) -> Iterator[StoreFile]:
        """Those files that have checksums and that nobody has read to their end."""

    def check(self, file: StoreFile) -> None:
        """Hold a file against its checksums without decoding it.

        Raises:
            OSError: it cannot be read.
        """


class Provider(Recognizer):
    """A provider whose checkpoints can be read."""

    @abstractmethod
    def files_of(self, files: Iterable[StoreFile]) -> StoreFiles:
        """The state files of one store by version; which of them make one is in ``chain``."""

    @abstractmethod
    def reader(
        self,
        storage: Storage,
        options: ReadOptions,
        side_files: Iterable[StoreFile],
        report: Report,
    ) -> FileReader:
        """A reader for one store.

        Args:
            storage: opened at the checkpoint's root.
            options: how the files were written.
            side_files: checksum files that their main files are held against.
            report: takes the problems of files that can be read all the same.
        """
