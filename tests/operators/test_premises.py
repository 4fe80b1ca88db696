"""The premises of proofs: each told whole, and every mention of one is of one that there is."""

from __future__ import annotations

import re
from pathlib import Path

import inspector
from inspector.operators.premises import PREMISES


def test_a_premise_says_what_it_claims_where_it_was_read_and_what_would_refute_it() -> None:
    for name, premise in PREMISES.items():
        assert name == premise.name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", name)
        for told in (premise.says, premise.source, premise.versions, premise.refuted_by):
            assert told.strip()


def test_the_code_names_no_premise_that_there_is_not() -> None:
    package = Path(inspector.__file__).parent
    texts = [path.read_text("utf-8") for path in package.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"premise\s+``([\w-]+)``", text)}
    assert named
    assert named <= set(PREMISES)
