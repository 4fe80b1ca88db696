"""The event-time column of a schema."""

from __future__ import annotations

from inspector.operators.rule import (
    Clock,
    ExpiryField,
    RowPart,
    StoreRule,
    event_time_field,
    watermark_field,
)
from inspector.sparktypes import LONG, TIMESTAMP, StructField, StructType

MARK = {"spark.watermarkDelayMs": 10000}
PLAIN = StructField("n", LONG)
TS = StructField("ts", TIMESTAMP, metadata=MARK)
WINDOW = StructField(
    "window",
    StructType((StructField("start", TIMESTAMP), StructField("end", TIMESTAMP))),
    True,
    MARK,
)


def test_watermark_field_of_a_timestamp() -> None:
    expiry = watermark_field(StructType((PLAIN, TS)), RowPart.KEY)
    assert expiry == ExpiryField(Clock.WATERMARK, RowPart.KEY, (1,), 1000, True, "ts")


def test_watermark_field_of_a_window_is_its_end() -> None:
    expiry = watermark_field(StructType((WINDOW, PLAIN)), RowPart.VALUE)
    assert expiry == ExpiryField(Clock.WATERMARK, RowPart.VALUE, (0, 1), 1000, True, "window.end")


def test_first_of_two_event_times_is_used() -> None:
    assert event_time_field(StructType((PLAIN, WINDOW, TS))) == (1, WINDOW)


def test_watermark_delay_of_zero_is_a_watermark() -> None:
    now = StructField("ts", TIMESTAMP, metadata={"spark.watermarkDelayMs": 0})
    assert event_time_field(StructType((now,))) == (0, now)


def test_timestamp_without_watermark_is_no_event_time() -> None:
    plain = StructType((StructField("ts", TIMESTAMP, metadata={"spark.timeWindow": True}), PLAIN))
    assert event_time_field(plain) is None
    assert watermark_field(plain, RowPart.KEY) is None


def test_key_time_becomes_the_rule_without_a_user_rule() -> None:
    first = ExpiryField(Clock.WATERMARK, RowPart.KEY, (0,), 1000, True, "t")
    second = ExpiryField(Clock.WATERMARK, RowPart.KEY, (1,), 1000, True, "t")
    rule = StoreRule(unknown="not in the checkpoint", source="Spark", key_times=(first, second))
    result = rule.by_key_time((1,))
    assert (result.expiry, result.unknown) == (second, None)
    assert result.source == "Spark; the rows tell which field of the key"
    assert rule.by_key_time(None) is rule
    assert rule.by_key_time((2,)) is rule
    store_rule = StoreRule(never="said so", user_supplied=True, key_times=(first,))
    assert store_rule.by_key_time((0,)) is store_rule
