"""The module that describes each operator, and recognition of operators without metadata.

Spark 4.0 and later write the name (``OperatorStateMetadata``). Before 4.0 an operator is recognised
by its stores and their schemas.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import ModuleType

from inspector.light_dataclasses import replace
from inspector.operators import (
    aggregation,
    deduplicate,
    deduplicate_within_watermark,
    global_limit,
    group_state,
    join,
    session_window,
    transform_with_state,
)
from inspector.operators.rule import OperatorShape, RowPart, StoreRule
from inspector.sparktypes import StructType, field_at, is_int64, widen_timeout

# modules of operators
_MODULES: tuple[ModuleType, ...] = (
    aggregation,
    session_window,
    deduplicate,
    deduplicate_within_watermark,
    group_state,
    join,
    global_limit,
    transform_with_state,
)
# module by the operator's name
_MODULE_OF = {name: module for module in _MODULES for name in module.NAMES}
UNKNOWN = "unknown"  # name of an operator that is not recognised
# advice on puts that change nothing, for operators without advice of their own
LOOK_AT_REWRITES = (
    "see what inspector sharing says of each version, and which keys inspector top lists"
)


def rewrite_advice(name: str) -> str:
    """Return what the user of an operator can do about puts that do not change the value."""
    return getattr(_MODULE_OF.get(name), "REWRITES", LOOK_AT_REWRITES)


def rule_for(shape: OperatorShape, store: str) -> StoreRule:
    """Return the expiry rule of one store of an operator.

    The rule is unknown if the operator or the store's schema is not known, or if a field that the
    rule needs is no time.
    """
    module = _MODULE_OF.get(shape.name)
    if shape.name == UNKNOWN:
        return StoreRule(
            unknown="the operator cannot be identified: its name (Spark 4.0 and later) and its "
            "state schema (Spark 3.1 and later) are missing or cannot be read"
        )
    if module is None:
        return StoreRule(unknown=f"no rule is known for operator {shape.name!r}")
    if store not in shape.schemas:
        return StoreRule(
            unknown="the state schema (Spark 3.1 and later write one) is missing or cannot be read"
        )
    rule: StoreRule = module.rule(shape, store)
    rule = replace(rule, source=rule.source or module.SOURCE)
    key, value = shape.schemas[store]
    rows = {RowPart.KEY: key, RowPart.VALUE: widen_timeout(value)}
    for field in (rule.expiry, rule.event_time, *rule.key_times):
        if field is not None and not is_int64(field_at(rows[field.part], field.path)):
            return StoreRule(
                unknown=f"by the state schema {field.part.value}.{field.name}, which the rule "
                "needs, is no time: the schema was changed, or belongs to another query",
                source=rule.source,
            )
    return rule


def identify(stores: Collection[str], schemas: Mapping[str, tuple[StructType, StructType]]) -> str:
    """Return the operator's name by its stores and schemas; UNKNOWN if they do not show it.

    applyInPandasWithState is reported as flatMapGroupsWithState, because it has the same stores.
    """
    # applyInPandasWithState has the stores of flatMapGroupsWithState and is called that.
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
