"""The clocks that versions are judged by."""

from __future__ import annotations

from inspector.measure.clocks import Clocks
from inspector.state.replay import NO_CLOCK
from tests.queries import EVENT, PROCESSING, clock, clocks_of


def test_clocks_stand_by_step_and_say_what_is_not_known() -> None:
    known = clocks_of([clock(2, 7, data=False), clock(3, 8, data=None)])
    found = Clocks.of([1, 2, 3], known)
    assert found.watermark_ms.tolist() == [NO_CLOCK, 7, 8]
    assert found.threshold_ms(PROCESSING).tolist() == [NO_CLOCK, 2000, 3000]
    assert found.threshold_ms(EVENT).tolist() == found.watermark_ms.tolist()
    assert found.no_new_data.tolist() == [False, True, False]


def test_a_history_without_versions_has_no_clocks() -> None:
    found = Clocks.of([], clocks_of([clock(1)]))
    assert [len(column) for column in vars(found).values()] == [0, 0, 0, 0]
