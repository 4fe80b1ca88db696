"""The schemas of a query's stores, those that share files as column families, unknown operators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from inspector.checkpoint.layout import Layout, OperatorLayout, StoreLayout
from inspector.checkpoint.state_schema import StateSchema, read_state_schema
from inspector.checkpoint.storage import Storage
from inspector.light_dataclasses import replace
from inspector.model import Problem, StoreName
from inspector.operators.physical import PHYSICAL
from inspector.operators.transform_with_state import has_several_values
from inspector.providers.reader_options import INDEX_COLUMN
from inspector.sparktypes import LONG, StructField, StructType

Schemas = dict[StoreName, StateSchema]  # schema of each store
# why the schema of a store could not be read, by store
SchemaProblems = dict[StoreName, tuple[Problem, ...]]


def read_schemas(storage: Storage, layout: Layout) -> tuple[Layout, Schemas, SchemaProblems]:
    """Read the schemas of all stores, and make each column family a store of its own.

    Returns the layout with these stores, the schemas, and the problems of unreadable ones.
    """
    schemas: Schemas = {}
    problems: SchemaProblems = {}
    operators = []
    for operator in layout.operators:
        families: dict[str, list[str]] = {}
        for store in operator.store_names:
            # Metadata of format 2 says where the schemas of a store lie.
            stores = operator.metadata.stores if operator.metadata else ()
            paths = next((item.schema_paths for item in stores if item.store_name == store), ())
            schema, trouble = read_state_schema(storage, operator.operator_id, store, paths)
            if trouble:
                problems[StoreName(operator.operator_id, store)] = trouble
            for name, item in _by_store(operator, store, schema):
                schemas[StoreName(operator.operator_id, name)] = item
                if item.column_families:
                    families.setdefault(store, []).append(name)
        operators.append(_with_families(operator, families))
    return replace(layout, operators=tuple(operators)), schemas, problems


def _by_store(
    operator: OperatorLayout, store: str, schema: StateSchema | None
) -> Iterator[tuple[str, StateSchema]]:
    """Yield (store name, schema) for a store, or for each of its column families.

    Nothing is yielded without a schema. The key of a family with several values per key gets the
    index of the value as its last field.
    """
    if schema is None:
        return
    if not schema.column_families:
        yield store, schema
    names = [family.name for family in schema.column_families]
    for family in schema.column_families:
        key = family.key
        if has_several_values(operator.metadata, family, names):
            key = StructType((*key.fields, StructField(INDEX_COLUMN, LONG)))
        yield family.name, StateSchema(schema.version, key, family.value, (family,))


def _with_families(operator: OperatorLayout, families: Mapping[str, list[str]]) -> OperatorLayout:
    """Return the operator with a store for each column family, in place of their common store.

    ``families`` are the names of the column families by store.
    """

    def of_families(layout: StoreLayout) -> Iterable[StoreLayout]:
        for name in families.get(layout.store.store_name, ()):
            yield replace(layout, store=replace(layout.store, store_name=name), column_family=name)
        if layout.store.store_name not in families:
            yield layout

    expected = (name for store in operator.expected_stores for name in families.get(store, [store]))
    return replace(operator.map_stores(of_families), expected_stores=tuple(expected))


UNKNOWN_OPERATOR = "unknown-operator"  # slug of a problem that is an operator without rules


def unknown_operators(storage: Storage, operators: Iterable[OperatorLayout]) -> Iterator[Problem]:
    """Yield a problem for each operator whose metadata names one that no Spark release has."""
    for layout in operators:
        if layout.metadata is not None and layout.metadata.operator_name not in PHYSICAL:
            yield Problem(
                UNKNOWN_OPERATOR,
                f"got operator {layout.metadata.operator_name[:80]!r}, which no release up to 4.3 "
                "has: its rows are counted, but not judged; a later release needs a later "
                "inspector, and metadata that was changed a backup",
                storage.full_path(f"{layout.directory}/_metadata"),
            )
