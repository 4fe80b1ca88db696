"""The table of physical operators, and what is concluded from it."""

from __future__ import annotations

import pytest

from inspector.operators.physical import (
    PHYSICAL,
    Asks,
    PhysicalOperator,
    holds_watermark_back,
    only_sources_feed,
    physical_operator,
)
from inspector.operators.registry import _MODULE_OF

TRANSFORM = "transformWithStateExec"


def in_mode(mode: str, name: str = TRANSFORM) -> PhysicalOperator:
    return physical_operator(name, {"timeMode": mode})


def test_every_operator_with_a_rule_has_a_row() -> None:
    assert set(PHYSICAL) == set(_MODULE_OF)
    for name, operator in PHYSICAL.items():
        assert operator.name == name


def test_what_is_handed_on_of_the_watermark() -> None:
    assert {name for name, row in PHYSICAL.items() if not row.hands_on} == {
        *("symmetricHashJoin", "flatMapGroupsWithState", "applyInPandasWithState"),
        # Without its time mode.
        *(TRANSFORM, "transformWithStateInPySparkExec", "transformWithStateInPandasExec"),
    }


def test_what_emits_without_data() -> None:
    silent = {name for name, row in PHYSICAL.items() if not row.emits}
    assert silent == {"dedupe", "dedupeWithinWatermark", "globalLimit"}


@pytest.mark.parametrize(
    ("mode", "hands_on", "emits", "asks"),
    [
        ("ProcessingTime", False, True, Asks.PERHAPS_ALWAYS),
        ("EventTime", True, True, Asks.BY_WATERMARK),
        ("NoTime", True, False, Asks.BY_WATERMARK),
        ("unheard-of", False, True, Asks.PERHAPS_ALWAYS),
    ],
)
def test_what_transform_with_state_does_depends_on_its_time_mode(
    mode: str, hands_on: bool, emits: bool, asks: Asks
) -> None:
    for name in (TRANSFORM, "transformWithStateInPySparkExec", "transformWithStateInPandasExec"):
        result = in_mode(mode, name)
        assert (result.hands_on, result.emits, result.asks) == (hands_on, emits, asks)
    assert physical_operator("dedupe", {"timeMode": mode}) == PHYSICAL["dedupe"]


def test_what_may_ask_for_batches_though_nothing_has_happened() -> None:
    asking = {name for name, row in PHYSICAL.items() if row.asks is Asks.PERHAPS_ALWAYS}
    assert asking == {
        *("flatMapGroupsWithState", "applyInPandasWithState", TRANSFORM),
        *("transformWithStateInPySparkExec", "transformWithStateInPandasExec"),
    }
    assert in_mode("ProcessingTime").asks is Asks.PERHAPS_ALWAYS
    assert in_mode("EventTime").asks is not Asks.PERHAPS_ALWAYS
    assert physical_operator("unheard-of").asks is Asks.PERHAPS_ALWAYS


@pytest.mark.parametrize(
    ("upstream", "fed"),
    [
        ([], True),
        (["dedupe", "dedupeWithinWatermark", "globalLimit"], True),
        *(([name], False) for name, row in PHYSICAL.items() if row.emits),
        (["dedupe", "symmetricHashJoin"], False),
        (["symmetricHashJoin", "dedupe"], False),
        (["unheard-of"], False),
    ],
)
def test_only_where_nothing_above_emits_by_the_clock_the_sources_alone_feed_an_operator(
    upstream: list[str], fed: bool
) -> None:
    assert only_sources_feed(map(physical_operator, upstream)) is fed


def test_transform_with_state_without_timers_emits_only_what_comes_in() -> None:
    assert only_sources_feed([in_mode("NoTime")])
    assert not only_sources_feed([in_mode("EventTime")])


@pytest.mark.parametrize(
    ("upstream", "above"),
    [
        ([], None),
        (["dedupe", "stateStoreSave", "globalLimit"], None),
        (["symmetricHashJoin", "flatMapGroupsWithState", "dedupe"], "flatMapGroupsWithState"),
        (["unheard-of"], "unheard-of"),
        ([TRANSFORM], TRANSFORM),
    ],
)
def test_which_operator_above_may_keep_the_watermark(
    upstream: list[str], above: str | None
) -> None:
    result = holds_watermark_back(map(physical_operator, upstream))
    assert (result.name if result else None) == above


def test_transform_with_state_hands_the_watermark_on_in_event_time_alone() -> None:
    assert holds_watermark_back([in_mode("EventTime"), in_mode("NoTime")]) is None
    assert holds_watermark_back([in_mode("ProcessingTime")]) == in_mode("ProcessingTime")
