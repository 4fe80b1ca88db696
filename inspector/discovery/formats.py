"""What the first bytes of a few files show: the codec in use, and the formats of the logs."""

from __future__ import annotations

from contextlib import suppress

from inspector.checkpoint.logs import COMMITS, OFFSETS
from inspector.decode.frames import sniff
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.light_dataclasses import dataclass
from inspector.model import FileKind
from inspector.operators.join import VALUE_STORES

_HEAD = 16  # bytes by which a codec is recognised

_TRANSFORM = "transformWithState"
_FIRST_ROCKSDB_JOIN = 3


@dataclass(frozen=True)
class SeenBytes:
    """What was seen."""

    # of the newest state file; None if there is none, or it is none of Spark's
    codec: str | None = None
    # codec_file, codec_version: that file, below the root, and the state version in its name
    codec_file: str | None = None
    codec_version: int = 0
    # offset_log_format, commit_log_format: of the newest entry of each; None without one
    offset_log_format: int | None = None
    commit_log_format: int | None = None


def see_bytes(checkpoint: Checkpoint) -> SeenBytes:
    """Read them; what cannot be read is left out, for it is a problem of the logs already."""
    files = [
        file
        for operator in checkpoint.operators
        for store in operator.layout.stores
        for file in store.of_kind(FileKind.DELTA, FileKind.SNAPSHOT)
    ]
    # Deltas first among those of a version: a snapshot may have been written much later.
    newest = max(files, key=lambda f: (f.version or 0, f.kind is FileKind.DELTA), default=None)
    codec, path, version = None, None, 0
    if newest is not None:
        path, version = checkpoint.storage.relative(newest.path), newest.version or 0
        with suppress(OSError):
            size = min(newest.size, _HEAD)
            codec = sniff(next(checkpoint.storage.stream(path, _HEAD, size=size), b""))
    formats = checkpoint.logs.formats
    return SeenBytes(codec, path, version, formats.get(OFFSETS), formats.get(COMMITS))


def needs_rocksdb(checkpoint: Checkpoint, operator: Operator) -> str | None:
    """Why an operator cannot run on this provider; None if it can."""
    if checkpoint.provider.has_column_families:
        return None
    name, metadata = operator.name, operator.metadata
    if name.startswith(_TRANSFORM):
        return f"{name} needs RocksDB: Spark refuses it on this provider"
    properties = {} if metadata is None else metadata.properties
    logs = checkpoint.logs
    recorded = logs.conf_for(logs.last_offset or 0, "streaming.join.stateFormatVersion").value
    new_format = (recorded or "").isdecimal() and int(recorded or 0) >= _FIRST_ROCKSDB_JOIN
    # 4.3 plans such a join as format 2 and records that; 4.1 and 4.2 tried and failed.
    old_stores = set(operator.layout.store_names) & set(VALUE_STORES)
    if "useVirtualColumnFamilies" in properties or (
        name == "symmetricHashJoin" and new_format and not old_stores
    ):
        return f"{name} of state format 3 or 4 needs RocksDB: it cannot run on this provider"
    return None
