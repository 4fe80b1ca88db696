"""The story of a key or of a class of leftovers, as ``leftovers --explain`` shows it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from inspector import api
from inspector.analyses.expiry.story import Narrator, _field_ms
from inspector.exceptions import CheckpointError
from inspector.model import BatchClock, BatchId, TimeoutKind
from inspector.operators.rule import Clock, ExpiryField, RowPart, StoreRule
from tests.fixture_folder import NEWEST
from tests.reports import cell_values


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
def test_event_time_of_a_decoded_row(value: object, millis: int | None) -> None:
    field = ExpiryField(Clock.WATERMARK, RowPart.KEY, (0, 1), 1000, True, "window.end")
    assert _field_ms({"key": {"window": {"end": value}}}, field) == millis
    assert _field_ms({"key": None}, field) is None


def story(case: str, subject: str) -> list[Any]:
    """Return the rows of the story of a key or class."""
    return list(api.leftovers(str(NEWEST / case / "checkpoint"), explain=subject).primary.rows)


def test_story_of_a_key_from_insert_to_verdict() -> None:
    rows = story("fmgws_event_ignore", "value=once-000")
    assert cell_values(rows, "batch_id", "event", "what") == [
        (0, "insert", "a call for new data made the key with timeout 2024-01-01T00:00:21.000Z"),
        (
            4,
            "update",
            "its timeout lay 8 s before the watermark and its record behind those of new data: it "
            "fired and wrote the key with no timeout",
        ),
        (12, "judged", "kept_without_timeout, proven"),
    ]


def test_story_of_an_ignored_timeout() -> None:
    rows = story("pandas_event_ignore", '{"user": "once-000"}')
    again = [row for row in rows if "it fires again" in row["what"]]
    assert cell_values(again, "batch_id") == [4, 5, 6, 7, 8, 9, 10, 11, 12]


def test_story_of_a_removed_key() -> None:
    rows = story("fmgws_event_remove", "value=once-000")
    assert rows[-1]["what"] == "the key is gone"
    assert rows[-2]["event"] == "removal"


def test_story_of_a_row_that_the_watermark_passed() -> None:
    inserted, stayed, judged, *_ = story("agg_complete", "user=user-018")
    assert (inserted["event"], inserted["batch_id"]) == ("insert", 0)
    assert stayed["what"] == "the batch's clock covered it, and it stayed"
    assert judged["what"].startswith("past_watermark, inferred: the output mode is not")


def test_story_of_a_leftover_class_by_batch() -> None:
    rows = story("fmgws_event_ignore", "kept_without_timeout")
    assert cell_values(rows, "batch_id", "keys", "new_data") == [
        *((4, 8, True), (5, 9, False), (7, 9, True), (8, 9, False), (10, 9, True)),
        *((11, 9, True), (12, 15, False)),
    ]
    assert set(cell_values(rows, "operator_name")) == {"flatMapGroupsWithState"}
    assert "no new data" in rows[1]["what"]
    assert story("fmgws_event_ignore", "rearmed") == []


def test_story_of_an_impossible_key_is_an_error() -> None:
    with pytest.raises(CheckpointError):
        story("fmgws_event_ignore", "nothing=x")


def narrator_of(*, may_have_changed: bool) -> Narrator:
    """Return the narrator of a key with timeouts by event time."""
    rule = StoreRule(ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (1,), 1, False, "timeoutTimestamp"))
    return Narrator(None, rule, lambda _: TimeoutKind.EVENT_TIME, lambda _: may_have_changed, True)


def update(narrator: Narrator, batch: int, timeout_ms: int | None) -> str:
    """Tell the narrator of an update by a batch, and return its text."""
    clock = BatchClock(BatchId(batch), batch * 60_000, batch * 20_000)
    event = {"event": "update", "timeout_ms": timeout_ms, "version": batch + 1}
    return narrator.event(event, clock, narrator.threshold(batch + 1, clock))


@pytest.mark.parametrize(
    ("may_have_changed", "words", "verdict"),
    [(True, "which clock", "not known"), (False, "before its timeout", "no leftover")],
)
def test_story_is_undecided_if_a_restart_may_have_changed_the_clock(
    may_have_changed: bool, words: str, verdict: str
) -> None:
    """The timeout is second 50; batch 2 is at second 40 of event time and at minute 2 of clocks.

    On Spark 4.3 the timeout fired in a query that was restarted with the other timeout kind.
    """
    narrator = narrator_of(may_have_changed=may_have_changed)
    update(narrator, 1, 50_000)
    text = update(narrator, 2, None)
    assert re.findall("which clock|before its timeout", text) == [words]
    assert narrator.verdict.startswith(verdict)


def test_story_after_a_write_by_a_tool() -> None:
    narrator = narrator_of(may_have_changed=True)
    update(narrator, 1, 50_000)
    update(narrator, 2, None)
    assert narrator.verdict.startswith("not known")
    by_tool = BatchClock(BatchId(3), 180_000, 60_000, edited=True)
    written = {"event": "update", "timeout_ms": None, "version": 4}
    assert "tool" in narrator.event(written, by_tool, narrator.threshold(4, by_tool))
    assert narrator.verdict.startswith("no leftover")
