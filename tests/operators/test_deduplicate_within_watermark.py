"""Expiry of ``dropDuplicatesWithinWatermark``."""

from __future__ import annotations

import pytest

from inspector.operators.deduplicate_within_watermark import rule
from inspector.operators.rule import Clock, ExpiryField, OperatorShape, RowPart
from inspector.sparktypes.ddl import parse_ddl


def shape(value: str) -> OperatorShape:
    schemas = {"default": (parse_ddl("user string"), parse_ddl(value))}
    return OperatorShape("dedupeWithinWatermark", schemas)


def test_key_expires_at_the_time_in_its_value() -> None:
    expected = ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0,), 1000, True, "expiresAtMicros")
    assert rule(shape("expiresAtMicros long"), "default").expiry == expected


@pytest.mark.parametrize("value", ["expiresAt long", "expiresAtMicros long, more int"])
def test_unexpected_value_schema_is_unknown(value: str) -> None:
    result = rule(shape(value), "default")
    assert (result.expiry, result.never) == (None, None)
    assert "expiresAtMicros" in (result.unknown or "")
