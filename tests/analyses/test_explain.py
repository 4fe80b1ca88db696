"""Stories, as far as they depend on no checkpoint (the rest is in tests/api/test_explaining.py)."""

from __future__ import annotations

import pytest

from inspector.analyses.explain import _field_ms
from inspector.operators.rule import Clock, ExpiryField, RowPart


@pytest.mark.parametrize(
    ("value", "millis"),
    [
        ("1970-01-01T00:00:01.000001Z", 1001),
        ("1970-01-01T00:00:01.000000", 1000),
        (1_000_001, 1001),
        ("+12000-01-01T00:00:00.000000Z", None),
        (None, None),
    ],
)
def test_the_time_of_a_decoded_row(value: object, millis: int | None) -> None:
    field = ExpiryField(Clock.WATERMARK, RowPart.KEY, (0, 1), 1000, True, "window.end")
    assert _field_ms({"key": {"window": {"end": value}}}, field) == millis
    assert _field_ms({"key": None}, field) is None
