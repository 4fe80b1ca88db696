"""Every declared fact, and the Arrow batches in which facts travel from workers to the driver.

A batch has the kind, the store and the version, and for each kind of fact one nullable struct
column with the fact's own fields. The rows of a batch are of one kind. Columns are derived from the
types: ``int``, ``bool``, ``str`` and ``bytes`` as they are, an enum as its value. ``tuple[X, ...]``
and ``frozenset`` become lists, ``Counter[int]`` a list in which keys and counts alternate, a
dataclass a struct, ``X | None`` nullable. Other types are refused when the column is made.
"""

from __future__ import annotations

import enum
import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import inspector.facts
from inspector.exceptions import UnknownFactError
from inspector.facts.fact import FACT_TYPES, Fact, FactColumns, Observed
from inspector.light_dataclasses import fields, hints_of, is_dataclass
from inspector.model import StoreId
from inspector.schemas import STORE_COLUMNS, array_of, int64_array, numbers_of, parts_of, validity
from inspector.sums import counter_of
from inspector.type_hints import hint_parts

for _module in pkgutil.iter_modules(inspector.facts.__path__):
    if _module.name != "registry":
        importlib.import_module(f"inspector.facts.{_module.name}")

BATCH_ROWS = 4096  # facts in a batch; facts are small, and the file bounds the key of a leftover
TOGETHER = 512  # most versions of a :class:`FactColumns`
BATCH_BYTES = 4 << 20  # bytes of keys after which a batch of facts ends


def facts_schema() -> pa.Schema:
    """Return the Arrow schema of batches of facts, made from all declared facts."""
    return _layout()[0]


def _layout() -> tuple[pa.Schema, dict[str, Any]]:
    """Return the schema of batches of facts, and by kind a column of nulls that batches share."""
    declared: Any = tuple(FACT_TYPES.items())
    return _layout_of(declared)


@lru_cache(maxsize=8)
def _layout_of(declared: tuple[tuple[str, type[Fact]], ...]) -> tuple[pa.Schema, dict[str, Any]]:
    """Return :func:`_layout` for the given pairs of kind and type."""
    columns: Any = [(kind, struct_of(cls).type) for kind, cls in sorted(declared)]
    schema = pa.schema([("kind", pa.string()), *STORE_COLUMNS, *columns])
    return schema, {kind: pa.nulls(BATCH_ROWS + TOGETHER, type_) for kind, type_ in columns}


def fact_batches(facts: Iterable[Observed[Any] | FactColumns]) -> Iterator[pa.RecordBatch]:
    """Yield facts as batches of :func:`facts_schema`, each as soon as enough facts have come."""
    observations: dict[str, list[Observed[Any]]] = {}
    columns: dict[type[Fact], list[FactColumns]] = {}
    rows = held_bytes = 0
    for observation in facts:
        if isinstance(observation, FactColumns):
            columns.setdefault(observation.type, []).append(observation)
            rows += len(observation.versions)
        else:
            observations.setdefault(observation.fact.kind, []).append(observation)
            rows += 1
            held_bytes += observation.fact.held_bytes
        if rows >= BATCH_ROWS or held_bytes >= BATCH_BYTES:
            yield from chain(
                map(column_batch, columns.values()), map(fact_batch, observations.values())
            )
            observations, columns, rows, held_bytes = {}, {}, 0, 0
    yield from chain(map(column_batch, columns.values()), map(fact_batch, observations.values()))


def fact_batch(facts: Sequence[Observed[Any]]) -> pa.RecordBatch:
    """Return a batch of 1 to BATCH_ROWS facts, all of one kind."""
    kind = type(facts[0].fact)
    column = struct_of(kind).array([observation.fact for observation in facts])
    stores = [observation.store for observation in facts]
    return _batch(kind, stores, [observation.version for observation in facts], column)


def column_batch(parts: Sequence[FactColumns]) -> pa.RecordBatch:
    """Return a batch of facts of one type that are given as columns."""
    kind = parts[0].type
    rows = [len(part.versions) for part in parts]
    stores = [part.store for part in parts for _ in range(len(part.versions))]
    struct: Any = struct_of(kind).type
    children = [_join(c.type, [part.columns[c.name] for part in parts], rows) for c in struct]
    column = pa.Array.from_buffers(struct, sum(rows), [None], children=children)
    versions = [version for part in parts for version in part.versions.tolist()]
    return _batch(kind, stores, versions, column)


