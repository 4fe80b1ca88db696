"""The table of physical operators, and the conclusions from it."""

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
from tests.attributes import attributes

TRANSFORM = "transformWithStateExec"
TRANSFORMS = (TRANSFORM, "transformWithStateInPySparkExec", "transformWithStateInPandasExec")


def in_mode(mode: str, name: str = TRANSFORM) -> PhysicalOperator:
    return physical_operator(name, {"timeMode": mode})


def test_every_operator_with_a_rule_has_physical_properties() -> None:
    assert set(PHYSICAL) == set(_MODULE_OF)
    assert attributes(PHYSICAL.values(), "name") == list(PHYSICAL)


def test_physical_operators_pass_watermark_on_emit_and_request_batches() -> None:
    assert set(attributes(PHYSICAL.values(), "name", "hands_on", "emits", "asks")) == {
        ("StatefulStreamlineAggregate", True, True, Asks.BY_WATERMARK),
        ("applyInPandasWithState", False, True, Asks.PERHAPS_ALWAYS),
        ("dedupe", True, False, Asks.BY_WATERMARK),
        ("dedupeWithinWatermark", True, False, Asks.BY_WATERMARK),
        ("flatMapGroupsWithState", False, True, Asks.PERHAPS_ALWAYS),
        ("globalLimit", True, False, Asks.NEVER),
        ("sessionWindowStateStoreSaveExec", True, True, Asks.BY_WATERMARK),
        ("stateStoreSave", True, True, Asks.BY_WATERMARK),
        ("symmetricHashJoin", False, True, Asks.BY_WATERMARK),
        # Without a time mode.
        ("transformWithStateExec", False, True, Asks.PERHAPS_ALWAYS),
        ("transformWithStateInPandasExec", False, True, Asks.PERHAPS_ALWAYS),
        ("transformWithStateInPySparkExec", False, True, Asks.PERHAPS_ALWAYS),
    }


@pytest.mark.parametrize(
    ("mode", "hands_on", "emits", "asks"),
    [
        ("ProcessingTime", False, True, Asks.PERHAPS_ALWAYS),
        ("EventTime", True, True, Asks.BY_WATERMARK),
        ("NoTime", True, False, Asks.BY_WATERMARK),
        ("unheard-of", False, True, Asks.PERHAPS_ALWAYS),
    ],
)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform_with_state_properties_by_time_mode(
    name: str, mode: str, hands_on: bool, emits: bool, asks: Asks
) -> None:
    result = in_mode(mode, name)
    assert (result.hands_on, result.emits, result.asks) == (hands_on, emits, asks)


@pytest.mark.parametrize("mode", ["ProcessingTime", "EventTime", "NoTime", "unheard-of"])
def test_time_mode_changes_no_other_operator(mode: str) -> None:
    assert physical_operator("dedupe", {"timeMode": mode}) == PHYSICAL["dedupe"]


def test_operators_that_may_request_batches_without_data() -> None:
    assert in_mode("ProcessingTime").asks is Asks.PERHAPS_ALWAYS
    assert in_mode("EventTime").asks is not Asks.PERHAPS_ALWAYS
    assert physical_operator("unheard-of").asks is Asks.PERHAPS_ALWAYS


@pytest.mark.parametrize(
    ("upstream", "fed"),
    [
        ([], True),
        (["dedupe", "dedupeWithinWatermark", "globalLimit"], True),
        (["StatefulStreamlineAggregate"], False),
        (["applyInPandasWithState"], False),
        (["flatMapGroupsWithState"], False),
        (["sessionWindowStateStoreSaveExec"], False),
        (["stateStoreSave"], False),
        (["symmetricHashJoin"], False),
        (["transformWithStateExec"], False),
        (["transformWithStateInPandasExec"], False),
        (["transformWithStateInPySparkExec"], False),
        (["dedupe", "symmetricHashJoin"], False),
        (["symmetricHashJoin", "dedupe"], False),
        (["unheard-of"], False),
    ],
)
def test_only_sources_feed_if_no_upstream_operator_emits_by_the_clock(
    upstream: list[str], fed: bool
) -> None:
    assert only_sources_feed(map(physical_operator, upstream)) is fed


def test_transform_with_state_without_time_mode_emits_only_with_data() -> None:
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
def test_upstream_operator_that_holds_the_watermark_back(
    upstream: list[str], above: str | None
) -> None:
    result = holds_watermark_back(map(physical_operator, upstream))
    assert getattr(result, "name", None) == above


def test_transform_with_state_passes_the_watermark_on_in_event_time() -> None:
    assert holds_watermark_back([in_mode("EventTime"), in_mode("NoTime")]) is None
    assert holds_watermark_back([in_mode("ProcessingTime")]) == in_mode("ProcessingTime")
