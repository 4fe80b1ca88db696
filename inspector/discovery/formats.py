"""Signs of another release or provider: compression codecs, and operators that need RocksDB."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain

from inspector.decode.frames import sniff
from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.model import KINDS_OF_VERSION, FileKind, StoreFile
from inspector.operators.join import VALUE_STORES

_HEAD = 16  # bytes by which a codec is recognised


def codec_in_use(checkpoint: Checkpoint) -> tuple[str | None, StoreFile | None]:
    """Return the codec that the first bytes of the newest state file show, and that file.

    The codec is None if the bytes are of no codec of Spark, or cannot be read. The file is None if
    there is no state file.
    """
    store_files = (store.of_kind(*KINDS_OF_VERSION) for store in checkpoint.layout.folders)
    files = chain.from_iterable(store_files)
    # Deltas first among those of a version: a snapshot may have been written much later.
    newest = max(files, key=lambda f: (f.version or 0, f.kind is FileKind.DELTA), default=None)
    codec = None
    if newest is not None:
        path, size = checkpoint.storage.relative(newest.path), min(newest.size, _HEAD)
        with suppress(OSError):  # what cannot be read is a problem elsewhere
            codec = sniff(next(checkpoint.storage.stream(path, _HEAD, size=size), b""))
    return codec, newest


def needs_rocksdb(checkpoint: Checkpoint, operator: Operator) -> str | None:
    """Return why an operator cannot run on the checkpoint's provider; None if it can."""
    if checkpoint.provider.has_column_families:
        return None
    name, metadata = operator.name, operator.metadata
    if name.startswith("transformWithState"):
        return f"{name} needs RocksDB: Spark refuses it on this provider"
    properties = {} if metadata is None else metadata.properties
    logs = checkpoint.logs
    recorded = logs.conf_for(logs.last_offset or 0, "streaming.join.stateFormatVersion").value
    new_format = (recorded or "").isdecimal() and int(recorded or 0) >= 3
    # 4.3 plans such a join as format 2 and records that; 4.1 and 4.2 tried and failed.
    old_stores = set(operator.layout.store_names) & set(VALUE_STORES)
    if "useVirtualColumnFamilies" in properties or (
        name == "symmetricHashJoin" and new_format and not old_stores
    ):
        return f"{name} of state format 3 or 4 needs RocksDB: it cannot run on this provider"
    return None
