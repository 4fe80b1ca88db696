"""State schemas that the user supplies, for checkpoints that have none (Spark 3.0 and older).

``[OPERATOR[:STORE]=]SCHEMA``, where SCHEMA is Spark DDL (``user string, v bigint``) or StructType
JSON, in place of the file's; without the operator it is for the one store that there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from inspector.checkpoint.layout import Layout
from inspector.checkpoint.state_schema import StateSchema
from inspector.exceptions import CheckpointError, DecodeError
from inspector.light_dataclasses import dataclass, field, replace
from inspector.model import StoreName
from inspector.sparktypes import StructType, unknown_type
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import parse_schema_json

GIVEN = 0  # format number of a schema that the user gave, in place of that of a schema file
# key and value schema; None for one that was not given
SchemaPair = tuple["StructType | None", "StructType | None"]
# operator, store and schema in the text of an option
_PLACE = re.compile(r"\s*(\d{1,10})(?::([^={]+?))?\s*=(?P<schema>.*)", re.DOTALL)


@dataclass(frozen=True)
class UserSchema:
    """One schema that the user gave, and the operator and store it is for, if named."""

    schema: StructType  # parsed schema
    operator_id: int | None = None  # operator that it is for; None if none is named
    store_name: str | None = None  # store that it is for; None if none is named

    @classmethod
    def parse(cls, text: str) -> UserSchema:
        """Read ``[OPERATOR[:STORE]=]SCHEMA``, with the schema as DDL or JSON.

        Raises CheckpointError if the schema is neither, or has a type that Spark does not know.
        """
        match = _PLACE.fullmatch(text)
        schema = text if match is None else match["schema"]
        read = parse_schema_json if schema.lstrip()[:1] == "{" else parse_ddl
        try:
            parsed = read(schema)
        except DecodeError as error:
            raise CheckpointError(f"got the schema {schema[:80]!r}: {error.message}") from None
        unknown = unknown_type(parsed)
        if unknown is not None:
            got = f"got the schema {schema[:80]!r}"
            raise CheckpointError(f"{got} with the unknown type {unknown!r}")
        return cls(parsed) if match is None else cls(parsed, int(match[1]), match[2])


@dataclass(frozen=True)
class UserSchemas:
    """Key and value schemas that the user gave with options."""

    keys: tuple[UserSchema, ...] = field(default=())  # schemas of keys
    values: tuple[UserSchema, ...] = field(default=())  # schemas of values

    @classmethod
    def parse(cls, keys: Iterable[str], values: Iterable[str]) -> UserSchemas:
        """Read the texts of both options (CheckpointError: a schema is neither DDL nor JSON)."""
        return cls(tuple(map(UserSchema.parse, keys)), tuple(map(UserSchema.parse, values)))

    def of_stores(self, layout: Layout) -> Mapping[StoreName, SchemaPair]:
        """Return the given key and value schema by store; None for one that was not given.

        Raises CheckpointError if a schema fits no store, or several.
        """
        operators = layout.operators
        store_names = [StoreName(o.operator_id, s) for o in operators for s in o.store_names]
        keys = {_match_store(s, store_names, "--key-schema"): s.schema for s in self.keys}
        values = {_match_store(s, store_names, "--value-schema"): s.schema for s in self.values}
        return {name: (keys.get(name), values.get(name)) for name in {**keys, **values}}


def with_user_schemas(
    read: StateSchema | None, schemas: SchemaPair, store_name: StoreName
) -> StateSchema:
    """Return a store's schema, in which the given parts replace those of the file.

    Raises CheckpointError if there is no file and only the key or the value schema is given.
    """
    key, value = schemas
    if read is not None:
        return replace(read, version=GIVEN, key=key or read.key, value=value or read.value)
    if key is None or value is None:
        operator, store = store_name
        missing = "--key-schema" if key is None else "--value-schema"
        message = f"operator {operator}, store {store!r} has no schema file: give {missing} too"
        raise CheckpointError(message)
    return StateSchema(GIVEN, key, value)


def _match_store(schema: UserSchema, known_stores: list[StoreName], option: str) -> StoreName:
    """Return the only store that a given schema fits.

    Raises CheckpointError, which names ``option``, if no store fits, or several do.
    """
    stores = [
        store
        for store in known_stores
        if schema.operator_id in (None, store.operator_id)
        and schema.store_name in (None, store.store_name)
    ]
    if len(stores) == 1:
        return stores[0]
    names = ", ".join(f"{operator}:{store}" for operator, store in known_stores) or "none"
    if not stores:
        location = f"{schema.operator_id}" + (f":{schema.store_name}" if schema.store_name else "")
        raise CheckpointError(f"{option} is for {location}, which is no store; there are {names}")
    example = f"{option} '{stores[0][0]}:{stores[0][1]}=...'"
    raise CheckpointError(f"name the store, as in {example}; there are {names}")
