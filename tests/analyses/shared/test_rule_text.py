"""Expiry rules as text."""

from inspector.analyses.shared.judged import expiry_text
from inspector.operators.rule import Clock, ExpiryField, RowPart, StoreRule


def test_expiry_text_has_field_clock_and_delay() -> None:
    field = ExpiryField(Clock.WATERMARK, RowPart.KEY, (0,), 1000, True, "ts")
    assert expiry_text(StoreRule(expiry=field)) == "ts <= watermark"
    late = ExpiryField(
        Clock.PROCESSING_TIME, RowPart.VALUE, (0,), 1, False, "t", delay_ms=3_600_000
    )
    assert expiry_text(StoreRule(expiry=late)) == "t < processing time - 1 h"


def test_expiry_text_without_rule_has_the_reason() -> None:
    assert expiry_text(StoreRule(never="no field")) == "never: no field"
    assert expiry_text(StoreRule(unknown="no schema")) == "unknown: no schema"
