"""Which module speaks for an operator; and, without operator metadata, which operator it is.

Spark 4.0 and later write the name (``OperatorStateMetadata``). Before, it is recognised by the
shape of the stores and their schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import ModuleType

from inspector.operators import (
    aggregation,
    deduplicate,
    deduplicate_within_watermark,
    global_limit,
    group_state,
    join,
    session_window,
)
from inspector.operators.rule import OperatorShape, StoreRule
from inspector.sparktypes import StructType

_MODULES: tuple[ModuleType, ...] = (
    aggregation,
    session_window,
    deduplicate,
    deduplicate_within_watermark,
    group_state,
    join,
    global_limit,
)
_RULES: dict[str, Callable[[OperatorShape, str], StoreRule]] = {
    name: module.rule for module in _MODULES for name in module.NAMES
}
UNKNOWN = "unknown"
SINGLE_PARTITION = ("globalLimit",)


def rule_for(shape: OperatorShape, store: str) -> StoreRule:
    """The expiry rule of one store of an operator."""
    rule = _RULES.get(shape.name)
    if rule is None:
        return StoreRule(unknown=f"no rule is known for operator {shape.name!r}")
    if store not in shape.schemas:
        return StoreRule(unknown="there is no state schema (Spark 3.0 and older write none)")
    return rule(shape, store)


def identify(stores: Collection[str], schemas: Mapping[str, tuple[StructType, StructType]]) -> str:
    """The operator's name from its stores and schemas, for checkpoints without metadata.

    ``applyInPandasWithState`` has the stores of ``flatMapGroupsWithState`` and is called that.
    """
    if set(join.VALUE_STORES) & set(stores):
        return join.NAMES[0]
    if len(schemas) != 1:
        return UNKNOWN
    ((key, value),) = schemas.values()
    names = [column.name for column in value.fields]
    if names == ["__dummy__"]:
        return deduplicate.NAMES[0]
    if names == [deduplicate_within_watermark.FIELD]:
        return deduplicate_within_watermark.NAMES[0]
    if group_state.STATE_FIELD in names[:1] or names[-1:] == [group_state.TIMEOUT_FIELD]:
        return group_state.NAMES[0]
    if any("spark.sessionWindow" in column.metadata for column in value.fields):
        return session_window.NAMES[0]
    if [column.name for column in key.fields] == ["key"] and names == ["value"]:
        return global_limit.NAMES[0]
    return aggregation.NAMES[0]
