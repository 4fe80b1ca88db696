"""The story of a key or of a class."""

from __future__ import annotations

import pytest

from inspector import api
from inspector.analyses.expiry.story import Narrator, _field_ms
from inspector.exceptions import CheckpointError
from inspector.model import BatchClock, BatchId, TimeoutKind
from inspector.operators.rule import Clock, ExpiryField, RowPart, StoreRule
from tests.fixture_folder import NEWEST


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


def story(case: str, subject: str) -> list[dict[str, object]]:
    return [
        dict(row)
        for row in api.leftovers(str(NEWEST / case / "checkpoint"), explain=subject).primary.rows
    ]


def test_story_of_a_key_from_insert_to_verdict() -> None:
    rows = story("fmgws_event_ignore", "value=once-000")
    assert [(row["batch_id"], row["event"]) for row in rows] == [
        (0, "insert"),
        (4, "update"),
        (12, "judged"),
    ]
    assert "it fired and wrote the key with no timeout" in str(rows[1]["what"])
    assert rows[2]["what"] == "kept_without_timeout, proven"


def test_story_of_an_ignored_timeout() -> None:
    rows = story("pandas_event_ignore", '{"user": "once-000"}')
    fires = [row["batch_id"] for row in rows if "it fires again" in str(row["what"])]
    assert fires == list(range(4, 13))


def test_story_of_a_removed_key() -> None:
    rows = story("fmgws_event_remove", "value=once-000")
    assert rows[-1]["what"] == "the key is gone"
    assert rows[-2]["event"] == "removal"


def test_story_of_a_row_that_the_watermark_passed() -> None:
    rows = story("agg_complete", "user=user-018")
    assert any(row["what"] == "the batch's clock covered it, and it stayed" for row in rows)
    assert any(str(row["what"]).startswith("past_watermark, inferred") for row in rows)


def test_story_of_a_leftover_class_by_batch() -> None:
    rows = story("fmgws_event_ignore", "kept_without_timeout")
    assert sum(int(str(row["keys"])) for row in rows) == 68
    assert [row["new_data"] for row in rows[:2]] == [True, False]
    assert {row["operator_name"] for row in rows} == {"flatMapGroupsWithState"}
    assert "no new data" in str(rows[1]["what"])
    assert story("fmgws_event_ignore", "rearmed") == []


def test_story_of_an_impossible_key_is_an_error() -> None:
    with pytest.raises(CheckpointError):
        story("fmgws_event_ignore", "nothing=x")


@pytest.mark.parametrize(("may_have_changed", "sure"), [(True, False), (False, True)])
def test_story_is_undecided_if_a_restart_may_have_changed_the_clock(
    may_have_changed: bool, sure: bool
) -> None:
    # Set for second 50. Second 40 of event time has come, and minute 2 of processing time: who
    # restarted the query with the other timeout had this one fire (seen on Spark 4.3).
    rule = StoreRule(ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (1,), 1, False, "timeoutTimestamp"))
    narrator = Narrator(
        None, rule, lambda _: TimeoutKind.EVENT_TIME, lambda _: may_have_changed, True
    )
    texts = [
        narrator.event(
            {"event": "update", "timeout_ms": timeout_ms, "version": batch + 1},
            clock := BatchClock(BatchId(batch), batch * 60_000, batch * 20_000),
            narrator.threshold(batch + 1, clock),
        )
        for batch, timeout_ms in ((1, 50_000), (2, None))
    ]
    assert ("which clock" in texts[1], "before its timeout" in texts[1]) == (not sure, sure)
    assert narrator.verdict.startswith("no leftover" if sure else "not known")


def test_story_after_a_write_by_a_tool() -> None:
    rule = StoreRule(ExpiryField(Clock.TIMEOUT, RowPart.VALUE, (1,), 1, False, "timeoutTimestamp"))
    narrator = Narrator(None, rule, lambda _: TimeoutKind.EVENT_TIME, lambda _: True, True)
    for batch, timeout_ms in ((1, 50_000), (2, None)):
        clock = BatchClock(BatchId(batch), batch * 60_000, batch * 20_000)
        event = {"event": "update", "timeout_ms": timeout_ms, "version": batch + 1}
        narrator.event(event, clock, narrator.threshold(batch + 1, clock))
    assert narrator.verdict.startswith("not known")
    by_tool = BatchClock(BatchId(3), 180_000, 60_000, edited=True)
    written = {"event": "update", "timeout_ms": None, "version": 4}
    assert "tool" in narrator.event(written, by_tool, narrator.threshold(4, by_tool))
    assert narrator.verdict.startswith("no leftover")
