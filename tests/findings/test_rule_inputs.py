"""Facts put together for the lifetime findings."""

from __future__ import annotations

from inspector.analyses.shared.run import Run
from inspector.findings.rule_inputs import join_lifetime, newest_event_times, store_lifetimes
from tests.cases import FIXTURES


def test_a_store_knows_its_window_its_timers_and_its_leftovers() -> None:
    run = Run.start(str(FIXTURES / "fmgws_event_ignore" / "checkpoint"), None)
    facts = run.facts()
    (life,) = store_lifetimes(run.checkpoint, run.checkpoint.operators[0], run.version, facts)
    assert (life.window, life.newest.rows, life.removals) == (13, 128, 0)
    assert life.calls is not None
    assert (life.calls.never_armed_rows, life.calls.unarmed_by_data > 0) == (3, True)
    (total,) = life.leftovers
    assert (total.rows, total.fired, total.by_change["untouched"]) == (68, 1, 68)
    assert newest_event_times(run.checkpoint, facts) == []


def test_a_join_knows_how_far_each_side_reaches() -> None:
    run = Run.start(str(FIXTURES / "join_left_outer" / "checkpoint"), None)
    facts = run.facts()
    life = join_lifetime(run.checkpoint, run.checkpoint.operators[0], run.version, facts)
    left = life.sides["left-keyWithIndexToValue"]
    assert (left.most_ms, left.removed, left.never_removes) == (20_000, 99, False)
    assert life.checks["left-keyWithIndexToValue"].missing_rows == 0
    assert len(newest_event_times(run.checkpoint, facts)) == 2
