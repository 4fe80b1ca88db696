"""Expiry of ``dropDuplicates``."""

from __future__ import annotations

from inspector.operators.deduplicate import rule
from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowPart
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import parse_schema_json

DUMMY = parse_ddl("__dummy__ void")
WITH_TIME = parse_schema_json(
    '{"type":"struct","fields":[{"name":"user","type":"string","nullable":true,"metadata":{}},'
    '{"name":"ts","type":"timestamp","nullable":true,'
    '"metadata":{"spark.watermarkDelayMs":10000}}]}'
)


def shape(key: StructType, value: StructType = DUMMY) -> OperatorShape:
    return OperatorShape("dedupe", {"default": (key, value)})


def test_drop_duplicates_key_expires_at_its_event_time() -> None:
    result = rule(shape(WITH_TIME), "default")
    assert result.expiry == ExpiryField(Clock.WATERMARK, RowPart.KEY, (1,), 1000, True, "ts")
    assert result.never is None


def test_drop_duplicates_key_without_event_time_never_expires() -> None:
    result = rule(shape(parse_ddl("user string"), WITH_TIME), "default")
    assert result.expiry is None
    assert "no key is ever removed" in (result.never or "")
    assert "dropDuplicatesWithinWatermark" in result.advice
