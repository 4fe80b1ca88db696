"""Inferences, how often they were right, and which of them warn."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from inspector import docs
from inspector.facts.expired import Needs
from inspector.operators.inferences import INFERENCES, WARNS
from tests.attributes import attributes


@pytest.mark.parametrize("name", INFERENCES)
def test_inferences_have_documentation_and_counts(name: str) -> None:
    inference, paragraphs = INFERENCES[name], docs.entry(name).paragraphs
    assert name == inference.name
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", name)
    assert paragraphs[""].endswith(".")
    assert paragraphs["Decided by"]
    assert 0 <= inference.right <= inference.of


@pytest.mark.parametrize(("right", "warns"), [(94, False), (95, True), (100, True)])
def test_inference_warns_from_95_percent_right(right: int, warns: bool) -> None:
    sample = next(iter(INFERENCES.values()))
    assert WARNS == 0.95
    assert replace(sample, right=right, of=100).warns is warns


def test_habits_are_documented_inferences() -> None:
    needs = (Needs.KEPT_BY_HABIT, Needs.REARMED_BY_HABIT, Needs.BEFORE_WINDOW)
    assert INFERENCES.keys() >= set(attributes(needs, "value"))
