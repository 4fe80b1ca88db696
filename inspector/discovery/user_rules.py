"""A checkpoint's operators with the rules that its user gave."""

from __future__ import annotations

from dataclasses import replace

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.exceptions import CheckpointError
from inspector.operators.user_rules import UserRules


def with_rules(checkpoint: Checkpoint, user_rules: UserRules) -> Checkpoint:
    """The same checkpoint, judged by what the user said.

    Raises:
        CheckpointError: an operator or a field is not there.
    """
    if user_rules == UserRules():
        return checkpoint
    have = {operator.operator_id for operator in checkpoint.operators}
    named = {
        *(op for op in user_rules.event_time_fields if op is not None),
        *(op for op, _ in user_rules.operator_rules),
        *(op for op, _ in user_rules.join_retention if op is not None),
    }
    if not named <= have:
        raise CheckpointError(
            f"got a rule for operator {min(named - have)}, there are "
            f"{', '.join(map(str, sorted(have))) or 'none'}",
            checkpoint.root,
        )
    operators = tuple(_with(operator, user_rules) for operator in checkpoint.operators)
    return replace(checkpoint, operators=operators)


def _with(operator: Operator, user_rules: UserRules) -> Operator:
    schemas = {name: (schema.key, schema.value) for name, schema in operator.schemas.items()}
    rules = user_rules.apply(operator.operator_id, operator.name, schemas, operator.rules)
    return replace(operator, rules=rules)
