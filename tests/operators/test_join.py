"""Expiry of stream-stream joins."""

from __future__ import annotations

import pytest

from inspector.model import JOIN_INDEX_STORES
from inspector.operators.join import COUNT_STORES, VALUE_STORES, key_times, rule, time_fields
from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowPart
from inspector.sparktypes import StructType
from inspector.sparktypes.ddl import parse_ddl
from inspector.sparktypes.schema_json import parse_schema_json

KEY = parse_ddl("field0 long, index long")
PLAIN = parse_ddl("ad long, shownAt timestamp, matched boolean")
MARKED = parse_schema_json(
    '{"type":"struct","fields":[{"name":"ad","type":"long","nullable":false,"metadata":{}},'
    '{"name":"shownAt","type":"timestamp","nullable":true,'
    '"metadata":{"spark.watermarkDelayMs":10000}}]}'
)


def shape(**values: StructType) -> OperatorShape:
    schemas = {f"{side}-keyWithIndexToValue": (KEY, value) for side, value in values.items()}
    return OperatorShape("symmetricHashJoin", schemas)


@pytest.mark.parametrize("store", VALUE_STORES)
def test_join_without_watermark_never_removes_rows(store: str) -> None:
    result = rule(shape(left=PLAIN, right=PLAIN), store)
    assert result.never == (
        "no column of either side that is in the state carries a watermark, so no row is ever "
        "removed"
    )
    assert "a column that the condition does not use removes no row" in (result.advice or "")


def test_join_with_two_watermarks_has_an_unknown_condition() -> None:
    result = rule(shape(left=MARKED, right=MARKED), VALUE_STORES[0])
    assert (result.expiry, result.never) == (None, None)
    assert "condition is not in the checkpoint" in (result.unknown or "")
    assert result.event_time == ExpiryField(
        Clock.WATERMARK, RowPart.VALUE, (1,), 1000, True, "shownAt"
    )


@pytest.mark.parametrize("store", VALUE_STORES[:2])
def test_join_with_one_watermark_and_no_key_time_never_removes_rows(store: str) -> None:
    result = rule(shape(left=MARKED, right=PLAIN), store)
    assert result.never == (
        "no column of the right side that is in the state carries a watermark and the join key "
        "holds no time, so no row of either side is ever removed"
    )


@pytest.mark.parametrize(
    "key",
    ["field0 timestamp, index long", "field0 struct<start: timestamp, end: timestamp>, index long"],
)
def test_join_key_time_may_carry_the_watermark(key: str) -> None:
    schemas = {
        VALUE_STORES[0]: (parse_ddl(key), MARKED),
        VALUE_STORES[1]: (parse_ddl(key), PLAIN),
    }
    result = rule(OperatorShape("symmetricHashJoin", schemas), VALUE_STORES[1])
    assert (result.never, result.event_time) == (None, None)
    assert result.unknown is not None
    assert result.key_times == tuple(key_times(parse_ddl(key)))


def test_key_times_are_inclusive_expiry_fields() -> None:
    key = parse_ddl("a long, b timestamp, c struct<start: timestamp, end: timestamp>")
    assert key_times(key) == [
        ExpiryField(Clock.WATERMARK, RowPart.KEY, (1,), 1000, True, "b"),
        ExpiryField(Clock.WATERMARK, RowPart.KEY, (2, 1), 1000, True, "c.end"),
    ]


def test_key_times_are_timestamps_and_window_ends() -> None:
    key = "a long, b timestamp, c struct<start: timestamp, end: timestamp>, d struct<x: timestamp>"
    assert time_fields(parse_ddl(key)) == [(1,), (2, 1)]


def test_join_side_without_schema_may_have_a_watermark() -> None:
    never = rule(shape(left=PLAIN), VALUE_STORES[0]).never
    assert "no column of either side" not in (never or "")


@pytest.mark.parametrize("store", COUNT_STORES)
def test_join_counters_and_indexes_have_no_own_expiry(store: str) -> None:
    result = rule(shape(left=PLAIN, right=PLAIN), store)
    assert (result.expiry, result.never) == (None, None)
    assert ("index" if store in JOIN_INDEX_STORES else "counter") in (result.unknown or "")
