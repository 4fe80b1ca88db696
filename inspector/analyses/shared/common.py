"""Values and lines that several reports have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypedDict

from inspector.discovery.checkpoint import Checkpoint
from inspector.model import FileKind


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


def file_bytes(checkpoint: Checkpoint) -> dict[FileKind, int]:
    """Bytes on storage of all files in the stores' folders, by kind."""
    found: dict[FileKind, int] = {}
    for operator in checkpoint.operators:
        for store in operator.layout.folders:
            for file in store.files:
                found[file.kind] = found.get(file.kind, 0) + file.size
    return found
