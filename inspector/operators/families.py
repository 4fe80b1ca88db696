"""What the column families of an operator's store are, where their schemas do not say it."""

from __future__ import annotations

from collections.abc import Collection

from inspector.checkpoint.metadata import OperatorMetadata
from inspector.checkpoint.state_schema import ColumnFamily, StateSchema
from inspector.operators.transform_with_state import ENTRY_COUNTS
from inspector.sparktypes.key_encoders import KeyEncoding

_TIMED = (KeyEncoding.TIMESTAMP_FIRST, KeyEncoding.TIMESTAMP_LAST)


def has_several_values(
    metadata: OperatorMetadata | None, family: ColumnFamily, others: Collection[str] = ()
) -> bool:
    """Whether a value of a column family holds several rows.

    Those of a join of format 4 do, both the rows and the index by time
    (``SymmetricHashJoinStateManagerV4``), and the list states of transformWithState, of which the
    operator's properties say that they are lists (``TransformWithStateOperatorProperties``). They
    do not list a variable that the newest run no longer declares: of one that was a list there is
    still the index of its entries.

    Args:
        metadata: of the operator.
        family: which.
        others: the names of all column families of the store.
    """
    if family.encoder.kind in _TIMED:
        return True
    variables = metadata.properties.get("stateVariables") if metadata else None
    for variable in variables if isinstance(variables, list) else ():
        if isinstance(variable, dict) and variable.get("stateName") == family.name:
            return variable.get("stateVariableType") == "ListState"
    return any(f"{index}{family.name}" in others for index in ENTRY_COUNTS)


def is_list(
    metadata: OperatorMetadata | None, schema: StateSchema, others: Collection[str] = ()
) -> bool:
    """Whether the values of the store that a schema is of hold several rows each."""
    return any(has_several_values(metadata, family, others) for family in schema.column_families)
