"""Premises and inferences of each class of leftovers."""

import pytest

from inspector import docs
from inspector.analyses.expiry.story import proof_notes
from inspector.facts.expired import LeftoverClass
from inspector.operators.inferences import INFERENCES


@pytest.mark.parametrize("kind", LeftoverClass)
def test_leftover_class_names_premises_and_inferences(kind: LeftoverClass) -> None:
    notes = proof_notes(kind)
    assert notes[0].startswith("premise ")
    for note in notes:
        sort, name = note.partition(":")[0].split()
        assert (sort == "inference") == (name in INFERENCES)
        assert docs.entry(name).paragraphs[""].rstrip(".").casefold() in note.casefold()
