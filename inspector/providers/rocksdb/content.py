"""Contents of snapshots and changelogs other than rows, and how a changed version is written.

Spark loads the newest snapshot up to a version and the changelogs after it, whatever its conf
(``RocksDB.load``, 3.5 to 4.3). So an older snapshot and a changelog of the version make it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain as joined
from typing import TYPE_CHECKING

from inspector.checkpoint.storage import Storage
from inspector.exceptions import MissingVersionError, UnsupportedProviderError
from inspector.light_dataclasses import replace
from inspector.model import FileKind, StoreFile
from inspector.providers.content import (
    ChangedVersion,
    FolderVersion,
    SharedFiles,
    StoreContent,
    WholeVersion,
)
from inspector.providers.reader_options import ReadOptions
from inspector.providers.rocksdb import LOGS, SPELLED, TABLES, parse_name
from inspector.providers.rocksdb.snapshot import (
    check_snapshot,
    list_shared_files,
    read_metadata,
    read_snapshot,
)

if TYPE_CHECKING:  # it decodes rows, and `info` starts without what does
    from inspector.decode.changelog import ChangelogHead
    from inspector.encode.records import DeltaForm


class RocksDbContent(StoreContent):
    """Content of snapshots, which name table files, and of changelogs, which name their lineage."""

    def list_shared_files(self, storage: Storage, files: Sequence[StoreFile]) -> SharedFiles:
        """Describe the snapshots in one folder by the table files that they name.

        The result also lists the table files that no snapshot names, and the files that cannot be
        read with their errors.
        """
        return list_shared_files(storage, files)

    def files_to_copy(self, folder: FolderVersion) -> tuple[StoreFile, ...]:
        """Return a snapshot and the changelogs after it, and the files that the snapshot names.

        MissingVersionError: one of these is missing.
        """
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
        """Return a sentence on rows of a snapshot that RocksDB loses; empty if it loses none.

        DecodeError: Spark does not load the snapshot.
        """
        return check_snapshot(storage, file, files)

    def snapshot_format(self, storage: Storage, file: StoreFile) -> int:
        """Return the format number in the snapshot's entry ``metadata``."""
        return read_snapshot(storage, file).format

    def lineage(self, storage: Storage, file: StoreFile) -> Mapping[int, str]:
        """Return the unique ids by version in the head of a changelog."""
        return {item.version: item.unique_id for item in _head_of(storage, file)[0].lineage}

    def encode_version(
        self, folder: FolderVersion, options: ReadOptions, unique_id: str | None
    ) -> ChangedVersion:
        """Return how a version is written: as a changelog behind an older snapshot.

        The changelog of the version is written again, with the changes after its own records. If
        only a snapshot makes the version, the snapshot gets the name of the previous version, and a
        changelog has the changes. Version 1 has no previous version: its changelog has all rows.
        """
        # `info` checks snapshots by this class, and starts without what decodes and encodes rows.
        from inspector.decode.changelog import LineageItem  # noqa: PLC0415
        from inspector.encode.records import DeltaForm  # noqa: PLC0415

        newest, version = folder.chain.files[-1], folder.chain.version
        name = SPELLED.delta.format(version if unique_id is None else f"{version}_{unique_id}")
        if newest.kind is FileKind.DELTA:
            head, own_codec = _head_of(folder.storage, newest)
            form = DeltaForm(name, own_codec, options.row_checksum, head.version, head.lineage)
            ends = folder.with_side_files([newest])
            copied = [file for file in self.files_to_copy(folder) if file not in ends]
            return ChangedVersion(form, tuple((file, _in_folder(file)) for file in copied), newest)
        families = bool(read_snapshot(folder.storage, newest).families)
        if version == 1 and families:
            message = (
                "version 1 is only in a snapshot, and its rows cannot be changed before the query "
                "has run a second batch: let it run one"
            )
            raise UnsupportedProviderError(message, newest.path)
        form = _form_of_changelog(folder, options, name, families)
        if unique_id is not None:
            form = replace(form, changelog=form.changelog + _LINEAGE_FORMATS)
        if version == 1:
            return ChangedVersion(form, has_all_rows=True)
        old_name = _in_folder(newest)
        parsed = parse_name(old_name)
        old_id = None if parsed is None else parsed.unique_id
        previous = version - 1
        renamed = SPELLED.snapshot.format(previous if old_id is None else f"{previous}_{old_id}")
        if unique_id is not None and old_id is not None:
            form = replace(form, lineage=(LineageItem(previous, old_id),))
        ends = folder.with_side_files([newest])
        names = {
            file: _in_folder(file).replace(old_name, renamed, 1) if file in ends else ""
            for file in self.files_to_copy(folder)
        }
        return ChangedVersion(form, tuple((f, name or _in_folder(f)) for f, name in names.items()))

    def encode_whole(self, folder: FolderVersion, options: ReadOptions) -> WholeVersion:
        """Return a version as an empty snapshot of the version before, and a changelog of all rows.

        Version 1 has no version before: Spark reads its changelog without a snapshot.
        """
        # `info` starts without what decodes and encodes rows.
        from inspector.encode.empty_snapshot import empty_snapshot  # noqa: PLC0415

        version = folder.chain.version
        snapshots = [file for file in folder.files if file.kind is FileKind.SNAPSHOT]
        metadata = b'v1\n{"sstFiles":[],"numKeys":0}'
        families: Mapping[str, int] = {}
        if snapshots:
            newest = max(snapshots, key=_version_of)
            families = read_snapshot(folder.storage, newest).families
            metadata = read_metadata(folder.storage, newest)
        if families and version == 1:
            message = (
                "the query has run one batch, and rows of column families cannot be written for "
                "its version: let it run a second batch"
            )
            raise UnsupportedProviderError(message, folder.storage.root)
        name = SPELLED.delta.format(version)
        form = _form_of_changelog(folder, options, name, bool(families))
        if version == 1:
            return WholeVersion(form)
        base = SPELLED.snapshot.format(version - 1), empty_snapshot(metadata)
        return WholeVersion(form, base, families)

    def with_ids(self, whole: WholeVersion, version: int, ids: tuple[str, str]) -> WholeVersion:
        """Return a changelog and a snapshot with ids, which the changelog names as its lineage."""
        # `info` starts without what decodes and encodes rows.
        from inspector.decode.changelog import LineageItem  # noqa: PLC0415

        name = SPELLED.delta.format(f"{version}_{ids[0]}")
        number = whole.form.changelog + _LINEAGE_FORMATS
        form = replace(whole.form, name=name, changelog=number)
        if whole.base is None:
            return replace(whole, form=form)
        form = replace(form, lineage=(LineageItem(version - 1, ids[1]),))
        base = SPELLED.snapshot.format(f"{version - 1}_{ids[1]}"), whole.base[1]
        return replace(whole, form=form, base=base)


