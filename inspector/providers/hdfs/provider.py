"""The HDFS-backed provider behind the seam."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from inspector.model import FileKind, StoreFile, Version
from inspector.providers.common_names import classify_side_file
from inspector.providers.hdfs.names import SPELLED, classify_state_file, is_state_name
from inspector.providers.options import ReadOptions, Report
from inspector.providers.provider import Listing, Provider
from inspector.providers.task_files import TaskFiles

if TYPE_CHECKING:  # it imports what decodes rows
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
