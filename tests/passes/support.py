"""Task specifications, rows of batches, and a dictionary model of a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.cases import place, tasks_of
from tests.encode import Record


def specs_of(root: Path, version: int | None = None) -> list[str]:
    """Return the JSON of each task of a checkpoint."""
    return [task.to_json() for task in tasks_of(root, version)]


def rows_in(batches: Iterable[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Return the rows of record batches in their order."""
    return [row for batch in batches for row in batch.to_pylist()]


def rows_of_store(rows: Iterable[Any], *store: int | str) -> list[Any]:
    """Return the rows or facts of one operator, store name and partition."""
    return [row for row in rows if place(row) == store]


def states_after(history: Sequence[Sequence[Record]]) -> list[dict[bytes, bytes]]:
    """Return the rows of each version, from version 0, if each delta has these records."""
    states: list[dict[bytes, bytes]] = [{}]
    for records in history:
        state = dict(states[-1])
        for key, value in records:
            state.pop(key, None)
            state.update({} if value is None else {key: value})
        states.append(state)
    return states