_LINEAGE_FORMATS = 2  # added to the format of a changelog, the one with a lineage


def _form_of_changelog(
    folder: FolderVersion, options: ReadOptions, name: str, has_families: bool
) -> DeltaForm:
    """Return the form of a new changelog in the codec of the version, without a lineage.

    Its records have kinds as those of the newest changelog in the folder. Without a changelog they
    have kinds if the stores are column families. Raises InspectorError, OSError.
    """
    # `info` starts without what decodes and encodes rows.
    from inspector.decode.changelog import WITH_KINDS  # noqa: PLC0415
    from inspector.decode.frames import DEFAULT_CODEC, codec_of  # noqa: PLC0415
    from inspector.encode.records import DeltaForm  # noqa: PLC0415

    has_kinds = has_families
    changelogs = [file for file in folder.files if file.kind is FileKind.DELTA]
    if changelogs:
        newest = max(changelogs, key=_version_of)
        has_kinds = _head_of(folder.storage, newest)[0].version in WITH_KINDS
    codec = codec_of(options.codecs.get(folder.chain.version, DEFAULT_CODEC))
    return DeltaForm(name, codec, options.row_checksum, 2 if has_kinds else 1)


def _version_of(file: StoreFile) -> int:
    """Return the version of a file, for sorting; 0 without one."""
    return file.version or 0


def _in_folder(file: StoreFile) -> str:
    """Return the path of a file in its store, such as ``7.zip`` or ``SSTs/000008-1.sst``."""
    parts = 2 if file.path.rsplit("/", 2)[-2] in (TABLES, LOGS) else 1
    return "/".join(file.path.rsplit("/", parts)[1:])


def _head_of(storage: Storage, file: StoreFile) -> tuple[ChangelogHead, str]:
    """Return the head of a changelog, and its codec."""
    from inspector.decode.changelog import read_changelog  # noqa: PLC0415 - see above
    from inspector.decode.frames import DEFAULT_CODEC, inflate, sniff  # noqa: PLC0415

    chunks = storage.stream(storage.relative(file.path), size=file.size)
    first = next(chunks, b"")
    codec = sniff(first) or DEFAULT_CODEC
    return read_changelog(inflate(joined([first], chunks), codec))[0], codec


CONTENT = RocksDbContent()
