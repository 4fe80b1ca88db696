"""What a copy takes along of a store, and the changelog that it appends.

On load Spark takes the newest snapshot up to a version and replays the changelogs after it,
whatever its conf says of changelogs (``RocksDB.load``, 3.5 to 4.3). So one changelog behind the
newest snapshot makes a version.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain as joined

from inspector.checkpoint.storage import Storage
from inspector.decode.changelog import ChangelogHead, LineageItem, read_changelog
from inspector.decode.frames import DEFAULT_CODEC, codec_of, inflate, sniff
from inspector.encode.deltas import DeltaForm
from inspector.encode.records import WITH_KINDS
from inspector.exceptions import MissingVersionError
from inspector.model import FileKind, StoreFile
from inspector.providers.chain import Chain
from inspector.providers.options import ReadOptions
from inspector.providers.provider import with_side_files
from inspector.providers.rocksdb.names import SPELLED, parse_name
from inspector.providers.rocksdb.snapshot import read_snapshot


def with_tables(
    storage: Storage, chosen: Sequence[StoreFile], files: Sequence[StoreFile]
) -> tuple[StoreFile, ...]:
    """Some files of a folder with those that the snapshots among them name.

    Raises:
        MissingVersionError: one is not there.
        DecodeError: a snapshot does not say which.
    """
    shared = (FileKind.TABLE, FileKind.TABLE_LOG)
    entry = {"/".join(f.path.rsplit("/", 2)[1:]): f for f in files if f.kind in shared}
    result: dict[str, StoreFile] = {}
    for file in chosen:
        if file.kind is FileKind.SNAPSHOT:
            snapshot = read_snapshot(storage, file)
            for table in (*snapshot.tables, *snapshot.logs):
                if table.name not in entry:
                    raise MissingVersionError(
                        f"{table.name} is missing, which the snapshot consists of", file.path
                    )
                result[table.name] = entry[table.name]
    return (*chosen, *with_side_files(result.values(), files))


def changelog_form(
    storage: Storage,
    files: Sequence[StoreFile],
    chain: Chain,
    options: ReadOptions,
    unique_id: str | None,
) -> DeltaForm:
    """How the changelog that follows a version is written.

    Args:
        storage: opened at the checkpoint's root.
        files: all files in the folder.
        chain: those that make the version.
        options: how they are written.
        unique_id: of the new version's checkpoint (format 2).
    """
    newest = chain.files[-1]
    changelogs = [file for file in files if file.kind is FileKind.DELTA]
    of_version = next((file for file in changelogs if file is newest), None)
    example = of_version or max(changelogs, key=lambda file: file.version or 0, default=None)
    head = ChangelogHead() if example is None else changelog_head(storage, example)
    kinds = head.version in WITH_KINDS
    if example is None and chain.base is not None:
        kinds = bool(read_snapshot(storage, chain.base).families)
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


def changelog_head(storage: Storage, file: StoreFile) -> ChangelogHead:
    """What a changelog begins with, of which no record is read."""
    chunks = storage.stream(storage.relative(file.path), size=file.size)
    first = next(chunks, b"")
    blocks = inflate(joined([first], chunks), sniff(first) or DEFAULT_CODEC)
    return read_changelog(blocks)[0]
