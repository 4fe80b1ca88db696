"""State files that no checksum protects, from the listing and the log alone.

A byte that changes there is noticed only where decoding, the schema or another file shows it.
"""

from __future__ import annotations

from functools import cache, partial

from inspector.checkpoint.names import main_path
from inspector.decode.frames import DEFAULT_CODEC, codec_of, has_checksums
from inspector.discovery.checkpoint import Checkpoint
from inspector.exceptions import DecodeError
from inspector.model import KINDS_OF_SUMS, KINDS_OF_VERSION, FileKind, StoreFile


def count_unsummed_files(checkpoint: Checkpoint, version: int) -> tuple[int, int]:
    """Count the state files up to a version, and those of them without a checksum.

    Returns both numbers. A file has a checksum if a side file, its codec, its rows or its snapshot
    format has one.
    """
    # None of these vouches for them: the codec, of which only lz4 has checksums in its blocks; the
    # checksum of each row (stateStore.rowChecksum.enabled); a checksum file beside them.
    files = unsummed = 0
    sums = cache(partial(sums_itself, checkpoint))
    for layout in checkpoint.layout.folders:
        store_files = [file for file in layout.files if is_state(file, version)]
        summed_paths = {main_path(side) for side in layout.of_kind(*KINDS_OF_SUMS)}
        files += len(store_files)
        for file in store_files:
            own = file.kind is FileKind.SNAPSHOT and checkpoint.provider.sums_snapshots
            unsummed += not (file.path in summed_paths or sums(file.version or 0) or own)
    return files, unsummed


def sums_itself(checkpoint: Checkpoint, version: int) -> bool:
    """Return whether the files of a version contain checksums, according to the offset log."""
    if checkpoint.conf(version, "stateStore.rowChecksum.enabled") == "true":
        return True
    recorded = checkpoint.conf(version, "stateStore.compression.codec") or DEFAULT_CODEC
    try:
        return has_checksums(codec_of(recorded))
    except DecodeError:
        return False  # a class of the user's own


def is_state(file: StoreFile, version: int) -> bool:
    """Return whether a file is a delta or snapshot of the judged version or an older one."""
    return file.kind in KINDS_OF_VERSION and (file.version or 0) <= version
