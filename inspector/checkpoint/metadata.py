"""Metadata that Spark writes about the query and its stateful operators.

``metadata`` is ``{"id":"<query id>"}``, without a version line. ``state/<op>/_metadata/metadata``
(v1, Spark 4.0 on) has the operator's name and stores; ``_metadata/v2/<batch>`` (v2) also the paths
of schemas, and properties as JSON. Spark writes v1 once and never updates it; v2 belongs to
operators that need RocksDB (``OperatorStateMetadata``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from inspector.checkpoint.logfile import (
    json_object,
    long_field,
    object_field,
    printable,
    problem,
    split_log,
    text_field,
    text_of,
)
from inspector.checkpoint.names import number
from inspector.checkpoint.storage import Storage
from inspector.exceptions import DecodeError, InspectorError
from inspector.light_dataclasses import dataclass, field
from inspector.model import Problem

QUERY_METADATA = "metadata"  # file with the query's id, below the root
LOST_METADATA = "missing-metadata"  # slug of the problem that metadata were written and are gone
_UUID = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")  # spelling of a query's id
NEWEST_FORMAT = 2  # newest format of operator metadata that is known


@dataclass(frozen=True)
class StoreInfo:
    """Metadata of one store, from the operator metadata."""

    store_name: str  # name of the store
    num_cols_prefix_key: int = 0  # leading key columns by which Spark scans; 0 for none
    num_partitions: int | None = None  # partitions when the metadata was written; None if absent
    # absolute paths of its schemas when they were written (v2), oldest first
    schema_paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperatorMetadata:
    """Metadata of one stateful operator."""

    operator_name: str  # Spark's short name, such as ``stateStoreSave``
    stores: tuple[StoreInfo, ...] = ()  # its stores
    # properties that the operator adds (v2)
    properties: Mapping[str, object] = field(default_factory=dict)
    format: int = 1  # 1 or 2


def read_query_id(
    storage: Storage, *, size: int | None = None
) -> tuple[str | None, tuple[Problem, ...]]:
    """Return the id of the query, and the problems if it cannot be read; None if there is no file.

    ``size`` is the size of the file, if known.
    """
    try:
        result = text_field(json_object(text_of(storage.read(QUERY_METADATA, size=size))), "id")
        if not _UUID.fullmatch(result):  # StreamExecution: UUID.fromString(streamMetadata.id)
            raise DecodeError(f"got {result[:40]!r} as id, expected a UUID")
    except FileNotFoundError:
        return None, ()
    except (InspectorError, OSError) as error:
        return None, (problem(error, storage.full_path(QUERY_METADATA)),)
    return result, ()


def parse_operator_metadata(data: bytes) -> OperatorMetadata:
    """Return the content of an operator metadata file, v1 or v2.

    DecodeError: Spark does not write it so, or its format is newer.
    """
    version, lines = split_log(data, NEWEST_FORMAT)
    fields = json_object("\n".join(lines))
    info = object_field(fields, "operatorInfo")
    if long_field(info, "operatorId") is None:
        raise DecodeError("got no operatorId, expected operatorInfo with operatorId")
    stores = fields.get("stateStoreInfo", [])
    if not isinstance(stores, list):
        raise DecodeError(f"got {str(stores)[:40]!r} as stateStoreInfo, expected a list")
    properties = fields.get("operatorPropertiesJson") or "{}"  # JSON in the JSON, but in v1
    if not isinstance(properties, str):
        got = str(properties)[:40]
        raise DecodeError(f"got {got!r} as operatorPropertiesJson, expected a string")
    return OperatorMetadata(
        operator_name=text_field(info, "operatorName"),
        stores=tuple(map(_store, stores)),
        properties=json_object(properties),
        format=version,
    )


def read_operator_metadata(
    storage: Storage, operator_id: int
) -> tuple[OperatorMetadata | None, tuple[Problem, ...]]:
    """Return the metadata of an operator, of v2 from the newest file, and the problems of reading.

    The metadata are None if there are none (before Spark 4.0) or if they cannot be read.
    """
    folder = f"state/{operator_id}/_metadata"
    path = storage.full_path(folder)
    try:
        names = {entry.name: entry for entry in storage.list(folder, missing_ok=True)}
        chosen = names.get("metadata")
        if "v2" in names and names["v2"].is_dir:
            listed = storage.list(f"{folder}/v2", missing_ok=True)
            batches = [(n, entry) for entry in listed if (n := number(entry.name)) is not None]
            chosen = max(batches, key=lambda batch: batch[0])[1] if batches else None
        if chosen is None:
            return None, ()
        path = storage.full_path(chosen.path)
        if not chosen.is_file:
            return None, (chosen.not_a_file(path),)
        return parse_operator_metadata(storage.read(chosen.path, size=chosen.size)), ()
    except (InspectorError, OSError) as error:
        return None, (problem(error, path),)


def _store(item: object) -> StoreInfo:
    """Return the metadata of one store from a JSON object. DecodeError: it is not Spark's."""
    if not isinstance(item, dict):
        raise DecodeError(f"got {str(item)[:40]!r} in stateStoreInfo, expected a JSON object")
    paths = item.get("stateSchemaFilePaths") or []
    if not isinstance(paths, list):
        raise DecodeError(f"got {str(paths)[:40]!r} as stateSchemaFilePaths, expected a list")
    return StoreInfo(
        store_name=text_field(item, "storeName"),
        num_cols_prefix_key=long_field(item, "numColsPrefixKey") or 0,
        num_partitions=long_field(item, "numPartitions"),
        schema_paths=tuple(printable(str(path)) for path in paths),
    )
