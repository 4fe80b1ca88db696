"""The event-time column of a schema."""

from __future__ import annotations

from inspector.operators.rule import (
    Clock,
    ExpiryField,
    Side,
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


def test_a_timestamp_is_its_own_field() -> None:
    expiry = watermark_field(StructType((PLAIN, TS)), Side.KEY)
    assert expiry == ExpiryField(Clock.WATERMARK, Side.KEY, (1,), 1000, True, "ts")


def test_of_a_window_the_end_counts() -> None:
    expiry = watermark_field(StructType((WINDOW, PLAIN)), Side.VALUE)
    assert expiry == ExpiryField(Clock.WATERMARK, Side.VALUE, (0, 1), 1000, True, "window.end")


def test_of_two_event_times_the_first_counts() -> None:
    assert event_time_field(StructType((PLAIN, WINDOW, TS))) == (1, WINDOW)


def test_a_watermark_with_a_delay_of_zero_is_one() -> None:
    now = StructField("ts", TIMESTAMP, metadata={"spark.watermarkDelayMs": 0})
    assert event_time_field(StructType((now,))) == (0, now)


def test_a_time_without_a_watermark_is_none() -> None:
    plain = StructType((StructField("ts", TIMESTAMP, metadata={"spark.timeWindow": True}), PLAIN))
    assert event_time_field(plain) is None
    assert watermark_field(plain, Side.KEY) is None
