"""Expiry of aggregations."""

from __future__ import annotations

import pytest

from inspector.operators.aggregation import NAMES, rule
from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowPart
from inspector.sparktypes import StructType
from inspector.sparktypes.schema_json import parse_schema_json

VALUE = parse_schema_json(
    '{"type":"struct","fields":[{"name":"count","type":"long","nullable":true,"metadata":{}}]}'
)
USER = '{"name":"user","type":"string","nullable":true,"metadata":{}}'
WINDOW = (
    '{"name":"window","type":{"type":"struct","fields":['
    '{"name":"start","type":"timestamp","nullable":true,"metadata":{}},'
    '{"name":"end","type":"timestamp","nullable":true,"metadata":{}}]},"nullable":true,'
    '"metadata":{"spark.timeWindow":true,"spark.watermarkDelayMs":10000}}'
)
TIME = (
    '{"name":"ts","type":"timestamp","nullable":true,"metadata":{"spark.watermarkDelayMs":10000}}'
)


def key(*fields: str) -> StructType:
    return parse_schema_json(f'{{"type":"struct","fields":[{",".join(fields)}]}}')


def shape(schema: StructType, value: StructType = VALUE, name: str = NAMES[0]) -> OperatorShape:
    return OperatorShape(name, {"default": (schema, value)})


@pytest.mark.parametrize("name", NAMES)
def test_group_expires_at_the_window_end(name: str) -> None:
    expiry = rule(shape(key(USER, WINDOW), name=name), "default").expiry
    assert expiry == ExpiryField(Clock.WATERMARK, RowPart.KEY, (1, 1), 1000, True, "window.end")


def test_group_expires_at_its_event_time() -> None:
    expiry = rule(shape(key(TIME, USER)), "default").expiry
    assert expiry == ExpiryField(Clock.WATERMARK, RowPart.KEY, (0,), 1000, True, "ts")


def test_watermark_in_the_value_removes_no_group() -> None:
    result = rule(shape(key(USER), key(WINDOW, USER)), "default")
    assert result.expiry is None
    assert "no grouping column carries a watermark" in (result.never or "")
    assert "withWatermark" in result.advice


def test_global_aggregation_has_no_expiry_and_no_leak() -> None:
    result = rule(shape(key()), "default")
    assert (result.expiry, result.never) == (None, None)
    assert "one row" in (result.unknown or "")
