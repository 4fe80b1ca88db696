"""What is inferred, how often it was right, and that only what mostly is right warns."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from inspector import docs
from inspector.facts.expired import Needs
from inspector.operators.inferences import INFERENCES, WARNS


def test_an_inference_says_what_it_concludes_and_what_would_decide_it() -> None:
    for name, inference in INFERENCES.items():
        assert name == inference.name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", name)
        paragraphs = docs.entry(name).paragraphs
        assert paragraphs[""].endswith(".")
        assert paragraphs["Made certain by"]
        assert 0 <= inference.right <= inference.of


@pytest.mark.parametrize(("right", "warns"), [(94, False), (95, True), (100, True)])
def test_an_inference_warns_that_is_right_often_enough(right: int, warns: bool) -> None:
    sample = next(iter(INFERENCES.values()))
    assert WARNS == 0.95
    assert replace(sample, right=right, of=100).warns is warns


def test_every_habit_that_decides_is_one_of_them() -> None:
    habits = {Needs.KEPT_BY_HABIT, Needs.REARMED_BY_HABIT, Needs.BEFORE_WINDOW}
    assert {habit.value for habit in habits} <= set(INFERENCES)
