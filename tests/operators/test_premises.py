"""The premises of proofs: each told whole, and every mention of one is of one that there is."""

from __future__ import annotations

import re
from pathlib import Path

import inspector
from inspector import docs

PREMISES = re.findall(
    r"^### `([a-z]+(?:-[a-z]+)+)`$",
    docs.read_page("explanation/proofs"),
    re.MULTILINE,
)


def test_premises_have_claim_source_and_refutation() -> None:
    assert len(PREMISES) == len(set(PREMISES))
    for name in PREMISES:
        premise = docs.entry(name).paragraphs
        assert premise[""].endswith(".")
        assert premise.keys() == {"", "Source", "Refuted by"}
        assert re.search(r"; (?:\d\.\d to \d\.\d|all releases)", premise["Source"]), name


def test_premises_named_in_the_code_are_documented() -> None:
    package = Path(inspector.__file__).parent
    texts = [path.read_text("utf-8") for path in package.rglob("*.py")]
    named = {name for text in texts for name in re.findall(r"premise\s+``([\w-]+)``", text)}
    assert named
    assert named <= set(PREMISES)
