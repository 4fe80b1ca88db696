"""How the delta that follows a version is written; files say nothing else but rows."""

from __future__ import annotations

from inspector.decode.frames import DEFAULT_CODEC, codec_of
from inspector.encode.records import DeltaForm
from inspector.providers.content import FolderVersion, StoreContent
from inspector.providers.hdfs import SPELLED
from inspector.providers.reader_options import ReadOptions


class HdfsContent(StoreContent):
    """A delta says all of itself."""

    def new_delta(
        self, folder: FolderVersion, options: ReadOptions, unique_id: str | None
    ) -> DeltaForm:
        """A delta with the codec of the version before."""
        version = folder.chain.version
        codec = codec_of(options.codecs.get(version, DEFAULT_CODEC))
        return DeltaForm(SPELLED.delta.format(version + 1), codec, options.row_checksum)


CONTENT = HdfsContent()
