"""SS221: state that ends before it is used again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from inspector.facts.ages import Ages
from inspector.facts.expiring import Expiring, Width
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime.ss221_short_lives import ShortLives
from inspector.operators.rule import Clock, ExpiryField, RowKind, RowPart, StoreRule
from tests.cases import KEY_TIME, TIMER
from tests.store_views import batch_clocks, processor_metadata, store_view

ROWS, TIMEOUTS = StoreRule(expiry=KEY_TIME), StoreRule(expiry=TIMER)
UNTIL = ExpiryField(Clock.PROCESSING_TIME, RowPart.VALUE, (1,), 1, False, "ttlExpirationMs")
VALUES = StoreRule(expiry=UNTIL, row_kind=RowKind.TTL_VALUE)
PROCESSOR: dict[str, Any] = {
    "operator_name": "transformWithStateExec",
    "metadata": processor_metadata("seen"),
    "store_name": "seen",
}
WITHIN: dict[str, Any] = {"operator_name": "dedupeWithinWatermark"}


def history(versions: int = 7, **changes: int) -> list[VersionFacts]:
    arguments: dict[str, Any] = {
        "rows": 9,
        "key_bytes": 90,
        "puts": 9,
        "inserts": 40,
        "removed_rows": 40,
    }
    return [VersionFacts(**arguments | changes)] * versions


def findings(rule: StoreRule, *facts: Any, **options: Any) -> list[Finding]:
    arguments: dict[str, Any] = {"history": history()}
    arguments["clocks"] = batch_clocks(*[5000] * len(options.get("history", arguments["history"])))
    return list(ShortLives().findings(store_view(rule, *facts, **arguments | options)))


def ends_after(seconds: int) -> Expiring:
    """Return values whose TTL ends after the judged batch, which began at 60 s."""
    rows = Counter({60 + seconds - 1: 9})
    return Expiring(width=Width.SECOND, rows=rows, bytes=Counter({60 + seconds - 1: 90}))


def test_ttl_shorter_than_batch_interval_is_reported() -> None:
    (finding,) = findings(VALUES, ends_after(2), **PROCESSOR)
    assert (finding.kind.id, finding.severity, finding.rows) == ("SS221", Severity.INFO, 9)
    assert finding.cause == (
        "The TTL of 'seen' ends before the next batch sees a value: it is 2 s at most, and "
        "batches are 10 s apart."
    )
    assert finding.next_step == (
        "make the TTL of 'seen' longer than the time from one batch to the next"
    )


@pytest.mark.parametrize(
    ("rule", "seconds", "facts"),
    [
        (VALUES, 11, history()),
        (VALUES, 2, history(4)),
        (VALUES, 2, history(puts=0)),  # of older values less is left
        (StoreRule(expiry=UNTIL), 2, history()),
    ],
)
def test_ttl_longer_than_batch_interval_has_no_finding(
    rule: StoreRule, seconds: int, facts: list[VersionFacts]
) -> None:
    assert findings(rule, ends_after(seconds), history=facts, **PROCESSOR) == []


def test_watermark_delay_shorter_than_batch_interval_is_reported() -> None:
    (finding,) = findings(ROWS, history=history(new_rows=9), **WITHIN)
    assert finding.cause == (
        "The delay of withWatermark ends before the next batch sees a row: no key outlives the "
        "next batch, in 7 versions."
    )
    remaining = [*history(6, new_rows=9), *history(1, new_rows=8)]
    assert findings(ROWS, history=remaining, **WITHIN) == []
    assert findings(ROWS, history=history(4, new_rows=9), **WITHIN) == []


@pytest.mark.parametrize(
    ("rule", "options", "setting"),
    [
        (
            TIMEOUTS,
            {
                "calls": TimerCalls(timeout_removed=230),
                "operator_name": "flatMapGroupsWithState",
            },
            "the timeout",
        ),
        (VALUES, PROCESSOR, "the TTL of 'seen'"),
        (ROWS, WITHIN, "the delay of withWatermark"),
    ],
)
def test_keys_that_return_after_removal_are_reported(
    rule: StoreRule, options: dict[str, Any], setting: str
) -> None:
    (finding,) = findings(rule, Ages(born=240, keys=60), **options)
    assert (finding.kind.id, finding.severity) == ("SS221", Severity.INFO)
    assert finding.cause == (
        f"Keys come back: 180 of 280 keys that came had been removed before, as {setting} is "
        "shorter than the pauses between the events of a key."
    )
    sample = 100 if options is WITHIN else 140
    assert findings(rule, Ages(born=60 + sample - 1, keys=60), **options) == []
    assert findings(rule, Ages(born=240, keys=60), **options | {"history": history(4)}) == []


def test_keys_removed_by_function_have_no_finding() -> None:
    group: dict[str, Any] = {"operator_name": "flatMapGroupsWithState"}
    back = Ages(born=240, keys=60)
    assert findings(TIMEOUTS, back, calls=TimerCalls(timeout_removed=89), **group) == []
    assert findings(StoreRule(), back, **PROCESSOR) == []  # it clears its variables
    assert findings(ROWS, back) == []  # windows end
