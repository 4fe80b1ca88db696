"""How far the watermark below a join lags."""

from __future__ import annotations

from inspector.checkpoint.roots import Selection
from inspector.pipeline.collect import Facts
from inspector.pipeline.discovery import open_checkpoint
from inspector.pipeline.lags import UNKNOWN_MS, longest_retention_ms
from tests.cases import FIXTURES

PATH = str(FIXTURES / "join_left_outer" / "checkpoint")


def test_it_is_what_the_join_was_seen_to_keep() -> None:
    checkpoint = open_checkpoint(PATH)
    clock = checkpoint.clock(10)
    assert clock is not None
    assert clock.watermark_ms
    facts = Facts()
    assert longest_retention_ms(checkpoint, facts) == 0
    facts.retention[0, "left-keyWithIndexToValue"] = {10: clock.watermark_ms - 20_000, 1: 5}
    assert longest_retention_ms(checkpoint, facts) == 20_001


def test_below_a_join_that_was_not_read_nothing_can_be_said() -> None:
    other = open_checkpoint(str(FIXTURES / "agg_update" / "checkpoint"), selection=Selection())
    assert longest_retention_ms(other, Facts()) == UNKNOWN_MS
