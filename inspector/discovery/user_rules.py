"""A checkpoint's operators with the rules that its user gave."""

from __future__ import annotations

from dataclasses import replace

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.exceptions import CheckpointError
from inspector.operators.user_rules import GivenRules


def with_rules(checkpoint: Checkpoint, given: GivenRules) -> Checkpoint:
    """The same checkpoint, judged by what the user said.

    Raises:
        CheckpointError: an operator or a field is not there.
    """
    if given == GivenRules():
        return checkpoint
    have = {operator.operator_id for operator in checkpoint.operators}
    named = {
        *(op for op in given.event_time_fields if op is not None),
        *(op for op, _ in given.operator_rules),
        *(op for op, _ in given.join_retention if op is not None),
    }
    if not named <= have:
        raise CheckpointError(
            f"got a rule for operator {min(named - have)}, there are "
            f"{', '.join(map(str, sorted(have))) or 'none'}",
            checkpoint.root,
        )
    operators = tuple(_with(operator, given) for operator in checkpoint.operators)
    return replace(checkpoint, operators=operators)


def _with(operator: Operator, given: GivenRules) -> Operator:
    schemas = {name: (schema.key, schema.value) for name, schema in operator.schemas.items()}
    rules = given.apply(operator.operator_id, operator.name, schemas, operator.rules)
    return replace(operator, rules=rules)
