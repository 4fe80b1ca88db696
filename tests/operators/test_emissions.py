"""What each operator may hand on in a batch in which it gets no rows."""

from __future__ import annotations

import pytest

from inspector.operators import group_state, join
from inspector.operators.emissions import EMISSIONS, Emission, fed_by_sources
from inspector.operators.registry import _RULES as RULES


def test_of_every_operator_with_a_rule_it_is_known_what_it_emits() -> None:
    assert set(EMISSIONS) == set(RULES)


def test_what_emits_by_the_clock_is_told_from_what_only_hands_on() -> None:
    assert {EMISSIONS[name] for name in group_state.NAMES} == {Emission.BY_TIMEOUT}
    assert {EMISSIONS[name] for name in join.NAMES} == {Emission.BY_WATERMARK}
    silent = {name for name, emission in EMISSIONS.items() if emission is Emission.NEVER}
    assert silent == {"dedupe", "dedupeWithinWatermark", "globalLimit"}


@pytest.mark.parametrize(
    ("upstream", "fed"),
    [
        ([], True),
        (["dedupe", "dedupeWithinWatermark", "globalLimit"], True),
        *(([name], False) for name, what in EMISSIONS.items() if what is not Emission.NEVER),
        (["dedupe", "symmetricHashJoin"], False),
        (["symmetricHashJoin", "dedupe"], False),
        (["unheard-of"], False),
    ],
)
def test_only_where_nothing_above_emits_by_the_clock_the_sources_alone_feed_an_operator(
    upstream: list[str], fed: bool
) -> None:
    assert fed_by_sources(upstream) is fed
