"""Views of real checkpoints, and of facts that several rules share."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from inspector.analyses.shared.options import Options
from inspector.analyses.shared.run import Run
from inspector.discovery.tasks import Request
from inspector.facts.ages import AHEAD
from inspector.facts.expired import LeftoverClass
from inspector.facts.expiring import Expiring
from inspector.facts.fact import Observed
from inspector.facts.registry import fact_batches
from inspector.facts.timers import ClockEvidence
from inspector.findings.views.checkpoint_view import CheckpointView
from inspector.findings.views.event_times import newest_times
from inspector.findings.views.flat_batches import flat_batches
from inspector.findings.views.join_side import JoinSides
from inspector.findings.views.late_rows import LateRows, late_rows
from inspector.findings.views.query_clock import watermark_of
from inspector.merge.collect import collect
from inspector.model import StoreId, TimeoutKind
from inspector.operators.rule import StoreRule
from tests import cases
from tests.attributes import attributes
from tests.fixture_folder import NEWEST
from tests.listings import newest_batch
from tests.queries import EVENT, PROCESSING, clock
from tests.store_views import batch_clocks, checkpoint_view


def view_of(case: str, options: Options | None = None) -> CheckpointView:
    run = Run.start(str(NEWEST / case / "checkpoint"), options)
    return CheckpointView(run.checkpoint, run.version, run.facts())


def test_store_view_has_history_timer_calls_and_leftovers() -> None:
    view = view_of("fmgws_event_ignore")
    (store,) = view.stores
    assert (store.history.window, store.rows, store.history.removals) == (13, 128, 0)
    calls = store.expiry.calls
    assert calls is not None
    assert (calls.never_armed_rows, calls.unarmed_by_data > 0) == (3, True)
    (total,) = store.expiry.leftovers
    assert (total.rows, total.fired, total.untouched) == (68, 1, 68)
    assert newest_times(view) == []


@pytest.mark.parametrize(
    ("at", "due", "now_ms"),
    [(1, 0, 20_000), (1, 1, 100), (2, 0, 100)],  # a timer that is due would have fired
)
def test_timer_clock_unknown_in_judged_batch_may_have_changed(
    at: int, due: int, now_ms: int
) -> None:
    store, rule = StoreId(0, "default", 0), StoreRule(expiry=cases.TIMER)
    result: list[cases.Seen] = [
        Observed(store, at, ClockEvidence(frozenset({PROCESSING}))),
        Observed(store, 2, Expiring(EVENT, rows=Counter({21: 2}))),
        Observed(store, 2, Expiring(PROCESSING, rows=Counter({21: 2 - due}), due_rows=due)),
    ]
    view = checkpoint_view({"default": rule}, clocks={1: clock(2, 100, 20_000)})
    view.facts = collect(fact_batches(result))
    assert view.stores[0].expiry.now_ms == now_ms


def test_provable_leftovers_equal_audit_with_named_timeout_kind() -> None:
    (store,) = view_of("pandas_event_remove", Options(state_version=4)).stores
    options = Options(state_version=4, timeout_kind=TimeoutKind.PROCESSING_TIME)
    named = view_of("pandas_event_remove", options).facts
    proven = sum(attributes(named.totals, "fact.rows"))
    assert store.facts.provable(store.name) == {TimeoutKind.PROCESSING_TIME: proven}
    assert proven


@pytest.mark.parametrize(
    ("marks", "moved"), [((20_000, 50_000), 30_000), ((20_000, None), 0), ((None, 50_000), 0)]
)
def test_clock_advance_is_zero_without_both_watermarks(
    marks: tuple[int | None, ...], moved: int
) -> None:
    view = checkpoint_view({"default": StoreRule()}, clocks=batch_clocks(*marks))
    assert view.clock.advance_ms(1, watermark_of) == moved


def test_join_sides_have_event_time_range_and_removals() -> None:
    view = view_of("join_left_outer")
    left, right = JoinSides(view.operators[0]).with_times
    assert (left.label, left.most_ms, left.keeps_passed_rows) == ("left", 20_000, False)
    assert attributes((left, right), "removals", "early") == [(99, 0), (81, 0)]
    assert left.check is not None
    assert left.check.missing_rows == 0
    assert attributes(newest_times(view), "what") == ["event time"] * 2


@pytest.mark.parametrize(
    ("case", "subject"),
    [
        ("agg_update", "window end"),
        ("session_window", "window end"),
        ("dedup_event_time", "event time"),
        ("dedup_within_watermark", "expiry time (event time and delay)"),
    ],
)
def test_newest_time_is_named_by_its_meaning(case: str, subject: str) -> None:
    assert attributes(newest_times(view_of(case)), "what") == [subject]


def test_rearmed_leftovers_have_first_expired_version() -> None:
    run = Run.start(str(NEWEST / "fmgws_event_rearm" / "checkpoint"), None)
    (store,) = CheckpointView(run.checkpoint, run.version, run.facts()).stores
    totals = dict(
        zip(
            attributes(store.expiry.leftovers, "leftover_class"),
            store.expiry.leftovers,
            strict=True,
        )
    )
    total = totals[LeftoverClass.REARMED]
    listed = run.facts(Request(leftover_limit=0)).leftovers
    firsts = set(attributes(listed, "fact.first_expired_version")) - {None, 0}
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
def test_late_rows_are_far_behind_all_other_rows(
    digits: dict[int, int], rows: LateRows | None
) -> None:
    assert late_rows(4, digits) == rows


def test_watermark_is_in_doubt_if_log_entry_is_lost(tmp_path: Path) -> None:
    root = tmp_path / "checkpoint"
    shutil.copytree(NEWEST / "dedup_event_time" / "checkpoint", root)
    newest = newest_batch(root, "commits")

    def doubt_of(version: int) -> tuple[int | None, bool]:
        run = Run.start(str(root), Options(state_version=version))
        clock = CheckpointView(run.checkpoint, run.version, run.facts()).clock
        return clock.watermark_ms, bool(clock.doubt)

    assert doubt_of(newest)[0]
    (root / "offsets" / str(newest - 1)).unlink()
    (root / "commits" / str(newest - 1)).unlink()
    assert doubt_of(newest) == (None, True)
    for batch in range(newest - 1):
        (root / "offsets" / str(batch)).unlink()
    # If all earlier entries are missing too, Spark has removed them.
    assert doubt_of(newest) == (None, False)


def test_gap_in_offset_log_ends_flat_batches() -> None:
    clocks = batch_clocks(5000, 5000, 5000, 5000)
    del clocks[1]
    flat = flat_batches(clocks, 3)
    assert flat is not None
    assert (flat.first.batch_id, flat.with_data) == (2, 1)
