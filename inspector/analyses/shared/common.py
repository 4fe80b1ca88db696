"""Values and lines that several reports have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypedDict

from inspector.checkpoint.state_schema import StateSchema
from inspector.discovery.checkpoint import Checkpoint
from inspector.discovery.placement import partition_count
from inspector.model import BatchClock, BatchId, FileKind, StoreName
from inspector.operators.rule import Clock, StoreRule
from inspector.quantities import long_duration_text
from inspector.sums import sum_by_key


def appended_notes(checkpoint: Checkpoint) -> Iterator[str]:
    """A sentence for each committed batch in the log that a tool appended, oldest first."""
    logs = checkpoint.logs
    for batch, clock in logs.clocks.items():
        if clock.appended and clock.committed:
            if batch in logs.repartitions:
                old, new = (
                    partition_count(checkpoint, n + 1) for n in (logs.repartitions[batch], batch)
                )
                text = f"repartitioned the state from {old} to {new} partitions"
            else:
                text = "was appended by a tool"
            yield f"Batch {batch} {text}; no query ran it, and it shows nothing of the query."


def expiry_text(rule: StoreRule) -> str:
    """A store's rule in one line."""
    if rule.expiry is not None:
        sign = "<=" if rule.expiry.inclusive else "<"
        behind = f" - {long_duration_text(rule.expiry.delay_ms)}" if rule.expiry.delay_ms else ""
        return f"{rule.expiry.name} {sign} {_CLOCKS[rule.expiry.clock]}{behind}"
    return f"never: {rule.never}" if rule.never else f"unknown: {rule.unknown}"


_CLOCKS = {
    Clock.WATERMARK: "watermark",
    Clock.PROCESSING_TIME: "processing time",
    Clock.TIMEOUT: "watermark or processing time",
}


def batch_columns(checkpoint: Checkpoint, version: int) -> dict[str, Any]:
    """The columns that name a version and its batch, with the batch's clocks."""
    clock = checkpoint.clock(version) or BatchClock(BatchId(version - 1))
    now, watermark = clock.timestamp_ms, clock.watermark_ms or None
    return {
        "batch_id": clock.batch_id,
        "version": version,
        "batch_timestamp_ms": now,
        "watermark_ms": watermark,
        "lag_ms": None if watermark is None or now is None else now - watermark,
        "new_data": clock.has_new_data,
    }


class StoreIds(TypedDict):
    """The columns that name a store."""

    operator_id: int
    operator_name: str | None
    store_name: str


def store_ids(checkpoint: Checkpoint, store: tuple[int, str]) -> StoreIds:
    """The columns that name a store of an operator."""
    name = operator_names(checkpoint).get(store[0])
    return {"operator_id": store[0], "operator_name": name, "store_name": store[1]}


def values_of_fields(facts: object, names: Iterable[str], *, is_known: bool) -> dict[str, Any]:
    """Columns that are fields of facts; all null where they are not known."""
    return {name: getattr(facts, name) if is_known else None for name in names}


def store_schemas(checkpoint: Checkpoint) -> dict[StoreName, StateSchema]:
    """The schema of each store of an operator that has one."""
    return {
        StoreName(operator.operator_id, store): schema
        for operator in checkpoint.operators
        for store, schema in operator.schemas.items()
    }


def operator_names(checkpoint: Checkpoint) -> dict[int, str]:
    """Operator id -> name."""
    return {operator.operator_id: operator.name for operator in checkpoint.operators}


def file_bytes(checkpoint: Checkpoint) -> dict[FileKind, int]:
    """Bytes on storage of all files in the stores' folders, by kind."""
    folders = (folder for operator in checkpoint.operators for folder in operator.layout.folders)
    return sum_by_key((file.kind, file.size) for folder in folders for file in folder.files)
