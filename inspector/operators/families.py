"""What the column families of an operator's store are, where their schemas do not say it."""

from __future__ import annotations

from inspector.checkpoint.metadata import OperatorMetadata
from inspector.checkpoint.state_schema import ColumnFamily, StateSchema
from inspector.sparktypes.key_encoders import KeyEncoding

_TIMED = (KeyEncoding.TIMESTAMP_FIRST, KeyEncoding.TIMESTAMP_LAST)


def has_several_values(metadata: OperatorMetadata | None, family: ColumnFamily) -> bool:
    """Whether a value of a column family holds several rows.

    Those of a join of format 4 do, both the rows and the index by time
    (``SymmetricHashJoinStateManagerV4``), and the list states of transformWithState, of which the
    operator's properties say that they are lists (``TransformWithStateOperatorProperties``).
    """
    if family.encoder.kind in _TIMED:
        return True
    variables = metadata.properties.get("stateVariables") if metadata else None
    for variable in variables if isinstance(variables, list) else ():
        if isinstance(variable, dict) and variable.get("stateName") == family.name:
            return variable.get("stateVariableType") == "ListState"
    return False


def is_list(metadata: OperatorMetadata | None, schema: StateSchema) -> bool:
    """Whether the values of the store that a schema is of hold several rows each."""
    return any(has_several_values(metadata, family) for family in schema.column_families)
