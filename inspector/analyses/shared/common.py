"""Values and lines that several reports have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import was_left
from inspector.model import FileKind

if TYPE_CHECKING:
    from inspector.merge.collect import Facts


class StoreIds(TypedDict):
    """The columns that name a store."""

    operator_id: int
    operator_name: str | None
    store_name: str


def store_ids(checkpoint: Checkpoint, store: tuple[int, str]) -> StoreIds:
    """The columns that name a store of an operator."""
    name = operator_names(checkpoint).get(store[0])
    return {"operator_id": store[0], "operator_name": name, "store_name": store[1]}


def values_of_fields(facts: object, names: Iterable[str], *, known: bool) -> dict[str, Any]:
    """Columns that are fields of facts; all null where they are not known."""
    return {name: getattr(facts, name) if known else None for name in names}


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
