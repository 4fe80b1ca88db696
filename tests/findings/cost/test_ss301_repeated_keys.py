"""SS301: state format 1 keeps the key twice."""

from __future__ import annotations

import pytest

from inspector.findings.cost.ss301_repeated_keys import RepeatedKeys
from inspector.operators.rule import StoreRule
from tests.attributes import attributes
from tests.store_views import checkpoint_view

AGGREGATION = "stateStoreSave"


@pytest.mark.parametrize(
    ("name", "state_format", "is_found"),
    [
        (AGGREGATION, "1", True),
        (AGGREGATION, "2", False),
        ("symmetricHashJoin", "1", False),
    ],
)
def test_aggregation_state_format_1_repeats_keys(
    name: str, state_format: str, *, is_found: bool
) -> None:
    view = checkpoint_view({"default": StoreRule()}, operator_name=name, state_format=state_format)
    (operator,) = view.operators
    result = attributes(RepeatedKeys().findings(operator), "kind.id", "operator_id", "cause")
    sentence = "The state format of this aggregation stores every key twice."
    assert result == [("SS301", 0, sentence)] * is_found
