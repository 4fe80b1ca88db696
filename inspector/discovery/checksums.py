"""Which files no checksum vouches for, by the listing and the log alone.

A byte that changes in such a file is noticed only where the file can no longer be decoded, where
its rows no longer fit their schema, or where another file says the same once more.
"""

from __future__ import annotations

from typing import NamedTuple

from inspector.checkpoint.layout import StoreLayout
from inspector.decode.frames import codec_of, has_checksums
from inspector.discovery.checkpoint import Checkpoint
from inspector.exceptions import DecodeError
from inspector.model import FileKind, StoreFile
from inspector.providers.common_names import main_path

DEFAULT_CODEC = "lz4"
"""What Spark assumes where no codec is recorded (``StateStoreConf``, all versions)."""


class Unsummed(NamedTuple):
    """How many state files there are, and how many of them hold no checksum."""

    files: int
    without: int


def unsummed(checkpoint: Checkpoint, version: int) -> Unsummed:
    """The deltas and snapshots of a version and of older ones that hold no checksum.

    None of these vouches for them: the codec, of which only lz4 has checksums in its blocks; the
    checksum of each row (``stateStore.rowChecksum.enabled``); a checksum file beside them.
    """
    files = without = 0
    for operator in checkpoint.operators:
        for layout in operator.layout.stores:
            of_store = [file for file in layout.files if is_state(file, version)]
            files += len(of_store)
            without += sum(not _vouched(checkpoint, layout, file) for file in of_store)
    return Unsummed(files, without)


def is_state(file: StoreFile, version: int) -> bool:
    """Whether it is a delta or snapshot of the judged version or an older one."""
    return file.kind in (FileKind.DELTA, FileKind.SNAPSHOT) and (file.version or 0) <= version


def _vouched(checkpoint: Checkpoint, layout: StoreLayout, file: StoreFile) -> bool:
    version = file.version or 0
    recorded = checkpoint.conf(version, "stateStore.compression.codec") or DEFAULT_CODEC
    if checkpoint.conf(version, "stateStore.rowChecksum.enabled") == "true" or _of(recorded):
        return True
    sums = layout.of_kind(FileKind.HADOOP_CHECKSUM, FileKind.SPARK_CHECKSUM)
    return file.path in {main_path(side) for side in sums}


def _of(recorded: str) -> bool:
    try:
        return has_checksums(codec_of(recorded))
    except DecodeError:
        return False  # a class of the user's own
