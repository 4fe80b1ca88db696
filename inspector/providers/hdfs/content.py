"""How a version whose rows are changed is written; files say nothing else but rows."""

from __future__ import annotations

from inspector.decode.frames import DEFAULT_CODEC, codec_of
from inspector.encode.records import DeltaForm
from inspector.providers.content import ChangedVersion, FolderVersion, StoreContent
from inspector.providers.hdfs import SPELLED
from inspector.providers.reader_options import ReadOptions


class HdfsContent(StoreContent):
    """A delta or a snapshot has rows and nothing else."""

    def changed_version(
        self, folder: FolderVersion, options: ReadOptions, unique_id: str | None
    ) -> ChangedVersion:
        """Return a snapshot of the version, alone, with the codec of the version."""
        version = folder.chain.version
        codec = codec_of(options.codecs.get(version, DEFAULT_CODEC))
        form = DeltaForm(SPELLED.snapshot.format(version), codec, options.row_checksum)
        return ChangedVersion(form, has_all_rows=True)


CONTENT = HdfsContent()