def _join(arrow: Any, parts: Sequence[Any], rows: Sequence[int]) -> Any:
    """Return one Arrow column of type ``arrow`` from the columns of several parts.

    ``rows`` has the number of rows of each part. ``pa.array`` is not used, because it loads pandas.
    """
    if arrow == pa.int64():
        is_array = isinstance(parts[0], np.ndarray)
        return int64_array(np.concatenate(parts) if is_array else np.repeat(parts, rows))
    ends: Any = np.zeros(1, np.int64)
    for _, part_batch in parts:
        ends = np.append(ends, ends[-1] + part_batch)
    flat = int64_array(np.concatenate([part[0] for part in parts]))
    buffers = [None, pa.py_buffer(ends.astype(np.int32))]
    lists = pa.Array.from_buffers(arrow[0].type, sum(rows), buffers, children=[flat])
    return pa.Array.from_buffers(arrow, sum(rows), [None], children=[lists])


def _batch(
    kind: type[Fact], stores: Sequence[StoreId], versions: Any, column: Any
) -> pa.RecordBatch:
    """Return an Arrow batch of facts of one kind.

    Its schema is that of :func:`facts_schema`. ``stores`` and ``versions`` have one entry for each
    fact. ``column`` is the struct array of the facts. The columns of all other kinds are null.
    """
    (schema, nulls), rows = _layout(), len(stores)
    result = {
        "kind": array_of([kind.kind] * rows, pa.string()),
        "operator_id": array_of([store.operator_id for store in stores], pa.int32()),
        "store_name": array_of([store.store_name for store in stores], pa.string()),
        "partition_id": array_of([store.partition_id for store in stores], pa.int32()),
        "version": array_of(versions, pa.int64()),
        kind.kind: column,
    }
    result |= {name: nulls[name].slice(0, rows) for name in nulls if name not in result}
    return pa.RecordBatch.from_arrays([result[name] for name in schema.names], schema=schema)


def facts_in(batch: pa.RecordBatch | Observed[Any] | FactColumns) -> Iterator[Observed[Any]]:
    """Yield the facts of a batch; an observation or columns are accepted as well.

    UnknownFactError: a fact is of a kind that this version does not know.
    """
    if isinstance(batch, Observed):
        yield batch
        return
    if isinstance(batch, FactColumns):
        batch = column_batch([batch])
    for (kind,), kind_batch in parts_of(batch, ["kind"]):
        yield from _of_kind(kind_batch, kind)


def _of_kind(batch: Any, kind: str) -> Iterator[Observed[Any]]:
    """Yield the facts of a batch, all of one kind. UnknownFactError: it is not declared."""
    if kind not in FACT_TYPES:
        raise UnknownFactError(
            f"got a fact of kind {kind!r}, expected one of {', '.join(sorted(FACT_TYPES))}"
        )
    stores: dict[tuple[int, str, int], StoreId] = {}
    positions = zip(*(batch.column(name).to_pylist() for name, _ in STORE_COLUMNS), strict=True)
    facts = struct_of(FACT_TYPES[kind]).values(batch.column(kind))
    for (operator_id, name, partition_id, version), fact in zip(positions, facts, strict=True):
        position = (operator_id, name, partition_id)
        store = stores.get(position) or stores.setdefault(position, StoreId(*position))
        yield Observed(store, version, fact)


class Column(NamedTuple):
    """Conversion of values of one Python type to and from Arrow."""

    type: pa.DataType  # Arrow type of the column
    # converts a list of values, None among them, to an Arrow array of that type
    array: Callable[[list[Any]], Any]
    values: Callable[[Any], list[Any]]  # converts an Arrow array back to a list of values


@cache
def column_of(hint: Any) -> Column:
    """Return the conversion for values of a Python type. TypeError: it has none."""
    kind, arguments, *_ = hint_parts(hint)
    if kind in (tuple, frozenset):
        return _list_of(column_of(arguments[0]), kind)
    if kind in _PLAIN:
        return _PLAIN[kind]
    if (kind, arguments) == (Counter, (int,)):
        # Key and count take turns.
        numbers = _list_of(
            _PLAIN[int], lambda flat: counter_of(zip(flat[::2], flat[1::2], strict=True))
        )
        return Column(
            numbers.type,
            lambda values: numbers.array([None if v is None else _pairs(v) for v in values]),
            numbers.values,
        )
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        arrow = pa.int64() if issubclass(kind, int) else pa.string()
        words: dict[Any, Any] = {None: None} | {member: member.value for member in kind}
        members: dict[Any, Any] = {None: None} | {member.value: member for member in kind}
        return Column(
            arrow,
            lambda values: array_of([words[value] for value in values], arrow),
            lambda column: [members[word] for word in column.to_pylist()],
        )
    if is_dataclass(kind):
        return struct_of(kind)
    raise TypeError(f"a fact's column cannot be of type {hint}")


