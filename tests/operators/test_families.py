"""Column families with several rows in a value."""

from __future__ import annotations

import pytest

from inspector.checkpoint.metadata import OperatorMetadata
from inspector.checkpoint.state_schema import ColumnFamily
from inspector.operators.transform_with_state import has_several_values
from inspector.sparktypes import StructType

NONE = StructType(())
VARIABLES = [
    {"stateName": "amounts", "stateVariableType": "ListState"},
    {"stateName": "total", "stateVariableType": "ValueState"},
]


def family(name: str, encoder: str = "NoPrefixKeyStateEncoderSpec") -> ColumnFamily:
    return ColumnFamily(name, NONE, NONE, {"keyStateEncoderType": encoder})


@pytest.mark.parametrize("where", ["Prefix", "Postfix"])
def test_join_families_of_format_4_have_several_values(where: str) -> None:
    join = family("left-tsWithKey", f"TimestampAs{where}KeyStateEncoderSpec")
    assert has_several_values(None, join)


def test_only_list_variables_have_several_values() -> None:
    metadata = OperatorMetadata("transformWithStateExec", properties={"stateVariables": VARIABLES})
    assert has_several_values(metadata, family("amounts"))
    assert not has_several_values(metadata, family("total"))
    assert not has_several_values(metadata, family("$count_amounts"))


@pytest.mark.parametrize("variables", [None, 5, [5], [{"stateName": "amounts"}]])
def test_malformed_properties_declare_no_lists(variables: object) -> None:
    metadata = OperatorMetadata("x", properties={"stateVariables": variables})
    assert not has_several_values(metadata, family("amounts"))
    assert not has_several_values(None, family("amounts"))


def test_undeclared_lists_are_recognized_by_their_helper_stores() -> None:
    metadata = OperatorMetadata("transformWithStateExec", properties={"stateVariables": []})
    siblings = ["amounts", "$rowCounter_amounts", "recent", "$count_recent", "total"]
    result = [has_several_values(metadata, family(name), siblings) for name in siblings]
    assert result == [True, False, True, False, False]
