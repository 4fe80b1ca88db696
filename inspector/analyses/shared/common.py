"""Columns and lines that several reports have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import was_left
from inspector.model import FileKind
from inspector.render.report import Column, Unit

if TYPE_CHECKING:
    from inspector.merge.collect import Facts

OPERATOR_ID = Column("operator_id", Unit.ID)
OPERATOR_NAME = Column("operator_name")
STORE_NAME = Column("store_name")
PARTITION_ID = Column("partition_id", Unit.ID)
VERSION = Column("version", Unit.ID)
BATCH_ID = Column("batch_id", Unit.ID)
EXPIRY_TIME = Column("clock_ms", Unit.TIME_MS, title="expiry time")
COMPARED_TIME = Column("threshold_ms", Unit.TIME_MS, title="watermark or batch time")
STORE = (OPERATOR_ID, OPERATOR_NAME, STORE_NAME)


def count(name: str, doc: str = "") -> Column:
    """A column of exact counts."""
    return Column(name, Unit.COUNT, doc=doc)


def size(name: str, doc: str = "") -> Column:
    """A column of exact bytes."""
    return Column(name, Unit.BYTES, doc=doc)


def operator_names(checkpoint: Checkpoint) -> dict[int, str]:
    """Operator id -> name."""
    return {operator.operator_id: operator.name for operator in checkpoint.operators}


def identity(checkpoint: Checkpoint, version: int) -> dict[str, Any]:
    """The head of every report: which checkpoint, which version, by which clocks."""
    clock = checkpoint.clock(version)
    head: dict[str, Any] = {
        "checkpoint": checkpoint.root,
        "query_id": checkpoint.logs.query_id,
        "version": version,
        "batch_id": version - 1 if version else None,
        "committed": _is_committed(checkpoint, version),
        "watermark_ms": clock.watermark_ms if clock and clock.watermark_ms else None,
        "batch_timestamp_ms": clock.timestamp_ms if clock else None,
    }
    if checkpoint.uncommitted:
        head["uncommitted_versions"] = list(checkpoint.uncommitted)
    if checkpoint.unsummed_small_files:
        head["small_files_without_checksum"] = checkpoint.unsummed_small_files
    return head


def _is_committed(checkpoint: Checkpoint, version: int) -> bool | None:
    """Whether the version's batch was committed; None where no log of commits says it."""
    if version and checkpoint.logs.last_committed is None and not checkpoint.logs.has_commits_dir:
        return None
    return bool(version) and version <= checkpoint.newest_version


def coverage(checkpoint: Checkpoint, version: int, facts: Facts) -> dict[str, Any]:
    """Stores of partitions, and those that could make the version, if not all: sums lack others."""
    stores = sum(
        len(partition.stores)
        for operator in checkpoint.operators
        for partition in operator.layout.partitions
        if not was_left(checkpoint, partition, version)
    )
    read = sum(of_version == version for _, of_version in facts.versions)
    return (
        {}
        if read == stores or not version
        else {"partition_stores_read": read, "partition_stores": stores}
    )


def file_bytes(checkpoint: Checkpoint) -> dict[FileKind, int]:
    """Bytes on storage of all files in the stores' folders, by kind."""
    found: dict[FileKind, int] = {}
    for operator in checkpoint.operators:
        for store in operator.layout.folders:
            for file in store.files:
                found[file.kind] = found.get(file.kind, 0) + file.size
    return found