def struct_of(cls: Any) -> Column:
    """Return the conversion of a dataclass to a struct column."""
    return _struct(cls)


@cache
def _struct(cls: Any) -> Column:
    """Return the conversion between objects of a dataclass and an Arrow struct column.

    The result is cached by class. :func:`struct_of` is this function with a type for checkers.
    """
    hints = hints_of(cls)
    columns = [(f.name, column_of(hints[f.name])) for f in fields(cls)]
    names, has_keywords = [name for name, _ in columns], any(f.kw_only for f in fields(cls))
    make = (lambda *parts: cls(**dict(zip(names, parts, strict=True)))) if has_keywords else cls
    arrow: Any = pa.struct([(name, column.type) for name, column in columns])

    def array(values: list[Any]) -> Any:
        """Return dataclass objects as an Arrow array of structs; None becomes null."""
        children = [
            column.array([getattr(value, name, None) for value in values])
            for name, column in columns
        ]
        return pa.Array.from_buffers(arrow, len(values), [validity(values)], children=children)

    def values(structs: Any) -> list[Any]:
        """Return the objects of an array of structs; null becomes None."""
        parts = [column.values(structs.field(i)) for i, (_, column) in enumerate(columns)]
        objects = list(map(make, *parts))
        if not structs.null_count:
            return objects
        return [value if structs[i].is_valid else None for i, value in enumerate(objects)]

    return Column(arrow, array, values)


def _plain(arrow: pa.DataType) -> Column:
    """Return the conversion for values that an Arrow type holds as they are."""
    return Column(arrow, lambda values: array_of(values, arrow), _read)


def _read(column: Any) -> list[Any]:
    """Return the values of an Arrow array as a list."""
    if column.type == pa.int64() and not column.null_count:
        listed: list[Any] = numbers_of(column).tolist()  # faster than to_pylist()
        return listed
    return list(column.to_pylist())


# conversions of the simple types
_PLAIN = {
    int: _plain(pa.int64()),
    bool: _plain(pa.bool_()),
    str: _plain(pa.string()),
    bytes: _plain(pa.binary()),
}


def _list_of(child: Column, make: Callable[[list[Any]], Any]) -> Column:
    """Return the conversion of collections; ``make`` turns a list back into a collection."""
    arrow = pa.list_(child.type)

    def array(values: list[Any]) -> Any:
        """Return collections as an Arrow array of lists; None becomes null."""
        parts = [() if value is None else _in_order(value) for value in values]
        ends: Any = np.zeros(len(parts) + 1, np.int32)
        np.cumsum([len(part) for part in parts], out=ends[1:])
        inner = child.array(list(chain.from_iterable(parts)))
        buffers = [validity(values), pa.py_buffer(memoryview(ends))]
        return pa.Array.from_buffers(arrow, len(values), buffers, children=[inner])

    def values(column: Any) -> list[Any]:
        """Return the collections of an array of lists; null becomes None."""
        inner = child.values(column.values)
        ends = np.frombuffer(column.buffers()[1] or b"\0\0\0\0", np.int32)[column.offset :]
        objects = [make(inner[a:b]) for a, b in pairwise(ends[: len(column) + 1].tolist())]
        if not column.null_count:
            return objects
        return [value if column[i].is_valid else None for i, value in enumerate(objects)]

    return Column(arrow, array, values)


def _in_order(values: Any) -> Any:
    """Return a tuple unchanged, and a set as a sorted list, enums by their values."""
    is_ordered = isinstance(values, tuple)
    return values if is_ordered else sorted(values, key=lambda item: getattr(item, "value", item))


def _pairs(counts: Counter[int]) -> tuple[int, ...]:
    """Return a flat tuple in which keys, in ascending order, and their counts alternate."""
    return tuple(chain.from_iterable(sorted(counts.items())))
