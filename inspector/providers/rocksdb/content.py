"""What snapshots and changelogs say beside the rows, and the changelog that a copy appends.

Spark loads the newest snapshot up to a version and the changelogs after it, whatever its conf
(``RocksDB.load``, 3.5 to 4.3). So one changelog behind the newest snapshot makes a version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain as joined

from inspector.checkpoint.storage import Storage
from inspector.decode.changelog import WITH_KINDS, ChangelogHead, LineageItem, read_changelog
from inspector.decode.frames import DEFAULT_CODEC, codec_of, inflate, sniff
from inspector.encode.records import DeltaForm
from inspector.exceptions import MissingVersionError
from inspector.model import FileKind, StoreFile
from inspector.providers.content import FolderVersion, SharedFiles, StoreContent
from inspector.providers.reader_options import ReadOptions
from inspector.providers.rocksdb import SPELLED, parse_name
from inspector.providers.rocksdb.snapshot import check_snapshot, read_snapshot, shared_files


class RocksDbContent(StoreContent):
    """Snapshots that name table files, and changelogs that name what they are based on."""

    def shared_files(self, storage: Storage, files: Sequence[StoreFile]) -> SharedFiles:
        """How the snapshots in one folder share table files."""
        return shared_files(storage, files)

    def files_to_copy(self, folder: FolderVersion) -> tuple[StoreFile, ...]:
        """A snapshot and the changelogs after it, and the files that the snapshot names."""
        copied = super().files_to_copy(folder)
        shared = (FileKind.TABLE, FileKind.TABLE_LOG)
        entry = {"/".join(f.path.rsplit("/", 2)[1:]): f for f in folder.files if f.kind in shared}
        tables: dict[str, StoreFile] = {}
        for file in copied:
            if file.kind is FileKind.SNAPSHOT:
                snapshot = read_snapshot(folder.storage, file)
                for table in (*snapshot.tables, *snapshot.logs):
                    if table.name not in entry:
                        message = f"{table.name} is missing, which the snapshot consists of"
                        raise MissingVersionError(message, file.path)
                    tables[table.name] = entry[table.name]
        return (*copied, *folder.with_side_files(tables.values()))

    def check_snapshot(self, storage: Storage, file: StoreFile, files: Sequence[StoreFile]) -> str:
        """Compare RocksDB's own files in a snapshot with its tables."""
        return check_snapshot(storage, file, files)

    def snapshot_format(self, storage: Storage, file: StoreFile) -> int:
        """As its entry ``metadata`` has it."""
        return read_snapshot(storage, file).format

    def lineage(self, storage: Storage, file: StoreFile) -> Mapping[int, str]:
        """As the head of a changelog has it."""
        return {item.version: item.unique_id for item in _head_of(storage, file).lineage}

    def new_delta(
        self, folder: FolderVersion, options: ReadOptions, unique_id: str | None
    ) -> DeltaForm:
        """A changelog behind whatever makes the version."""
        chain, newest = folder.chain, folder.chain.files[-1]
        changelogs = [file for file in folder.files if file.kind is FileKind.DELTA]
        of_version = next((file for file in changelogs if file is newest), None)
        example = of_version or max(changelogs, key=lambda file: file.version or 0, default=None)
        head = ChangelogHead() if example is None else _head_of(folder.storage, example)
        kinds = head.version in WITH_KINDS
        if example is None and chain.base is not None:
            kinds = bool(read_snapshot(folder.storage, chain.base).families)
        lineage: tuple[LineageItem, ...] = ()
        name = parse_name(newest.path.rpartition("/")[2])
        if unique_id is not None and name is not None and name.unique_id is not None:
            older = () if of_version is None else head.lineage
            lineage = (*older, LineageItem(chain.version, name.unique_id))
        version = chain.version + 1
        return DeltaForm(
            SPELLED.delta.format(version if unique_id is None else f"{version}_{unique_id}"),
            codec_of(options.codecs.get(chain.version, DEFAULT_CODEC)),
            options.row_checksum,
            (2 if kinds else 1) + (2 if unique_id is not None else 0),
            lineage,
        )


def _head_of(storage: Storage, file: StoreFile) -> ChangelogHead:
    chunks = storage.stream(storage.relative(file.path), size=file.size)
    first = next(chunks, b"")
    blocks = inflate(joined([first], chunks), sniff(first) or DEFAULT_CODEC)
    return read_changelog(blocks)[0]


CONTENT = RocksDbContent()
