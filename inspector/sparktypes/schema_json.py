"""Schemas as JSON, as ``StructType.json`` writes them into a store's ``_metadata/schema``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from inspector import sparktypes as types
from inspector.exceptions import DecodeError
from inspector.light_dataclasses import replace
from inspector.model import LIMITS, Limits, above_limit


@lru_cache(maxsize=64)  # all partitions have the same
def parse_schema_json(text: str | bytes, limits: Limits = LIMITS) -> types.StructType:
    """Return the schema of Spark's ``StructType`` JSON. DecodeError: Spark would not write it."""
    fields = text.count('"name"') if isinstance(text, str) else text.count(b'"name"')
    if fields > 2 * limits.fields:  # a field may be called "name"
        raise above_limit("fields", f"schema with more than {fields // 2:,} fields", limits)
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise DecodeError("schema is nested too deeply") from error
    except ValueError as error:
        raise DecodeError(f"schema is not JSON: {error}") from error
    parsed = _from_json(document, {}, "", limits.nesting)
    if not isinstance(parsed, types.StructType):
        raise DecodeError(f"schema is a {type(parsed).__name__}, expected a struct")
    return parsed


def _from_json(node: Any, collations: Mapping[str, Any], path: str, depth: int) -> types.DataType:
    """Return the type of a JSON node.

    ``path`` is its position in its field, by which ``collations`` has the collations of strings.
    """
    if depth <= 0:
        raise DecodeError("schema is nested too deeply")
    if isinstance(node, str):
        parsed = types.atomic(node)
        collation = collations.get(path)
        if isinstance(parsed, types.StringType) and isinstance(collation, str):
            return replace(parsed, collation=collation.partition(".")[2] or collation)
        return parsed
    builder = _COMPLEX.get(_get(node, "type", str))
    if builder is None:
        raise DecodeError(f"schema has the unknown complex type {str(node['type'])[:80]!r}")
    return builder(node, collations, path, depth - 1)


def _get(node: Any, key: str, kind: type[Any]) -> Any:
    """Return ``node[key]``. DecodeError: the node is no object that has it with that type."""
    if not isinstance(node, dict) or not isinstance(node.get(key), kind):
        raise DecodeError(f"schema lacks {key!r} ({kind.__name__}) in {node!r:.80}")
    return node[key]


def _struct(node: Any, _collations: Mapping[str, Any], _path: str, depth: int) -> types.DataType:
    """Return a struct type."""
    return types.StructType(tuple(_field(item, depth) for item in _get(node, "fields", list)))


def _field(node: Any, depth: int) -> types.StructField:
    """Return a field of a struct."""
    # A lone surrogate is legal in JSON and in a Java string, but not in Arrow.
    name = str(_get(node, "name", str)).encode("utf-8", "replace").decode()
    metadata = dict(_get(node, "metadata", dict)) if "metadata" in node else {}
    collations = metadata.pop("__COLLATIONS", {})
    if "type" not in node:
        raise DecodeError(f"schema lacks 'type' in {node!r:.80}")
    collations = collations if isinstance(collations, dict) else {}
    data_type = _from_json(node["type"], collations, name, depth)
    return types.StructField(name, data_type, bool(node.get("nullable", True)), metadata)


def _array(node: Any, collations: Mapping[str, Any], path: str, depth: int) -> types.DataType:
    """Return an array type."""
    element = _from_json(node.get("elementType"), collations, f"{path}.element", depth)
    return types.ArrayType(element, bool(node.get("containsNull", True)))


def _map(node: Any, collations: Mapping[str, Any], path: str, depth: int) -> types.DataType:
    """Return a map type."""
    key = _from_json(node.get("keyType"), collations, f"{path}.key", depth)
    value = _from_json(node.get("valueType"), collations, f"{path}.value", depth)
    return types.MapType(key, value, bool(node.get("valueContainsNull", True)))


# functions that make a type of a JSON object, by its ``type``
_COMPLEX: Mapping[str, Callable[[Any, Mapping[str, Any], str, int], types.DataType]] = {
    "struct": _struct,
    "array": _array,
    "map": _map,
    "udt": lambda node, *place: types.UserDefinedType(
        _from_json(node.get("sqlType"), *place), dict(node)
    ),
}


def to_json(data_type: types.DataType) -> str:
    """Return Spark's JSON of a type, compact, with collations in the metadata of their field."""
    return json.dumps(_node(data_type), separators=(",", ":"))


def _node(data_type: types.DataType) -> Any:
    """Return the JSON value of a type."""
    if isinstance(data_type, types.StructType):
        return {"type": "struct", "fields": [_field_node(field) for field in data_type.fields]}
    if isinstance(data_type, types.ArrayType):
        element = _node(data_type.element)
        null = data_type.contains_null
        return {"type": "array", "elementType": element, "containsNull": null}
    if isinstance(data_type, types.MapType):
        key, value = _node(data_type.key), _node(data_type.value)
        null = data_type.value_contains_null
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": null}
    if isinstance(data_type, types.UserDefinedType):
        return {**data_type.definition, "type": "udt", "sqlType": _node(data_type.sql_type)}
    return types.type_name(data_type)


def _field_node(field: types.StructField) -> dict[str, Any]:
    """Return the JSON value of a field."""
    metadata = dict(field.metadata)
    if collations := dict(_collations(field.data_type, field.name)):
        metadata["__COLLATIONS"] = collations
    node = _node(field.data_type)
    return {"name": field.name, "type": node, "nullable": field.nullable, "metadata": metadata}


def _collations(data_type: types.DataType, path: str) -> Iterator[tuple[str, str]]:
    """Yield (path within a field, collation) for strings that are not compared by bytes.

    The collation has its provider before it, for example ``icu.UNICODE_CI``. Fields of a nested
    struct are left out, because each has its own metadata.
    """
    if isinstance(data_type, types.StringType) and data_type.collation != types.BINARY_COLLATION:
        provider = "spark" if data_type.collation.startswith("UTF8_") else "icu"
        yield path, f"{provider}.{data_type.collation}"
    elif isinstance(data_type, types.ArrayType):
        yield from _collations(data_type.element, f"{path}.element")
    elif isinstance(data_type, types.MapType):
        yield from _collations(data_type.key, f"{path}.key")
        yield from _collations(data_type.value, f"{path}.value")
