"""The premises of proofs. Each is documented, and the code names only documented ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import inspector
from inspector import docs

PREMISES = re.findall(
    r"^### `([a-z]+(?:-[a-z]+)+)`$",
    docs.read_page("explanation/proofs"),
    re.MULTILINE,
)


def test_premises_have_different_names() -> None:
    assert len(PREMISES) == len(set(PREMISES))


@pytest.mark.parametrize("name", PREMISES)
def test_premises_have_claim_source_and_refutation(name: str) -> None:
    premise = docs.entry(name).paragraphs
    assert premise[""].endswith(".")
    assert premise.keys() == {"", "Source", "Refuted by"}
    assert re.search(r"; (?:\d\.\d to \d\.\d|all releases)", premise["Source"])


def test_premises_named_in_the_code_are_documented() -> None:
    package = Path(inspector.__file__).parent
    code = "".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    named = set(re.findall(r"premise\s+``([\w-]+)``", code))
    assert named
    assert named <= set(PREMISES)
