"""Schemas as DDL, with types that plain DDL leaves out."""

from __future__ import annotations

import json
from typing import Any

from inspector.analyses.info import schema_text
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import parse_schema_json


def text(kind: Any, **metadata: Any) -> str:
    field = {"name": "a b", "type": kind, "nullable": True, "metadata": metadata}
    return schema_text(parse_schema_json(json.dumps({"type": "struct", "fields": [field]})))


def test_schema_text_of_char_collation_and_udt() -> None:
    assert text("string", __CHAR_VARCHAR_TYPE_STRING="varchar(5)") == "`a b` varchar(5)"
    assert text("char(3)") == "`a b` char(3)"
    collations = {"a b": "spark.UTF8_LCASE"}
    assert text("string", __COLLATIONS=collations) == "`a b` string collate UTF8_LCASE"
    udt = {"type": "udt", "class": "org.it's.Vector", "sqlType": "long"}
    result = text(udt)
    assert result == "`a b` bigint COMMENT 'user-defined org.it\\'s.Vector'"
    assert parse_ddl(result).fields[0].metadata["comment"] == "user-defined org.it's.Vector"
    assert text(udt | {"class": None, "pyClass": "my.Py"}).endswith("my.Py'")


def test_schema_text_of_plain_fields() -> None:
    assert schema_text(parse_ddl("a int, b struct<c: string>")) == "a int, b struct<c: string>"
    assert schema_text(parse_ddl("")) == ""
