"""Facts put together for the lifetime findings."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.facts.ages import AHEAD
from inspector.facts.expired import LeftoverClass
from inspector.facts.expiring import Expiring
from inspector.facts.fact import Observed
from inspector.facts.join_rows import RemovedRows
from inspector.facts.registry import fact_batches
from inspector.facts.timers import ClockEvidence
from inspector.facts.versions import VersionFacts
from inspector.findings.lifetime_rules import StoreLifetime
from inspector.findings.rule_inputs import (
    LateRows,
    come_and_go,
    in_pairs,
    join_lifetime,
    last_of_older,
    late_rows,
    retention,
    store_lifetimes,
)
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.event_times import newest_times
from inspector.merge.collect import Facts, collect
from inspector.model import StoreId, TimeoutKind
from inspector.operators.rule import StoreRule
from inspector.sparktypes import VOID, StructField, StructType
from inspector.sparktypes.ddl import parse_ddl
from tests import cases
from tests.cases import FIXTURES
from tests.queries import EVENT, PROCESSING, clock
from tests.store_views import checkpoint_view


def view_of(run: Run, facts: Facts) -> CheckpointView:
    return CheckpointView(run.checkpoint, run.version, facts)


def lives(run: Run, facts: Facts) -> list[StoreLifetime]:
    return list(store_lifetimes(view_of(run, facts).operators[0]))


def test_a_store_knows_its_window_its_timers_and_its_leftovers() -> None:
    run = Run.start(str(FIXTURES / "fmgws_event_ignore" / "checkpoint"), None)
    facts = run.facts()
    (life,) = lives(run, facts)
    assert (life.window, life.newest.rows, life.removals) == (13, 128, 0)
    assert life.calls is not None
    assert (life.calls.never_armed_rows, life.calls.unarmed_by_data > 0) == (3, True)
    (total,) = life.leftovers
    assert (total.rows, total.fired, total.untouched) == (68, 1, 68)
    assert newest_times(view_of(run, facts)) == []


@pytest.mark.parametrize(
    ("at", "due", "now_ms"),
    [(1, 0, 20_000), (1, 1, 100), (2, 0, 100)],  # a timer that is due would have fired
)
def test_a_clock_that_the_judged_batch_does_not_show_may_have_changed(
    at: int, due: int, now_ms: int
) -> None:
    store, rule = StoreId(0, "default", 0), StoreRule(expiry=cases.TIMER)
    found: list[cases.Seen] = [
        Observed(store, at, ClockEvidence(frozenset({PROCESSING}))),
        Observed(store, 2, Expiring(EVENT, rows=Counter({21: 2}))),
        Observed(store, 2, Expiring(PROCESSING, rows=Counter({21: 2 - due}), due_rows=due)),
    ]
    facts = collect(fact_batches(found))
    view = checkpoint_view({"default": rule}, clocks={1: clock(2, 100, 20_000)})
    view.facts = facts
    assert view.stores[0].expiry.now_ms == now_ms


MICROS = 16 << 32 | 1
"""What the key of the rows is as a time: where its text lies and how long it is."""


@pytest.mark.parametrize(
    ("key", "watermark_ms", "more", "possible", "refuted"),
    [
        ("ts TIMESTAMP", MICROS // 1000, ("", ""), True, False),
        ("ts TIMESTAMP", MICROS // 1000 + 1, ("", ""), True, True),
        ("ts TIMESTAMP, at TIMESTAMP", MICROS // 1000 + 1, ("", ""), True, False),
        ("ts TIMESTAMP", 0, ("", ""), False, False),
        # It stays at 0 as long as a source brings nothing, and does not tell where one rests.
        ("ts TIMESTAMP", 0, ("\n-", "\n-"), True, False),
        ("ts TIMESTAMP", 0, ("\n7", "\n7"), True, False),
        ("w STRUCT<start: TIMESTAMP, end: TIMESTAMP>", 500, ("", ""), True, False),
        ("n BIGINT", 500, ("", ""), False, False),
    ],
)
def test_a_restart_may_have_added_a_watermark_that_no_schema_shows(
    tmp_path: Path,
    key: str,
    watermark_ms: int,
    more: Sequence[str],
    possible: bool,
    refuted: bool,
) -> None:
    batches = [cases.Batch(watermark_ms, 1000, 1), cases.Batch(watermark_ms, 2000, 2)]
    root = cases.write_logs(tmp_path, batches, {"shuffle.partitions": "1"})
    for batch, offset in enumerate(more):
        with (root / f"offsets/{batch}").open("a") as entry:
            entry.write(offset)
    cases.write_operator(root, 0, "dedupe", "default")
    cases.write_store(root / "state/0/0", {1: [(cases.user("a"), b"\0" * 16)], 2: []})
    dummy = StructType((StructField("d", VOID),))
    cases.write_schema(root / "state/0/0", parse_ddl(key), dummy)
    run = Run.start(str(root), None)
    (life,) = lives(run, run.facts())
    assert (life.watermark_possible, life.watermark_refuted) == (possible, refuted)


def test_a_store_knows_what_naming_the_clock_of_its_timers_would_prove() -> None:
    root = str(FIXTURES / "pandas_event_remove" / "checkpoint")
    run = Run.start(root, Options(state_version=4))
    (life,) = lives(run, run.facts())
    named = Run.start(root, Options(state_version=4, timeout_kind=TimeoutKind.PROCESSING_TIME))
    proven = sum(one.fact.rows for one in named.facts().totals)
    assert life.provable == {TimeoutKind.PROCESSING_TIME: proven}
    assert proven


def test_a_join_knows_how_far_each_side_reaches() -> None:
    run = Run.start(str(FIXTURES / "join_left_outer" / "checkpoint"), None)
    facts = run.facts()
    life = join_lifetime(run.checkpoint, run.checkpoint.operators[0], run.version, facts)
    left = life.sides["left-keyWithIndexToValue"]
    assert (left.most_ms, left.removed, left.keeps_passed_rows) == (20_000, 99, False)
    assert life.checks["left-keyWithIndexToValue"].missing_rows == 0
    assert [one.what for one in newest_times(view_of(run, facts))] == ["event time"] * 2


@pytest.mark.parametrize(
    ("case", "what"),
    [
        ("agg_update", "window end"),
        ("session_window", "window end"),
        ("dedup_event_time", "event time"),
        ("dedup_within_watermark", "expiry time (event time and delay)"),
    ],
)
def test_a_time_is_called_what_it_is(case: str, what: str) -> None:
    run = Run.start(str(FIXTURES / case / "checkpoint"), None)
    assert [one.what for one in newest_times(view_of(run, run.facts()))] == [what]


def test_the_first_timeout_of_keys_that_were_set_again_is_known() -> None:
    run = Run.start(str(FIXTURES / "fmgws_event_rearm" / "checkpoint"), None)
    facts = run.facts()
    (life,) = lives(run, facts)
    (total,) = [one for one in life.leftovers if one.leftover_class is LeftoverClass.REARMED]
    listed = [one.fact for one in run.facts(Request(leftover_limit=0)).leftovers]
    firsts = [one.first_expired_version for one in listed if one.first_expired_version]
    assert total.first_expired_version == min(firsts) < total.expired_version


@pytest.mark.parametrize(
    ("digits", "rows"),
    [
        ({AHEAD: 10, 9: 20}, LateRows(4, 20, 30, 256 * 60_000)),
        ({AHEAD: 10, 8: 5, 9: 15}, LateRows(4, 20, 30, 128 * 60_000)),
        ({AHEAD: 24, 4: 24}, LateRows(4, 24, 48, 8 * 60_000)),
        ({0: 1, 9: 20}, LateRows(4, 20, 21, 256 * 60_000)),
        ({AHEAD: 10, 3: 20}, None),  # four minutes are out of order
        ({AHEAD: 10, 7: 1, 9: 20}, None),  # half as far: all that was there is read
        ({AHEAD: 10, 6: 1, 9: 20}, None),
        ({9: 20, 10: 1}, None),
        ({AHEAD: 30}, None),
        ({}, None),
    ],
)
def test_rows_are_late_where_no_others_are_half_as_far_behind(
    digits: dict[int, int], rows: LateRows | None
) -> None:
    assert late_rows(4, digits) == rows


def test_a_watermark_whose_entry_is_lost_is_in_doubt(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(FIXTURES / "dedup_event_time" / "checkpoint", root)
    newest = max(int(path.name) for path in (root / "commits").glob("[0-9]*"))

    def doubt_of(version: int) -> tuple[int | None, bool]:
        run = Run.start(str(root), Options(state_version=version))
        (life,) = lives(run, run.facts())
        return life.watermark_ms, bool(life.doubt)

    known, _ = doubt_of(newest)
    assert known
    for path in ((root / "offsets" / str(newest - 1)), (root / "commits" / str(newest - 1))):
        path.unlink()
    assert doubt_of(newest) == (None, True)
    for batch in range(newest - 1):
        (root / "offsets" / str(batch)).unlink()
    # Where all before are gone too, Spark has removed them.
    assert doubt_of(newest) == (None, False)


@pytest.mark.parametrize(
    ("times", "in_twos"),
    [
        ([2] * 30 + [1] * 40, True),
        ([2] * 10 + [1] * 80, False),  # hardly any came again
        ([2] * 50, False),  # a begin and an end
        ([3] * 5 + [2] * 20 + [1] * 45, False),  # drawn from a set
    ],
)
def test_what_is_sent_again_comes_twice(times: list[int], *, in_twos: bool) -> None:
    """Each value so many times, of a hundred in all."""
    values = [number for number, count in enumerate(times) for _ in range(count)]
    assert len(values) == 100
    assert in_pairs(values) is in_twos


@pytest.mark.parametrize(
    ("counts", "within", "are_tries"),
    [
        ([3] * 30 + [2] * 12 + [1] * 9, 200, True),
        ([3] * 30 + [2] * 12 + [1] * 9, 1000, False),  # users, who come all the time
        ([2] * 50 + [1] * 5, 50, False),  # a begin and an end
        ([20] * 40, 200, False),  # sessions
        ([3] * 10 + [1] * 80, 50, False),  # few
    ],
)
def test_tries_are_few_and_close_together(
    counts: list[int], within: int, *, are_tries: bool
) -> None:
    draw = Random(7)
    values, times = [], []
    for number, count in enumerate(counts):
        start = draw.uniform(0, 1000 - within)
        values += [number] * count
        times += [int(draw.uniform(start, start + within)) for _ in range(count)]
    assert come_and_go(values, [*times[:-2], 0, 1000]) is are_tries
    # One time far from all others says nothing of these.
    assert come_and_go([*values, -1], [*times, 10**9]) is come_and_go(values, times)


@pytest.mark.parametrize(
    ("versions", "last"),
    [
        ([(7, 9), (10, 3)] * 10, 7),
        ([(7, 9), (10, 3)] * 9, 0),  # few
        ([(7, 9), (10, 8)] * 10, 7 + 1),
        ([(7, 9), (10, 9)] * 10, 0),  # the older one is put as late as the newer one of others
        ([(1, 2, 3)] * 20, 0),
    ],
)
def test_keys_of_two_forms_of_which_one_ended(versions: list[tuple[int, ...]], last: int) -> None:
    assert last_of_older(versions) == last


def test_rows_of_a_join_that_went_before_the_watermark_passed_them_are_told() -> None:
    run = Run.start(str(FIXTURES / "join_left_outer" / "checkpoint"), None)
    facts = run.facts()
    sides = join_lifetime(run.checkpoint, run.checkpoint.operators[0], run.version, facts).sides
    assert [(side.removed, side.early) for side in sides.values()] == [(99, 0), (81, 0)]


@pytest.mark.parametrize(
    ("side", "keys", "early"), [("left", 4, 2), ("left", 3, 0), ("right", 4, 0)]
)
def test_rows_went_early_where_each_join_key_has_one(side: str, keys: int, early: int) -> None:
    """Of a key with several rows the last takes the place of the one that goes."""
    rows, counters = (
        StoreId(0, f"{side}-{store}", 0) for store in ("keyWithIndexToValue", "keyToNumValues")
    )
    found: list[cases.Seen] = [
        Observed(rows, 2, VersionFacts(stores=1, rows=4, removed_rows=2)),
        Observed(rows, 2, RemovedRows(off_time=2, early=2)),
        Observed(counters, 2, VersionFacts(stores=1, rows=keys)),
    ]
    run = Run.start(str(FIXTURES / "join_left_outer" / "checkpoint"), None)
    kept = retention(run.checkpoint, collect(fact_batches(found)), rows.name, 2)
    assert (kept.removed, kept.early) == (2, early)
