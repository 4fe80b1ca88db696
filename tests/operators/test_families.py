"""Which column families hold several rows in a value."""

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
def test_both_families_of_a_join_of_format_4_do(where: str) -> None:
    join = family("left-tsWithKey", f"TimestampAs{where}KeyStateEncoderSpec")
    assert has_several_values(None, join)


def test_of_state_variables_lists_do() -> None:
    metadata = OperatorMetadata("transformWithStateExec", properties={"stateVariables": VARIABLES})
    assert has_several_values(metadata, family("amounts"))
    assert not has_several_values(metadata, family("total"))
    assert not has_several_values(metadata, family("$count_amounts"))


@pytest.mark.parametrize("variables", [None, 5, [5], [{"stateName": "amounts"}]])
def test_properties_of_another_form_name_no_lists(variables: object) -> None:
    metadata = OperatorMetadata("x", properties={"stateVariables": variables})
    assert not has_several_values(metadata, family("amounts"))
    assert not has_several_values(None, family("amounts"))


def test_a_list_that_is_no_longer_declared_has_its_index_still() -> None:
    metadata = OperatorMetadata("transformWithStateExec", properties={"stateVariables": []})
    siblings = ["amounts", "$rowCounter_amounts", "recent", "$count_recent", "total"]
    result = [has_several_values(metadata, family(name), siblings) for name in siblings]
    assert result == [True, False, True, False, False]
