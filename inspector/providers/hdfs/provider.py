"""The HDFS-backed provider behind the seam."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from inspector.checkpoint.storage import Storage
from inspector.decode.frames import DEFAULT_CODEC, codec_of
from inspector.model import FileKind, StoreFile, Version
from inspector.providers.common_names import classify_side_file
from inspector.providers.hdfs.names import SPELLED, classify_state_file, is_state_name
from inspector.providers.options import ReadOptions, Report
from inspector.providers.provider import Listing, Provider
from inspector.providers.task_files import TaskFiles

if TYPE_CHECKING:  # they import what decodes rows
    from inspector.encode.deltas import DeltaForm
    from inspector.providers.file_reader import FileReader


class HdfsProvider(Provider):
    """Spark's default: it takes every checkpoint that no other provider claims."""

    spark_class = "HDFSBackedStateStoreProvider"
    names = SPELLED
    rank = 100
    reads_each_file_whole = True

    def classify(self, name: str, *, is_dir: bool = False) -> tuple[FileKind, Version | None]:
        """Deltas and snapshots, and what lies beside them; no folder is its own."""
        if is_dir:
            return FileKind.OTHER, None
        return classify_state_file(name) if is_state_name(name) else classify_side_file(name)

    def detect(self, listing: Listing) -> bool:
        """Always: also of a query without state, and of a provider class that nobody knows."""
        del listing
        return True

    def snapshot_name(self, version: int) -> str:
        """A snapshot holds the rows of its version."""
        return SPELLED.snapshot.format(version)

    def new_delta(
        self,
        storage: Storage,
        files: Sequence[StoreFile],
        version: int,
        options: ReadOptions,
        unique_id: str | None,
    ) -> DeltaForm:
        """A delta: each says all of itself."""
        # Imported by who writes.
        from inspector.encode.deltas import DeltaForm  # noqa: PLC0415

        del storage, files, unique_id
        codec = codec_of(options.codecs.get(version, DEFAULT_CODEC))
        return DeltaForm(SPELLED.delta.format(version + 1), codec, options.row_checksum)

    def reader(
        self,
        storage: TaskFiles,
        options: ReadOptions,
        files: Iterable[StoreFile],
        side_files: Iterable[StoreFile],
        report: Report,
    ) -> FileReader:
        """A reader for one store."""
        # Imported by who reads state: ``info`` and ``files`` start without it.
        from inspector.providers.hdfs.reader import HdfsReader  # noqa: PLC0415

        del files  # each of them stands for itself

        return HdfsReader(storage, options, side_files, report)
