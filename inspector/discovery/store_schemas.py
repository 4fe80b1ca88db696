"""The schemas of a query's stores; and the stores that share files as column families of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from inspector.checkpoint.layout import Layout, OperatorLayout, PartitionLayout, StoreLayout
from inspector.checkpoint.logfile import VANISHED_SLUG
from inspector.checkpoint.metadata import OperatorMetadata
from inspector.checkpoint.state_schema import (
    ColumnFamily,
    StateSchema,
    read_state_schema,
    schema_path,
)
from inspector.checkpoint.storage import Storage
from inspector.model import FileKind, Problem, StoreName
from inspector.operators.families import has_several_values
from inspector.providers.provider import INDEX_COLUMN
from inspector.sparktypes import LONG, StructField, StructType

LOST_SCHEMA = "missing-schema"
"""Slug of a problem that is a schema which Spark wrote and which is gone."""


@dataclass(frozen=True)
class StoreSchemas:
    """The schemas of all stores.

    Attributes:
        schemas: by store, where there is one to be read.
        problems: by store as its folder is named, what could not be read.
    """

    schemas: Mapping[StoreName, StateSchema]
    problems: Mapping[StoreName, tuple[Problem, ...]]


def read_schemas(storage: Storage, layout: Layout) -> tuple[Layout, StoreSchemas]:
    """The schemas of all stores; a store with column families becomes as many stores.

    Args:
        storage: opened at the checkpoint's root.
        layout: what lies in it, by folders.
    """
    schemas: dict[StoreName, StateSchema] = {}
    problems: dict[StoreName, tuple[Problem, ...]] = {}
    operators = []
    for operator in layout.operators:
        families: dict[str, list[str]] = {}
        for store in operator.store_names:
            paths = _schema_paths(operator.metadata, store)
            schema, trouble = read_state_schema(
                storage, operator.operator_id, store, schema_paths=paths
            )
            if schema is None and not trouble:
                trouble = tuple(_lost_schema(storage, operator, store))
            if trouble:
                problems[StoreName(operator.operator_id, store)] = trouble
            for name, each in _by_store(operator, store, schema):
                schemas[StoreName(operator.operator_id, name)] = each
                if each.column_families:
                    families.setdefault(store, []).append(name)
        operators.append(_with_families(operator, families))
    return replace(layout, operators=tuple(operators)), StoreSchemas(schemas, problems)


def _by_store(
    operator: OperatorLayout, store: str, schema: StateSchema | None
) -> Iterator[tuple[str, StateSchema]]:
    """The schema of a store, or of each of its column families."""
    if schema is None:
        return
    if not schema.column_families:
        yield store, schema
    for family in schema.column_families:
        yield family.name, _of_family(operator, schema, family)


def _of_family(operator: OperatorLayout, schema: StateSchema, family: ColumnFamily) -> StateSchema:
    key = family.key
    others = [each.name for each in schema.column_families]
    if has_several_values(operator.metadata, family, others):
        key = StructType((*key.fields, StructField(INDEX_COLUMN, LONG)))
    return StateSchema(schema.version, key, family.value, (family,))


def _with_families(operator: OperatorLayout, families: Mapping[str, list[str]]) -> OperatorLayout:
    if not families:
        return operator
    partitions = tuple(_with_stores(partition, families) for partition in operator.partitions)
    expected = (name for store in operator.expected_stores for name in families.get(store, [store]))
    return replace(operator, partitions=partitions, expected_stores=tuple(expected))


def _with_stores(partition: PartitionLayout, families: Mapping[str, list[str]]) -> PartitionLayout:
    stores: list[StoreLayout] = []
    for layout in partition.stores:
        names = families.get(layout.store.store_name)
        if names is None:
            stores.append(layout)
            continue
        stores += [
            replace(layout, store=replace(layout.store, store_name=name), column_family=name)
            for name in names
        ]
    return replace(partition, stores=tuple(stores))


def _schema_paths(metadata: OperatorMetadata | None, store: str) -> tuple[str, ...]:
    """Where metadata of format 2 says that the schemas of a store lie."""
    stores = metadata.stores if metadata else ()
    return next((each.schema_paths for each in stores if each.store_name == store), ())


def _lost_schema(storage: Storage, layout: OperatorLayout, store: str) -> Iterator[Problem]:
    """That a schema is gone: Spark 4.0 and later write it before the first state file of a store.

    They also write the operator's metadata; without that an older release may have run the query.
    """
    path = schema_path(layout.operator_id, store)
    listed = storage.stat(path)
    if listed is not None and not listed.is_dir:
        message = "it was listed, and was gone when it was read; nothing that hangs on it is known"
        yield Problem(VANISHED_SLUG, message, storage.full_path(path))
        return
    if layout.metadata is None:
        return
    kinds = (FileKind.DELTA, FileKind.SNAPSHOT)
    if any(each.of_kind(*kinds) for each in layout.stores if each.store.store_name == store):
        yield Problem(
            LOST_SCHEMA,
            "the state schema is missing, expected it wherever the operator's metadata is: nothing "
            "that hangs on the schema is known of this store",
            storage.full_path(path),
        )
