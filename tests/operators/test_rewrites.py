"""What can be done about updates that change nothing."""

from __future__ import annotations

import pytest

from inspector.operators.registry import _RULES as RULES
from inspector.operators.rewrites import UNKNOWN, rewrite_advice


@pytest.mark.parametrize("name", RULES)
def test_every_operator_has_its_own_advice(name: str) -> None:
    assert rewrite_advice(name) != UNKNOWN
    assert ("update()" in rewrite_advice(name)) == (
        "GroupsWithState" in name or name == "applyInPandasWithState"
    )


def test_an_operator_that_is_not_known_has_the_general_one() -> None:
    assert rewrite_advice("streamingUnion") == UNKNOWN
