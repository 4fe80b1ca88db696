"""Every fact there is, and the Arrow batches in which they cross from workers to the driver.

A batch has ``kind``, the store and the version, and for each kind of fact one nullable struct
column with the fact's own fields. The rows of a batch are of one kind, so that the columns of all
others are nulls, which cost next to nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

import inspector.facts
from inspector.exceptions import UnknownFactError
from inspector.facts.columns import struct_of
from inspector.facts.fact import FACT_TYPES, Fact, Observed
from inspector.model import StoreId
from inspector.schemas import STORE_COLUMNS, array_of

for _module in pkgutil.iter_modules(inspector.facts.__path__):
    if _module.name != "registry":
        importlib.import_module(f"inspector.facts.{_module.name}")

BATCH_ROWS = 4096
"""Facts per batch: they are small, and a leftover's key is bounded by its file."""

BATCH_BYTES = 4 << 20
"""Key bytes per batch of facts."""


def facts_schema() -> pa.Schema:
    """The schema of batches of facts, from all that are declared."""
    declared: Any = tuple(FACT_TYPES.items())
    return _schema(declared)


@lru_cache(maxsize=8)
def _schema(declared: tuple[tuple[str, type[Fact]], ...]) -> pa.Schema:
    own = [(kind, struct_of(cls).type) for kind, cls in sorted(declared)]
    return pa.schema([("kind", pa.string()), *STORE_COLUMNS, *own])


@lru_cache(maxsize=8)
def _nulls(schema: pa.Schema) -> dict[str, Any]:
    """Null columns that batches share."""
    return {name: pa.nulls(BATCH_ROWS, schema.field(name).type) for name in FACT_TYPES}


def fact_batches(facts: Iterable[Observed[Any]]) -> Iterator[pa.RecordBatch]:
    """Facts as batches of :func:`facts_schema`, as soon as there are enough of them."""
    held: dict[str, list[Observed[Any]]] = {}
    rows = held_bytes = 0
    for one in facts:
        held.setdefault(one.fact.kind, []).append(one)
        rows += 1
        held_bytes += one.fact.held_bytes
        if rows >= BATCH_ROWS or held_bytes >= BATCH_BYTES:
            yield from map(fact_batch, held.values())
            held, rows, held_bytes = {}, 0, 0
    yield from map(fact_batch, held.values())


def fact_batch(facts: Sequence[Observed[Any]]) -> pa.RecordBatch:
    """Some facts of one kind as a batch.

    Args:
        facts: at least one, and at most BATCH_ROWS.
    """
    schema, kind, rows = facts_schema(), facts[0].fact.kind, len(facts)
    own = struct_of(FACT_TYPES[kind]).array([one.fact for one in facts])
    known = {
        "kind": array_of([kind] * rows, pa.string()),
        "operator_id": array_of([one.store.operator_id for one in facts], pa.int32()),
        "store_name": array_of([one.store.store_name for one in facts], pa.string()),
        "partition_id": array_of([one.store.partition_id for one in facts], pa.int32()),
        "version": array_of([one.version for one in facts], pa.int64()),
        kind: own,
    }
    nulls = _nulls(schema)
    arrays = [known[name] if name in known else nulls[name].slice(0, rows) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def facts_in(batch: pa.RecordBatch) -> Iterator[Observed[Any]]:
    """The facts of a batch, kind by kind.

    Raises:
        UnknownFactError: of a kind that this version does not know.
    """
    kinds: list[Any] = batch.column("kind").to_pylist()
    for kind in dict.fromkeys(kinds):
        of_kind: Any = batch
        if kinds.count(kind) != len(kinds):
            of_kind = batch.take(
                array_of([i for i, k in enumerate(kinds) if k == kind], pa.int64())
            )
        yield from _of_kind(of_kind, kind)


def _of_kind(batch: Any, kind: str) -> Iterator[Observed[Any]]:
    if kind not in FACT_TYPES:
        raise UnknownFactError(
            f"got a fact of kind {kind!r}, expected one of {', '.join(sorted(FACT_TYPES))}"
        )
    stores: dict[tuple[int, str, int], StoreId] = {}
    places = zip(*(batch.column(name).to_pylist() for name, _ in STORE_COLUMNS), strict=True)
    facts = struct_of(FACT_TYPES[kind]).values(batch.column(kind))
    for (operator_id, name, partition_id, version), own in zip(places, facts, strict=True):
        place = (operator_id, name, partition_id)
        store = stores.get(place) or stores.setdefault(place, StoreId(*place))
        yield Observed(store, version, own)
