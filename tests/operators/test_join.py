"""Expiry of stream-stream joins."""

from __future__ import annotations

import pytest

from inspector.operators.join import COUNT_STORES, VALUE_STORES, rule
from inspector.operators.rule import OperatorShape
from inspector.sparktypes import StructType, parse_ddl, parse_schema_json

KEY = parse_ddl("field0 long, index long")
PLAIN = parse_ddl("ad long, shownAt timestamp, matched boolean")
MARKED = parse_schema_json(
    '{"type":"struct","fields":[{"name":"ad","type":"long","nullable":false,"metadata":{}},'
    '{"name":"shownAt","type":"timestamp","nullable":true,'
    '"metadata":{"spark.watermarkDelayMs":10000}}]}'
)


def shape(**values: StructType) -> OperatorShape:
    schemas = {f"{side}-keyWithIndexToValue": (KEY, value) for side, value in values.items()}
    return OperatorShape(0, "symmetricHashJoin", schemas)


@pytest.mark.parametrize("store", VALUE_STORES)
def test_a_join_without_any_watermark_keeps_every_row(store: str) -> None:
    found = rule(shape(left=PLAIN, right=PLAIN), store)
    assert "neither side carries a watermark" in (found.never or "")


@pytest.mark.parametrize("store", VALUE_STORES)
@pytest.mark.parametrize(("left", "right"), [(PLAIN, MARKED), (MARKED, PLAIN), (MARKED, MARKED)])
def test_with_a_watermark_the_condition_decides_and_it_is_not_stored(
    store: str, left: StructType, right: StructType
) -> None:
    found = rule(shape(left=left, right=right), store)
    assert (found.expiry, found.never) == (None, None)
    assert "condition is not in the checkpoint" in (found.unknown or "")


def test_without_the_schema_of_a_side_its_watermark_is_not_denied() -> None:
    assert rule(shape(left=PLAIN), VALUE_STORES[0]).never is None


@pytest.mark.parametrize("store", COUNT_STORES)
def test_a_counter_goes_with_its_rows(store: str) -> None:
    found = rule(shape(left=PLAIN, right=PLAIN), store)
    assert (found.expiry, found.never) == (None, None)
    assert "counter" in (found.unknown or "")
