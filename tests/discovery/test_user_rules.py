"""A checkpoint with the rules that its user gave."""

from __future__ import annotations

import pytest

from inspector.discovery.checkpoint import open_checkpoint, with_rules
from inspector.exceptions import CheckpointError
from inspector.operators.user_rules import UserRules
from tests.fixture_folder import NEWEST

PATH = str(NEWEST / "agg_two_levels" / "checkpoint")


def test_user_rule_changes_only_its_operator() -> None:
    checkpoint = open_checkpoint(PATH)
    changed = with_rules(checkpoint, UserRules.parse(operator_rules=["1=never"]))
    assert changed.operators[0].rules == checkpoint.operators[0].rules
    assert changed.operators[1].rules["default"].never
    assert with_rules(checkpoint, UserRules()) is checkpoint


def test_user_rule_of_a_missing_operator_is_an_error() -> None:
    result = UserRules.parse(operator_rules=["5=never"])
    with pytest.raises(CheckpointError, match="operator 5, there are 0, 1"):
        with_rules(open_checkpoint(PATH), result)
