"""State schemas as DDL that says what plain DDL leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inspector.sparktypes import StringType, StructField, StructType, UserDefinedType, to_ddl

CHAR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
"""Metadata of a string column that was declared ``char`` or ``varchar`` (``CharVarcharUtils``)."""


def schema_text(schema: StructType) -> str:
    """The schema as DDL; user-defined types as what they store, with their class as comment."""
    return ", ".join(_field(each) for each in schema.fields)


def _field(each: StructField) -> str:
    declared = each.metadata.get(CHAR_VARCHAR)
    if isinstance(each.data_type, StringType) and isinstance(declared, str):
        each = replace(each, data_type=replace(each.data_type, declared=declared))
    text = to_ddl(StructType((each,)))
    if isinstance(each.data_type, UserDefinedType):
        name = _class(each.data_type.definition)
        text += " COMMENT 'user-defined " + name.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return text


def _class(definition: Any) -> str:
    return str(definition.get("class") or definition.get("pyClass") or "type")
