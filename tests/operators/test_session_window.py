"""Expiry of session windows."""

from __future__ import annotations

from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowPart
from inspector.operators.session_window import rule
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import parse_schema_json

KEY = parse_ddl("user string, sessionStartTime timestamp")


def value(metadata: str) -> StructType:
    return parse_schema_json(
        '{"type":"struct","fields":[{"name":"user","type":"string","nullable":true,"metadata":{}},'
        '{"name":"session_window","type":{"type":"struct","fields":['
        '{"name":"start","type":"timestamp","nullable":true,"metadata":{}},'
        '{"name":"end","type":"timestamp","nullable":true,"metadata":{}}]},"nullable":true,'
        f'"metadata":{metadata}}}]}}'
    )


def shape(metadata: str) -> OperatorShape:
    schemas = {"default": (KEY, value(metadata))}
    return OperatorShape("sessionWindowStateStoreSaveExec", schemas)


def test_session_expires_at_the_end_in_its_value() -> None:
    result = rule(shape('{"spark.sessionWindow":true,"spark.watermarkDelayMs":10000}'), "default")
    expected = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (1, 1), 1000, True, "session_window.end")
    assert result.expiry == expected


def test_session_without_watermark_never_expires() -> None:
    result = rule(shape('{"spark.sessionWindow":true}'), "default")
    assert result.expiry is None
    assert "no session is ever removed" in (result.never or "")
