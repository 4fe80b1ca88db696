"""Expiry of group state."""

from __future__ import annotations

import pytest

from inspector.operators.group_state import NAMES, rule, timeout_ordinal
from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowPart
from inspector.sparktypes.ddl import parse_ddl

V2 = "groupState struct<user: string, visits: long>, timeoutTimestamp long"
V1 = "user string, visits long, timeoutTimestamp int"


def shape(value: str, name: str = NAMES[0]) -> OperatorShape:
    return OperatorShape(name, {"default": (parse_ddl("value string"), parse_ddl(value))})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("value", "ordinal"), [(V2, 1), (V1, 2), ("timeoutTimestamp long", 0)])
def test_group_state_expires_when_its_timer_is_below_the_clock(
    name: str, value: str, ordinal: int
) -> None:
    result = rule(shape(value, name), "default")
    timer = ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (ordinal,), 1, False, "timeoutTimestamp")
    assert result.expiry == timer
    assert "hasTimedOut" in result.advice


@pytest.mark.parametrize(
    "value",
    ["groupState struct<visits: long>", "visits long", "timeoutTimestamp long, visits long"],
)
def test_group_state_without_timeout_never_expires(value: str) -> None:
    result = rule(shape(value), "default")
    assert result.expiry is None
    assert "no timeout" in (result.never or "")


def test_value_without_fields_has_no_timer() -> None:
    assert timeout_ordinal(parse_ddl("")) is None
