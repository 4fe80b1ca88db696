"""Operators whose watermark is not that of the query, by an amount that no file shows.

Since Spark 3.5 an operator hands on what :mod:`inspector.operators.physical` says: a join the least
of its own watermark and the state watermarks of its sides, which come from its condition; group
state none, nor transformWithState in processing time. Neither condition nor query is in the
checkpoint, and what the join's rows were seen to keep is no bound: early in its life it has kept
nothing for long.
"""

from __future__ import annotations

from dataclasses import replace

from inspector.discovery.checkpoint import Checkpoint, Operator
from inspector.operators.physical import PhysicalOperator, holds_watermark_back
from inspector.operators.rule import Clock, StoreRule

SINCE_3_5 = "optimizer.pruneFiltersCanPruneStreamingSubplan"


def recorded(checkpoint: Checkpoint, version: int, key: str) -> bool:
    """Whether the batch's log entry has a conf that Spark records only from some release on."""
    return checkpoint.logs.conf_for(version - 1, key).origin != "default"


def held_back(checkpoint: Checkpoint, operator: Operator, version: int) -> PhysicalOperator | None:
    """The operator upstream that may keep the watermark from this one; None if there is none."""
    if not recorded(checkpoint, version, SINCE_3_5):
        return None
    return holds_watermark_back(operator.upstream)


def with_unknown_watermarks(checkpoint: Checkpoint, version: int) -> Checkpoint:
    """The same checkpoint, without the rules that are held against such a watermark.

    The field is followed all the same, to report how far behind the query's watermark the rows
    reach. What the user said of an operator counts. Timers have clocks of their own.
    """
    operators = tuple(_judged(checkpoint, operator, version) for operator in checkpoint.operators)
    return replace(checkpoint, operators=operators)


def _judged(checkpoint: Checkpoint, operator: Operator, version: int) -> Operator:
    above = held_back(checkpoint, operator, version)
    if above is None:
        return operator
    rules = {name: _unknown(rule, operator, above) for name, rule in operator.rules.items()}
    return replace(operator, rules=rules)


def _unknown(rule: StoreRule, operator: Operator, above: PhysicalOperator) -> StoreRule:
    expiry = rule.expiry
    if expiry is None or expiry.clock is not Clock.WATERMARK or rule.user_supplied:
        return rule
    field = f"{expiry.part.value}.{expiry.name}"
    return replace(
        rule,
        expiry=None,
        event_time=expiry,
        unknown=f"downstream of {above.name} the operator's watermark lags by an amount that is "
        f"not in the checkpoint (--operator-rule gives it, such as "
        f"'{operator.operator_id}={field}<=watermark-1h')",
    )
