"""Findings about rows that outlive their rule."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from inspector.facts.ages import Ages
from inspector.facts.expired import LeftoverClass, Needs
from inspector.facts.expiring import Expiring, Width
from inspector.facts.leftover_facts import LeftoverCount
from inspector.facts.timer_runs import TimerCalls
from inspector.facts.variable_entries import FiredKeys
from inspector.facts.versions import VersionFacts
from inspector.findings.finding import Finding, Severity
from inspector.findings.lifetime_rules import LongSession, StoreLifetime, judge
from inspector.findings.thresholds import DEFAULTS, Thresholds
from inspector.model import Certainty, TimeoutKind
from inspector.operators.deduplicate_within_watermark import NAMES as WITHIN
from inspector.operators.rule import RowKind, StoreRule
from tests.cases import KEY_TIME, TIMER

PROVEN, INFERRED, UNDECIDED = Certainty
LIFE = StoreLifetime(
    operator_id=2,
    operator_name="dedupe",
    store_name="default",
    rule=StoreRule(expiry=KEY_TIME),
    newest=VersionFacts(rows=1200, key_bytes=1000, value_bytes=500),
    removals=0,
    puts=1200,
    window=7,
    leftovers=(),
    watermark_ms=5000,
)
NEVER = StoreRule(never="no column carries a watermark", advice="add withWatermark")


def judged(**changes: object) -> list[Finding]:
    return list(judge(replace(LIFE, **changes)))  # type: ignore[arg-type]


def test_a_store_whose_rows_go_has_no_finding() -> None:
    assert judged() == []
    assert judged(rule=StoreRule(unknown="one row, for good", needs_none=True)) == []


def test_rows_that_can_never_go_are_counted_and_measured() -> None:
    (found,) = judged(rule=NEVER)
    assert (found.kind.id, found.certainty) == ("SS201", PROVEN)
    assert (found.operator_id, found.store_name) == (2, "default")
    assert (found.rows, found.bytes) == (1200, 1500)
    assert "1,200 rows, none removed in the 7 versions" in found.evidence
    assert found.next_step == "add withWatermark"
    assert found.severity is Severity.INFO  # no key was new


@pytest.mark.parametrize(
    ("refuted", "severity"), [(False, Severity.INFO), (True, Severity.WARNING)]
)
def test_rows_that_a_watermark_may_remove_are_warned_of_where_it_has_passed_them(
    refuted: bool, severity: Severity
) -> None:
    (found,) = judged(rule=NEVER, inserts=7, watermark_possible=True, watermark_refuted=refuted)
    assert (found.certainty, found.severity) == (INFERRED, severity)
    assert "by the schema, which does not show a withWatermark" in found.evidence


@pytest.mark.parametrize(
    ("new", "growing", "severity"),
    [
        (40, None, Severity.WARNING),
        (40, True, Severity.WARNING),
        (40, False, Severity.INFO),
        (0, True, Severity.INFO),
    ],
)
def test_rows_without_an_event_time_never_go(
    new: int, growing: bool | None, severity: Severity
) -> None:
    expiring = Expiring(endless_rows=53, endless_bytes=530, endless_new=new)
    (found,) = judged(expiring=expiring, growing=growing)
    assert (found.kind.id, found.severity, found.certainty) == ("SS201", severity, PROVEN)
    assert (found.rows, found.bytes) == (53, 530)
    assert "The event time of 53 rows is null (ts), so no watermark removes them" in found.cause
    assert f"{new or 'none'} of them" in found.cause


def test_the_totals_of_a_cube_have_no_window() -> None:
    (found,) = judged(expiring=Expiring(endless_rows=53, endless_new=1), sets=True)
    assert "removes them: the totals of cube, rollup or grouping sets; 1 of them" in found.cause
    assert "name the grouping sets" in found.next_step


def test_of_few_rows_without_an_event_time_nothing_is_said() -> None:
    assert judged(expiring=Expiring(endless_rows=11)) == []
    timers = Expiring(endless_rows=1200)
    assert [one.kind.id for one in judged(expiring=timers, rule=TIMERS)] == []


@pytest.mark.parametrize(
    ("new", "severity"),
    [
        ((80, 60, 40, 20), Severity.INFO),
        ((80, 60, 60, 60), Severity.WARNING),  # steady, as a leak is
        ((80, 60, 40, 35), Severity.WARNING),  # the last quarter hardly fewer
        ((3, 2, 1, 0), Severity.INFO),  # 10, 5 and none
        ((2, 1, 0, 0), Severity.WARNING),  # 5 and none: as many may come by chance
    ],
)
def test_groups_of_a_set_that_fills_are_information(
    new: tuple[int, ...], severity: Severity
) -> None:
    """So many of 100 puts were of new keys, in each version of a quarter of the history."""
    versions = {at: VersionFacts(rows=10, puts=100, new_rows=new[at // 5]) for at in range(20)}
    (finding,) = judged(rule=NEVER, inserts=1, versions=versions)
    assert (finding.severity, "ever fewer keys" in finding.cause) == (
        severity,
        severity is Severity.INFO,
    )


def test_rows_that_can_never_go_are_information_where_none_comes() -> None:
    (steady,) = judged(rule=NEVER)
    assert (steady.severity, "no key was new in the newest 7 versions" in steady.cause) == (
        Severity.INFO,
        True,
    )
    (growing,) = judged(rule=NEVER, inserts=1)
    assert growing.severity is Severity.WARNING
    (settled,) = judged(rule=NEVER, inserts=1, quiet=5)
    assert settled.severity is Severity.INFO
    (level,) = judged(rule=NEVER, inserts=1, growing=False)
    assert (level.severity, level.cause) == (
        Severity.INFO,
        "No column carries a watermark; the store does not grow.",
    )


@pytest.mark.parametrize(
    ("growing", "severity"),
    [(None, Severity.WARNING), (True, Severity.WARNING), (False, Severity.INFO)],
)
def test_keys_without_a_timeout_are_information_where_the_store_does_not_grow(
    growing: bool | None, severity: Severity
) -> None:
    calls = TimerCalls(armed_keys=3, unarmed_by_data=2, never_armed_rows=2)
    timers = StoreRule(expiry=TIMER)
    (finding,) = judged(rule=timers, calls=calls, removals=9, inserts=9, growing=growing)
    assert (finding.kind.id, finding.severity) == ("SS201", severity)


YEAR = 366 * 86_400_000


def test_where_rows_are_removed_or_there_are_none_no_leak_is_claimed() -> None:
    assert judged(rule=NEVER, removals=1) == []
    assert judged(rule=NEVER, newest=VersionFacts()) == []


def total(kind: LeftoverClass, certainty: Certainty = PROVEN, rows: int = 3) -> LeftoverCount:
    return LeftoverCount(kind, certainty, 9, rows=rows, key_bytes=80, value_bytes=160, fired=1)


def test_keys_that_were_never_armed_are_not_told_twice() -> None:
    calls = TimerCalls(never_armed_rows=9, never_armed_bytes=90)
    before = replace(
        total(LeftoverClass.KEPT_WITHOUT_TIMEOUT, UNDECIDED),
        needs=Needs.BEFORE_WINDOW,
        reason="because",
    )
    timers = StoreRule(expiry=TIMER)
    assert [one.kind.id for one in judged(rule=timers, leftovers=(before,))] == ["SS210"]
    found = judged(rule=timers, leftovers=(before,), calls=calls)
    assert [one.kind.id for one in found] == ["SS201"]


def test_a_rule_that_waits_for_a_watermark_says_so() -> None:
    (found,) = judged(watermark_ms=0)
    assert (found.kind.id, found.certainty) == ("SS207", PROVEN)
    assert "ts is at or below the watermark" in found.evidence
    assert found.cause == "There is no watermark yet, so none of the 1,200 rows can expire."
    assert judged(watermark_ms=0, newest=VersionFacts()) == []
    assert judged(watermark_ms=0, rule=StoreRule(expiry=TIMER)) == []
    # The first batches with data have none by nature.
    batches = DEFAULTS.data_batches
    assert judged(watermark_ms=0, data_batches=batches) == [found]
    assert judged(watermark_ms=0, data_batches=batches - 1) == []
    lower = Thresholds(data_batches=1)
    assert list(judge(replace(LIFE, watermark_ms=0, data_batches=1), lower))


def test_what_hangs_on_a_lost_entry_is_not_proven() -> None:
    (found,) = judged(watermark_ms=None, doubt="entry 7 of the offset log is missing")
    assert (found.kind.id, found.certainty, found.severity) == ("SS207", UNDECIDED, Severity.INFO)
    assert "entry 7 of the offset log is missing" in found.evidence
    assert judged(watermark_ms=None) == []  # removed by Spark


def test_keys_that_no_clock_lets_go_are_a_warning_though_undecided() -> None:
    """By processing time all are left behind, by event time there is no watermark."""
    ignored = replace(total(LeftoverClass.IGNORED_TIMEOUT, UNDECIDED, 1200), reason="because")
    life: dict[str, object] = {
        "rule": StoreRule(expiry=TIMER),
        "leftovers": (ignored,),
        "watermark_ms": 0,
        "provable": {TimeoutKind.PROCESSING_TIME: 1200},
    }
    (found,) = judged(**life)
    assert (found.kind.id, found.certainty) == ("SS210", UNDECIDED)
    assert found.severity is Severity.WARNING
    assert found.evidence.startswith("1,200 keys: because; by processing time ")
    assert "no watermark after 3 batches with data" in found.evidence
    assert found.cause.startswith("The store holds 1,200 keys, and no timeout removes them")
    healthy: list[dict[str, object]] = [
        {"watermark_ms": 5000},  # by event time they may still go
        {"watermark_ms": None},
        {"removals": 1},
        {"data_batches": DEFAULTS.data_batches - 1},
        {"provable": {TimeoutKind.PROCESSING_TIME: 1199}},
        {"provable": {TimeoutKind.EVENT_TIME: 1200}},
        {"provable": {}},
    ]
    for change in healthy:
        (found,) = judged(**life | change)
        assert (found.kind.id, found.severity) == ("SS210", Severity.INFO)


# --- what did not happen ---------------------------------------------------------------------

TIMERS = StoreRule(expiry=TIMER)
UNKNOWN = StoreRule(unknown="the condition is not in the checkpoint")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, True),
        ({"removals": 1}, False),
        ({"window": 4}, False),
        ({"first": VersionFacts(rows=1200)}, False),
        ({"rule": replace(UNKNOWN, needs_none=True)}, False),
        ({"rule": replace(UNKNOWN, event_time=KEY_TIME)}, False),
    ],
)
def test_rows_that_only_become_more_are_told_where_no_rule_is_known(
    changes: dict[str, object], found: bool
) -> None:
    given = {"rule": UNKNOWN, "first": VersionFacts(rows=200)} | changes
    result = judged(**given)
    assert [one.kind.id for one in result] == ["SS204"] * found
    if found:
        assert result[0].certainty is INFERRED
        assert "1,000 rows more than 7 versions before" in result[0].evidence
        assert "the condition is not in the checkpoint" in result[0].evidence


@pytest.mark.parametrize(("kept", "text"), [(9, "kept them all"), (4, "kept 4 of them")])
def test_timers_that_fired_for_keys_that_a_variable_keeps_are_the_cause(
    kept: int, text: str
) -> None:
    life = {"rule": UNKNOWN, "first": VersionFacts(rows=200), "fired": FiredKeys(9, kept)}
    (found,) = judged(**life)
    assert f"9 keys came due and are gone, and the variable 'default' {text}: it" in found.cause
    assert "were due and are gone: they fired, or were deleted" in found.evidence
    (found,) = judged(**life | {"fired": FiredKeys(9, 0)})
    assert found.cause == "The store gained 1,000 rows in 7 versions and lost none."


CLEARED = TimerCalls(armed_keys=9, unarmed_by_data=900, cleared_rows=900)


def test_a_call_for_data_that_takes_the_timeout_away_is_information() -> None:
    (found,) = judged(rule=TIMERS, calls=CLEARED)
    assert (found.kind.id, found.severity, found.certainty) == ("SS201", Severity.INFO, INFERRED)
    assert "took the timeout of 900 keys away, as it set no new one" in found.cause


@pytest.mark.parametrize(
    "change",
    [
        {"cleared_rows": 599},
        {"unarmed_by_data": 899},
        {"timeout_kept": 1},
    ],
)
def test_what_a_timeout_may_have_taken_away_is_not(change: dict[str, int]) -> None:
    assert judged(rule=TIMERS, calls=replace(CLEARED, **change)) == []
    assert judged(rule=TIMERS, calls=CLEARED, removals=1) == []


SURE = replace(CLEARED, lost_rows=900, lost_bytes=990)


@pytest.mark.parametrize(
    ("changes", "calls", "severity"),
    [
        ({}, {}, Severity.WARNING),
        ({"removals": 100}, {"timeout_removed": 75}, Severity.WARNING),
        ({"removals": 100}, {"timeout_removed": 74}, Severity.INFO),
        ({"growing": False}, {}, Severity.INFO),
        ({}, {"lost_rows": 599}, Severity.INFO),
        ({"removals": 100}, {"lost_rows": 59}, None),
    ],
)
def test_that_data_takes_timeouts_away_is_proven_by_who_made_each_put(
    changes: dict[str, object], calls: dict[str, int], severity: Severity | None
) -> None:
    result = judged(**{"rule": TIMERS, "inserts": 9} | changes, calls=replace(SURE, **calls))
    expected = [] if severity is None else [(severity, PROVEN, 990)]
    assert [(one.severity, one.certainty, one.bytes) for one in result] == expected


HOUR, DAY = 3_600_000, 86_400_000
HELD_BACK = {
    "rule": replace(UNKNOWN, event_time=KEY_TIME),
    "watermark_ms": 100 * DAY,
    "ages": Ages(oldest_ms=106 * DAY),
    "delays_ms": (7 * DAY, 60_000),
    "span_ms": HOUR,
}


@pytest.mark.parametrize(
    "change",
    [
        {"delays_ms": (5 * DAY,)},  # a source is late
        {"ages": Ages(oldest_ms=100 * DAY + HOUR // 2)},
        {"ages": Ages()},
        {"span_ms": 2 * DAY},
        {"removals": 1},
        {"growing": False},
        {"watermark_ms": None},
    ],
)
def test_what_no_long_delay_holds_back_is_not(change: dict[str, object]) -> None:
    assert judged(**HELD_BACK | change) == []


SHORT_LIVED: dict[str, Any] = {
    "rule": StoreRule(expiry=KEY_TIME, row_kind=RowKind.TTL_VALUE),
    "newest": VersionFacts(rows=9, puts=9, key_bytes=90),
    "expiring": Expiring(width=Width.SECOND, rows=Counter({101: 9}), bytes=Counter({101: 90})),
    "now_ms": 100_000,
    "gap_ms": 4_000,
}


def test_a_ttl_that_ends_before_the_next_batch_is_information() -> None:
    (found,) = judged(**SHORT_LIVED)
    assert (found.kind.id, found.severity, found.rows) == ("SS221", Severity.INFO, 9)
    assert "it is 2 s at most, and batches are 4 s apart" in found.cause


@pytest.mark.parametrize(
    "change",
    [
        {"gap_ms": 1_000},
        {"gap_ms": None},
        {"window": 4},
        {"newest": VersionFacts(rows=9, key_bytes=90)},  # of older values less is left
        {"rule": StoreRule(expiry=KEY_TIME)},
    ],
)
def test_a_ttl_that_outlives_a_batch_is_none(change: dict[str, object]) -> None:
    assert judged(**SHORT_LIVED | change) == []


RENEWED = SHORT_LIVED | {
    "gap_ms": 1_000,
    "first": VersionFacts(rows=2, puts=2, key_bytes=20),
    "span_ms": 9_000,
    "growing": True,
    "inserts": 7,
    "puts": 30,
}


def test_values_that_are_renewed_before_their_ttl_ends_gather() -> None:
    (found,) = judged(**RENEWED)
    assert (found.kind.id, found.severity, found.rows) == ("SS224", Severity.INFO, 9)
    assert "has expired in 9 s, though its TTL is 2 s at most: each is written an" in found.cause
    assert "30 puts, 7 of new keys" in found.evidence


@pytest.mark.parametrize(
    "change",
    [
        {"span_ms": 3_000},  # the first of them may be about to go
        {"removals": 1},
        {"growing": False},
        {"first": VersionFacts()},
        {"newest": VersionFacts(rows=9, key_bytes=90)},  # of older values less is left
        {"puts": 13},
        {"is_list": True},
        {"versions": dict.fromkeys(range(12), VersionFacts())},  # what some changed is not known
        {"rule": StoreRule(expiry=KEY_TIME)},
        {"expiring": replace(SHORT_LIVED["expiring"], due_rows=1)},
    ],
)
def test_values_that_end_are_renewed_by_nobody(change: dict[str, object]) -> None:
    assert judged(**RENEWED | change) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("globalLimit", "the limit is reached, so that the query emits nothing more"),
        ("symmetricHashJoin", "No row of the join's left side was stored since batch 4, through"),
        ("stateStoreSave", "No row was stored since batch 4, through the newest 6 batches"),
        ("dedupe", ""),
    ],
)
def test_that_nothing_is_stored_though_data_arrives_is_information(name: str, words: str) -> None:
    quiet = {"operator_name": name, "store_name": "left-keyWithIndexToValue", "unfed": 6}
    found = judged(**quiet | {"fed_at": 4})
    assert [(one.kind.id, one.severity) for one in found] == [("SS220", Severity.INFO)] * bool(
        words
    )
    assert all(words in one.cause for one in found)
    assert judged(**quiet | {"unfed": 4}) == []
    timeless = [
        one.cause for one in judged(**quiet | {"watermark_ms": 0}) if one.kind.id == "SS220"
    ]
    assert all("event time is null" in cause for cause in timeless) or name == "globalLimit"
    fastest = judged(**quiet | {"by_fastest": True})
    assert all("since" not in one.cause for one in fastest)
    if name == "symmetricHashJoin":
        assert "that of the fastest source" in fastest[0].cause


@pytest.mark.parametrize(
    ("calls", "certainty"),
    [
        (TimerCalls(never_armed_rows=9, never_armed_bytes=90), PROVEN),
        (TimerCalls(1, 1, armed_keys=2, never_armed_rows=9, never_armed_bytes=90), INFERRED),
        # Where data always arms, only a timeout can have taken the timer: told as a leftover.
        (TimerCalls(1, 0, armed_keys=2, never_armed_rows=9, never_armed_bytes=90), None),
        (TimerCalls(armed_keys=2), None),
        (None, None),
    ],
)
def test_keys_that_no_call_ever_armed_can_never_go(
    calls: TimerCalls | None, certainty: Certainty | None
) -> None:
    result = judged(rule=TIMERS, calls=calls)
    assert [(one.kind.id, one.certainty) for one in result] == (
        [] if certainty is None else [("SS201", certainty)]
    )
    if certainty is not None:
        assert (result[0].rows, result[0].bytes) == (9, 90)
    assert judged(rule=TIMERS, calls=calls, window=4) == []
    if certainty is PROVEN:
        assert judged(rule=TIMERS, calls=calls, removals=1) == []


OPEN = {
    "operator_name": "sessionWindowStateStoreSaveExec",
    "rule": StoreRule(expiry=KEY_TIME),
    "newest": VersionFacts(rows=9, key_bytes=90),
    "puts": 9,
    "expiring": Expiring(width=Width.SECOND, rows=Counter({103: 9}), bytes=Counter({103: 90})),
    "now_ms": 100_000,
    "moved_ms": 9_000,
    "removals": 0,
    "quiet": 7,
}


def test_sessions_that_do_not_close_are_told_by_how_far_the_watermark_moved() -> None:
    (found,) = judged(**OPEN)
    assert (found.kind.id, found.severity, found.rows) == ("SS224", Severity.INFO, 9)
    assert "while the watermark moved by 9 s: new events prolong all 9 sessions" in found.cause
    for change in ({"moved_ms": 8_000}, {"removals": 1}, {"quiet": 4}, {"now_ms": None}):
        assert all(found.kind.id != "SS224" for found in judged(**OPEN | change))
    # Of sessions that half of the versions wrote, half of what is left of the gap is enough.
    often = OPEN | {"moved_ms": 1_500}
    assert "SS224" in [found.kind.id for found in judged(**often | {"puts": 32})]
    assert "SS224" not in [found.kind.id for found in judged(**often | {"puts": 31})]


def test_one_session_that_is_open_for_longer_than_the_others_are() -> None:
    many: dict[str, Any] = {
        **OPEN,
        "removals": 90,
        "window": 10,
        "all_moved_ms": 50_000,
        "longest": LongSession(84_000, 5, " (user=bot)"),
    }
    (found,) = judged(**many)
    assert (found.kind.id, found.severity, found.rows) == ("SS224", Severity.INFO, 1)
    assert found.cause.startswith("One session (user=bot) is open for 16 s at least, as new events")
    assert "the others are there for ~5 s" in found.cause
    for change in (
        {"longest": LongSession(85_001, 5)},
        {"longest": LongSession(84_000, 4)},
        {"removals": 9, "newest": VersionFacts(rows=1)},
        {"window": 4},
    ):
        assert judged(**many | change) == []
    several = many | {"expiring": replace(many["expiring"], lasting=3)}
    (found,) = judged(**several)
    assert (found.kind.id, found.rows) == ("SS224", 3)
    assert found.cause.startswith("3 of 9 sessions stay open, one (user=bot) for 16 s at least")
    assert "and the others are there for ~3 s 333 ms: a robot" in found.cause
    # The others may be there for more than a quarter of the history, and those among them.
    (found,) = judged(**several | {"removals": 23, "longest": LongSession(40_000, 5)})
    assert found.rows == 1


def test_sessions_that_are_open_for_most_of_the_history_are_counted() -> None:
    lasting = replace(expiring(m30=9), lasting=5)
    many = OPEN | {"now_ms": 10 * DAY, "removals": 90, "expiring": lasting, "reach_ms": 1_800_000}
    (found,) = judged(**many, all_moved_ms=4 * HOUR)
    assert (found.kind.id, found.severity, found.rows) == ("SS224", Severity.INFO, 5)
    assert "5 of 9 sessions are open for half of the history or longer" in found.cause
    assert "the watermark moved by 4 h: new events prolong them before the gap of ~30 min" in (
        found.cause
    )
    assert judged(**many, all_moved_ms=4 * HOUR - 1) == []
    few = replace(lasting, lasting=4)
    assert judged(**many | {"expiring": few}, all_moved_ms=4 * HOUR) == []


def test_some_sessions_of_many_that_are_open_for_long_are_counted_if_many_versions_wrote_them() -> (
    None
):
    many: dict[str, Any] = {
        **OPEN,
        "now_ms": 10 * DAY,
        "removals": 90,
        "window": 60,
        "newest": VersionFacts(rows=59, puts=1),
        "expiring": replace(expiring(m30=59), lasting=24),
        "reach_ms": 1_800_000,
        "all_moved_ms": 2 * HOUR,
        "longest": LongSession(10 * DAY - HOUR, 30),
    }
    (found,) = judged(**many)
    assert found.cause.startswith("24 of 59 sessions are open for half of the history or longer")
    for change in (
        {"longest": LongSession(10 * DAY - HOUR, 29)},
        {"expiring": replace(expiring(m30=59), lasting=11)},
        {"reach_ms": 2_900_000},
    ):
        assert judged(**many | change) == []


def test_timeouts_of_keys_that_every_batch_has_data_for_never_fire_though_new_keys_come() -> None:
    rows = {version: VersionFacts(rows=version) for version in range(1, 10)}
    pings: dict[str, Any] = {
        **OPEN,
        "operator_name": "flatMapGroupsWithState",
        "rule": TIMERS,
        "calls": TimerCalls(armed_by_data=45, armed_keys=9),
        "puts": 45,
        "quiet": 0,
        "moved_ms": 0,
        "all_moved_ms": 9_000,
        "versions": rows,
    }
    (found,) = [one for one in judged(**pings) if one.kind.id == "SS224"]
    assert (
        "moved by 9 s: each batch has data for nearly every key, which sets all 9 anew"
        in found.cause
    )
    for change in (
        {"puts": 40, "calls": TimerCalls(armed_by_data=40, armed_keys=9)},
        {"all_moved_ms": 1_000},
        {"removals": 1},
    ):
        assert "SS224" not in {one.kind.id for one in judged(**pings | change)}


def test_timeouts_that_each_call_sets_anew_never_fire() -> None:
    calls = TimerCalls(armed_by_data=70, armed_keys=9)
    group: dict[str, Any] = {
        **OPEN,
        "operator_name": "flatMapGroupsWithState",
        "rule": TIMERS,
        "calls": calls,
    }
    (found,) = judged(**group)
    assert found.kind.id == "SS224"
    assert "No timeout has fired while its clock moved by 9 s: each call" in found.cause
    for change in (
        {"calls": replace(calls, timeout_rearmed=1)},
        {"puts": 71},  # one of them a timeout may have made
        {"moved_ms": 8_000},
        {"newest": VersionFacts(rows=10)},
        {"now_ms": 10 * DAY},  # by the other clock that they may follow they are due
    ):
        assert all(found.kind.id != "SS224" for found in judged(**group | change))


def test_timers_that_are_deleted_before_they_are_due() -> None:
    timers: dict[str, Any] = {
        **OPEN,
        "operator_name": "transformWithStateExec",
        "rule": StoreRule(expiry=KEY_TIME, row_kind=RowKind.TIMER),
        "removals": 90,
        "quiet": 0,
        "early": 90,
    }
    (found,) = judged(**timers)
    assert found.kind.id == "SS224"
    assert "deletes the timer before it is due (90 of them) and sets another" in found.cause
    for change in ({"on_time": 1}, {"early": 10}, {"moved_ms": 8_000}):
        assert judged(**timers | change) == []


def test_a_delay_of_nothing_is_named() -> None:
    given: dict[str, Any] = {"rule": StoreRule(expiry=KEY_TIME), "watermark_ms": 5, "puts": 9}
    (found,) = judged(**given, delays_ms=[999])
    assert (found.kind.id, found.severity) == ("SS221", Severity.INFO)
    assert found.cause.startswith("The delay of withWatermark is 999 ms: an event older than")
    assert judged(**given, delays_ms=[1000, 0]) == judged(**given) == []
    assert judged(**given, delays_ms=[0], window=4) == []


def test_a_delay_within_which_no_batch_comes_is_named() -> None:
    versions = {at: VersionFacts(rows=4, new_rows=4) for at in range(1, 7)}
    given: dict[str, Any] = {"operator_name": WITHIN[0], "versions": versions}
    (found,) = judged(**given, rule=StoreRule(expiry=KEY_TIME))
    assert found.cause.startswith("The delay of dropDuplicatesWithinWatermark is so short")
    kept = versions | {6: VersionFacts(rows=5, new_rows=4)}
    assert judged(**given | {"versions": kept}, rule=StoreRule(expiry=KEY_TIME)) == []


def test_keys_that_differ_in_one_column_alone_are_told_from_a_share_on() -> None:
    (found,) = judged(alike={"in 'a'": 4, "in 'b'": 5}, compared=100)
    assert (found.kind.id, found.severity) == ("SS223", Severity.INFO)
    assert found.cause == "Of the newest 100 keys 5 differ from another only in 'b'."
    assert judged(alike={"in 'a'": 4}, compared=50) == []
    assert judged(alike={"in 'b'": 5}, compared=101) == []


LOST = {
    "operator_name": "flatMapGroupsWithState",
    "rule": TIMERS,
    "puts": 200,
    "inserts": 200,
    "removals": 100,
    "calls": TimerCalls(armed_keys=200, timeout_removed=76),
}


def test_the_column_that_no_two_keys_share_is_named() -> None:
    (found,) = judged(rule=NEVER, inserts=9, unique="'id'", compared=200)
    assert found.cause == "No column carries a watermark; 'id' differs in each of 200 keys."


def test_that_most_puts_make_a_new_group_is_said_of_aggregations() -> None:
    groups = {"operator_name": "stateStoreSave", "rule": NEVER, "puts": 200}
    (found,) = judged(**groups, inserts=150)
    assert found.cause.endswith("is on another column; 75 % of the puts made a new group.")
    few: dict[str, int] = {"inserts": 90, "puts": 100}
    for change in ({"inserts": 130}, few, {"inserts": 150, "operator_name": "dedupe"}):
        assert "of the puts" not in judged(**groups | change)[0].cause


def test_that_the_watermark_is_on_another_column_is_said_of_groups() -> None:
    groups = {
        "operator_name": "stateStoreSave",
        "rule": NEVER,
        "watermark_ms": 3_600_000,
        "inserts": 9,
    }
    words = "; that of the query (1970-01-01T01:00:00.000Z) is on another column."
    (found,) = judged(**groups)
    assert found.cause == "No column carries a watermark" + words
    (found,) = judged(**groups, watermark_possible=True, watermark_refuted=True)
    assert found.cause.endswith(words)
    for change in (
        {"watermark_ms": 0},
        {"watermark_possible": True},
        {"operator_name": "dedupe"},
    ):
        (found,) = judged(**groups | change)
        assert found.cause == "No column carries a watermark."


FAR = {
    "now_ms": 10 * DAY,
    "span_ms": HOUR,
    "operator_name": "flatMapGroupsWithState",
    "rule": TIMERS,
    "removals": 50,
    "newest": VersionFacts(rows=9, puts=1),
    "calls": TimerCalls(armed_keys=9),
}


def expiring(**rows: int) -> Expiring:
    """Rows by so many minutes after the clock."""
    ends = Counter({10 * 24 * 60 + int(at[1:]): count for at, count in rows.items()})
    return Expiring(None, Width.MINUTE, ends, ends)


def test_timeouts_in_event_time_without_a_watermark_cannot_fire() -> None:
    case = {"rule": TIMERS, "watermark_ms": 0, "by_event_time": True}
    (found,) = judged(**case, expiring=expiring(m5=6))
    assert (found.kind.id, found.severity, found.rows) == ("SS207", Severity.WARNING, 6)
    assert "none of 6 timeouts in event time can fire: are all event times null?" in found.cause
    assert judged(**case, expiring=expiring(m5=6), data_batches=2) == []
    assert judged(**case | {"by_event_time": False}, expiring=expiring(m5=6)) == []
    assert judged(**case, expiring=Expiring(endless_rows=6)) == []


@pytest.mark.parametrize(("removals", "said"), [(20, True), (21, False)])
def test_a_function_that_removes_few_of_its_keys_is_named(removals: int, *, said: bool) -> None:
    result = judged(rule=NEVER, removals=removals, inserts=200)
    assert [(one.kind.id, one.severity) for one in result] == [("SS201", Severity.INFO)] * said
    assert all("it removed 20 of 200 keys that came (10 %)" in one.cause for one in result)


def test_a_function_that_sets_no_timeout_and_removes_few_keys_is_information() -> None:
    calls = TimerCalls(never_armed_rows=9, never_armed_bytes=90)
    (found,) = judged(rule=TIMERS, calls=calls, removals=10, inserts=200)
    assert (found.kind.id, found.severity, found.certainty) == ("SS201", Severity.INFO, PROVEN)
    assert found.cause == (
        "The function set no timeout for 9 keys in 7 versions, so a key goes only when the "
        "function removes it: it removed 10 of 200 keys that came (5 %)."
    )
    assert judged(rule=TIMERS, calls=calls, removals=21, inserts=200) == []


def test_a_variable_without_a_ttl_is_named() -> None:
    rule = replace(UNKNOWN, advice="give it a TTL")
    case = {"operator_name": "transformWithStateExec", "store_name": "history", "rule": rule}
    (found,) = judged(**case, first=VersionFacts(rows=200))
    assert found.cause.startswith("The variable 'history' has no TTL: it gained 1,000 rows")


def halves(rows: int = 70, kept: int = 60, went: int = 60) -> dict[str, object]:
    """Twelve versions: ``rows`` in the middle, of which some are untouched, and 120 that came."""
    return {
        "rule": NEVER,
        "removals": 60,
        "ages": Ages(Counter({4: kept, 9: 9}), Counter({4: 600, 9: 90}), window_version=1),
        "versions": {
            1: VersionFacts(),
            6: VersionFacts(rows=rows, removed_rows=99),
            9: VersionFacts(new_rows=120, removed_rows=went),
            12: VersionFacts(),
        },
    }


def test_keys_that_a_function_removes_soon_or_never_are_information() -> None:
    (found,) = judged(**halves())
    assert (found.kind.id, found.severity, found.certainty) == ("SS201", Severity.INFO, INFERRED)
    assert (found.rows, found.bytes) == (60, 600)
    assert "of 70 keys that were there 2 versions ago 60 are untouched" in found.cause
    assert "at least 50 of the 120 that came since are gone" in found.cause
    assert judged(**halves(kept=34)) == []  # most go, later than others
    assert judged(**halves(went=19)) == []  # few have gone of those that came
    assert judged(**halves(went=26)) == []  # the old go as often as the young
    assert judged(**halves(rows=1200, kept=1190)) == []  # it does not grow
    assert judged(**halves() | {"ages": Ages(window_version=7)}) == []


RETURNING = {"rule": TIMERS, "inserts": 240, "removals": 240, "returns": 180}
FIRED = TimerCalls(armed_keys=60, timeout_removed=230)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"calls": FIRED}, "the timeout is shorter than the pauses between the events of a key"),
        ({"rule": SHORT_LIVED["rule"]}, "the TTL is shorter than the pauses"),
        ({"operator_name": "dedupeWithinWatermark"}, "later than the delay of withWatermark"),
    ],
)
def test_keys_that_come_back_after_they_had_gone_are_information(
    change: dict[str, object], words: str
) -> None:
    (found,) = judged(**RETURNING | change)
    assert (found.kind.id, found.severity, found.certainty) == ("SS221", Severity.INFO, INFERRED)
    assert "180 of 240 keys that came had been removed before" in found.cause
    assert words in found.cause
    few = 99 if "operator_name" in change else 119
    assert judged(**RETURNING | change | {"returns": few}) == []
    assert judged(**RETURNING | change | {"window": 4}) == []


def test_keys_that_a_processor_clears_may_come_back() -> None:
    processor = {"operator_name": "transformWithStateExec", "rule": SHORT_LIVED["rule"]}
    assert judged(**RETURNING | processor) != []
    assert judged(**RETURNING | processor | {"rule": TIMERS}) == []


def test_keys_that_a_function_removes_by_data_may_come_back() -> None:
    assert judged(**RETURNING, calls=TimerCalls(armed_keys=60, timeout_removed=89)) == []


WAITING = {
    "newest": VersionFacts(rows=10, key_bytes=100),
    "expiring": Expiring(width=Width.SECOND, rows=Counter({50: 5, 9_999: 5})),
    "now_ms": 1,
    "next_ms": HOUR + 1,
}
