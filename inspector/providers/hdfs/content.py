"""Writer of a version with changed rows. HDFS-backed files contain nothing but rows."""

from __future__ import annotations

from itertools import chain

from inspector.checkpoint.storage import Storage
from inspector.decode.frames import DEFAULT_CODEC, codec_of, inflate, sniff
from inspector.encode.records import DeltaForm
from inspector.model import FileKind, StoreFile
from inspector.providers.content import (
    ChangedVersion,
    FolderVersion,
    StoreContent,
    WholeVersion,
)
from inspector.providers.hdfs import SPELLED
from inspector.providers.reader_options import ReadOptions


class HdfsContent(StoreContent):
    """Content of deltas and snapshots, which have rows and nothing else."""

    def first_put(self, storage: Storage, file: StoreFile) -> tuple[bytes, int] | None:
        """Return the key of the first put in a file, and its value's bytes; None without one."""
        # A command that only lists starts without numpy.
        from inspector.decode.records import read_records  # noqa: PLC0415

        path = storage.relative(file.path)
        chunks = storage.stream(path, size=file.size)
        head = next(chunks, b"")
        blocks = inflate(chain([head], chunks), sniff(head) or DEFAULT_CODEC)
        for block in read_records(blocks, snapshot=file.kind is FileKind.SNAPSHOT):
            puts = (n for n, size in enumerate(block.value_length.tolist()) if size >= 0)
            for index in puts:
                start, size = int(block.key_offset[index]), int(block.key_length[index])
                return block.buffer[start : start + size], int(block.value_length[index])
        return None

    def encode_version(
        self, folder: FolderVersion, options: ReadOptions, unique_id: str | None
    ) -> ChangedVersion:
        """Return a version as one snapshot with all rows, in the codec of the version."""
        version = folder.chain.version
        codec = codec_of(options.codecs.get(version, DEFAULT_CODEC))
        form = DeltaForm(SPELLED.snapshot.format(version), codec, options.row_checksum)
        return ChangedVersion(form, has_all_rows=True)

    def encode_whole(self, folder: FolderVersion, options: ReadOptions) -> WholeVersion:
        """Return a version as one snapshot, in the codec of the version."""
        return WholeVersion(self.encode_version(folder, options, None).form)


CONTENT = HdfsContent()
